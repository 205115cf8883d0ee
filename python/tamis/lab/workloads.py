"""Writes workloads to files. The same seed gives the same bytes."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tamis._tamis import Workload

_BATCH = 1 << 14
_COLUMNS = {"subscriptions": ("id", "expression"), "events": ("number", "event")}
_XML_COLUMNS = {"subscriptions": ("id", "xpath"), "events": ("number", "document")}


def generate(
    workload: str,
    count: int,
    *,
    events: int = 1000,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    folder: str | Path,
    format: Literal["jsonl", "parquet"] = "jsonl",
) -> dict[str, Path]:
    """Write the first subscriptions and events of a workload, and `workload.json`, which names it.

    For a graph, also write all nodes and edges and the source of each event, in the format of
    `Graph.from_csv` or, with Parquet, of `Graph.from_tables`.

    Args:
        workload: Its name, such as `"fontoura"`. With `"xml"`, subscriptions are XPath and events
            are documents.
        count: The number of subscriptions.
        events: The number of events.
        seed: The seed of all random choices.
        parameters: Parameters of the workload to change, by name.
        folder: Where to write; created if it does not exist. Existing files are replaced.
        format: JSON lines, for the commands, or Parquet, for Spark.

    Returns:
        The files by content: `subscriptions`, `events`, `workload`; for a graph also `nodes`,
        `edges` and `sources`.

    Raises:
        ValueError: The workload or a parameter is unknown, or a value is out of bounds.
        ModuleNotFoundError: pyarrow, which writes Parquet, is not installed.
    """
    for name, number in (("count", count), ("events", events)):
        if not 0 <= number < 1 << 32:
            raise ValueError(f"{name} must be from 0 to {(1 << 32) - 1}, not {number}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be from 0 to {(1 << 64) - 1}, not {seed}")
    given = dict(parameters or {})
    if "seed" in given or "size" in given:
        raise ValueError("the seed and the number of subscriptions are not parameters here")
    source = Workload(workload, size=count, seed=seed, parameters=json.dumps(given))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {kind: folder / f"{kind}.{format}" for kind in ("subscriptions", "events")}
    columns = _XML_COLUMNS if source.family == "xml" else _COLUMNS
    if format == "parquet":
        _write_parquet(files["subscriptions"], columns["subscriptions"], source.expressions, count)
        _write_parquet(files["events"], columns["events"], source.events, events)
    else:
        texts = _texts(source.expression_texts, count)
        key = columns["subscriptions"][1]
        _write_lines(files["subscriptions"], (_json({"id": n, key: text}) for n, text in texts))
        texts, key = _texts(source.event_texts, events), columns["events"][1]
        bare = source.family != "xml"  # an event is JSON already
        _write_lines(files["events"], (text if bare else _json({key: text}) for _, text in texts))
    if source.family == "graph":
        files |= _write_graph(folder, format, source, events)
    description = {
        "workload": workload,
        "subscriptions": count,
        "events": events,
        "seed": seed,
        "parameters": given,
        "missing": source.missing,
    }
    files["workload"] = folder / "workload.json"
    files["workload"].write_text(json.dumps(description) + "\n", encoding="utf-8")
    return files


def statistics(
    workload: str,
    count: int,
    *,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The requested statistics of a workload next to the measured ones.

    Args:
        workload: Its name.
        count: The number of subscriptions.
        seed: The seed of all random choices.
        parameters: Parameters of the workload to change, by name.

    Returns:
        By name, the `requested` value, if known, and the `measured` one.

    Raises:
        ValueError: The workload or a parameter is unknown, or a value is out of bounds.
    """
    given = json.dumps(dict(parameters or {}))
    return Workload(workload, size=count, seed=seed, parameters=given).statistics(count)


def _texts(make: Callable[[int, int], list[str]], count: int) -> Iterator[tuple[int, str]]:
    for start in range(0, count, _BATCH):
        yield from enumerate(make(start, min(_BATCH, count - start)), start)


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def _write_graph(folder: Path, format: str, source: Workload, events: int) -> dict[str, Path]:
    tables: dict[str, tuple[tuple[str, str], Sequence[tuple[Any, Any]]]] = {
        "nodes": (("id", "expression"), source.nodes()),
        "edges": (("source", "target"), source.edges()),
        "sources": (("number", "source"), [*enumerate(source.sources(0, events))]),
    }
    suffix = "parquet" if format == "parquet" else "csv"
    files = {kind: folder / f"{kind}.{suffix}" for kind in tables}
    for kind, (columns, rows) in tables.items():
        if format == "parquet":
            from pyarrow import table
            from pyarrow.parquet import write_table

            parts = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
            write_table(table(parts), files[kind])
        else:
            with files[kind].open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return files


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_parquet(path: Path, columns: tuple[str, str], make: Any, count: int) -> None:
    from pyarrow.parquet import ParquetWriter

    first = make(0, min(_BATCH, count)).rename_columns(columns)  # an empty batch still has columns
    with ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for start in range(_BATCH, count, _BATCH):
            writer.write_batch(make(start, min(_BATCH, count - start)).rename_columns(columns))
