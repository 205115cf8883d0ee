"""The records of one experiment, put where it asks for them."""

from dataclasses import dataclass
from typing import Any

from tamis.lab.experiment import Experiment, Series
from tamis.lab.metrics import Metric
from tamis.lab.records import Records, Row


@dataclass(frozen=True)
class Results:
    """What was measured for an experiment at a scale.

    Attributes:
        experiment: What was asked.
        scale: `full` or `small`.
        values: Those of the varied parameter; one None where nothing varies.
        rows: By the names of series and the positions of values; not all need be there.
        records: All of them by key, those of judges included.
    """

    experiment: Experiment
    scale: str
    values: tuple[Any, ...]
    rows: dict[tuple[str, int], Row]
    records: dict[str, Row]

    def figure(self, series: Series, value: int, metric: Metric) -> float | None:
        """A figure, where it was measured."""
        row = self.rows.get((series.name, value))
        return metric(row) if row is not None and row["status"] == "measured" else None

    def text(self, series: Series, value: int, metric: Metric) -> str:
        """A figure as it is written; where there is none, what became of the cell."""
        row = self.rows.get((series.name, value))
        if row is None or row["status"] == "measured":
            return number(self.figure(series, value, metric))
        return str(row["status"])

    def line(self, series: Series, metric: Metric) -> list[float | None]:
        """The figures of a series, by value."""
        return [self.figure(series, value, metric) for value in range(len(self.values))]

    @property
    def varied(self) -> str:
        """The parameter that varies, empty where none does."""
        return (self.experiment.plans[self.scale].varied or "").replace("_", " ")

    def name(self, value: int) -> str:
        """How a value is written."""
        return name(self.values[value])

    @property
    def notes(self) -> list[str]:
        """What is absent, and why."""
        found = dict[str, list[str]]()
        for series in self.experiment.series:
            for value in range(len(self.values)):
                row = self.rows.get((series.name, value))
                if row is None:
                    why = "not measured yet"
                elif row["status"] != "measured":
                    why = f"{row['status']}: {row['reason']}"
                else:
                    continue
                found.setdefault(f"{series.label}, {why}", []).append(self.name(value))
        return [
            f"{what} (at {self.varied} {', '.join(values)})" if self.varied else what
            for what, values in found.items()
        ]


def collect(experiment: Experiment, records: Records, scale: str, seed: int) -> Results:
    """The latest records of an experiment's cells."""
    rows, used = dict[tuple[str, int], Row](), dict[str, Row]()
    plan = experiment.plans[scale]
    for series, place, cell, judge in experiment.cells(scale, seed):
        for each in (judge, cell):
            if (row := records.latest(each.key)) is not None:
                used[each.key] = row
        if cell.key in used:
            rows[series.name, place] = used[cell.key]
    return Results(experiment, scale, plan.values, rows, used)


def name(value: Any) -> str:
    """How a value of a parameter is written: 100,000; 0.25; 1 to 3; all, where nothing varies."""
    if value is None:
        return "all"
    if isinstance(value, list):
        return name(value[0]) if len(set(value)) == 1 else " to ".join(map(name, value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(value)


def number(value: float | None) -> str:
    """A figure with three digits, or all that stand before the point; a hyphen for none."""
    if value is None:
        return "-"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return "0" if value == 0 else f"{value:,.{digits}f}" if size >= 0.01 else f"{value:.2g}"
