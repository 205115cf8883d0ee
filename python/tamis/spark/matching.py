"""Matches the events of a DataFrame.

Batches are matched with the version of the index that is current when `match` is called. A stream
is matched with the version that is current when a micro-batch begins, one for the whole
micro-batch: a separate job reads it, and it is joined to the events.

Two placements. Replicated: every worker maps the whole index, and events stay where they are.
Sharded: every event is sent to every shard, and a task maps one shard only.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tamis._tamis import Index
from tamis.batches import OnError
from tamis.errors import StorageError
from tamis.spark import worker
from tamis.spark.columns import Events, Moment, column, moment
from tamis.spark.shipping import on_worker
from tamis.spark.tables import Rules, index_of
from tamis.spark.worker import NOW, REFUSED, SHARD, VERSION
from tamis.storage.manifest import Manifest

Placement = Literal["auto", "replicated", "sharded"]
Output = Literal["pairs", "lists"]

_REPLICATED = 4 << 30  # bytes up to which `auto` replicates an index
_EVENT_NUMBER = "_tamis_number"


def match(
    events: DataFrame,
    path: Rules,
    *,
    event: str | None = None,
    document: str | None = None,
    keep: Iterable[str] | None = None,
    output: Output = "pairs",
    metadata: bool = False,
    where: str | None = None,
    placement: Placement = "auto",
    slices: int = 1,
    version: int | None = None,
    add_version: bool = False,
    on_error: OnError | None = None,
    now: Moment | None = None,
) -> DataFrame:
    """The subscriptions that each event matches.

    Args:
        events: One column per attribute, unless `event` names the one that holds the events. A
            streaming DataFrame, too.
        path: The folder of the index; or the rules themselves, a DataFrame or the name of a table,
            which are compiled once per content. Rules that are invalid, and different ones with the
            same id, are left out with a warning.
        event: The column that holds the events: a struct, a map, a variant, or JSON as string or
            binary.
        document: The column with the XML documents that `xpath('...')` queries, as string or
            binary.
        keep: The columns of the events to keep in the result; all by default.
        output: `"pairs"` for a row per match, with the column `subscription`, or `"lists"` for a
            row per event, with the column `subscriptions`, sorted within each shard.
        metadata: Whether to add the column `metadata`: JSON, or a list of such.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it can match.
        placement: `"replicated"`, `"sharded"`, or `"auto"`, which replicates up to 4 GiB.
        slices: With `"sharded"`, the number of tasks that share the events of one shard.
        version: The version of the index; by default the current one, or for a stream the one that
            is current when a micro-batch begins.
        add_version: Whether to add the column `version`: the version of the index that an event was
            matched with.
        on_error: What to do with events that cannot be read. `"raise"`, the default for a batch:
            the job fails, and the error names the event. `"collect"`, the default for a stream:
            the column `event_error` is added, and the event gives one row with the reason and no
            subscription. `"skip"`: the event is left out.
        now: The value of `now()`: a `datetime`, or a column with the same value for all events. By
            default, the query's `current_timestamp()`, which for a stream is that of the
            micro-batch.

    Raises:
        EventError: A column is missing or has an unsupported type.
        StorageError: There is no such index or version, or a file of it is missing.
    """
    if output not in ("pairs", "lists"):
        raise ValueError(f'output must be "pairs" or "lists", not {output!r}')
    return _answer(
        events,
        path,
        version,
        columns={"event": event, "document": document, "keep": keep},
        lists=output == "lists",
        metadata=metadata,
        where=where,
        placement=placement,
        slices=slices,
        add_version=add_version,
        on_error=on_error,
        now=now,
    )


def top(
    events: DataFrame,
    path: Rules,
    n: int = 10,
    *,
    weights: Mapping[str, Any] | None = None,
    where: str | None = None,
    event: str | None = None,
    document: str | None = None,
    keep: Iterable[str] | None = None,
    placement: Placement = "auto",
    slices: int = 1,
    version: int | None = None,
    add_version: bool = False,
    on_error: OnError | None = None,
    now: Moment | None = None,
) -> DataFrame:
    """The subscriptions that each event matches best.

    Each shard ranks separately, and the rankings are merged exactly. Among equal scores, the lower
    shard comes first, and within a shard the lower id, as without shards.

    Args:
        events: As in `match`.
        path: The folder of the index, or the rules themselves.
        n: The maximum number per event.
        weights: The weights of attributes, or of their values, for all events; 1 by default.
        where: A condition on the metadata of subscriptions, as in `match`.
        event: The column that holds the events.
        document: The column that holds the XML documents.
        keep: The columns of the events to keep in the result; all by default.
        placement: As in `match`; a stream is ranked with `"replicated"` only.
        slices: With `"sharded"`, the number of tasks that share the events of one shard.
        version: The version of the index.
        add_version: Whether to add the column `version`.
        on_error: As in `match`.
        now: As in `match`.

    Returns:
        A row per match: the kept columns, `subscription`, `score` and `rank`, from 1.
    """
    return _answer(
        events,
        path,
        version,
        columns={"event": event, "document": document, "keep": keep},
        placement=placement,
        slices=slices,
        add_version=add_version,
        on_error=on_error,
        now=now,
        where=where,
        most=n,
        by="score",
        weights=dict(weights) if weights else None,
    )


def first(
    events: DataFrame,
    path: Rules,
    n: int = 1,
    *,
    where: str | None = None,
    event: str | None = None,
    document: str | None = None,
    keep: Iterable[str] | None = None,
    placement: Placement = "auto",
    slices: int = 1,
    version: int | None = None,
    add_version: bool = False,
    on_error: OnError | None = None,
    now: Moment | None = None,
) -> DataFrame:
    """The subscriptions of the highest priorities that each event matches.

    Among equal priorities, the lower shard comes first, and within a shard the lower id.

    Args:
        events: As in `match`.
        path: The folder of the index, or the rules themselves.
        n: The maximum number per event.
        where: A condition on the metadata of subscriptions, as in `match`.
        event: The column that holds the events.
        document: The column that holds the XML documents.
        keep: The columns of the events to keep in the result; all by default.
        placement: As in `match`; for a stream `"replicated"` only.
        slices: With `"sharded"`, the number of tasks that share the events of one shard.
        version: The version of the index.
        add_version: Whether to add the column `version`.
        on_error: As in `match`.
        now: As in `match`.

    Returns:
        A row per match: the kept columns, `subscription`, `priority` and `rank`, from 1.
    """
    return _answer(
        events,
        path,
        version,
        columns={"event": event, "document": document, "keep": keep},
        placement=placement,
        slices=slices,
        add_version=add_version,
        on_error=on_error,
        now=now,
        where=where,
        most=n,
        by="priority",
    )


def count(
    events: DataFrame,
    path: Rules,
    *,
    where: str | None = None,
    event: str | None = None,
    document: str | None = None,
    placement: Placement = "auto",
    slices: int = 1,
    version: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    now: Moment | None = None,
) -> DataFrame:
    """The number of events that each subscription matches, without a row per match.

    Tasks count, and Spark shuffles one row per task and subscription.

    Args:
        events: As in `match`, but not a stream.
        path: The folder of the index, or the rules themselves.
        where: A condition on the metadata of subscriptions, as in `match`.
        event: The column that holds the events.
        document: The column that holds the XML documents.
        placement: As in `match`.
        slices: With `"sharded"`, the number of tasks that share the events of one shard.
        version: The version of the index.
        on_error: What to do with events that cannot be read: fail the job, or ignore them.
        now: As in `match`.

    Returns:
        The columns `subscription` and `count`; subscriptions without a match are omitted.
    """
    if events.isStreaming:
        raise ValueError("count takes a batch; in a stream, count the rows of `match`")
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error must be "raise" or "skip" here, not {on_error!r}')
    index = index_of(events, path, version)
    sharded = _is_sharded(index, placement)
    index.check_files()
    said = what_it_says(index, where)
    prepared = Events(
        events,
        event=event,
        document=document,
        keep=(),
        mentioned=said.attributes,
        prune=True,
        taken=(),
    )
    frame = prepared.frame
    if said.asks_now or where is not None:
        frame = with_now(frame, now)
    if sharded:
        if on_error == "skip":
            frame = _check(frame, prepared, index, index.name)
        frame = _to_shards(frame, index, slices)
    task = on_worker(
        worker.count_batches,
        uri=index.folder.uri,
        names=frame.columns,
        manifest=index.key,
        column=prepared.column,
        document=prepared.document,
        attributes=prepared.attributes,
        where=where,
        skip=on_error == "skip",
    )
    plain = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    fields = [StructField("subscription", said.ids), StructField("count", LongType())]
    counted = plain.mapInArrow(task, StructType(fields))
    return counted.groupBy("subscription").agg(sf.sum("count").alias("count"))


def match_xml(
    documents: DataFrame,
    path: Rules,
    *,
    document: str = "document",
    keep: Iterable[str] | None = None,
    output: Output = "pairs",
    version: int | None = None,
    on_error: OnError | None = None,
    now: Moment | None = None,
) -> DataFrame:
    """The subscriptions that each XML document matches: `match` with documents for events.

    Args:
        documents: A column of documents, and any columns to keep.
        path: The folder of an index whose expressions use `xpath('...')`.
        document: The column that holds the documents, as string or binary.
        keep: The columns to keep in the result; all by default.
        output: `"pairs"` or `"lists"`.
        version: The version of the index.
        on_error: What to do with documents that cannot be read, as in `match`.
        now: As in `match`.
    """
    return match(
        documents,
        path,
        document=document,
        keep=keep,
        output=output,
        version=version,
        on_error=on_error,
        now=now,
    )


def _answer(
    events: DataFrame,
    rules: Rules,
    version: int | None,
    *,
    columns: dict[str, Any],
    placement: Placement,
    slices: int,
    add_version: bool,
    on_error: OnError | None,
    now: Moment | None,
    lists: bool = False,
    metadata: bool = False,
    where: str | None = None,
    most: int | None = None,
    by: Literal["score", "priority"] | None = None,
    weights: dict[str, Any] | None = None,
) -> DataFrame:
    if most is not None and most < 1:
        raise ValueError(f"n must be at least 1, not {most}")
    index = index_of(events, rules, version)
    sharded = _is_sharded(index, placement)
    on_error = what_on_error(events, on_error)
    index.check_files()
    said = what_it_says(index, where)
    added = _added(said.ids, metadata, lists) if by is None else _ranked(said.ids, by)
    names = [field.name for field in added]
    versioned = [StructField("version", LongType())] if add_version else []
    follows = version is None and events.isStreaming and index.shards is not None
    errors = [StructField(REFUSED, StringType())] if on_error != "raise" else []
    taken = [*names, *(field.name for field in (*versioned, *errors))]
    # A stream may follow a later version, which may mention other attributes.
    prepared = Events(events, **columns, mentioned=said.attributes, prune=not follows, taken=taken)
    frame, keys = prepared.frame, list[str]()
    if follows:
        frame = with_now(frame, now, _current(events.sparkSession, index))
    elif said.asks_now or where is not None:  # a condition on metadata may use it
        frame = with_now(frame, now)
    if sharded:
        if lists or most is not None:
            if events.isStreaming:
                message = 'a stream supports lists and rankings with placement="replicated" only'
                raise ValueError(message)
            frame = frame.withColumn(_EVENT_NUMBER, sf.monotonically_increasing_id())
            keys = [_EVENT_NUMBER, SHARD]
        if errors:
            frame = _check(frame, prepared, index, None if follows else index.name)
        frame = _to_shards(frame, index, slices)
    outgoing = [*keys, *prepared.keep]
    task = on_worker(
        worker.match_batches,
        uri=index.folder.uri,
        names=frame.columns,
        manifest=None if follows else index.key,
        column=prepared.column,
        document=prepared.document,
        attributes=prepared.attributes,
        keep=outgoing,
        metadata=metadata,
        lists=lists,
        add_version=add_version,
        collect=bool(errors),
        where=where,
        most=most,
        by=by,
        weights=weights,
    )
    kept = [StructField(name, frame.schema[name].dataType) for name in outgoing]
    # mapInArrow would parse the column names as expressions.
    plain = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    found = plain.mapInArrow(task, StructType([*kept, *errors, *added, *versioned]))
    if keys and most is not None and by is not None:
        found = _merge(found, most, by)
    elif keys:
        beside = [field.name for field in (*errors, *versioned)]
        found = _gather(found, [*prepared.keep, *beside], names)
    return with_errors(found, on_error, names[0], metrics_of(events, str(index.folder)))


def what_on_error(events: DataFrame, on_error: OnError | None) -> OnError:
    """What to do with events that cannot be read: a stream continues."""
    if on_error not in (None, "raise", "skip", "collect"):
        message = f'on_error must be "raise", "skip" or "collect", not {on_error!r}'
        raise ValueError(message)
    return on_error or ("collect" if events.isStreaming else "raise")


def with_errors(
    found: DataFrame, on_error: OnError, results: str, metrics: str | None = None
) -> DataFrame:
    """The result with the column of errors last, or without the events that have an error.

    Args:
        found: The result of a task.
        on_error: What to do with events that cannot be read.
        results: The column of results: one per row, or a list.
        metrics: The name for counting results and refused events, if they are counted.
    """
    if on_error == "raise":
        return found
    if metrics is not None:
        lists = isinstance(found.schema[results].dataType, ArrayType)
        counted = sf.sum(sf.size(results)) if lists else sf.count(column(results))
        refused = sf.count(column(REFUSED))
        found = found.observe(metrics, counted.alias("matches"), refused.alias("refused"))
    others = [column(name) for name in found.columns if name != REFUSED]
    if on_error == "skip":
        return found.where(column(REFUSED).isNull()).select(*others)
    return found.select(*others, column(REFUSED))


def metrics_of(events: DataFrame, folder: str) -> str | None:
    """The name under which a stream counts matches and refused events in its progress."""
    name = folder.rstrip("/").rpartition("/")[2]
    return f"tamis-{name}" if events.isStreaming else None


def with_now(frame: DataFrame, now: Moment | None, current: DataFrame | None = None) -> DataFrame:
    """Events with the value of `now()`.

    Args:
        frame: The events.
        now: The value, as in `match`.
        current: One row with the current manifest, which is also added to the events.
    """
    if current is None:
        return frame.withColumn(NOW, moment(now))
    if isinstance(now, Column):  # it may be a column of the events
        return frame.crossJoin(sf.broadcast(current)).withColumn(NOW, moment(now))
    return frame.crossJoin(sf.broadcast(current.withColumn(NOW, moment(now))))


def _check(frame: DataFrame, events: Events, index: Manifest, manifest: str | None) -> DataFrame:
    """Events, each with the reason if some shard of the index cannot read it."""
    task = on_worker(
        worker.check_batches,
        uri=index.folder.uri,
        names=frame.columns,
        manifest=manifest,
        column=events.column,
        document=events.document,
        attributes=events.attributes,
    )
    plain = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    fields = [StructField(field.name, field.dataType) for field in frame.schema]
    return plain.mapInArrow(task, StructType([*fields, StructField(REFUSED, StringType())]))


def _current(spark: SparkSession, index: Manifest) -> DataFrame:
    """One row with the manifest that is current when this is evaluated."""
    task = on_worker(
        worker.current_manifest, uri=index.folder.uri, shards=index.shards, ids=index.ids
    )
    return spark.range(0, 1, 1, 1).mapInArrow(task, f"{VERSION} string")


class Said(NamedTuple):
    """Properties of an index.

    Attributes:
        attributes: The attributes that it mentions; None for all.
        ids: The type of its ids.
        asks_now: Whether matches may depend on `now()`.
    """

    attributes: set[str] | None
    ids: DataType
    asks_now: bool


def what_it_says(index: Manifest, where: str | None = None) -> Said:
    """The properties of an index that matching needs.

    Args:
        index: The index.
        where: A condition on metadata; a `MetadataWarning` says which of its names no metadata has,
            if the index is on a local disk.
    """
    data_type: Any = (
        None if index.ids is None else StringType() if index.ids == "string" else LongType()
    )
    if index.folder.local is None:
        if data_type is None:
            message = f"{index.folder}: an index of Index.save can be opened from a local disk only"
            raise StorageError(message, path=str(index.folder))
        return Said(index.attributes, data_type, index.asks_now)
    opened = Index.open(index.folder.local / index.name, verify=False)
    if data_type is None:
        import pyarrow as pa

        found = opened.match_batch(pa.table({}), threads=1).schema.field("subscription").type
        data_type = StringType() if pa.types.is_string(found) else LongType()
    if where is not None:
        opened.match({}, where=where)
    attributes = None if opened.asks_values else set(opened.attributes)
    return Said(attributes, data_type, opened.asks_now)


def _is_sharded(index: Manifest, placement: str) -> bool:
    if placement not in ("auto", "replicated", "sharded"):
        message = f'placement must be "auto", "replicated" or "sharded", not {placement!r}'
        raise ValueError(message)
    if placement == "sharded" and index.shards is None:
        message = f"{index.folder}: an index of Index.save has no shards"
        raise StorageError(message, path=str(index.folder))
    if placement == "auto":
        return index.shards is not None and index.shards > 1 and index.bytes > _REPLICATED
    return placement == "sharded"


def _added(ids: DataType, metadata: bool, lists: bool) -> list[StructField]:
    columns = {"subscriptions" if lists else "subscription": ids}
    if metadata:
        columns["metadata"] = StringType()
    return [
        StructField(name, ArrayType(data_type) if lists else data_type)
        for name, data_type in columns.items()
    ]


def _ranked(ids: DataType, by: str) -> list[StructField]:
    data_type: DataType = DoubleType() if by == "score" else LongType()
    columns = {"subscription": ids, by: data_type, "rank": IntegerType()}
    return [StructField(name, data_type) for name, data_type in columns.items()]


def _to_shards(frame: DataFrame, index: Manifest, slices: int) -> DataFrame:
    """Repeat every row for every shard, in a partition of that shard.

    An event that cannot be read goes to one shard only, so that it comes out once.
    """
    if slices < 1:
        raise ValueError(f"slices must be at least 1, not {slices}")
    assert index.shards is not None
    shards = sf.sequence(sf.lit(0), sf.lit(index.shards - 1))
    if REFUSED in frame.columns:
        shards = sf.when(column(REFUSED).isNull(), shards).otherwise(sf.array(sf.lit(0)))
    frame = frame.withColumn(SHARD, sf.explode(shards))
    slice = sf.pmod(sf.monotonically_increasing_id(), sf.lit(slices)).cast("int")
    part = column(SHARD) * slices + slice if slices > 1 else column(SHARD)
    return frame.repartitionById(index.shards * slices, part)


def _merge(found: DataFrame, most: int, by: str) -> DataFrame:
    """One ranking per event from one per event and shard."""
    order = [column(by).desc(), column(SHARD), column("rank")]
    rank = sf.row_number().over(Window.partitionBy(_EVENT_NUMBER).orderBy(*order))
    merged = found.withColumn("_tamis_rank", rank).where(column("_tamis_rank") <= most)
    # Events that could not be read have no rank.
    ranked = sf.when(column("rank").isNotNull(), column("_tamis_rank")).alias("rank")
    names = [name for name in found.columns if name not in (_EVENT_NUMBER, SHARD)]
    return merged.select(*(ranked if name == "rank" else column(name) for name in names))


def _gather(found: DataFrame, keep: list[str], lists: list[str]) -> DataFrame:
    """One row per event from one row per event and shard."""
    kept = [sf.first(column(name)).alias(name) for name in keep]
    parts = sf.sort_array(sf.collect_list(sf.struct(SHARD, *lists))).alias("_tamis_parts")
    gathered = found.groupBy(_EVENT_NUMBER).agg(*kept, parts)
    joined = {name: sf.flatten(column("_tamis_parts")[name]).alias(name) for name in lists}
    names = [name for name in found.columns if name in keep or name in lists]
    return gathered.select(*(joined.get(name, column(name)) for name in names))
