"""Runs experiments: every matcher on the same data, and no times for wrong results.

Each cell is measured in a separate process, which runs `main`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tamis import _tamis
from tamis.lab.cells import Cell
from tamis.lab.experiments import Experiment, check, is_foreign
from tamis.lab.records import FIGURES, Records, Row, describe, engine, name
from tamis.lab.timing import answer, limit_memory, measure_external, run_alone


def main() -> None:
    """Run the job given on standard input."""
    job = json.load(sys.stdin)
    limit_memory(job["memory_limit"])
    try:
        outcome = {"status": "measured", **measure_cell(job["spec"])}
    except MemoryError:
        outcome = {"status": "failed", "reason": "out of memory"}
    except ValueError as error:
        outcome = {"status": "refused", "reason": str(error)}
    except Exception as error:  # from an external matcher
        outcome = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    answer(outcome)


def measure_cell(spec: dict[str, Any]) -> dict[str, Any]:
    """The figures of one matcher on one workload."""
    if is_foreign(spec["matcher"]):
        return measure_external(spec)
    found: dict[str, Any] = json.loads(_tamis.measure(json.dumps(spec)))
    return found


Show = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Job:
    """A cell to measure for an experiment, and the cell of its judge."""

    experiment: str
    label: str
    cell: Cell
    judge: Cell


@dataclass
class Summary:
    """The outcome of an experiment's cells.

    Attributes:
        measured: The number of cells with figures.
        absent: Why other cells have none, by label.
        known: The number of cells that were already in the records.
        seconds: The time to measure the others.
    """

    measured: int = 0
    absent: dict[str, str] = field(default_factory=dict)
    known: int = 0
    seconds: float = 0.0


def run(
    experiments: Iterable[Experiment],
    records: Records,
    *,
    scale: str = "full",
    seed: int = 1,
    again: bool = False,
    show: Show = lambda *_: None,
) -> dict[str, Summary]:
    """Measure the cells of these experiments that are not in the records.

    Args:
        experiments: The experiments; all are checked first.
        records: Where figures are stored, one by one, so that an interrupted run can continue.
        scale: `full`, or `small` for fewer and smaller cells.
        seed: The seed of the workloads.
        again: Whether to repeat cells that were measured with this build of the engine.
        show: Called before each cell with the number done, the total and its name.

    Raises:
        ExperimentError: An experiment needs something that does not exist.
    """
    jobs = []
    for experiment in experiments:
        check(experiment)
        plan = experiment.plans[scale]
        for series, place, cell, judge in experiment.cells(scale, seed):
            label = f"{experiment.name} {series.name}"
            if plan.varied is not None:
                label += f" {plan.varied}={name(plan.values[place])}"
            jobs.append(Job(experiment.name, label, cell, judge))
    runner = _Runner(records, scale, again)
    summaries = dict[str, Summary]()
    for number, job in enumerate(jobs):
        show(number, len(jobs), job.label)
        summary = summaries.setdefault(job.experiment, Summary())
        row = runner.judged(job, summary)
        if row["status"] == "measured":
            summary.measured += 1
        else:
            summary.absent[job.label] = f"{row['status']}: {row['reason']}"
    return summaries


class _Runner:
    def __init__(self, records: Records, scale: str, again: bool) -> None:
        self.records = records
        self.scale = scale
        self.again = again
        self.fresh = set[str]()  # measured in this run

    def judged(self, job: Job, summary: Summary) -> Row:
        """The record of a cell, after comparing its results with those of its judge."""
        if (row := self.known(job.cell)) is not None:
            summary.known += 1
            return row
        judge = None
        if job.judge.key != job.cell.key:
            judge = self.known(job.judge) or self.measure(job, job.judge, None, summary)
        return self.measure(job, job.cell, judge, summary)

    def known(self, cell: Cell) -> Row | None:
        if self.again and cell.key not in self.fresh:
            return None
        return self.records.latest(cell.key, engine())

    def measure(self, job: Job, cell: Cell, judge: Row | None, summary: Summary) -> Row:
        begun = perf_counter()
        task = {"spec": cell.spec, "memory_limit": cell.effort.memory_limit << 20}
        outcome = run_alone("tamis.lab.runner", json.dumps(task).encode(), cell.effort.time_limit)
        outcome["seconds"] = perf_counter() - begun
        summary.seconds += outcome["seconds"]
        if judge is not None and outcome["status"] == "measured":
            outcome = _judge(outcome, judge)
        row = describe(cell, outcome | {"experiment": job.experiment, "scale": self.scale})
        self.records.add(row)
        self.fresh.add(cell.key)
        return row


def _judge(outcome: dict[str, Any], judge: Row) -> dict[str, Any]:
    """The outcome, without figures if the results are wrong."""
    fault = _fault(outcome, judge)
    if fault is None:
        return outcome
    kept = {name: value for name, value in outcome.items() if name not in _TIMED}
    return kept | {
        "status": "differs" if judge["status"] == "measured" else "failed",
        "reason": fault,
    }


_TIMED = {*FIGURES, "events", "counters"}


def _fault(outcome: Mapping[str, Any], judge: Row) -> str | None:
    who = judge["matcher"]
    if judge["status"] != "measured":
        return f"{who}, the reference, gave no results: {judge['reason']}"
    wanted = json.loads(judge["counts"])
    for number, (count, right) in enumerate(zip(outcome["counts"], wanted, strict=True), 1):
        if count != right:
            return f"event {number}: {count} matches, but {who} finds {right}"
    if outcome["digest"] != judge["digest"]:
        return f"as many matches as {who}, but different ones"
    return None
