"""A workload as files: the same bytes from the same seed, on every machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from tamis._tamis import Workload

_BATCH = 1 << 14
_COLUMNS = {"subscriptions": ("id", "expression"), "events": ("number", "event")}


def generate(
    workload: str,
    count: int,
    *,
    events: int = 1000,
    seed: int = 0,
    folder: str | Path,
    format: Literal["jsonl", "parquet"] = "jsonl",
) -> dict[str, Path]:
    """Write the first subscriptions and events of a workload, and `workload.json`, which names it.

    Args:
        workload: Its name, such as `"fontoura"`.
        count: How many subscriptions.
        events: How many events.
        seed: Decides everything that chance decides.
        folder: Where to write; made if it is not there, and files of these names are replaced.
        format: JSON lines, as the commands take them, or Parquet, as Spark does.

    Returns:
        The files by what they hold: `subscriptions`, `events` and `workload`.

    Raises:
        ValueError: There is no such workload.
        ModuleNotFoundError: pyarrow, in which workloads arrive, is not installed.
    """
    for name, number in (("count", count), ("events", events)):
        if not 0 <= number < 1 << 32:
            raise ValueError(f"{name} is from 0 to {(1 << 32) - 1}, not {number}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed is from 0 to {(1 << 64) - 1}, not {seed}")
    source = Workload(workload, size=count, seed=seed)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {kind: folder / f"{kind}.{format}" for kind in _COLUMNS}
    write = _write_lines if format == "jsonl" else _write_parquet
    write(files["subscriptions"], "subscriptions", _batches(source.expressions, count))
    write(files["events"], "events", _batches(source.events, events))
    description = {
        "workload": workload,
        "subscriptions": count,
        "events": events,
        "seed": seed,
        "missing": source.missing,
    }
    files["workload"] = folder / "workload.json"
    files["workload"].write_text(json.dumps(description) + "\n", encoding="utf-8")
    return files


def _batches(make: Any, count: int) -> Iterator[Any]:
    for start in range(0, count, _BATCH) or (0,):  # an empty batch still has columns
        yield make(start, min(_BATCH, count - start))


def _write_lines(path: Path, kind: str, batches: Iterator[Any]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in batches:
            numbers, texts = (column.to_pylist() for column in batch.columns)
            if kind == "events":
                file.writelines(f"{text}\n" for text in texts)
                continue
            for number, text in zip(numbers, texts, strict=True):
                line = json.dumps({"id": number, "expression": text}, ensure_ascii=False)
                file.write(f"{line}\n")


def _write_parquet(path: Path, kind: str, batches: Iterator[Any]) -> None:
    from pyarrow.parquet import ParquetWriter

    first = next(batches).rename_columns(_COLUMNS[kind])
    with ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch.rename_columns(_COLUMNS[kind]))
