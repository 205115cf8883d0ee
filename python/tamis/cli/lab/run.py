"""`tamis lab run`: measure the figures of papers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tamis.cli.lab.experiments import Machine, Names, Records, Scale, errors, open_records
from tamis.cli.output import VALID, report, write
from tamis.lab import experiments, runner
from tamis.lab.records import FOLDER

USAGE = "Usage: tamis lab run EXPERIMENT... [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab run fig12a
    tamis lab run whang broder/fig13 --scale small
    tamis lab run all
    tamis lab run my-experiment.toml --again
"""


def run(
    names: Names,
    /,
    *,
    scale: Scale = "full",
    seed: int = 1,
    again: bool = False,
    records: Records = FOLDER,
    machine: Machine = None,
) -> int:
    """Measure the matchers of an experiment, each in its own process, and record the results.

    Skips cells that are already recorded for this build of the engine, so you can interrupt a run
    and start it again. Needs `tamis[lab]`.

    Args:
        names: Figures such as `whang/fig14`, papers such as `whang`, `all`, or TOML files.
        scale: `small` for fewer and smaller cells.
        seed: The seed of the workloads.
        again: Also measure cells that are already recorded.
        records: The folder of all records.
        machine: The folder within it; named after this machine by default.
    """
    with errors():
        kept = open_records(records, machine)
        found = experiments.find(*names)
        with _progress() as show:
            summaries = runner.run(found, kept, scale=scale, seed=seed, again=again, show=show)
    for name, summary in summaries.items():
        text = f"{name}: {summary.measured} measured"
        if summary.known:
            text += f", {summary.known} of them recorded before"
        write(f"{text}, {summary.seconds:.1f} s")
        for label, reason in summary.absent.items():
            report(f"{label}: {reason}")
    total = sum(summary.seconds for summary in summaries.values())
    write(f"recorded in {kept.folder}, {total:.0f} s")
    return VALID


@contextmanager
def _progress() -> Iterator[runner.Show]:
    """A bar on a terminal; nothing in a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    text = TextColumn("{task.description}")
    with Progress(*columns, text, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, all, label: bar.update(
            task, completed=done, total=all, description=label
        )
