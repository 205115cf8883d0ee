"""Which subscriptions are there, which never match, and which are slow?"""

from os import PathLike
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from tamis.spark import health_tasks
from tamis.spark.columns import Events
from tamis.spark.matching import Placement, count, what_it_says
from tamis.spark.shipping import on_worker
from tamis.spark.tables import Rules, index_of
from tamis.storage import manifest as manifests
from tamis.storage.folder import Folder
from tamis.storage.manifest import Manifest


def subscriptions(
    spark: SparkSession, path: str | PathLike[str], *, version: int | None = None
) -> DataFrame:
    """The subscriptions of an index.

    Args:
        spark: A session.
        path: The folder of the index.
        version: The version of the index; the current one by default.

    Returns:
        The columns `subscription`, `expression`, `metadata` (JSON) and `priority`.

    Raises:
        StorageError: There is no such index or version.
    """
    return _subscriptions(spark, manifests.read(Folder(path), version))


def _subscriptions(spark: SparkSession, index: Manifest) -> DataFrame:
    index.check_files()
    ids = what_it_says(index).ids
    fields = [
        StructField("subscription", ids),
        StructField("expression", StringType()),
        StructField("metadata", StringType()),
        StructField("priority", LongType()),
    ]
    task = on_worker(health_tasks.list_subscriptions, uri=index.folder.uri, manifest=index.key)
    return _shards(spark, index).mapInArrow(task, StructType(fields))


def unmatched(
    events: DataFrame,
    path: Rules,
    *,
    event: str | None = None,
    document: str | None = None,
    placement: Placement = "auto",
    version: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> DataFrame:
    """The subscriptions that no event matches.

    Args:
        events: As in `match`, but not a stream.
        path: The folder of the index, or the rules themselves.
        event: The column that holds the events.
        document: The column that holds the XML documents.
        placement: As in `match`.
        version: The version of the index.
        on_error: As in `count`.

    Returns:
        The columns `subscription`, `expression`, `metadata` (JSON) and `priority`.
    """
    index = index_of(events, path, version)
    counted = count(
        events,
        index.folder.uri,
        event=event,
        document=document,
        placement=placement,
        version=index.version or None,
        on_error=on_error,
    )
    there = _subscriptions(events.sparkSession, index)
    return there.join(counted.select("subscription"), "subscription", "left_anti")


def slowest(
    events: DataFrame,
    path: Rules,
    n: int = 20,
    *,
    event: str | None = None,
    document: str | None = None,
    version: int | None = None,
    sample: int = 200,
    rules: int = 10_000,
) -> DataFrame:
    """The slowest subscriptions, measured on a sample of events.

    Each subscription of a sample is matched separately with each event, without an index. That
    measures the cost of evaluating its expression; an index avoids most evaluations.

    Args:
        events: As in `match`, but not a stream.
        path: The folder of the index, or the rules themselves.
        n: The number of subscriptions to return.
        event: The column that holds the events.
        document: The column that holds the XML documents.
        version: The version of the index.
        sample: The number of events to try; the first ones that Spark reads.
        rules: The maximum number of subscriptions to try, spread over the index.

    Returns:
        The columns `subscription`, `expression` and `microseconds` per event, slowest first.
    """
    if events.isStreaming:
        raise ValueError("slowest takes a batch, such as a sample of the stream's input")
    if min(n, sample, rules) < 1:
        raise ValueError("n, sample and rules must be at least 1")
    index = index_of(events, path, version)
    index.check_files()
    said = what_it_says(index)
    prepared = Events(
        events,
        event=event,
        document=document,
        keep=(),
        mentioned=said.attributes,
        prune=True,
        taken=(),
    )
    task = on_worker(
        health_tasks.time_subscriptions,
        uri=index.folder.uri,
        manifest=index.key,
        events=_as_bytes(prepared.frame.limit(sample)),
        column=prepared.column,
        document=prepared.document,
        every=max(1, -(-index.subscriptions // rules)),
        n=n,
    )
    fields = [
        StructField("subscription", said.ids),
        StructField("expression", StringType()),
        StructField("microseconds", DoubleType()),
    ]
    timed = _shards(events.sparkSession, index).mapInArrow(task, StructType(fields))
    return timed.orderBy(sf.desc("microseconds")).limit(n)


def _as_bytes(frame: DataFrame) -> bytes:
    import pyarrow as pa

    table = frame.toArrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _shards(spark: SparkSession, index: Manifest) -> DataFrame:
    """One row per shard, each in a separate partition."""
    shards = index.shards or 1
    return spark.range(0, shards, 1, shards)
