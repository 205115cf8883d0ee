"""`tamis lab report`: write all results on one page."""

from pathlib import Path

from tamis.cli.lab.experiments import Machine, Names, Records, Scale, collect, errors, open_records
from tamis.cli.output import VALID, CommandError, write
from tamis.lab import report as pages
from tamis.lab.records import FOLDER

USAGE = "Usage: tamis lab report [FILE] [EXPERIMENT...] [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab report
    tamis lab report docs/figures.md
    tamis lab report report.html all my-experiment.toml
"""


def report(
    file: Path = Path("build/lab/report.html"),
    names: Names | None = None,
    /,
    *,
    scale: Scale = "full",
    seed: int = 1,
    records: Records = FOLDER,
    machine: Machine = None,
    remark: str = "",
) -> int:
    """Write one page: every figure, the paper's finding, our finding, and how to repeat it.

    Needs `tamis[lab]`.

    Args:
        file: A self-contained HTML page; or, with the suffix `.md`, a short version with its charts
            in a folder of the same name.
        names: Figures, papers or TOML files as for `tamis lab run`; all papers by default.
        scale: The scale of the records.
        seed: The seed of the records.
        records: The folder of all records.
        machine: The folder within it; named after this machine by default.
        remark: A sentence for the top of the page, for example about other jobs on the machine.
    """
    if file.suffix not in (".html", ".md"):
        raise CommandError(f"a report must be a file that ends with .html or .md, not {file.name}")
    with errors():
        every = collect(names or ["all"], scale, seed, open_records(records, machine))
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            pages.write_markdown(every, file, remark)
        else:
            file.write_text(pages.page(every, remark), encoding="utf-8")
    write(str(file))
    return VALID
