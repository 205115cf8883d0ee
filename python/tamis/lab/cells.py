"""One measurement: a matcher on a workload, and the metrics derived from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Effort:
    """The extent of a measurement, and its limits.

    Attributes:
        events: The number of events to match.
        sample: The number of events whose matches are compared.
        repetitions: The maximum number of repetitions; the fastest counts.
        seconds: No repetition starts after this time.
        time_limit: Seconds for everything, including building.
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
    """One measurement, made in its own process.

    Attributes:
        workload: Its name.
        parameters: The parameters of the workload, including the seed.
        matcher: Its name, or `module:factory` for an external one.
        options: The options of the matcher.
        effort: The extent of the measurement.
    """

    workload: str
    parameters: dict[str, Any]
    matcher: str
    options: dict[str, Any]
    effort: Effort

    @property
    def spec(self) -> dict[str, Any]:
        """The specification that the native module takes."""
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
        """The identity of the measurement; figures with the same cell share its record."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A number computed from a record.

    Attributes:
        of: A column, or a name within one: `best_us`, `counters.entries`, `statistics.sharing`.
        label: The label of the axis.
        minus: Columns to subtract.
        per: The column to divide by.
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
        if isinstance(value, dict):  # a statistic, with its requested value
            value = value.get("measured")
    return value
