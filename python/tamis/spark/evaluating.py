"""Evaluates the SQL functions for a batch of events, on the workers.

A function gets the arrays of one batch: the events, the name or path of an index for each, and its
other arguments. Almost always all but the events are constant; otherwise, rows with the same
arguments are answered together.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

from tamis._tamis import Index
from tamis.batches import on_one_line
from tamis.errors import EventError, StorageError, UnknownIdError
from tamis.spark.asking import ask
from tamis.spark.values import is_binary, moment_of, to_python
from tamis.spark.worker import freeze, ignore_metadata_warnings
from tamis.storage import manifest as manifests
from tamis.storage.cache import open_index
from tamis.storage.folder import Folder

Function = Literal["match", "top", "first", "explain", "error"]
ARGUMENTS: dict[Function, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "match": (("event", "index"), ("now", "where")),
    "top": (("event", "index", "n"), ("now", "where")),
    "first": (("event", "index"), ("now", "where")),
    "explain": (("event", "index", "id"), ("now",)),
    "error": (("event", "index"), ("now",)),
}
"""The arguments of the functions: first the required ones, then the optional ones."""

NOT_AN_EVENT = (
    "the event is of the type {}; it must be a struct, such as struct(*) of the whole row, a map, "
    "a variant, or JSON as string or binary"
)

_EVENT = "event"


class Pinned(NamedTuple):
    """The driver's decisions for all tasks.

    Attributes:
        names: For every name of an index, its folder and the key of its manifest.
        ids: The type of the returned ids: `string` or `bigint`.
        now: The value of `now()`, unless a query sets another.
    """

    names: Mapping[str, tuple[str, str]]
    ids: str
    now: datetime | None


@dataclass(frozen=True)
class Query:
    """The arguments that rows must share to be answered together."""

    index: str
    n: int | None = None
    where: str | None = None
    now: datetime | None = None


def call(
    function: Function,
    pinned: Pinned,
    constants: Mapping[str, Any],
    /,
    *arguments: pa.Array,
    **named: pa.Array,
) -> pa.Array:
    """The result of a function for each row of a batch.

    Args:
        function: Its name, without the prefix.
        pinned: The driver's decisions.
        constants: Arguments that are the same for all rows, by their names.
        arguments: An array for each other argument.
        named: Further arguments by their names.
    """
    required, optional = ARGUMENTS[function]
    names = (*required, *optional)
    given = {**constants, **dict(zip(names, arguments, strict=False)), **named}
    if len(arguments) > len(names) or not set(required) <= set(given) <= set(names):
        raise TypeError(
            f"tamis_{function} takes {', '.join(required)}, and optionally {', '.join(optional)}; "
            f"it was given {len(arguments)} arguments"
            + (f" and {', '.join(named)}" if named else "")
        )
    ignore_metadata_warnings()
    event = given.pop("event")
    if not _is_event(event.type):
        raise EventError(NOT_AN_EVENT.format(event.type))
    found = _evaluate(function, pinned, event, given.pop("id", None), given)
    freeze()
    return found


def _evaluate(
    function: Function, pinned: Pinned, event: pa.Array, id: pa.Array, given: dict[str, Any]
) -> pa.Array:
    """A result for each event; null if the event is refused or there is no index.

    Args:
        function: The function's name.
        pinned: The driver's decisions.
        event: Events: structs, maps, variants, or JSON as text or bytes.
        id: For `explain`, the subscriptions.
        given: The arguments that rows must share to be answered together: arrays or constants.
    """
    data_type = _result(function, pinned.ids)
    parts, order = list[pa.Array](), list[Any]()
    for query, rows in _queries(len(event), given):
        events = event if rows is None else event.take(rows)
        ids = id if rows is None or id is None else id.take(rows)
        if query is None:
            part = pa.nulls(len(events), data_type)
        else:
            opened = _open(pinned, query.index)
            timed = replace(query, now=query.now or pinned.now)
            part = _FUNCTIONS[function](Asked(opened, timed, events, ids), data_type)
        if rows is None:
            return part
        parts.append(part)
        order.append(np.asarray(rows))
    # Restore the order of the rows.
    inverse = np.argsort(np.concatenate(order), kind="stable")
    return pa.concat_arrays(parts).take(pa.array(inverse))


def _is_event(data_type: pa.DataType) -> bool:
    """Whether values of a type can be events; NULL is an event that is refused."""
    types = pa.types
    texts = (
        types.is_string(data_type)
        or types.is_large_string(data_type)
        or types.is_string_view(data_type)
    )
    members = types.is_struct(data_type) or types.is_map(data_type)  # a variant is a struct as well
    return texts or is_binary(data_type) or members or types.is_null(data_type)


def _result(function: Function, ids: str) -> pa.DataType:
    """The type of a function's results."""
    id = pa.string() if ids == "string" else pa.int64()
    if function == "match":
        return pa.list_(pa.field("element", id))
    if function == "top":
        ranked = pa.struct([pa.field("subscription", id), pa.field("score", pa.float64())])
        return pa.list_(pa.field("element", ranked))
    return id if function == "first" else pa.string()


def _queries(rows: int, given: Mapping[str, Any]) -> Iterator[tuple[Query | None, pa.Array | None]]:
    """The distinct queries, with their rows; None for all rows.

    Rows without an index have no query.
    """
    same = dict[str, Any]()
    columns = dict[str, pa.Array]()
    for name, value in given.items():
        if not isinstance(value, pa.Array):
            same[name] = value
            continue
        instants = pa.types.is_timestamp(value.type) and value.type.tz is not None
        array = value.cast(pa.timestamp("us", "UTC")) if instants else value
        if len(array.unique()) == 1:
            same[name] = array[0].as_py()
        else:
            columns[name] = array
    if rows == 0:
        yield None, None
    elif not columns:
        yield _query(same), None
    else:
        table = pa.table({**columns, "row": pa.array(np.arange(rows))})
        grouped = table.group_by(list(columns)).aggregate([("row", "list")])
        numbers = grouped.column("row_list")
        for place, differing in enumerate(grouped.drop_columns("row_list").to_pylist()):
            yield _query({**same, **differing}), numbers[place].values


def _query(given: dict[str, Any]) -> Query | None:
    if given["index"] is None:
        return None
    if "n" in given and (given["n"] is None or given["n"] < 1):
        raise ValueError(f"n must be at least 1, not {given['n']}")
    if isinstance(given.get("now"), str):
        given["now"] = moment_of(given["now"])
    return Query(**given)


# ---------------------------------------------------------------- indexes


def resolve(pinned: Pinned, name: str) -> tuple[str, str]:
    """The folder and the manifest's key of an index, by name or by path.

    Raises:
        StorageError: There is no such index.
    """
    if name in pinned.names:
        return pinned.names[name]
    try:
        return name, _current(name, _task())
    except StorageError as error:
        known = ", ".join(map(repr, sorted(pinned.names))) or "none"
        message = (
            f"{error}; nor is it a name passed to `register`, whose last call counts: "
            f"there is {known}"
        )
        raise StorageError(message, path=error.path) from error


def _open(pinned: Pinned, name: str) -> Index:
    uri, key = resolve(pinned, name)
    index = open_index(uri, key, None)
    if pinned.ids == "bigint" and ids_of(index) != "bigint":
        raise StorageError(
            f"{uri}: the ids are strings, but the functions were registered for integers; "
            "register them with ids='string'",
            path=uri,
        )
    return index


def _task() -> int | None:
    """The id of the current task attempt, which is unique to the task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.taskAttemptId()


@functools.lru_cache(maxsize=16)
def _current(path: str, task: int | None) -> str:  # noqa: ARG001 - another task reads it again
    """The manifest that was current when the task first needed it."""
    return manifests.read(Folder(path)).key


@functools.lru_cache(maxsize=16)
def ids_of(index: Index) -> str:
    """The type of an index's ids, as Spark calls it."""
    found = index.match_batch(pa.table({}), threads=1).schema.field("subscription").type
    return "string" if pa.types.is_string(found) else "bigint"


# ---------------------------------------------------------------- functions


@dataclass(frozen=True)
class Asked:
    """A part of a batch.

    Attributes:
        index: The index.
        query: The arguments that its rows share.
        events: Their events.
        ids: For `explain`, the subscription of each.
    """

    index: Index
    query: Query
    events: pa.Array
    ids: pa.Array | None

    def ask(self, method: str, *given: Any) -> Any:
        """The result of a method of the index, and the refused events."""
        batch = pa.RecordBatch.from_arrays([self.events], [_EVENT])
        how = {"column": _EVENT, "threads": 1, "on_error": "collect"}
        how |= {"now": self.query.now, "where": self.query.where}
        return ask(self.index, method, batch, *given, **how)


def _match(asked: Asked, data_type: pa.DataType) -> pa.Array:
    found, refused = asked.ask("match_batch")
    return _lists(found, len(asked.events), _column(found, "subscription"), refused, data_type)


def _top(asked: Asked, data_type: pa.DataType) -> pa.Array:
    found, refused = asked.ask("top_batch", asked.query.n)
    element = data_type.value_type
    columns = [_column(found, "subscription").cast(element.field(0).type), _column(found, "score")]
    ranked = pa.StructArray.from_arrays(columns, fields=list(element))
    return _lists(found, len(asked.events), ranked, refused, data_type)


def _first(asked: Asked, data_type: pa.DataType) -> pa.Array:
    found, _ = asked.ask("first_batch", 1)
    # At most one row per event; events without one stay null.
    places = np.full(len(asked.events), -1, np.int64)
    places[np.asarray(found.column("event"), np.int64)] = np.arange(found.num_rows)
    chosen = _column(found, "subscription").cast(data_type)
    return chosen.take(pa.array(places, mask=places < 0))


def _explain(asked: Asked, data_type: pa.DataType) -> pa.Array:
    assert asked.ids is not None
    integers = ids_of(asked.index) == "bigint"
    texts = list[str | None]()
    for event, id in zip(to_python(asked.events), asked.ids.to_pylist(), strict=True):
        if id is None or event is None:
            texts.append(None)
            continue
        try:
            wanted = int(id) if integers else str(id)
            texts.append(str(asked.index.explain(wanted, event, now=asked.query.now)))
        except EventError:
            texts.append(None)
        except (UnknownIdError, ValueError):
            texts.append(f"no subscription has the id {id!r}")
    return pa.array(texts, data_type)


def _error(asked: Asked, data_type: pa.DataType) -> pa.Array:
    _, refused = asked.ask("match_batch")
    texts: list[str | None] = [None] * len(asked.events)
    for event in refused:
        texts[event.row] = on_one_line(event)
    return pa.array(texts, data_type)


_FUNCTIONS: dict[Function, Callable[..., pa.Array]] = {
    "match": _match,
    "top": _top,
    "first": _first,
    "explain": _explain,
    "error": _error,
}


def _column(found: pa.Table, name: str) -> pa.Array:
    """A column of the result, in one chunk."""
    column = found.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray) and joined.num_chunks > 1:
        raise OverflowError(
            "a batch has more than 2 GiB of matches; lower "
            "spark.sql.execution.arrow.maxRecordsPerBatch"
        )
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _lists(
    found: pa.Table, rows: int, values: pa.Array, refused: Sequence[Any], data_type: pa.DataType
) -> pa.Array:
    """A list of values for each event; null for one that was refused."""
    counts = np.bincount(np.asarray(found.column("event"), np.int64), minlength=rows)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    mask = None
    if refused:
        nulls = np.zeros(rows, bool)
        nulls[[event.row for event in refused]] = True
        mask = pa.array(nulls)
    values = values.cast(data_type.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=data_type, mask=mask)
