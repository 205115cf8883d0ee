"""`tamis spark stream`: match events as they arrive."""

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tamis.batches import OnError
from tamis.cli.output import VALID, CommandError, report
from tamis.cli.spark.options import Keep
from tamis.cli.spark.session import format_of, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USAGE = "Usage: tamis spark stream EVENTS INDEX RESULT --checkpoint FOLDER [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark stream incoming/ campaigns matches.parquet --checkpoint state
    tamis spark stream kafka://host:9092/events campaigns matches.parquet --checkpoint state
"""


def stream(
    events: str,
    index: str,
    result: str,
    /,
    *,
    checkpoint: str,
    keep: Keep = None,
    lists: bool = False,
    every: str = "0 seconds",
    once: bool = False,
    on_error: OnError = "collect",
) -> int:
    """Match events as they arrive, each micro-batch with the current version of the index.

    Matches are written exactly once to files, and at least once to Kafka, even if the command is
    killed and started again with the same checkpoint.

    Args:
        events: A folder to which files of JSON lines are moved, or `kafka://BROKER/TOPIC`.
        index: The folder of the index.
        result: The folder to write, in the format of its suffix, or Parquet; or
            `kafka://BROKER/TOPIC`.
        checkpoint: The folder in which Spark stores its progress.
        keep: The columns of the events to include: `event`, and for Kafka `key`, `topic`,
            `partition`, `offset`, `timestamp`.
        lists: Write one row per event instead of one per match.
        every: The interval between micro-batches, such as `10 seconds`.
        once: Match the events that are available now, and exit.
        on_error: What to do with an event that cannot be read: `collect` writes it once, with the
            reason in the column `event_error`, `skip` leaves it out, `raise` ends the stream.
    """
    with session("stream") as spark:
        from pyspark.sql import functions as sf

        from tamis.spark import match as match_events

        frame = _read(spark, events)
        found = match_events(
            frame,
            index,
            event="event",
            keep=keep,
            output="lists" if lists else "pairs",
            on_error=on_error,
        )
        broker = _kafka(result)
        if broker is None:
            kind = format_of(result)
            writer = found.writeStream.format("json" if kind == "lines" else kind)
            writer = writer.option("path", result)
        else:
            packed = found.select(sf.to_json(sf.struct("*")).alias("value"))
            writer = packed.writeStream.format("kafka").options(**broker[0], topic=broker[1])
        when: dict[str, Any] = {"availableNow": True} if once else {"processingTime": every}
        running = writer.option("checkpointLocation", checkpoint).trigger(**when).start()
        try:
            _watch(running)
        finally:
            running.stop()
    return VALID


def _watch(running: Any) -> None:
    """Wait for the end, and show the stream's progress on a terminal."""
    told = None
    while not running.awaitTermination(1):
        progress = running.lastProgress
        if progress is not None and progress.batchId != told and sys.stderr.isatty():
            told = progress.batchId
            report(f"batch {told}: {progress.numInputRows:,} events, {progress.batchDuration} ms")


def _read(spark: "SparkSession", events: str) -> "DataFrame":
    broker = _kafka(events)
    if broker is None:
        return spark.readStream.text(events).withColumnRenamed("value", "event")
    source = spark.readStream.format("kafka").options(**broker[0], subscribe=broker[1])
    return source.option("startingOffsets", "earliest").load().withColumnRenamed("value", "event")


def _kafka(uri: str) -> tuple[dict[str, str], str] | None:
    parts = urlsplit(uri)
    if parts.scheme != "kafka":
        return None
    topic = parts.path.strip("/")
    if not parts.netloc or not topic:
        raise CommandError(f"{uri}: a Kafka topic must be kafka://BROKER:PORT/TOPIC")
    return {"kafka.bootstrap.servers": parts.netloc}, topic
