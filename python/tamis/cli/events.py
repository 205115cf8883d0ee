"""Reads events from files: lines of JSON, rows of CSV and Parquet, XML documents.

Events are written back as JSON: a line as it is in its file, a row as an object.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from tamis.cli.formats import format_of
from tamis.cli.items import read_parquet
from tamis.cli.output import INVALID, CommandError, encode
from tamis.cli.progress import progress
from tamis.cli.reading import Rows, Source, enumerate_lines, is_standard_input, read_standard_input
from tamis.loading import PLAIN

EventFormat = Literal["jsonl", "csv", "parquet", "xml"]

_AT_ONCE = 1000  # rows that are matched together
_DOCUMENTS_AT_ONCE = 32
_BLANK_LINE = re.compile(rb"(?:\A|\n)[ \t\r\f]*\n|(?:\A|\n)[ \t\r\f]+\Z")


@dataclass(slots=True)
class Batch:
    """Events that are processed together.

    Attributes:
        name: The name of the file in messages.
        key: The kind of `places`: `line`, `row` or `file`.
        places: The number of the line or row of every event, from 1, or the name of its file.
        events: The events, for the batch methods of an index.
        documents: The document of every event, if events are documents.
        broken: The errors of rows that could not be read, by position.
    """

    name: str
    key: str
    places: Sequence[int | str]
    events: bytes | list[str] | list[dict[str, Any]]
    documents: list[Path | bytes] | None = None
    broken: dict[int, str] = field(default_factory=dict)

    def where(self, position: int) -> str:
        """The place of an event, for messages."""
        place = self.places[position]
        if self.key == "file":
            return str(place)
        return f"{self.name}:{place}" if self.key == "line" else f"{self.name}, row {place}"

    def each(self) -> Iterator[bytes | str | dict[str, Any]]:
        """The events one by one."""
        if isinstance(self.events, bytes):
            yield from (line for _, line in enumerate_lines(1, self.events))
        else:
            yield from self.events

    def texts(self) -> list[str]:
        """The JSON of every event."""
        if isinstance(self.events, bytes):
            lines = enumerate_lines(1, self.events)
            # A line that is not UTF-8 is refused, so its text is never written.
            return [line.strip().decode(errors="replace") for _, line in lines]
        return [
            event if isinstance(event, str) else encode(_finite(event)) for event in self.events
        ]


def read_batches(
    path: Path, format: EventFormat | None, text: Sequence[str], doing: str, *, writes: bool
) -> Iterator[Batch]:
    """The events of a file.

    Args:
        path: The file, or `-`, or a folder of XML documents.
        format: Its format; by default the one its name implies, or JSON lines.
        text: The columns of a CSV file to read as text.
        doing: The text of the progress bar.
        writes: Whether results are written at the same time.

    Raises:
        CommandError: The file cannot be read, or has another format.
    """
    named = format_of(path)
    format = format or (named if named in ("csv", "parquet", "xml") else "jsonl")
    if format == "parquet":
        yield from _read_parquet(path)
    elif format == "xml":
        yield from _read_documents(path)
    else:
        with Source(path) as source, progress(source, doing, writes=writes) as show:
            for batch in _read_csv(source, text) if format == "csv" else _read_lines(source):
                yield batch
                show()


def _read_lines(source: Source) -> Iterator[Batch]:
    for first, chunk in source.chunks():
        lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        numbers: Sequence[int] = range(first, first + lines)
        if _BLANK_LINE.search(chunk):
            numbers = [number for number, _ in enumerate_lines(first, chunk)]
        yield Batch(source.name, "line", numbers, chunk)


def _read_csv(source: Source, text: Sequence[str]) -> Iterator[Batch]:
    """Read the rows of a CSV file as JSON, so that numbers have the same meaning as in JSON."""
    rows, header, keys, is_text = Rows(source), list[str](), list[str](), list[bool]()
    numbers, events, broken = list[int | str](), list[str](), dict[int, str]()
    for number, cells in rows:
        if not header:
            header = _read_header(f"{source.name}:{number}", cells, text)
            keys = [encode(name) + ": " for name in header]
            is_text = [name in text for name in header]
            continue
        if len(cells) != len(header):
            broken[len(events)] = f"the row has {len(cells)} cells, and the header {len(header)}"
            events.append("{}")
        else:
            members = [
                key + (cell if PLAIN.fullmatch(cell) and not quoted else encode(cell))
                for key, cell, quoted in zip(keys, cells, is_text, strict=True)
                if cell
            ]
            events.append("{" + ", ".join(members) + "}")
        numbers.append(number)
        if rows.is_last or len(events) == _AT_ONCE:
            yield Batch(source.name, "line", numbers, events, broken=broken)
            numbers, events, broken = [], [], {}
    if events:
        yield Batch(source.name, "line", numbers, events, broken=broken)


def _read_header(where: str, cells: list[str], text: Sequence[str]) -> list[str]:
    header = [name.strip() for name in cells]
    for name in header:
        if not name or header.count(name) > 1:
            message = f"the header has the column {encode(name)} twice"
            raise CommandError(f"{where}: {message if name else 'a column has no name'}", INVALID)
    for name in text:
        if name not in header:
            raise CommandError(f"--text: {where.rpartition(':')[0]} has no column {encode(name)}")
    return header


def _read_parquet(path: Path) -> Iterator[Batch]:
    if is_standard_input(path):
        raise CommandError("Parquet is read from a file, not from standard input")
    events, first = list[dict[str, Any]](), 1
    for row in read_parquet(path):
        events.append(row)
        if len(events) == _AT_ONCE:
            yield Batch(str(path), "row", range(first, first + _AT_ONCE), events)
            events, first = [], first + _AT_ONCE
    if events:
        yield Batch(str(path), "row", range(first, first + len(events)), events)


def _read_documents(path: Path) -> Iterator[Batch]:
    """Read one document, or all documents of a folder and its subfolders, by name."""
    events = list[dict[str, Any]]()
    if is_standard_input(path):
        events.append({})
        yield Batch("<stdin>", "file", ["<stdin>"], events, [read_standard_input()])
        return
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    if not files:
        raise CommandError(f"{path}: no file in this folder ends with .xml")
    for start in range(0, len(files), _DOCUMENTS_AT_ONCE):
        some: list[Path | bytes] = [*files[start : start + _DOCUMENTS_AT_ONCE]]
        events = [{} for _ in some]
        yield Batch(str(path), "file", [str(file) for file in some], events, some)


def _finite(value: Any) -> Any:
    """Replace floats that JSON cannot represent by null, as an index reads them."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def find_event(path: Path, format: EventFormat | None, number: int) -> str:
    """The JSON of the event on a line, or in a row, of a file.

    Raises:
        CommandError: There is no such event.
    """
    for batch in read_batches(path, format, (), "reading", writes=False):
        if batch.documents is not None:
            raise CommandError(f"{path}: an XML document has no events on its lines")
        if number in batch.places:
            position = batch.places.index(number)
            if position in batch.broken:
                message = f"{batch.where(position)}: {batch.broken[position]}"
                raise CommandError(message, INVALID)
            return batch.texts()[position]
    raise CommandError(f"{path}: there is no event on line {number}")


def pick(value: Any, names: Sequence[str]) -> dict[str, Any]:
    """The named members of an object, such as `age` or `user.country`."""
    picked = {}
    for name in names:
        found = _descend(value, name)
        if found is not _NOTHING:
            picked[name] = found
    return picked


_NOTHING = object()


def _descend(value: Any, name: str) -> Any:
    while isinstance(value, dict):
        if name in value:
            return value[name]
        first, dot, rest = name.partition(".")
        if not dot or first not in value:
            break
        value, name = value[first], rest
    return _NOTHING


def pick_from_text(text: str, names: Sequence[str]) -> str:
    """The named members of a JSON event, as JSON.

    Raises:
        ValueError: It nests too deeply, or a number has thousands of digits.
    """
    try:
        return encode(pick(json.loads(text), names))
    except RecursionError as error:
        raise ValueError("the event is nested too deeply") from error
