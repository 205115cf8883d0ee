"""The laboratory's workloads are the same rows on any number of tasks."""

import json

import pytest
from pyspark.sql import SparkSession

from tamis import spark as ts
from tamis._tamis import Workload


def test_the_same_seed_gives_the_same_rows(spark: SparkSession) -> None:
    """Subscriptions depend only on the seed, not on the number of tasks."""
    one = ts.generate_subscriptions(spark, "abe-gen", 500, seed=3)
    local = Workload("abe-gen", size=500, seed=3).expressions(0, 500)
    rows = {row["id"]: row["expression"] for row in one.collect()}
    assert rows == dict(zip(*(column.to_pylist() for column in local.columns), strict=True))
    setting = "spark.sql.leafNodeDefaultParallelism"
    spark.conf.set(setting, "7")
    try:
        other = ts.generate_subscriptions(spark, "abe-gen", 500, seed=3)
        assert {row["id"]: row["expression"] for row in other.collect()} == rows
    finally:
        spark.conf.unset(setting)
    another = ts.generate_subscriptions(spark, "abe-gen", 5, size=500, seed=4).collect()
    assert all(row["expression"] != rows[row["id"]] for row in another)


def test_events(spark: SparkSession) -> None:
    """The same for events."""
    events = ts.generate_events(spark, "dense", 20, size=100)
    local = Workload("dense", size=100).events(0, 20).column("text").to_pylist()
    assert [row["event"] for row in events.orderBy("number").collect()] == local
    given = {"event_attributes": 3}
    few = ts.generate_events(spark, "dense", 5, size=100, parameters=given).collect()
    assert [len(json.loads(row["event"])) for row in few] == [3] * 5
    with pytest.raises(ValueError, match="unknown parameter"):
        ts.generate_subscriptions(spark, "dense", 5, parameters={"attribute": 3})
    with pytest.raises(ValueError, match='unknown workload "sparse"; known: conjunctive'):
        ts.generate_events(spark, "sparse", 20, size=100)
