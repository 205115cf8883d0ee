"""Reads subscriptions from files of any format."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tamis.cli.formats import Format, format_of, import_parquet
from tamis.cli.output import INVALID, CommandError
from tamis.cli.progress import progress
from tamis.cli.reading import Rows, Source
from tamis.cli.subscriptions import WrittenSubscription, WrittenSubscriptions
from tamis.errors import SubscriptionError, TamisError
from tamis.loading import METADATA, add_members, plain, read_cells, read_header, read_json

Place = dict[str, int]
"""The place of a subscription: `line`, or `row` in a format without lines, from 1."""

Item = tuple[Place, WrittenSubscription | TamisError]


def read_items(
    path: Path, format: Format | None = None, renamed: Mapping[str, str] | None = None
) -> Iterator[Item]:
    """The subscriptions of a file, or their errors, with their places.

    Args:
        path: The file, or `-`.
        format: Its format; by default the one its name implies, or JSON lines.
        renamed: The names of a table's columns, mapped to the arguments that they hold.

    Raises:
        CommandError: The file cannot be read, or has another format.
    """
    format = format or format_of(path) or "jsonl"
    if format == "parquet":
        return _read_parquet(path, renamed or {})
    if format not in ("csv", "jsonl"):
        raise CommandError(f"subscriptions are JSON lines, CSV or Parquet, not {format}: {path}")
    if format == "csv":
        return _read_text(path, partial(_read_rows, renamed=renamed))
    refuse_renamed(path, renamed)
    return _read_text(path, _read_lines)


def refuse_renamed(path: Path, renamed: Mapping[str, str] | None) -> None:
    """Fail if columns are given for a file that is not a table.

    Raises:
        CommandError: Columns are given.
    """
    if renamed:
        raise CommandError(f"--columns and --metadata are for CSV and Parquet, not for {path}")


def name_place(name: str, place: Place) -> str:
    """The place of a subscription in a file, for messages."""
    if "row" in place:
        return f"{name}, row {place['row']}"
    return f"{name}:{place['line']}"


def _read_text(path: Path, read: Callable[[Source], Iterator[Item]]) -> Iterator[Item]:
    with Source(path) as source, progress(source, "reading", writes=False) as show:
        for count, item in enumerate(read(source)):
            if count % 1000 == 0:
                show()
            yield item


def _read_lines(source: Source) -> Iterator[Item]:
    subscriptions = WrittenSubscriptions()
    for number, line in source.lines():
        try:
            yield {"line": number}, subscriptions.read(number, line)
        except TamisError as error:
            yield {"line": number}, error


def _read_rows(source: Source, renamed: Mapping[str, str] | None) -> Iterator[Item]:
    subscriptions, header = WrittenSubscriptions(), None
    for number, cells in Rows(source):
        if header is None:
            try:
                header = read_header(cells, renamed)
            except SubscriptionError as error:
                raise CommandError(f"{source.name}:{number}: {error}", INVALID) from error
            continue
        read = read_cells(header, cells)
        if isinstance(read, TamisError):
            yield {"line": number}, read
            continue
        try:
            yield {"line": number}, subscriptions.note(number, WrittenSubscription.from_row(read))
        except TamisError as error:
            yield {"line": number}, error


def _read_parquet(path: Path, renamed: Mapping[str, str]) -> Iterator[Item]:
    subscriptions = WrittenSubscriptions()
    for number, written in enumerate(read_parquet(path), 1):
        if number == 1 and (absent := [name for name in renamed if name not in written]):
            raise CommandError(f"{path} has no column `{absent[0]}`", INVALID)
        row = {renamed.get(name, name): value for name, value in written.items()}
        try:
            subscription = WrittenSubscription.from_row(_from_parquet(row))
            yield {"row": number}, subscriptions.note(number, subscription, "in row")
        except TamisError as error:
            yield {"row": number}, error


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file.

    Raises:
        CommandError: It cannot be read.
    """
    parquet = import_parquet()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                yield from batch.to_pylist()
    except (OSError, ValueError, NotImplementedError) as error:  # raised by Arrow
        raise CommandError(f"cannot read {path}: {error}") from error


def _from_parquet(row: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Index.add` in a row; nulls and other columns are left out."""
    wanted = ("metadata", "weights", "boost", "priority", "active_from", "active_until")
    given = {name: row[name] for name in wanted if row.get(name) is not None}
    for name in ("id", "expression"):
        if row.get(name) is None:
            raise SubscriptionError(f"a subscription needs a value in the column `{name}`")
        given[name] = row[name]
    if not isinstance(given["expression"], str):
        raise SubscriptionError("the column `expression` holds text, or the JSON form as text")
    try:
        for name in ("metadata", "weights"):
            if isinstance(given.get(name), str):
                given[name] = read_json(name, given[name])
            elif name in given:
                given[name] = plain(given[name])
        given |= {
            name: plain(value)
            for name, value in row.items()
            if name.startswith(METADATA) and value is not None
        }
        add_members(given)
    except ValueError as error:
        raise SubscriptionError(str(error)) from error
    except RecursionError as error:
        raise SubscriptionError(f"the column `{name}` holds JSON: {error}") from error
    return given
