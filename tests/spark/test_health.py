"""Listing subscriptions, those that never match and those that are slow; metrics of tasks."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis import spark as ts

RULES = [
    (1, "a = 1", '{"owner":"x"}', 5),
    (2, "a = 2 and b = 'never'", None, 0),
    (3, " or ".join(f"b contains 'q{n}q'" for n in range(300)), None, 0),
    (4, "a in (1, 2, 3)", None, 0),
]
SCHEMA = "id long, expression string, metadata string, priority int"


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> Path:
    ts.compile(spark.createDataFrame(RULES, SCHEMA), tmp_path / "index", shards=2)
    return tmp_path / "index"


def test_subscriptions_and_those_that_never_match(spark: SparkSession, path: Path) -> None:
    """`subscriptions` lists an index, `unmatched` the subscriptions that no event matches."""
    listed = {row["subscription"]: row for row in ts.subscriptions(spark, path).collect()}
    assert sorted(listed) == [1, 2, 3, 4]
    assert listed[2]["expression"] == "a = 2 and b = 'never'"
    assert (json.loads(listed[1]["metadata"]), listed[1]["priority"]) == ({"owner": "x"}, 5)
    events = spark.createDataFrame([(1, "x"), (3, "y")], "a long, b string")
    for placement in ("replicated", "sharded"):
        found = ts.unmatched(events, path, placement=placement)
        assert {row["subscription"] for row in found.collect()} == {2, 3}
    assert ts.unmatched(events.where("false"), path).count() == 4
    rules = spark.createDataFrame(RULES, SCHEMA)
    assert ts.unmatched(events, rules).count() == 2


def test_slowest(spark: SparkSession, path: Path) -> None:
    """The slowest come first, each with its expression."""
    text = "q1 q22 q333 " * 400
    events = spark.createDataFrame([(n, text) for n in range(300)], "a long, b string")
    found = ts.slowest(events, path, 2, sample=100).collect()
    assert (len(found), found[0]["subscription"]) == (2, 3)
    assert found[0]["microseconds"] > found[1]["microseconds"] > 0
    assert ts.slowest(events, path, 9, rules=1).count() <= 2  # one of each shard at most
    with pytest.raises(ValueError, match="at least 1"):
        ts.slowest(events, path, 0)
    with pytest.raises(ValueError, match="takes a batch"):
        ts.slowest(spark.readStream.format("rate").load(), path)


def test_metrics(spark: SparkSession, path: Path) -> None:
    """Accumulators count queries created inside the block, when they run."""
    events = spark.range(0, 1000, 1, 3).selectExpr("id % 5 as a", "'x' as b")
    metrics = ts.Metrics(spark)
    with metrics:
        found = ts.match(events, path)
    assert (metrics.events, metrics.rows) == (0, 0)  # nothing has run yet
    assert found.count() == 800  # a = 1 matches twice, 2 and 3 once
    assert (metrics.events, metrics.rows) == (1000, 800)
    assert metrics.bytes > 1000 * 8
    assert metrics.seconds > 0
    assert ts.match(events, path).count() == 800  # outside the block
    assert metrics.events == 1000


def test_progress(spark: SparkSession, tmp_path: Path) -> None:
    """`compile` reports the number of built shards while it runs."""
    told = list[tuple[int, int]]()
    rows = spark.createDataFrame([(n, f"a = {n}") for n in range(50)], "id long, expression string")
    ts.compile(rows, tmp_path, shards=3, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (3, 3)
    assert sorted(told) == told
    assert {of for _, of in told} == {3}
