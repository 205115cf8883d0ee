"""An index follows a table of rules: after each round it equals the result of `compile`."""

import threading
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import tamis
from tamis import StorageError, SubscriptionError
from tamis import spark as ts
from tamis.spark import building
from tamis.storage import manifest
from tamis.storage.folder import Folder
from tamis.storage.manifest import CommitConflictError

SCHEMA = "id long, expression string, priority int, active_until timestamp"
Table = dict[int, tuple[str, int | None, datetime | None]]


def frame_of(spark: SparkSession, table: Table) -> DataFrame:
    return spark.createDataFrame([(id, *row) for id, row in table.items()], SCHEMA)


def contents(path: Path) -> dict[Any, Any]:
    index = tamis.open(path)
    found = {id: index[id] for id in index}
    return {id: (str(one.expression), one.priority, one.active_until) for id, one in found.items()}


def segments(path: Path) -> dict[int, str]:
    current = manifest.read(Folder(path))
    return {entry["shard"]: entry["file"] for entry in current.segments}


def test_only_touched_shards_are_built(spark: SparkSession, tmp_path: Path) -> None:
    """Only shards with changes are built."""
    table: Table = {n: (f"a = {n}", n % 3, None) for n in range(200)}
    follower = ts.follow(spark, lambda: frame_of(spark, table), tmp_path, shards=5)
    assert follower.last is not None
    assert (follower.last.version, follower.last.subscriptions) == (1, 200)
    assert follower.refresh() is None
    before = segments(tmp_path)
    table[7] = ("a = 7000", 1, None)
    done = follower.refresh()
    assert done is not None
    assert (done.version, done.subscriptions, done.built) == (2, 200, 1)
    after = segments(tmp_path)
    (touched,) = (shard for shard in before if before[shard] != after[shard])
    size = (tmp_path / after[touched]).stat().st_size
    assert done.built_bytes == size
    del table[7]
    done = follower.refresh()
    assert done is not None
    assert (done.subscriptions, done.built) == (199, 1)
    assert tamis.open(tmp_path).match({"a": 7000}) == []
    # Equal rows count once, and neither their order nor their number is a change.
    ts.follow(spark, frame_of(spark, table).union(frame_of(spark, table)), tmp_path)
    assert ts.versions(tmp_path) == [1, 2, 3]
    # New metadata columns require a new index.
    ts.follow(spark, frame_of(spark, table), tmp_path, metadata_columns=["tenant"])
    assert ts.versions(tmp_path) == [1, 2, 3, 4]


def test_random_changes_equal_compile(spark: SparkSession, tmp_path: Path) -> None:
    """After any round, the index and its errors equal the result of `compile`."""
    draw = Random(8)
    table: Table = {}
    until = [None, datetime(2030, 1, 1), datetime(2030, 1, 1, 0, 0, 0, 1)]
    follower: Any = None
    for number in range(4):
        for _ in range(draw.choice([1, 3, 40])):
            id = draw.randrange(60)
            if draw.random() < 0.3:
                table.pop(id, None)
            else:
                text = draw.choice([f"a = {draw.randrange(5)}", "a = =", "b like 'x%'"])
                table[id] = (text, draw.choice([None, 1]), draw.choice(until))
        frame = frame_of(spark, table)
        follower = ts.follow(spark, frame, tmp_path / "followed", shards=3)
        compiled = ts.compile(frame, tmp_path / f"compiled-{number}", shards=3)
        assert contents(tmp_path / "followed") == contents(tmp_path / f"compiled-{number}")
        # Unchanged rows that were refused before are still reported.
        if follower.last is not None:
            assert follower.last.error_count == compiled.error_count
            told = {row["id"] for row in follower.last.errors.collect()}
            assert told == {str(id) for id, row in table.items() if row[0] == "a = ="}
        assert follower.refresh() is None
    table.clear()
    done = ts.follow(spark, frame_of(spark, table), tmp_path / "followed", allow_empty=True).last
    assert done is not None
    assert (done.subscriptions, done.error_count) == (0, 0)


def test_an_empty_table_keeps_the_version_before(spark: SparkSession, tmp_path: Path) -> None:
    """Rules are removed only on purpose: an overwrite may leave a table empty for a moment."""
    table: Table = {1: ("a = 1", None, None), 2: ("a = 2", None, None)}
    empty = ts.follow(spark, frame_of(spark, {}), tmp_path / "new")  # nothing to lose
    assert empty.last is not None
    assert empty.last.subscriptions == 0
    follower = ts.follow(spark, lambda: frame_of(spark, table), tmp_path / "index")
    table.clear()
    with pytest.raises(SubscriptionError, match="have no rows, and the index has 2 subscriptions"):
        follower.refresh()
    with pytest.raises(SubscriptionError, match="allow_empty=True"):  # compiles all shards again
        ts.follow(spark, frame_of(spark, table), tmp_path / "index", shards=7)
    table[1] = ("a = =", None, None)
    with pytest.raises(SubscriptionError, match="all rows of the rules are refused"):
        follower.refresh()
    table.clear()
    assert ts.versions(tmp_path / "index") == [1]
    assert sorted(tamis.open(tmp_path / "index")) == [1, 2]
    done = follower.refresh(allow_empty=True)
    assert done is not None
    assert (done.version, done.subscriptions) == (2, 0)
    assert follower.refresh() is None  # it is empty already


def test_an_empty_table_in_the_background(spark: SparkSession, tmp_path: Path) -> None:
    """The follower reports it in `error`, and continues with the next rules."""
    table: Table = {1: ("a = 1", None, None)}
    asked = threading.Semaphore(0)

    def rules() -> DataFrame:
        asked.release()
        return frame_of(spark, table)

    with ts.follow(spark, rules, tmp_path, every=0.05) as follower:
        table.clear()
        for _ in range(4):
            assert asked.acquire(timeout=60)
        assert "the rules have no rows" in str(follower.error)
        assert sorted(tamis.open(tmp_path)) == [1]
        table[2] = ("a = 2", None, None)
        for _ in range(4):
            assert asked.acquire(timeout=60)
    assert follower.error is None
    assert sorted(tamis.open(tmp_path)) == [2]


def test_strict_keeps_the_version_before(spark: SparkSession, tmp_path: Path) -> None:
    """With `strict` a refused row commits nothing."""
    table: Table = {1: ("a = 1", None, None)}
    follower = ts.follow(spark, lambda: frame_of(spark, table), tmp_path, strict=True)
    table[2] = ("a = =", None, None)
    with pytest.raises(SubscriptionError, match="1 row refused, nothing was committed"):
        follower.refresh()
    assert ts.versions(tmp_path) == [1]
    with pytest.raises(ValueError, match="more than 0 seconds"):
        follower.start(0)


def test_an_update_in_between_is_undone(spark: SparkSession, tmp_path: Path) -> None:
    """The table is authoritative: other changes of the index are undone."""
    table: Table = {n: (f"a = {n}", None, None) for n in range(20)}
    follower = ts.follow(spark, lambda: frame_of(spark, table), tmp_path, shards=4)
    change = [(3, "a = 333", "upsert"), (99, "a = 99", "upsert")]
    ts.update(
        tmp_path, spark.createDataFrame(change, "id long, expression string, operation string")
    )
    assert 99 in tamis.open(tmp_path)
    assert follower.refresh() is not None
    assert sorted(tamis.open(tmp_path)) == list(range(20))
    assert tamis.open(tmp_path).match({"a": 3}) == [3]


def test_a_faster_job_is_no_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two drivers follow one table, the slower one finds nothing to do."""
    table: Table = {n: (f"a = {n}", None, None) for n in range(20)}
    frame = frame_of(spark, table)
    one = ts.follow(spark, frame, tmp_path)
    table[1] = ("a = 111", None, None)
    commit: Any = manifest.commit
    conflicts = list[int]()

    def commit_late(folder: Folder, version: int, content: dict[str, Any]) -> Any:
        monkeypatch.setattr(manifest, "commit", commit)
        conflicts.append(version)
        ts.follow(spark, frame_of(spark, table), tmp_path)  # another driver
        return commit(folder, version, content)

    monkeypatch.setattr(manifest, "commit", commit_late)
    one = ts.follow(spark, frame_of(spark, table), tmp_path)
    assert conflicts == [2]
    assert one.last is None  # the other one has done everything
    assert ts.versions(tmp_path) == [1, 2]
    with pytest.raises(CommitConflictError, match="another job has committed version 2"):
        commit(Folder(tmp_path), 2, manifest.read(Folder(tmp_path)).content)


def test_in_the_background(spark: SparkSession, tmp_path: Path) -> None:
    """The error of a failed round is kept in `error`, and the next round runs."""
    table: Table = {1: ("a = 1", None, None)}
    asked, failing = threading.Semaphore(0), threading.Event()

    def rules() -> DataFrame:
        asked.release()
        if failing.is_set():
            raise RuntimeError("the table is away")
        return frame_of(spark, table)

    with ts.follow(spark, rules, tmp_path, every=0.05) as follower:
        failing.set()
        for _ in range(4):
            assert asked.acquire(timeout=60)
        assert str(follower.error) == "the table is away"
        table[2] = ("a = 2", None, None)
        failing.clear()
        for _ in range(4):
            assert asked.acquire(timeout=60)
        with pytest.raises(ValueError, match="already running"):
            follower.start(1)
    assert follower.error is None
    assert sorted(tamis.open(tmp_path)) == [1, 2]


def test_rules_instead_of_an_index(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of rules in place of a path is compiled once per content."""
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path / "cache"))
    table: Table = {n: (f"a = {n}", n, None) for n in range(5)}
    events = spark.createDataFrame([(1,), (4,), (9,)], "a long")

    def matches(rules: Any) -> set[int]:
        return {row["subscription"] for row in ts.match(events, rules).collect()}

    def compiled() -> int:
        return len(list((tmp_path / "cache" / "rules").iterdir()))

    assert matches(frame_of(spark, table)) == {1, 4}
    assert compiled() == 1
    assert matches(frame_of(spark, table).orderBy("priority")) == {1, 4}
    assert compiled() == 1
    frame_of(spark, table).createOrReplaceTempView("some_rules")
    assert matches("some_rules") == {1, 4}
    assert compiled() == 1
    assert ts.compile("some_rules", tmp_path / "index").subscriptions == 5
    table[9] = ("a = 9", 1, None)
    frame_of(spark, table).createOrReplaceTempView("some_rules")
    assert matches("some_rules") == {1, 4, 9}
    assert compiled() == 2
    assert {row["subscription"] for row in ts.first(events, "some_rules").collect()} == {1, 4, 9}
    assert ts.top(events, "some_rules", 1).count() == 3
    assert ts.count(events, "some_rules").count() == 3
    assert ts.explain(events, "some_rules", subscription=9).count() == 3
    with pytest.raises(ValueError, match="have no versions"):
        ts.match(events, "some_rules", version=1)
    with pytest.raises(StorageError, match="no_rules: not an index"):
        ts.match(events, "no_rules")
    with pytest.raises(StorageError, match="not an index"):
        ts.match(events, "no such name")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(
        ValueError, match="not with rules themselves: call `follow\\(spark, rules, path,"
    ):
        ts.match(stream, "some_rules")
    # In a folder that all workers can reach.
    spark.conf.set("spark.tamis.cache", str(tmp_path / "shared"))
    try:
        assert matches("some_rules") == {1, 4, 9}
    finally:
        spark.conf.unset("spark.tamis.cache")
    assert len(list((tmp_path / "shared").iterdir())) == 1
    # A folder with an index takes precedence over a table of the same name.
    monkeypatch.chdir(tmp_path)
    ts.compile(frame_of(spark, {3: ("a = 4", None, None)}), "some_rules")
    assert matches("some_rules") == {3}


def test_rules_that_are_left_out_are_reported(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every call reports them, even if the rules are compiled already."""
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path))
    events = spark.createDataFrame([(1,)], "a long")
    valid = [("x", "a = 1"), ("x", "a = 1")]
    frame = spark.createDataFrame(valid, "id string, expression string")
    assert ts.match(events, frame).count() == 1
    assert not caplog.records
    twice = [("y", "a = 1"), ("y", "a = 2")]
    frame = spark.createDataFrame([*valid, *twice], "id string, expression string")
    assert ts.match(events, frame).count() == 1
    [record] = caplog.records
    assert record.name == "tamis.spark"
    assert record.levelname == "WARNING"
    assert "rules were left out; the first has the id 'y': " in record.message
    assert "`strict=True`" in record.message
    wrong = spark.createDataFrame([*valid, ("z", "a <")], "id string, expression string")
    for ask in (ts.match, ts.first, ts.count, ts.unmatched):
        caplog.clear()
        ask(events, wrong).collect()
        [record] = caplog.records
        first = "1 rule was left out; the first has the id 'z': "
        assert record.message.startswith(first + "line 1, column 4: expected a value")


def test_rules_that_change_while_they_are_compiled(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder named after a content never has another content."""
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path))
    file = tmp_path / "count"
    file.write_text("1")

    def read(batches: Any) -> Any:
        count = int(file.read_text())
        yield pa.RecordBatch.from_pydict({"id": range(count), "expression": ["a = 1"] * count})

    fingerprints, asked = building.fingerprints, list[int]()

    def slow(rows: DataFrame, shards: int) -> dict[str, str]:
        found = fingerprints(rows, shards)
        file.write_text("2")
        asked.append(shards)
        return found

    monkeypatch.setattr(building, "fingerprints", slow)
    rules = spark.range(0, 1, 1, 1).mapInArrow(read, "id long, expression string")
    events = spark.createDataFrame([(1,)], "a long")
    assert ts.match(events, rules).count() == 2
    assert len(asked) == 2
    (unfinished, done) = sorted(
        (tmp_path / "rules").iterdir(), key=lambda path: len(ts.versions(path))
    )
    assert (ts.versions(unfinished), ts.versions(done)) == ([], [1])


def test_a_name_is_read_again_in_every_round(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A table of files, whose list Spark caches; nothing is logged about it not being Delta."""
    spark.sql("create table followed_rules (id long, expression string) using parquet")
    try:
        spark.sql("insert into followed_rules values (1, 'a = 1')")
        follower = ts.follow(spark, "followed_rules", tmp_path)
        spark.newSession().sql("insert into followed_rules values (2, 'a = 2')")
        assert follower.refresh() is not None
        assert sorted(tamis.open(tmp_path)) == [1, 2]
        assert follower.refresh() is None
        assert "TABLE_OR_VIEW_NOT_FOUND" not in capfd.readouterr().err
    finally:
        spark.sql("drop table followed_rules")
