"""Reads the data for `tamis lab compare`: JSON lines, CSV or Parquet."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from tamis.cli.events import read_batches
from tamis.cli.formats import format_of
from tamis.cli.items import name_place, read_items
from tamis.cli.output import INVALID, CommandError
from tamis.cli.reading import Source, enumerate_lines
from tamis.cli.rules.languages import Language, read_rules, report_refused
from tamis.cli.subscriptions import read_written
from tamis.errors import TamisError

Family = Literal["expressions", "xml"]


def read_subscriptions(
    path: Path, language: Language | None = None
) -> tuple[Family, list[tuple[Any, str]]]:
    """The ids and expressions of a file; or the ids and XPath, if its first row has `xpath`."""
    if language is not None:
        read = read_rules(language, path)
        report_refused(read)
        return "expressions", [(each.id, str(each.expression)) for each in read.subscriptions]
    if format_of(path) == "parquet":
        family: Family = "xml" if _has_column(path, "xpath") else "expressions"
        column = "xpath" if family == "xml" else "expression"
        return family, [(id, text) for _, id, text in _rows(path, "id", column)]
    if format_of(path) == "csv":
        return "expressions", list(_read_items(path))
    with Source(path) as source:
        lines = source.lines()
        first = [*filter(None, [next(lines, None)])]
        all_lines = chain(first, lines)
        if first and _is_filter(first[0][1]):
            return "xml", [
                (row["id"], row["xpath"]) for _, row in _objects(source, all_lines, "id", "xpath")
            ]
        pairs = []
        for number, subscription in read_written(source, all_lines):
            try:
                pairs.append((subscription.id, str(subscription.expression())))
            except TamisError as error:
                raise CommandError(f"{source.name}:{number}: {error.message}", INVALID) from error
    return "expressions", pairs


def _read_items(path: Path) -> Iterator[tuple[Any, str]]:
    """The ids and expressions of a file that `tamis match` reads."""
    for place, item in read_items(path):
        try:
            if isinstance(item, TamisError):
                raise item
            yield item.id, str(item.expression())
        except TamisError as error:
            where = name_place(str(path), place)
            raise CommandError(f"{where}: {error.message}", INVALID) from error


def read_events(
    path: Path, family: Family, text: Sequence[str] = ()
) -> Iterator[tuple[int | str, bytes]]:
    """The events of a file, as JSON, or its documents, with their lines or rows.

    Args:
        path: The file, or `-`. Parquet has a column `event` or `document`, or one per attribute.
        family: Whether to read events or documents.
        text: The columns of a CSV file to read as text.

    Raises:
        CommandError: The file or an event in it cannot be read.
    """
    format = format_of(path)
    is_table = format == "parquet" and family == "expressions" and not _has_column(path, "event")
    if is_table or format == "csv":
        for batch in read_batches(path, None, text, "reading", writes=False):
            if batch.broken:
                position = min(batch.broken)
                message = f"{batch.where(position)}: {batch.broken[position]}"
                raise CommandError(message, INVALID)
            for place, event in zip(batch.places, batch.texts(), strict=True):
                yield place, event.encode()
        return
    if format == "parquet":
        for number, event in _rows(path, "document" if family == "xml" else "event"):
            yield number, event.encode() if isinstance(event, str) else event
        return
    with Source(path) as source:
        if family == "xml":
            for number, row in _objects(source, source.lines(), "document"):
                yield number, row["document"].encode()
            return
        for first, chunk in source.chunks():
            yield from enumerate_lines(first, chunk)


def _is_filter(line: str) -> bool:
    try:
        return "xpath" in json.loads(line)
    except (ValueError, TypeError, RecursionError):  # reported when it is read
        return False


def _objects(
    source: Source, lines: Iterator[tuple[int, str]], *keys: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read lines as JSON objects with these keys; all values except the id are texts."""
    for number, line in lines:
        where = f"{source.name}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CommandError(f"{where}: the line is not valid JSON: {error}", INVALID) from error
        if not isinstance(row, dict) or set(row) != set(keys):
            wanted = " and ".join(f"`{key}`" for key in keys)
            raise CommandError(f"{where}: a line must be a JSON object with {wanted}", INVALID)
        for key in keys:
            if key != "id" and not isinstance(row[key], str):
                raise CommandError(f"{where}: `{key}` must be a text", INVALID)
        yield number, row


def _has_column(path: Path, name: str) -> bool:
    with _open(path) as file:
        return name in file.schema_arrow.names


def _rows(path: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Rows with their numbers, from 1."""
    number = 0
    with _open(path) as file:
        if missing := [name for name in columns if name not in file.schema_arrow.names]:
            raise CommandError(f"{path}: there is no column `{missing[0]}`")
        for batch in file.iter_batches(columns=list(columns)):
            for row in zip(*(batch[name].to_pylist() for name in columns), strict=True):
                number += 1
                if None in row:
                    raise CommandError(f"{path}:{number}: a value is missing", INVALID)
                yield number, *row


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a Parquet file; errors become messages."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise CommandError("Parquet needs pyarrow: pip install 'tamis[arrow]'") from error
    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError) as error:
        raise CommandError(f"cannot read {path}: {error}") from error
