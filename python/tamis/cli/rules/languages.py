"""Which rule languages can be read, and by which importer?"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis import rules
from tamis.cli.output import INVALID, CommandError, report
from tamis.cli.progress import counting
from tamis.rules.result import ReadRules, RuleError

Language = Literal["sigma", "eventbridge", "mongo", "sql"]
From = Annotated[Language | None, Parameter(name="--from")]

_READERS: dict[str, Callable[..., ReadRules]] = {
    "sigma": rules.sigma.read,
    "eventbridge": rules.eventbridge.read,
    "mongo": rules.mongo.read,
    "sql": rules.sql.read,
}


def read_rules(language: Language, path: Path) -> ReadRules:
    """Read the rules of a file or folder.

    Raises:
        CommandError: The path cannot be read, or a package that the importer needs is missing.
    """
    try:
        with counting(f"reading {path}") as show:
            return _READERS[language](path, progress=show)
    except RuleError as error:
        raise CommandError(str(error), INVALID) from error


def report_refused(read: ReadRules, *, most: int = 20) -> None:
    """Report refused rules on standard error: each with its reason, then the counts by reason."""
    for refused in read.refused[:most]:
        report(str(refused))
    if len(read.refused) > most:
        report(f"... and {len(read.refused) - most} more")
    if read.refused:
        report(f"{len(read.subscriptions)} rules read, {len(read.refused)} refused:")
        for reason, count in read.reasons()[:most]:
            report(f"  {count:>6}  {reason}")
