"""What was measured, and where it is kept: a Parquet file per machine and day, a row per cell."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import tamis._tamis
from tamis.lab.cells import Cell
from tamis.lab.recording import machine

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
        folder: Where they are; a new machine's is made with the first record.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows = dict[str, list[Row]]()
        for path in sorted(folder.glob("*.parquet")):
            for row in _read(path):
                self._rows.setdefault(row["key"], []).append(row)

    def latest(self, key: str, engine: str | None = None) -> Row | None:
        """The last record of a cell; of this build of the engine where one is given."""
        rows = self._rows.get(key, [])
        rows = [row for row in rows if engine in (None, row["engine"])]
        return max(rows, key=lambda row: str(row["recorded"]), default=None)

    def add(self, row: Row) -> None:
        """Keep a row in the file of the day."""
        self._rows.setdefault(row["key"], []).append(row)
        path = self.folder / f"{row['recorded'][:10]}.parquet"
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(path, [*(_read(path) if path.exists() else []), row])


def describe(cell: Cell, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A row: the cell, what came of it, the machine and the versions."""
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
    """The name of this machine's folder: its CPU and how many cores it has."""
    about = machine()
    words = re.findall(r"[a-z0-9]+", str(about["cpu"]).lower())
    return "-".join([*words, str(about["cores"]), "cores"])


@cache
def engine() -> str:
    """Which build of the native module is at work, by its content."""
    content = Path(str(tamis._tamis.__file__)).read_bytes()
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def _read(path: Path) -> list[Row]:
    from pyarrow.parquet import read_table

    return list(read_table(path, schema=_schema()).to_pylist())


def _write(path: Path, rows: Iterable[Row]) -> None:
    """Replaces the file at once, lest an interrupted run leaves half of one."""
    from pyarrow import Table
    from pyarrow.parquet import write_table

    new = path.with_suffix(f".{os.getpid()}.new")
    write_table(Table.from_pylist(list(rows), schema=_schema()), new, compression="zstd")
    new.replace(path)


def _schema() -> Any:
    import pyarrow

    return pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in _COLUMNS.items()])
