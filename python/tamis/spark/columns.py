"""Which columns of a DataFrame are used, and do they have the right types?"""

from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    NumericType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
    YearMonthIntervalType,
)

from tamis.errors import EventError, SubscriptionError, TamisError
from tamis.spark.asking import ask
from tamis.spark.worker import mentioning

Moment = datetime | Column
"""The value of `now()`: a time, or a column with the same value for all events of a query."""

INTEGERS = (ByteType, ShortType, IntegerType, LongType)


def column(name: str) -> Column:
    """The column with exactly this name, including dots."""
    quoted = name.replace("`", "``")
    return sf.col(f"`{quoted}`")


def moment(now: Moment | None) -> Column:
    """The value of `now()` as a column; by default, the query's own.

    It is the text of the microseconds since 1970, which `values.moment_of` reads. Spark writes a
    constant timestamp into the code that it generates for a query, so a query would be compiled
    anew each time it runs: 70 to 110 ms of 240 for 100,000 events of 20 columns. It does not do so
    with texts.
    """
    if isinstance(now, Column):
        instant = now.cast("timestamp")
    elif now is None:
        instant = sf.current_timestamp()
    elif now.tzinfo is None:
        raise ValueError(f"now must be a datetime with a time zone, not {now!r}")
    else:
        instant = sf.lit(now.astimezone(UTC).isoformat()).cast("timestamp")
    return sf.unix_micros(instant).cast("string")


def require(frame: DataFrame, name: str, error: type[TamisError], what: str) -> DataType:
    """The type of a required column."""
    if name in frame.columns:
        return frame.schema[name].dataType
    close = get_close_matches(name, frame.columns, 1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    there = ", ".join(f"`{other}`" for other in frame.columns)
    raise error(f"{what} need the column `{name}`, but there are {there}{hint}")


def subscription_columns(frame: DataFrame) -> tuple[dict[str, Column], str]:
    """The columns from which shards are built, and the type of the ids.

    Raises:
        SubscriptionError: A column is missing or has the wrong type.
    """
    data_type = require(frame, "id", SubscriptionError, "subscriptions")
    if not isinstance(data_type, (StringType, *INTEGERS)):
        raise SubscriptionError(
            f"the column `id` is of the type {data_type.simpleString()}; "
            "ids are strings or integers"
        )
    ids = "string" if isinstance(data_type, StringType) else "bigint"
    data_type = require(frame, "expression", SubscriptionError, "subscriptions")
    if not isinstance(data_type, StringType):
        raise SubscriptionError(
            f"the column `expression` is of the type {data_type.simpleString()}; expressions are "
            "strings: their text, or the JSON form"
        )
    columns = {"id": column("id").cast(ids), "expression": column("expression")}
    if "boost" in frame.columns:
        data_type = frame.schema["boost"].dataType
        if not isinstance(data_type, NumericType):
            raise SubscriptionError(
                f"the column `boost` is of the type {data_type.simpleString()}; boosts are numbers"
            )
        columns["boost"] = column("boost").cast("double")
    if "priority" in frame.columns:
        data_type = frame.schema["priority"].dataType
        if not isinstance(data_type, INTEGERS):
            raise SubscriptionError(
                f"the column `priority` is of the type {data_type.simpleString()}; priorities are "
                "integers"
            )
        columns["priority"] = column("priority").cast("bigint")
    for name in ("active_from", "active_until"):
        if name in frame.columns:
            data_type = frame.schema[name].dataType
            if not isinstance(data_type, (StringType, DateType, TimestampType, TimestampNTZType)):
                raise SubscriptionError(
                    f"the column `{name}` is of the type {data_type.simpleString()}; it holds "
                    "timestamps, dates, or their texts"
                )
            columns[name] = column(name)
    if "metadata" in frame.columns:
        columns["metadata"] = _json(frame, "metadata", StructType, MapType, ArrayType, VariantType)
    if "weights" in frame.columns:
        columns["weights"] = _json(frame, "weights", StructType, MapType, VariantType)
    return columns, ids


def _json(frame: DataFrame, name: str, *data_types: type[DataType]) -> Column:
    """A column of JSON, or of a type that converts to JSON."""
    data_type = frame.schema[name].dataType
    if isinstance(data_type, StringType):
        return column(name)
    if isinstance(data_type, data_types):
        return sf.to_json(column(name))
    others = " or ".join(other.typeName() for other in data_types)
    raise SubscriptionError(
        f"the column `{name}` is of the type {data_type.simpleString()}; "
        f"it holds JSON in a string, or is a {others}"
    )


def deleted_column(frame: DataFrame) -> Column:
    """Whether a row of a change feed deletes.

    Raises:
        SubscriptionError: There is no such column.
    """
    data_type = require(frame, "operation", SubscriptionError, "changes")
    if not isinstance(data_type, StringType):
        raise SubscriptionError(
            f"the column `operation` is of the type {data_type.simpleString()}; "
            "it holds 'upsert' or 'delete'"
        )
    return sf.lower(column("operation")) == "delete"


class Events:
    """The columns of a DataFrame of events.

    Attributes:
        frame: The DataFrame, with the columns that are needed.
        column: The column that holds the events, if one does.
        attributes: Otherwise, the columns that are attributes.
        document: The column that holds the documents, if one does.
        source: The column that holds the nodes at which events start, if one does.
        keep: The columns to keep in the result.
    """

    def __init__(
        self,
        frame: DataFrame,
        event: str | None,
        document: str | None,
        keep: Iterable[str] | None,
        mentioned: set[str] | None,
        prune: bool,
        taken: Iterable[str],
        source: str | None = None,
    ) -> None:
        self.keep = list(frame.columns if keep is None else keep)
        for name in self.keep:
            require(frame, name, EventError, "events")
        if len(set(frame.columns)) < len(frame.columns):
            twice = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
            raise EventError(f"the events have more than one column `{twice[0]}`")
        for name in taken:
            if name in self.keep:
                raise EventError(
                    f"the events have a column `{name}`, which the result also needs; "
                    "rename it, or leave it out of `keep`"
                )
        self.column = event
        selected = {name: column(name) for name in self.keep}
        if event is not None:
            self.attributes = list[str]()
            self.column = _EVENT
            selected[_EVENT] = _whole(event, require(frame, event, EventError, "events"))
        else:
            wanted = mentioned if prune else None
            self.attributes = [name for name in frame.columns if _is_mentioned(name, wanted)]
            selected |= {name: column(name) for name in self.attributes}
        self.document = None
        if document is not None:
            data_type = require(frame, document, EventError, "events")
            if not isinstance(data_type, (StringType, BinaryType)):
                raise EventError(
                    f"the column `{document}` is of the type {data_type.simpleString()}; "
                    "documents are strings or binary"
                )
            self.document = _DOCUMENT
            self.attributes = [name for name in self.attributes if name != document]
            selected[_DOCUMENT] = column(document)
        self.source = None
        if source is not None:
            data_type = require(frame, source, EventError, "events")
            if not isinstance(data_type, (StringType, *INTEGERS)):
                raise EventError(
                    f"the column `{source}` is of the type {data_type.simpleString()}; "
                    "sources are ids, which are strings or integers"
                )
            self.source = _SOURCE
            selected[_SOURCE] = column(source)
        if not selected:  # rows without columns would not be counted
            selected[_EVENT] = sf.lit(None).cast("string")
            self.attributes = [_EVENT]
        self.frame = frame.select(*(value.alias(name) for name, value in selected.items()))
        self._check(mentioned, event)

    def _check(self, mentioned: set[str] | None, event: str | None) -> None:
        """Check that the engine can read columns of these types.

        Args:
            mentioned: The attributes that the index mentions; None for all.
            event: The caller's name of the column of events, if there is one.
        """
        schema = self.frame.schema
        if self.column is not None:
            refused = _refused("", schema[self.column].dataType, mentioned, event or "")
            looked_at = [self.column]
        else:
            looked_at = [name for name in self.attributes if _is_mentioned(name, mentioned)]
            each = (_refused(name, schema[name].dataType, mentioned, name) for name in looked_at)
            refused = [found for column in each for found in column]
        refused += [
            found
            for name in self.keep
            if name not in (*looked_at, event)
            for found in _refused(name, schema[name].dataType, set(), name)
        ]
        raise_refused(refused)
        if mentioned is not None:
            data_types = self.frame.select(*map(column, looked_at)).schema
            batch = pa.RecordBatch.from_pylist([], arrow_schema(data_types))
            ask(mentioning(mentioned), "match_batch", batch, column=self.column, threads=1)


def arrow_schema(schema: StructType) -> Any:
    """The columns as they reach a worker, with timestamps in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before PySpark 4.2 it is always UTC
        return to_arrow_schema(schema)


_EVENT = "_tamis_event"
_DOCUMENT = "_tamis_document"
_SOURCE = "_tamis_source"


def _whole(name: str, data_type: DataType) -> Column:
    if not is_event(data_type):
        raise EventError(
            f"the column `{name}` is of the type {data_type.simpleString()}; "
            "events are a struct, a map, a variant, or JSON as string or binary"
        )
    return sf.to_json(column(name)) if isinstance(data_type, VariantType) else column(name)


def is_event(data_type: DataType) -> bool:
    """Whether values of a type can be events."""
    return isinstance(data_type, (StringType, BinaryType, StructType, MapType, VariantType))


def refuse_types(data_type: DataType) -> None:
    """Fail if events of a type have members that cannot be sent to a worker.

    Raises:
        EventError: The error names all of them.
    """
    raise_refused(_refused("", data_type, set(), "event"))


def raise_refused(refused: Iterable[tuple[str, DataType]]) -> None:
    """Fail if there are columns of types that have no meaning in expressions.

    Raises:
        EventError: The error names all of them.
    """
    named = [f"`{path}` ({data_type.simpleString()})" for path, data_type in refused]
    if named:
        raise EventError(
            f"columns of types that no attribute has: {', '.join(named)}; cast them, or leave them "
            "out of the events and of `keep`"
        )


def _refused(
    path: str, data_type: DataType, mentioned: set[str] | None, label: str
) -> list[tuple[str, DataType]]:
    """The columns in a column that have no meaning in expressions.

    Month intervals cannot be sent to Python at all; others matter only if an expression uses them.

    Args:
        path: The column's name in expressions; empty for a column of events.
        data_type: Its type.
        mentioned: The attributes that the index mentions; None for all.
        label: The caller's name for it.
    """
    if isinstance(data_type, (YearMonthIntervalType, CalendarIntervalType)):
        return [(label, data_type)]
    below = list[tuple[str, DataType]]()
    if isinstance(data_type, StructType):
        below = [(field.name, field.dataType) for field in data_type.fields]
    elif isinstance(data_type, ArrayType):
        return _refused(path, data_type.elementType, mentioned, label)
    elif isinstance(data_type, MapType) and isinstance(data_type.keyType, StringType):
        return _refused(path, data_type.valueType, mentioned, label)
    elif isinstance(data_type, MapType) or data_type.typeName().partition("(")[0] in _MEANINGLESS:
        return [(label, data_type)] if _is_mentioned(path, mentioned) else []
    joined = ((f"{path}.{name}" if path else name, f"{label}.{name}", one) for name, one in below)
    return [found for one in joined for found in _refused(one[0], one[2], mentioned, one[1])]


_MEANINGLESS = ("time", "geometry", "geography")


def _is_mentioned(name: str, mentioned: set[str] | None) -> bool:
    if mentioned is None or name in mentioned:
        return True
    return any(attribute.startswith(f"{name}.") for attribute in mentioned)
