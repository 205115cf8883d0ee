"""`tamis rules read`: convert rules of another language to subscriptions."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tamis.cli.output import INVALID, VALID, write_json
from tamis.cli.rules.languages import Language, read_rules, report_refused

USAGE = "Usage: tamis rules read --from LANGUAGE PATH"
EXAMPLES = """
Examples:

    tamis rules read --from sigma rules/windows > subscriptions.jsonl
    tamis rules read --from eventbridge patterns.json
"""


def read(path: Path, /, *, language: Annotated[Language, Parameter(name="--from")]) -> int:
    """Write rules of another language as subscriptions, one JSON object per line.

    Rules without an exact translation are refused and reported on standard error with the reason.
    The exit code is 1 if any rule is refused.

    Args:
        path: A file, or a folder, from which all files are read.
        language: The language of the rules.
    """
    found = read_rules(language, path)
    for subscription in found.subscriptions:
        record: dict[str, Any] = {"id": subscription.id, "expression": str(subscription.expression)}
        if subscription.metadata:
            record["metadata"] = subscription.metadata
        write_json(record)
    report_refused(found)
    return INVALID if found.refused else VALID
