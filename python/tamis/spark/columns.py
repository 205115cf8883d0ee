"""Which columns of a DataFrame are looked at, and are they of the right types?"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

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
from tamis.spark.worker import mentioning

INTEGERS = (ByteType, ShortType, IntegerType, LongType)


def column(name: str) -> Column:
    """The column of exactly that name, dots and all."""
    quoted = name.replace("`", "``")
    return sf.col(f"`{quoted}`")


def require(frame: DataFrame, name: str, error: type[TamisError], what: str) -> DataType:
    """The type of a column that must be there."""
    if name in frame.columns:
        return frame.schema[name].dataType
    close = get_close_matches(name, frame.columns, 1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    there = ", ".join(f"`{other}`" for other in frame.columns)
    raise error(f"{what} need the column `{name}`, but there are {there}{hint}")


def subscription_columns(frame: DataFrame) -> tuple[dict[str, Column], str]:
    """The columns that shards are built from, and the type of the ids.

    Raises:
        SubscriptionError: A column is missing, or of a type that it cannot have.
    """
    kind = require(frame, "id", SubscriptionError, "subscriptions")
    if not isinstance(kind, (StringType, *INTEGERS)):
        raise SubscriptionError(
            f"the column `id` is of the type {kind.simpleString()}; ids are strings or integers"
        )
    ids = "string" if isinstance(kind, StringType) else "bigint"
    kind = require(frame, "expression", SubscriptionError, "subscriptions")
    if not isinstance(kind, StringType):
        raise SubscriptionError(
            f"the column `expression` is of the type {kind.simpleString()}; expressions are "
            "strings: their text, or the JSON form"
        )
    columns = {"id": column("id").cast(ids), "expression": column("expression")}
    if "boost" in frame.columns:
        kind = frame.schema["boost"].dataType
        if not isinstance(kind, NumericType):
            raise SubscriptionError(
                f"the column `boost` is of the type {kind.simpleString()}; boosts are numbers"
            )
        columns["boost"] = column("boost").cast("double")
    if "priority" in frame.columns:
        kind = frame.schema["priority"].dataType
        if not isinstance(kind, INTEGERS):
            raise SubscriptionError(
                f"the column `priority` is of the type {kind.simpleString()}; priorities are "
                "integers"
            )
        columns["priority"] = column("priority").cast("bigint")
    for name in ("active_from", "active_until"):
        if name in frame.columns:
            kind = frame.schema[name].dataType
            if not isinstance(kind, (StringType, DateType, TimestampType, TimestampNTZType)):
                raise SubscriptionError(
                    f"the column `{name}` is of the type {kind.simpleString()}; it holds "
                    "timestamps, dates, or their texts"
                )
            columns[name] = column(name)
    if "metadata" in frame.columns:
        columns["metadata"] = _json(frame, "metadata", StructType, MapType, ArrayType, VariantType)
    if "weights" in frame.columns:
        columns["weights"] = _json(frame, "weights", StructType, MapType, VariantType)
    return columns, ids


def _json(frame: DataFrame, name: str, *kinds: type[DataType]) -> Column:
    """A column that holds JSON, or can become it."""
    kind = frame.schema[name].dataType
    if isinstance(kind, StringType):
        return column(name)
    if isinstance(kind, kinds):
        return sf.to_json(column(name))
    others = " or ".join(other.typeName() for other in kinds)
    raise SubscriptionError(
        f"the column `{name}` is of the type {kind.simpleString()}; it holds JSON in a string, or "
        f"is a {others}"
    )


def deleted_column(frame: DataFrame) -> Column:
    """Whether a row of a change feed deletes.

    Raises:
        SubscriptionError: There is no column that says so.
    """
    kind = require(frame, "operation", SubscriptionError, "changes")
    if not isinstance(kind, StringType):
        raise SubscriptionError(
            f"the column `operation` is of the type {kind.simpleString()}; it holds 'upsert' or "
            "'delete'"
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
        keep: The columns that come out again.
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
                    f"the events have a column `{name}`, which the result needs for itself; "
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
            kind = require(frame, document, EventError, "events")
            if not isinstance(kind, (StringType, BinaryType)):
                raise EventError(
                    f"the column `{document}` is of the type {kind.simpleString()}; documents are "
                    "strings or binary"
                )
            self.document = _DOCUMENT
            self.attributes = [name for name in self.attributes if name != document]
            selected[_DOCUMENT] = column(document)
        self.source = None
        if source is not None:
            kind = require(frame, source, EventError, "events")
            if not isinstance(kind, (StringType, *INTEGERS)):
                raise EventError(
                    f"the column `{source}` is of the type {kind.simpleString()}; sources are ids, "
                    "which are strings or integers"
                )
            self.source = _SOURCE
            selected[_SOURCE] = column(source)
        if not selected:  # rows without any column would not be counted
            selected[_EVENT] = sf.lit(None).cast("string")
            self.attributes = [_EVENT]
        self.frame = frame.select(*(value.alias(name) for name, value in selected.items()))
        self._check(mentioned)

    def _check(self, mentioned: set[str] | None) -> None:
        """Ask the engine whether it can read columns of these types."""
        from pyspark.sql.pandas.types import to_arrow_schema

        if mentioned is None:
            return
        names = [self.column] if self.column is not None else self.attributes
        refuse_types(
            (name, self.frame.schema[name].dataType)
            for name in names
            if self.column is not None or _is_mentioned(name, mentioned)
        )
        schema = to_arrow_schema(self.frame.select(*map(column, names)).schema, timezone="UTC")
        mentioning(mentioned).match_batch(schema.empty_table(), column=self.column, threads=1)


_EVENT = "_tamis_event"
_DOCUMENT = "_tamis_document"
_SOURCE = "_tamis_source"


def _whole(name: str, kind: DataType) -> Column:
    if isinstance(kind, VariantType):
        return sf.to_json(column(name))
    if isinstance(kind, (StringType, BinaryType, StructType, MapType)):
        return column(name)
    raise EventError(
        f"the column `{name}` is of the type {kind.simpleString()}; events are a struct, a map, a "
        "variant, or JSON as string or binary"
    )


def refuse_types(columns: Iterable[tuple[str, DataType]]) -> None:
    """Fail where columns are of types that have no meaning in expressions.

    Raises:
        EventError: It names all of them.
    """
    refused = [
        f"`{path}` ({kind.simpleString()})"
        for name, whole in columns
        for path, kind in _meaningless(name, whole)
    ]
    if refused:
        raise EventError(
            f"columns of types that no attribute has: {', '.join(refused)}; months have no "
            "fixed length, and a variant is an event (`event=`) or is cast to another type"
        )


def _meaningless(name: str, kind: DataType) -> Iterator[tuple[str, DataType]]:
    """The columns in a column whose types have no meaning in expressions."""
    if isinstance(kind, (YearMonthIntervalType, CalendarIntervalType, VariantType)):
        yield name, kind
    elif isinstance(kind, StructType):
        for field in kind.fields:
            yield from _meaningless(f"{name}.{field.name}", field.dataType)
    elif isinstance(kind, ArrayType):
        yield from _meaningless(name, kind.elementType)
    elif isinstance(kind, MapType):
        yield from _meaningless(name, kind.valueType)


def _is_mentioned(name: str, mentioned: set[str] | None) -> bool:
    if mentioned is None or name in mentioned:
        return True
    return any(attribute.startswith(f"{name}.") for attribute in mentioned)
