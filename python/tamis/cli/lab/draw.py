"""`tamis lab draw`: draw the figures of papers from records."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tamis.cli.lab.experiments import Machine, Names, Records, Scale, collect, errors, open_records
from tamis.cli.output import VALID, write
from tamis.lab import report as pages
from tamis.lab.records import FOLDER

USAGE = "Usage: tamis lab draw [EXPERIMENT...] [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab draw
    tamis lab draw whang fig12a --out figures
"""


def draw(
    names: Names | None = None,
    /,
    *,
    out: Annotated[Path, Parameter(name="--out")] = Path("build/lab"),
    scale: Scale = "full",
    seed: int = 1,
    records: Records = FOLDER,
    machine: Machine = None,
) -> int:
    """Draw charts as SVG and PNG, and tables as Markdown, from the records of `tamis lab run`.

    Needs `tamis[lab]`.

    Args:
        names: Figures, papers or TOML files as for `tamis lab run`; all by default.
        out: The folder to write into.
        scale: The scale of the records.
        seed: The seed of the records.
        records: The folder of all records.
        machine: The folder within it; named after this machine by default.
    """
    with errors():
        every = collect(names or ["all"], scale, seed, open_records(records, machine))
        for file in pages.draw(every, out):
            write(str(file))
    return VALID
