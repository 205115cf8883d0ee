"""What is one measurement? A matcher on a workload, and the figures that are drawn from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How much is measured, and how long it may take.

    Attributes:
        events: How many events are matched.
        sample: On how many of them the matches are compared.
        repetitions: The maximum number of repetitions; the fastest counts.
        seconds: No repetition starts after this time.
        time_limit: Seconds for everything, building included.
        memory_limit: MiB for everything.
    """

    events: int = 200
    sample: int = 10
    repetitions: int = 5
    seconds: float = 1.0
    time_limit: float = 60.0
    memory_limit: int = 6144


@dataclass(frozen=True)
class Cell:
    """One measurement to be made, in its own process.

    Attributes:
        workload: Its name.
        parameters: Of the workload, the seed among them.
        matcher: Its name, or `module:factory` for an external one.
        options: Its switches.
        effort: How much is measured.
    """

    workload: str
    parameters: dict[str, Any]
    matcher: str
    options: dict[str, Any]
    effort: Effort

    @property
    def spec(self) -> dict[str, Any]:
        """As the native module takes it."""
        effort = asdict(self.effort)
        del effort["time_limit"], effort["memory_limit"]
        return {
            "workload": self.workload,
            "parameters": self.parameters,
            "matcher": self.matcher,
            "options": self.options,
            **effort,
        }

    @property
    def key(self) -> str:
        """Cells with the same key measure the same, whichever figures use them."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A figure of a record.

    Attributes:
        of: A column, or a name within one: `best_us`, `counters.entries`, `statistics.sharing`.
        label: The label of the axis.
        minus: What is taken off it.
        per: What it is divided by.
        times: A factor, for the unit.
    """

    of: str
    label: str
    minus: tuple[str, ...] = ()
    per: str | None = None
    times: float = 1.0

    def __call__(self, row: Row) -> float | None:
        """Its value in a row; None if it was not measured."""
        parts = [_look(row, name) for name in (self.of, *self.minus)]
        per = 1.0 if self.per is None else _look(row, self.per)
        if None in parts or not per:
            return None
        first, *others = (float(part) for part in parts if part is not None)
        return (first - sum(others)) / per * self.times


KNOWN = {
    "time": Metric("best_us", "microseconds per event"),
    "median": Metric("median_us", "median microseconds"),
    "p99": Metric("p99_us", "99th percentile, microseconds"),
    "first": Metric("first_us", "microseconds to the first result"),
    "memory": Metric("bytes", "MB", times=1e-6),
    "build": Metric("build_seconds", "seconds to build"),
    "matches": Metric("matches", "matches per event"),
    "probability": Metric("matches", "probability of a match", per="parameters.size"),
}


def _look(row: Row, name: str) -> float | None:
    column, _, inner = name.partition(".")
    value = row.get(column)
    if inner and value is not None:
        value = json.loads(value).get(inner)
        if isinstance(value, dict):  # a statistic, beside what was asked for
            value = value.get("measured")
    return value
