r"""How do subscriptions come in from tables and CSV files?

>>> import io, tamis
>>> file = io.StringIO("id,expression,priority\nadult,age >= 18,1\nwrong,age >=,\n")
>>> index, loaded = tamis.Index.from_csv(file, on_error="collect")
>>> loaded.added, [(refused.line, refused.id) for refused in loaded.refused]
(1, [(3, 'wrong')])
"""

import csv
import json
import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

from tamis._tamis import Index
from tamis.batches import Loaded, OnError
from tamis.errors import SubscriptionError, TamisError

Progress: TypeAlias = bool | Callable[[int, int], object]
"""Whether to draw a bar; or a function that takes the number done and the total."""

METADATA = "metadata."
"""How the names of columns begin that hold a member of the metadata."""

PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false")
"""The cells of CSV files that are numbers or booleans, as JSON writes them; others are text."""

_JSON = ("metadata", "weights")
COLUMNS: tuple[str, ...] = (
    "id",
    "expression",
    *_JSON,
    "boost",
    "priority",
    "active_from",
    "active_until",
)


def as_table(table: Any) -> Any:
    """A table whose columns `metadata` and `weights` hold JSON.

    Columns of structs, maps or lists become JSON, which needs pyarrow.

    Args:
        table: Anything with the Arrow C interface.
    """
    if not hasattr(table, "__arrow_c_stream__"):
        return table
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return table
    # Getting a schema is cheap; a stream can be read only once, so it is not requested twice.
    read = pa.RecordBatchReader.from_stream(table)
    nested = [
        name
        for name in _JSON
        if name in read.schema.names and pa.types.is_nested(read.schema.field(name).type)
    ]
    if not nested:
        return read
    whole = read.read_all()
    for name in nested:
        position = whole.schema.get_field_index(name)
        values = whole.column(position).to_pylist()
        texts = [None if value is None else json.dumps(plain(value)) for value in values]
        whole = whole.set_column(position, name, pa.array(texts, pa.string()))
    return whole


def plain(value: Any) -> Any:
    """An Arrow value as JSON: maps become pairs, and nulls in structs are left out."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return {str(key): plain(item) for key, item in value}
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def from_table(
    table: Any, on_error: OnError, progress: Progress | None, options: dict[str, Any] | None
) -> Index | tuple[Index, Loaded]:
    """The implementation of `Index.from_table`."""
    index = Index(**(options or {}))
    loaded = index.add_table(table, on_error=on_error, progress=progress)
    return index if loaded is None else (index, loaded)


def from_csv(
    path: str | PathLike[str] | TextIO,
    ids: Literal["string", "integer"],
    delimiter: str,
    encoding: str,
    on_error: OnError,
    progress: Progress | None,
    options: dict[str, Any] | None,
) -> Index | tuple[Index, Loaded]:
    """The implementation of `Index.from_csv`."""
    if ids not in ("string", "integer"):
        raise ValueError(f'ids is "string" or "integer", not {ids!r}')
    index = Index(**(options or {}))
    lines = array("q")
    with ExitStack() as opened:
        if isinstance(path, (str, PathLike)):
            file: TextIO = opened.enter_context(Path(path).open(encoding=encoding, newline=""))
        else:
            file = path
        rows: Any = _rows(csv.reader(file, delimiter=delimiter, strict=True), ids, lines)
        try:
            loaded: Loaded | None = index.add_many(rows, on_error=on_error, progress=progress)
        except TamisError as error:
            if error.item is not None and error.item < len(lines):
                error.subject = f"line {lines[error.item]}, {error.subject}"
            raise
    if loaded is None:
        return index
    refused = [replace(item, line=lines[item.row]) for item in loaded.refused]
    return index, loaded._replace(refused=refused)


def _rows(
    reader: Any, ids: str, lines: "array[int]"
) -> Iterator[dict[str, Any] | SubscriptionError]:
    """The arguments of `Index.add` for every row, or its error."""
    try:
        header = read_header(next(reader, []))
        number = reader.line_num + 1
        first: dict[Any, int] = {}
        for cells in reader:
            if cells:  # else the line is blank
                lines.append(number)
                read = read_cells(header, cells, ids)
                if not isinstance(read, SubscriptionError):
                    earlier = first.setdefault(read["id"], number)
                    if earlier != number:
                        read = SubscriptionError(
                            f"the id {read['id']!r} is already on line {earlier}"
                        )
                yield read
            number = reader.line_num + 1
    except csv.Error as error:
        raise SubscriptionError(f"line {reader.line_num} is not valid CSV: {error}") from error


def read_header(cells: list[str], renamed: Mapping[str, str] | None = None) -> list[str]:
    """The names of the columns in the first line of a CSV file.

    Args:
        cells: The cells of that line.
        renamed: By the name of a column in the file, what it holds: another column, or
            `metadata.NAME`.

    Raises:
        SubscriptionError: A column is missing, unknown or repeated.
    """
    written = [name.strip() for name in cells]
    header = [(renamed or {}).get(name, name) for name in written]
    for name in renamed or ():
        if name not in written:
            raise SubscriptionError(f"the file has no column `{name}`, but {_quoted(written)}")
    if len(written) == 1 and (separator := next((c for c in ";\t|" if c in written[0]), None)):
        shown = "a tab" if separator == "\t" else f"`{separator}`"
        raise SubscriptionError(
            f"the columns are separated by {shown}, not by commas; "
            "`Index.from_csv` takes such files with `delimiter`"
        )
    for name in ("id", "expression"):
        if name not in header:
            raise SubscriptionError(
                f"the file has no column `{name}` in its first line, which has "
                f"{_quoted(written)}; on the command line, `--columns {name}=COLUMN` says which "
                "column it is"
            )
    for name in header:
        if header.count(name) > 1:
            raise SubscriptionError(f"the file has the column `{name}` twice")
    unknown = [name for name in header if name not in COLUMNS and not _is_member(name)]
    if unknown:
        columns = "an unknown column" if len(unknown) == 1 else "unknown columns"
        raise SubscriptionError(
            f"the file has {columns}: {_quoted(unknown)}; known are {', '.join(COLUMNS)}. A "
            f"column named `{METADATA}{unknown[0][:40]}` becomes a member of the metadata; on the "
            f"command line, `--metadata {unknown[0][:40]}` reads it so, and `--columns` names "
            "columns"
        )
    return header


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name[:40]}`" for name in names[:20]) or "nothing"


def _is_member(name: str) -> bool:
    """Whether a column holds a member of the metadata."""
    return name.startswith(METADATA) and name != METADATA


def add_members(given: dict[str, Any]) -> None:
    """Put the columns `metadata.NAME` of a row into its metadata.

    Args:
        given: The row; changed in place.

    Raises:
        ValueError: The metadata is no object.
    """
    members = {name: given.pop(name) for name in [*given] if _is_member(name)}
    if not members:
        return
    metadata = given.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise ValueError("the column `metadata` holds no object that other columns could join")
    given["metadata"] = metadata | {name[len(METADATA) :]: each for name, each in members.items()}


def read_cells(
    header: list[str], cells: list[str], ids: str = "string"
) -> dict[str, Any] | SubscriptionError:
    """The arguments of `Index.add` for a row of a CSV file, or its error.

    Args:
        header: The names of the columns.
        cells: The cells of the row.
        ids: Whether ids are strings or integers.
    """
    if len(cells) != len(header):
        return SubscriptionError(f"the row has {len(cells)} cells, and the header {len(header)}")
    given: dict[str, Any] = {
        name: cell for name, cell in zip(header, cells, strict=True) if cell or name == "expression"
    }
    if "id" not in given:
        return SubscriptionError("the id is empty; every subscription needs one")
    try:
        for name in _JSON:
            if name in given:
                given[name] = read_json(name, given[name])
        for name in [*given]:
            if _is_member(name) and PLAIN.fullmatch(given[name]):
                given[name] = json.loads(given[name])
        add_members(given)
        if "boost" in given:
            given["boost"] = _number("boost", given["boost"], float)
        if "priority" in given:
            given["priority"] = _number("priority", given["priority"], int)
        if ids == "integer":
            given["id"] = _number("id", given["id"], int)
    except (ValueError, RecursionError) as error:
        return SubscriptionError(f"id {json.dumps(given['id'], ensure_ascii=False)}: {error}")
    return given


def _number(name: str, cell: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(cell)
    except ValueError as error:
        noun = "an integer" if kind is int else "a number"
        shown = cell if len(cell) <= 40 else cell[:40] + "..."
        raise ValueError(f"the column `{name}` holds {noun}, not {shown!r}") from error


def read_json(name: str, text: str) -> Any:
    """The JSON of a cell in the column of that name.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        reason = f"{line}column {error.colno}: {error.msg.lower()}"
        raise ValueError(f"the column `{name}` holds JSON: {reason}") from error
    except ValueError as error:  # thousands of digits
        raise ValueError(f"the column `{name}` holds JSON: {error}") from error
