"""Stores measurements: one Parquet file per machine and day, with one row per cell."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import tamis._tamis
from tamis._tamis import __version__
from tamis.lab.cells import Cell, Metric
from tamis.lab.comparison import Comparison
from tamis.lab.experiments import Experiment, Series


def record(comparison: Comparison, folder: str | Path) -> Path:
    """Write a comparison to a file named after the time, with one row per matcher.

    Args:
        comparison: The comparison to write.
        folder: Where to write; created if it does not exist.

    Returns:
        The file: Parquet, or JSON lines if pyarrow is not installed.
    """
    now = datetime.now(UTC)
    common = {"recorded": now.isoformat(), **machine(), **comparison.settings}
    common["recommended"] = comparison.recommended
    rows = [{**common, **asdict(each)} for each in comparison.measurements]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / now.strftime("%Y-%m-%dT%H%M%S.%fZ")
    try:
        from pyarrow import Table
        from pyarrow.parquet import write_table
    except ModuleNotFoundError:
        path = path.with_name(f"{path.name}.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    path = path.with_name(f"{path.name}.parquet")
    write_table(Table.from_pylist(rows), path)
    return path


def machine() -> dict[str, Any]:
    """The versions and the machine, on which figures depend besides the code."""
    return {
        "tamis": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


Row = Mapping[str, Any]

FOLDER = Path("benchmarks/record")
FIGURES = {
    "build_seconds": "double",
    "bytes": "int64",
    "best_us": "double",
    "median_us": "double",
    "p99_us": "double",
    "first_us": "double",
    "events_per_second": "double",
    "matches": "double",
    "timed": "int64",
}
_TEXTS = (
    *("recorded", "tamis", "engine", "python", "system", "cpu", "experiment", "scale", "key"),
    *("workload", "parameters", "matcher", "options", "effort", "status", "reason"),
    *("counts", "digest", "counters", "statistics"),
)
_COLUMNS = {
    **dict.fromkeys(_TEXTS, "string"),
    **dict.fromkeys(("cores", "seed"), "int64"),
    **FIGURES,
    "seconds": "double",
}


class Records:
    """The records of one machine.

    Args:
        folder: The folder of the records; created with the first record.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows = dict[str, list[Row]]()
        for path in sorted(folder.glob("*.parquet")):
            for row in _read(path):
                self._rows.setdefault(row["key"], []).append(row)

    def latest(self, key: str, engine: str | None = None) -> Row | None:
        """The latest record of a cell; if `engine` is given, of this build of the engine."""
        rows = self._rows.get(key, [])
        rows = [row for row in rows if engine in (None, row["engine"])]
        return max(rows, key=lambda row: str(row["recorded"]), default=None)

    def all(self) -> list[Row]:
        """All records."""
        return [row for rows in self._rows.values() for row in rows]

    def add(self, row: Row) -> None:
        """Add a row to the file of the day."""
        self._rows.setdefault(row["key"], []).append(row)
        path = self.folder / f"{row['recorded'][:10]}.parquet"
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(path, [*(_read(path) if path.exists() else []), row])


def describe(cell: Cell, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A row: the cell, its outcome, the machine and the versions."""
    row = {
        "recorded": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **machine(),
        "engine": engine(),
        "key": cell.key,
        "workload": cell.workload,
        "matcher": cell.matcher,
        "seed": cell.parameters.get("seed"),
        "parameters": json.dumps(cell.parameters),
        "options": json.dumps(cell.options),
        "effort": json.dumps(asdict(cell.effort)),
        **outcome,
    }
    for name in ("counts", "counters", "statistics"):
        if name in row:
            row[name] = json.dumps(row[name])
    if row.get("best_us"):
        row["events_per_second"] = 1e6 / row["best_us"]
    row["timed"] = row.pop("events", None)
    return {name: row.get(name) for name in _COLUMNS}


def here() -> str:
    """The name of this machine's folder: its CPU and number of cores."""
    about = machine()
    words = re.findall(r"[a-z0-9]+", str(about["cpu"]).lower())
    return "-".join([*words, str(about["cores"]), "cores"])


@cache
def engine() -> str:
    """A hash of the native module, which identifies its build."""
    content = Path(str(tamis._tamis.__file__)).read_bytes()
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def _read(path: Path) -> list[Row]:
    from pyarrow.parquet import read_table

    return list(read_table(path, schema=_schema()).to_pylist())


def _write(path: Path, rows: Iterable[Row]) -> None:
    """Replace the file atomically, so that an interrupted run leaves no partial file."""
    from pyarrow import Table
    from pyarrow.parquet import write_table

    new = path.with_suffix(f".{os.getpid()}.new")
    write_table(Table.from_pylist(list(rows), schema=_schema()), new, compression="zstd")
    new.replace(path)


def _schema() -> Any:
    import pyarrow

    return pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in _COLUMNS.items()])


@dataclass(frozen=True)
class Results:
    """The measurements of an experiment at one scale.

    Attributes:
        experiment: The experiment.
        scale: `full` or `small`.
        values: The values of the varied parameter; a single None if nothing varies.
        rows: The records by series name and value position; some may be missing.
        records: All records by key, including those of judges.
    """

    experiment: Experiment
    scale: str
    values: tuple[Any, ...]
    rows: dict[tuple[str, int], Row]
    records: dict[str, Row]

    def figure(self, series: Series, value: int, metric: Metric) -> float | None:
        """A figure, if it was measured."""
        row = self.rows.get((series.name, value))
        return metric(row) if row is not None and row["status"] == "measured" else None

    def text(self, series: Series, value: int, metric: Metric) -> str:
        """A figure as printed; if there is none, the status of the cell."""
        row = self.rows.get((series.name, value))
        if row is None or row["status"] == "measured":
            return number(self.figure(series, value, metric))
        return str(row["status"])

    def line(self, series: Series, metric: Metric) -> list[float | None]:
        """The figures of a series, by value."""
        return [self.figure(series, value, metric) for value in range(len(self.values))]

    @property
    def varied(self) -> str:
        """The parameter that varies, empty if none does."""
        return (self.experiment.plans[self.scale].varied or "").replace("_", " ")

    def name(self, value: int) -> str:
        """A value as printed."""
        return name(self.values[value])

    @property
    def notes(self) -> list[str]:
        """Which figures are missing, and why."""
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
    """A parameter value as printed: 100,000; 0.25; 1 to 3; all, if nothing varies."""
    if value is None:
        return "all"
    if isinstance(value, list):
        return name(value[0]) if len(set(value)) == 1 else " to ".join(map(name, value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(value)


def number(value: float | None) -> str:
    """A figure with three digits, or all digits before the point; a hyphen for none."""
    if value is None:
        return "-"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return "0" if value == 0 else f"{value:,.{digits}f}" if size >= 0.01 else f"{value:.2g}"
