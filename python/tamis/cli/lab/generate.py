"""`tamis lab generate`: a published workload as files."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis import lab
from tamis.cli.output import VALID, CommandError, write

USAGE = "Usage: tamis lab generate WORKLOAD COUNT --out FOLDER [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab generate fontoura 100000 --events 2000 --seed 1 --out data
    tamis lab generate abe-gen 1000000 --out data --format parquet
"""


def generate(
    workload: str,
    count: int,
    /,
    *,
    out: Annotated[Path, Parameter(name="--out")],
    events: int = 1000,
    seed: int = 0,
    format: Literal["jsonl", "parquet"] = "jsonl",
) -> int:
    """Write subscriptions and events of a workload; the same seed gives the same bytes.

    Needs `tamis[arrow]`.

    Args:
        workload: `conjunctive`, `dense`, `abe-gen`, `ads-like`, `whang`, `whang-cnf`, `fontoura` or
            `exchange`.
        count: How many subscriptions.
        out: The folder to write into.
        events: How many events.
        seed: Decides everything that chance decides.
        format: JSON lines, or Parquet as Spark takes it.
    """
    try:
        files = lab.generate(workload, count, events=events, seed=seed, folder=out, format=format)
    except ValueError as error:
        raise CommandError(str(error)) from error
    except ModuleNotFoundError as error:
        raise CommandError("generating needs pyarrow: pip install 'tamis[arrow]'") from error
    for file in files.values():
        write(str(file))
    return VALID
