"""Errors are raised on the driver, and name the column, row or file."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tamis import EventError, StorageError, SubscriptionError
from tamis import spark as ts
from tamis._tamis import read_manifest, write_manifest
from tamis.spark import worker
from tamis.spark.shipping import on_worker


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    rows = [("x", "a = 1"), ("y", "user.age > 3")]
    ts.compile(spark.createDataFrame(rows, "id string, expression string"), folder, shards=2)
    return folder


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("ids string, expression string", "need the column `id`.*did you mean `ids`?"),
        ("id string", "need the column `expression`"),
        ("id double, expression string", "`id` is of the type double; ids are strings or integers"),
        ("id string, expression int", "`expression` is of the type int"),
        ("id string, expression string, metadata int", "`metadata` is of the type int"),
    ],
)
def test_subscriptions(spark: SparkSession, tmp_path: Path, schema: str, message: str) -> None:
    """Rules with a column missing or of the wrong type: the error names the column."""
    with pytest.raises(SubscriptionError, match=message):
        ts.compile(spark.createDataFrame([], schema), tmp_path)
    assert ts.versions(tmp_path) == []


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("id string, expression string", "need the column `operation`"),
        ("id string, expression string, operation int", "`operation` is of the type int"),
        ("id int, expression string, operation string", "`id` of the changes is bigint"),
    ],
)
def test_changes(spark: SparkSession, path: Path, schema: str, message: str) -> None:
    """The same for a change feed."""
    with pytest.raises(SubscriptionError, match=message):
        ts.update(path, spark.createDataFrame([], schema))


@pytest.mark.parametrize(
    ("schema", "arguments", "message"),
    [
        ("b int", {"event": "c"}, "need the column `c`, but there are `b`"),
        ("b int", {"keep": ["d"]}, "need the column `d`"),
        ("b int", {"event": "b"}, "`b` is of the type int; events are a struct"),
        ("a int, subscription int", {}, "have a column `subscription`"),
        ("a time(6), user struct<age: time(6)>", {}, r"`a` \(time\(6\)\), `user.age` \(time"),
        ("a interval year to month", {}, r"`a` \(interval year to month\); cast"),
        ("user struct<age: interval year>", {}, r"`user.age` \(interval year\)"),
        ("e struct<a: interval month>", {"event": "e"}, r"has: `e.a` \(interval month\);"),
    ],
)
def test_events(
    spark: SparkSession, path: Path, schema: str, arguments: dict[str, object], message: str
) -> None:
    """Events with a column missing, taken or of the wrong type: the error names the column."""
    with pytest.raises(EventError, match=message):
        ts.match(spark.createDataFrame([], schema), path, **arguments)  # type: ignore[arg-type]


def test_events_of_one_name_twice(spark: SparkSession, path: Path) -> None:
    """Two columns of one name are refused."""
    with pytest.raises(EventError, match="more than one column `a`"):
        ts.match(spark.sql("select 1 as a, 2 as a"), path)


@pytest.mark.parametrize(
    "arguments",
    [{"placement": "everywhere"}, {"output": "rows"}, {"placement": "sharded", "slices": 0}],
)
def test_arguments(spark: SparkSession, path: Path, arguments: dict[str, str]) -> None:
    """A wrong argument is named, before anything runs."""
    with pytest.raises(ValueError, match=next(reversed(arguments))):
        ts.match(spark.range(1), path, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shards"):
        ts.compile(spark.range(1), path, shards=0)


def test_a_bad_event_fails_the_job_and_is_named(spark: SparkSession, path: Path) -> None:
    """The error of the job shows the event and the position in it."""
    events = spark.createDataFrame([('{"a": 1}',), ('{"a": }',)], "e string").coalesce(1)
    with pytest.raises(
        Exception,
        match=r"EventError: event with e='{\"a\": }': the event is invalid JSON: line 1, column 7"
        r".*; on_error=\"collect\" lists all such events",
    ):
        ts.match(events, path, event="e").collect()


def test_what_is_no_index(spark: SparkSession, path: Path, tmp_path: Path) -> None:
    """A folder that is not an index, or has another format, is refused by name."""
    events = spark.range(1)
    with pytest.raises(StorageError, match="nowhere: not an index"):
        ts.match(events, tmp_path / "nowhere")
    with pytest.raises(
        StorageError, match=r"no_such: not an index.*; nor is there a table `no_such`"
    ):
        ts.match(events, "no_such")
    with pytest.raises(StorageError, match="not an index"):
        ts.vacuum(tmp_path)
    (tmp_path / "index-1.json").write_text("{}")
    with pytest.raises(StorageError, match=r"index-1\.json: not the manifest of an index"):
        ts.match(events, tmp_path)
    target = tmp_path / "index-1.json"
    manifest = read_manifest("index", target, (path / "index-1.json").read_bytes())
    del manifest["checksum"]
    for change, message in (
        ({"pipeline": 2}, "the pipeline's format is 2, this version of Tamis reads 1"),
        ({"version": 2}, "this is the manifest of version 2"),
    ):
        members = json.dumps({**manifest, "segments": [], **change})
        target.write_bytes(write_manifest("index", target, members))
        with pytest.raises(StorageError, match=message):
            ts.match(events, tmp_path)
    target.write_text(json.dumps({**manifest, "format": 9}))
    with pytest.raises(StorageError, match="format 9; this version of Tamis reads"):
        ts.match(events, tmp_path)


def test_a_file_that_is_missing_or_short(spark: SparkSession, tmp_path: Path) -> None:
    """A missing or cut segment file is named, on the driver or by the task that needs it."""
    rows = [(n, f"a = {n}") for n in range(100)]
    ts.compile(spark.createDataFrame(rows, "id long, expression string"), tmp_path)
    events = spark.createDataFrame([(1,)], "a long")
    late = ts.match(events, tmp_path)
    (segment,) = tmp_path.glob("segment-*")
    content = segment.read_bytes()
    segment.unlink()
    segment.write_bytes(content[:-8])
    with pytest.raises(
        StorageError, match=rf"{segment.name}: the file has {len(content) - 8} bytes"
    ):
        ts.match(events, tmp_path)
    segment.unlink()
    for place in (ts.match, ts.update):
        with pytest.raises(StorageError, match=rf"{segment.name}: the file is missing"):
            _ = place(events, tmp_path) if place is ts.match else ts.update(tmp_path, events)
    with pytest.raises(Exception, match=segment.name):
        late.collect()


def test_a_worker_without_the_wheel_says_so() -> None:
    """A worker that cannot import Tamis names its interpreter and what to install."""
    dump: Any = cloudpickle.dumps
    task = base64.b64encode(dump(on_worker(worker.match_batches, uri="x"))).decode()
    program = (
        "import sys, base64, pickle; sys.modules['tamis'] = None; "
        f"task = pickle.loads(base64.b64decode('{task}')); list(task(iter([])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "needs the wheel of Tamis with the extra `spark`" in done.stderr
    assert sys.executable in done.stderr
