"""The table function `tamis_matches`.

On the driver, Spark asks for its columns, and the function decides on the version of the index and
the value of `now()`. Rows arrive one by one, as Python objects. For large tables
`tamis_match` is faster, because it takes whole batches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from tamis.errors import EventError
from tamis.spark.columns import is_event, refuse_types
from tamis.spark.evaluating import NOT_AN_EVENT, Pinned, ids_of, resolve
from tamis.spark.values import to_text, variant_to_python
from tamis.storage.cache import open_index

_TOGETHER = 1_000  # rows of a table that are matched at once


@dataclass
class Analyzed(AnalyzeResult):
    """The driver's decisions for one query.

    Attributes:
        uri: The folder of the index.
        key: The key of its manifest.
        now: The value of `now()`.
        where: The condition on the metadata of subscriptions, if there is one.
        event: The type of the events, as JSON.
        table: Whether the events are the rows of a table.
    """

    uri: str = ""
    key: str = ""
    now: datetime | None = None
    where: str | None = None
    event: str = ""
    table: bool = False


def analyze(
    pinned: Sequence[Any],
    event: AnalyzeArgument,
    index: AnalyzeArgument,
    now: AnalyzeArgument | None = None,
    where: AnalyzeArgument | None = None,
) -> Analyzed:
    """Decide on the columns and the version of a query."""
    for name, argument in (("index", index), ("now", now), ("where", where)):
        if argument is not None and not argument.isConstantExpression:
            raise ValueError(f"{name} must be constant in tamis_matches; use tamis_match instead")
    decided = Pinned(*pinned)
    uri, key = resolve(decided, str(index.value))
    ids: DataType = StringType() if ids_of(open_index(uri, key, None)) == "string" else LongType()
    fields = list(event.dataType) if event.isTable else []  # type: ignore[call-overload]
    if any(field.name == "subscription" for field in fields):
        raise EventError("the table has a column `subscription`, which the result also needs")
    if not is_event(event.dataType) and not isinstance(event.dataType, NullType):
        raise EventError(NOT_AN_EVENT.format(event.dataType.simpleString()))
    refuse_types(event.dataType)
    moment = now.value if now is not None else datetime.now(UTC)
    return Analyzed(
        StructType([*fields, StructField("subscription", ids)]),
        uri=uri,
        key=key,
        now=_aware(moment),
        where=None if where is None else where.value,
        event=event.dataType.json(),
        table=event.isTable,
    )


class Matches:
    """Matches the rows of one partition."""

    def __init__(self, analyzed: Analyzed) -> None:
        from pyspark.sql.types import _parse_datatype_json_string

        self._analyzed = analyzed
        self._kind = _parse_datatype_json_string(analyzed.event)
        self._index = open_index(analyzed.uri, analyzed.key, None)
        self._rows = list[Any]()

    def eval(self, event: Any) -> Iterator[tuple[Any, ...]]:
        """The matches of an event; those of a table's rows come a thousand rows at a time."""
        self._rows.append(event)
        if not self._analyzed.table or len(self._rows) >= _TOGETHER:
            yield from self.terminate()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The matches of the remaining rows."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        events = [_plain(row, self._kind) for row in rows]
        found = self._index.match_batch(
            events, where=self._analyzed.where, now=self._analyzed.now, on_error="collect"
        )
        for row, ids in zip(rows, found.matches, strict=True):
            kept = tuple(row) if self._analyzed.table else ()
            for id in ids:
                yield (*kept, id)


def _plain(value: Any, data_type: DataType) -> Any:
    """A Spark value as an index takes it."""
    if value is None:
        return None
    if isinstance(data_type, StructType):
        values = tuple(value) if isinstance(value, Row) else value
        pairs = zip(data_type.fields, values, strict=True)
        return {field.name: _plain(member, field.dataType) for field, member in pairs}
    if isinstance(data_type, ArrayType):
        return [_plain(element, data_type.elementType) for element in value]
    if isinstance(data_type, MapType):
        return {name: _plain(member, data_type.valueType) for name, member in value.items()}
    if isinstance(data_type, VariantType):
        return variant_to_python(value)
    if isinstance(data_type, BinaryType):
        return to_text(bytes(value))
    return _aware(value) if isinstance(data_type, TimestampType) else value


def _aware(value: Any) -> Any:
    """An instant, which Spark passes as a naive local time."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value
