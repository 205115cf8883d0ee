"""A stream uses one version per micro-batch, even if it is killed in between."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from longer import long_test
from tamis import StorageError
from tamis import spark as ts

SCHEMA = "number long, a long"


def write_events(folder: Path, first: int, count: int) -> None:
    """Write one file of events atomically."""
    lines = [json.dumps({"number": n, "a": n % 10}) for n in range(first, first + count)]
    temporary = folder / f".{first}.json"
    temporary.write_text("\n".join(lines))
    temporary.rename(folder / f"events-{first:06}.json")


def subscribe(spark: SparkSession, path: Path, first: int, count: int) -> None:
    """Subscriptions first, first + 1 ...; number n is a = n % 10."""
    rows = [(n, f"a = {n % 10}", "upsert") for n in range(first, first + count)]
    frame = spark.createDataFrame(rows, "id long, expression string, operation string")
    if ts.versions(path):
        ts.update(path, frame)
    else:
        ts.compile(frame.drop("operation"), path, shards=2)


JOB = """
import sys
from pathlib import Path
from tamis import spark as ts
from tamis.spark.session import local_session
folder = Path(sys.argv[1])
options = {"spark.sql.streaming.fileSink.log.compactInterval": "1000"}
spark = local_session(cores=2, log=folder / "log", options=options)
stream = spark.readStream.schema("number long, a long").option("maxFilesPerTrigger", 50)
found = ts.match(stream.json(str(folder / "in")), folder / "index", add_version=True)
writer = found.writeStream.format("parquet").option("path", str(folder / "out"))
query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
print("ready", flush=True)
query.awaitTermination()
"""


@contextmanager
def streaming(folder: Path) -> Iterator[None]:
    """A stream in a separate process, which is killed at the end."""
    command = [sys.executable, "-c", JOB, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"ready\n"
            yield
        finally:
            os.killpg(job.pid, signal.SIGKILL)


def wait_for_batches(folder: Path, count: int) -> None:
    """Wait until a stream has committed this number of micro-batches."""
    until = time.monotonic() + 120
    while not (folder / "_spark_metadata" / str(count - 1)).exists():
        assert time.monotonic() < until, "the stream does not go on"
        time.sleep(0.02)


def batches(folder: Path) -> list[set[str]]:
    """The files that each micro-batch has committed, from the log of the file sink."""
    logs = [path for path in (folder / "_spark_metadata").iterdir() if path.name.isdigit()]
    return [
        {json.loads(line)["path"].rpartition("/")[2] for line in log.read_text().splitlines()[1:]}
        for log in sorted(logs, key=lambda log: int(log.name))
    ]


@contextmanager
def flowing(folder: Path) -> Iterator[list[int]]:
    """Write events continuously, 50 per file; yields the numbers of their files."""
    files, stop = list[int](), threading.Event()

    def write() -> None:
        while not stop.wait(0.3):
            write_events(folder, 50 * len(files), 50)
            files.append(len(files))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield files
    finally:
        stop.set()
        writer.join()


def begun(checkpoint: Path) -> int:
    """The number of the latest micro-batch."""
    return max(int(path.name) for path in (checkpoint / "offsets").iterdir() if path.name.isdigit())


@long_test
def test_new_subscriptions_while_events_flow_and_the_stream_is_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """No match is lost or repeated; a micro-batch has one version, and later ones no older one."""
    index, incoming, out = tmp_path / "index", tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    with flowing(incoming) as files:
        with streaming(tmp_path):
            wait_for_batches(out, 3)
            subscribe(spark, index, 10, 500)  # while the stream runs and events arrive
            first = begun(tmp_path / "checkpoint")
            wait_for_batches(out, first + 3)
        # Killed at some point in a micro-batch. Events and subscriptions continue.
        subscribe(spark, index, 510, 500)
        second = begun(tmp_path / "checkpoint")
        with streaming(tmp_path):
            wait_for_batches(out, second + 4)
            sent = len(files)
    with streaming(tmp_path):  # killed once more, then run to the end
        count, until = 50 * len(files), time.monotonic() + 180
        while len({n for n, *_ in rows_of(spark, out)}) < count:
            assert time.monotonic() < until, "events are lost"
            time.sleep(0.5)
    assert sent > 10
    rows = rows_of(spark, out)
    assert len(set(rows)) == len(rows)  # none twice
    met = {number: version for number, *_, version in rows}
    assert set(met) == set(range(count))  # none lost
    assert all(a == id % 10 for _, a, id, _ in rows)
    found = Counter(number for number, *_ in rows)
    assert found == {n: {1: 1, 2: 51, 3: 101}[met[n]] for n in range(count)}
    # One version per micro-batch, and the new one in all that begin after it was committed. The
    # micro-batch that was running at the kill is repeated, with the then current version.
    files_of = spark.read.parquet(str(out)).select("version", "_metadata.file_name").distinct()
    version_of = {row["file_name"]: row["version"] for row in files_of.collect()}
    seen = [{version_of[name] for name in batch if name in version_of} for batch in batches(out)]
    assert all(len(versions) == 1 for versions in seen)
    order = [versions.pop() for versions in seen]
    assert order == sorted(order)
    assert set(order) == {1, 2, 3}
    assert all(version >= 2 for version in order[first + 1 :])
    assert all(version == 3 for version in order[second + 1 :])


def rows_of(spark: SparkSession, out: Path) -> list[tuple[int, int, int, int]]:
    if not (out / "_spark_metadata").exists():
        return []
    frame = spark.read.schema("number long, a long, subscription long, version long")
    return [tuple(row) for row in frame.parquet(str(out)).collect()]


@pytest.mark.parametrize("placement", ["replicated", "sharded"])
def test_versions_change_between_micro_batches(
    spark: SparkSession, tmp_path: Path, placement: Any
) -> None:
    """New subscriptions apply to the events that arrive after them, with either placement."""
    index, incoming, out = tmp_path / "index", tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    stream = spark.readStream.schema(SCHEMA).json(str(incoming))
    found = ts.match(stream, index, placement=placement)
    query = (
        found.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    running = query.start()
    try:
        for round in range(3):
            if round:
                subscribe(spark, index, 10 * round, 10)
            write_events(incoming, 100 * round, 50)
            write_events(incoming, 100 * round + 50, 50)
            running.processAllAvailable()
    finally:
        running.stop()
    rows = [tuple(row) for row in spark.read.parquet(str(out)).collect()]
    counts = Counter(
        (number, id // 10) for number, a, id, error in rows if a == id % 10 and error is None
    )
    assert len(rows) == sum(counts.values())
    assert counts == {(n, tens): 1 for n in range(300) for tens in range(n // 100 + 1)}


@pytest.mark.parametrize("pinned", [False, True])
def test_now_is_that_of_the_micro_batch(spark: SparkSession, tmp_path: Path, pinned: bool) -> None:
    """Rules may start to use `now()` while a stream runs; it is Spark's time in all tasks."""
    index, incoming = tmp_path / "index", tmp_path / "in"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    schema = "id long, expression string, operation string"
    rules = [(10, "at = now()", "upsert"), (11, "at < now()", "upsert")]
    changes = spark.createDataFrame(rules, schema)
    if pinned:
        ts.update(index, changes)
    stream = spark.readStream.schema(SCHEMA).json(str(incoming))
    stream = stream.withColumn("at", sf.current_timestamp())
    found = ts.match(stream, index, version=2 if pinned else None)
    query = found.writeStream.format("memory").queryName("moments").start()
    try:
        write_events(incoming, 0, 50)
        query.processAllAvailable()
        if not pinned:
            ts.update(index, changes)
        write_events(incoming, 50, 50)
        query.processAllAvailable()
    finally:
        query.stop()
    rows = spark.table("moments").where("subscription >= 10").collect()
    assert len({row["at"] for row in spark.table("moments").collect()}) == 2
    expected = range(100) if pinned else range(50, 100)
    assert sorted((row["number"], row["subscription"]) for row in rows) == [
        (number, 10) for number in expected
    ]


def test_for_each_batch_and_into_a_table(spark: SparkSession, tmp_path: Path) -> None:
    """The recipe for other sinks: the driver reads the version once per micro-batch."""
    index, incoming = tmp_path / "index", tmp_path / "in"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(incoming))
    written = dict[int, list[Any]]()

    def write(events: DataFrame, batch: int) -> None:
        matches = ts.match(events, index, add_version=True).collect()
        written[batch] = [tuple(row) for row in matches]  # a repeated batch replaces the first
        if batch == 1:
            subscribe(spark, index, 10, 10)

    for first in range(0, 200, 50):
        write_events(incoming, first, 50)
    each = stream.writeStream.foreachBatch(write).trigger(availableNow=True)
    each.option("checkpointLocation", str(tmp_path / "each")).start().awaitTermination()
    assert [{row[-1] for row in written[batch]} for batch in range(4)] == [{1}, {1}, {2}, {2}]
    rows = [row for batch in range(4) for row in written[batch]]
    met = {number: version for number, *_, version in rows}
    assert set(met) == set(range(200))
    assert sorted(rows) == sorted(
        (n, n % 10, n % 10 + 10 * ten, met[n]) for n in range(200) for ten in range(met[n])
    )

    table = ts.match(stream, index).writeStream.trigger(availableNow=True)
    table = table.option("checkpointLocation", str(tmp_path / "table"))
    table.toTable("matches", format="parquet").awaitTermination()
    try:
        rows = [tuple(row) for row in spark.table("matches").collect()]
    finally:
        spark.sql("drop table matches")
    assert sorted(rows) == sorted(
        (n, n % 10, n % 10 + 10 * ten, None) for n in range(200) for ten in (0, 1)
    )


def test_a_stream_does_not_follow_an_index_of_another_shape(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It fails with both numbers of shards, instead of returning only some matches."""
    index, incoming = tmp_path / "index", tmp_path / "in"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    stream = spark.readStream.schema(SCHEMA).json(str(incoming))
    running = (
        ts.match(stream, index)
        .writeStream.format("memory")
        .queryName("reshaped")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        frame = spark.createDataFrame([(1, "a = 1")], "id long, expression string")
        ts.compile(frame, index, shards=5)
        write_events(incoming, 0, 10)
        with pytest.raises(Exception, match="the stream began with 2 and bigint: start it again"):
            running.processAllAvailable()
    finally:
        running.stop()


def test_lists_of_a_sharded_stream_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """An unsupported option is an error before the stream starts."""
    subscribe(spark, tmp_path / "index", 0, 10)
    stream = spark.readStream.schema(SCHEMA).json(str(tmp_path))
    with pytest.raises(ValueError, match="replicated"):
        ts.match(stream, tmp_path / "index", output="lists", placement="sharded")
    with pytest.raises(StorageError, match="no version 7"):
        ts.match(stream, tmp_path / "index", version=7)
