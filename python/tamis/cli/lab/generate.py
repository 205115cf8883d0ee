"""`tamis lab generate`: write a published workload to files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tamis import lab
from tamis.cli.output import VALID, CommandError, write

USAGE = "Usage: tamis lab generate WORKLOAD COUNT --out FOLDER [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab generate fontoura 100000 --events 2000 --seed 1 --out data
    tamis lab generate abe-gen 1000000 --out data --format parquet
    tamis lab generate xml 10000 --set schema=auction predicates=1 --out data
"""

Settings = Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative="")]


def generate(
    workload: str,
    count: int,
    /,
    *,
    out: Annotated[Path, Parameter(name="--out")],
    events: int = 1000,
    seed: int = 0,
    settings: Settings = None,
    format: Literal["jsonl", "parquet"] = "jsonl",
) -> int:
    """Write subscriptions and events of a workload; the same seed gives the same bytes.

    Args:
        workload: `conjunctive`, `dense`, `abe-gen`, `ads-like`, `whang`, `whang-cnf`, `fontoura`,
            `exchange`, `sigma-like` or `xml`.
        count: The number of subscriptions.
        out: The folder to write into.
        events: The number of events.
        seed: The seed of all random choices.
        settings: Parameters of the workload as `name=value`, the value as JSON or plain text.
        format: JSON lines, or Parquet for Spark, which needs `tamis[arrow]`.
    """
    parameters = _parameters(settings or ())
    try:
        files = lab.generate(
            workload,
            count,
            events=events,
            seed=seed,
            parameters=parameters,
            folder=out,
            format=format,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    except ModuleNotFoundError as error:
        raise CommandError("Parquet needs pyarrow: pip install 'tamis[arrow]'") from error
    for file in files.values():
        write(str(file))
    return VALID


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    found = dict[str, Any]()
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise CommandError(f"--set takes name=value, not {setting!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:  # plain text
            found[name] = value
    return found
