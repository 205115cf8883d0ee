"""For any subscriptions and events, Spark finds the same matches as a local index.

Events have lists, nulls and missing attributes. They come as JSON or as columns, in a batch or in a
stream, and the index is replicated or sharded.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import strategies
import tamis
import writers
from tamis import spark as ts
from tamis.spark.matching import Placement
from tamis.storage.manifest import Missing

from .test_match import SCHEMA, event, expression

Pairs: TypeAlias = set[tuple[int, int]]
PLACEMENTS: tuple[Placement, ...] = ("replicated", "sharded")
CASES = 8 if os.environ.get("TAMIS_LONG") else 3

few = settings(
    max_examples=CASES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.large_base_example,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)


@contextmanager
def compiled(
    spark: SparkSession, rows: list[tuple[int, str]], missing: Missing = "unknown", shards: int = 3
) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        frame = spark.createDataFrame(rows, "id long, expression string")
        done = ts.compile(frame, folder, shards=shards, missing=missing)
        assert (done.subscriptions, done.error_count) == (len(rows), 0)
        yield Path(folder)


def found(pairs: DataFrame) -> Pairs:
    rows = [(row["number"], row["subscription"]) for row in pairs.collect()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def found_lists(lists: DataFrame, events: int) -> Pairs:
    rows = {row["number"]: row["subscriptions"] for row in lists.collect()}
    assert set(rows) == set(range(events))
    return {(number, id) for number, ids in rows.items() for id in ids}


@few
@given(
    st.lists(strategies.expressions, min_size=5, max_size=40),
    st.lists(strategies.unambiguous_events, min_size=5, max_size=20),
    strategies.missing,
    strategies.randoms,
)
def test_json_in_batches(
    spark: SparkSession, nodes: list[Any], events: list[Any], missing: Missing, random: Random
) -> None:
    """Random subscriptions and JSON events: both placements find what a local index finds."""
    rows = [(number, str(writers.build(node, random))) for number, node in enumerate(nodes)]
    index = tamis.Index(missing=missing)
    index.add_many(rows)
    expected = {(number, id) for number, event in enumerate(events) for id in index.match(event)}
    texts = [(number, json.dumps(event)) for number, event in enumerate(events)]
    frame = spark.createDataFrame(texts, "number long, event string")
    with compiled(spark, rows, missing) as path:
        for placement in PLACEMENTS:
            given: dict[str, Any] = {"event": "event", "placement": placement, "keep": ["number"]}
            assert found(ts.match(frame, path, **given)) == expected
            lists = ts.match(frame, path, output="lists", **given)
            assert found_lists(lists, len(events)) == expected


@few
@given(st.integers(0, 1 << 30), st.integers(1, 5), strategies.missing)
def test_columns_in_batches_and_streams(
    spark: SparkSession, seed: int, shards: int, missing: Missing
) -> None:
    """Random columns give the same matches in batches and in streams."""
    draw = Random(seed)
    rows = [(number, expression(draw)) for number in range(150)]
    events = [event(draw, number) for number in range(100)]
    index = tamis.Index(missing=missing)
    index.add_many(rows)
    expected = {(event["number"], id) for event in events for id in index.match(event)}
    assert len(expected) > 500
    frame = spark.createDataFrame(events, SCHEMA).repartition(2)
    with compiled(spark, rows, missing, shards) as path:
        for placement in PLACEMENTS:
            assert found(ts.match(frame, path, placement=placement)) == expected
            lists = ts.match(frame, path, placement=placement, output="lists", keep=["number"])
            assert found_lists(lists, len(events)) == expected
            assert found(streamed(spark, frame, path, placement=placement)) == expected
        lists = streamed(spark, frame, path, output="lists", placement="replicated")
        assert found_lists(lists, len(events)) == expected


def streamed(spark: SparkSession, events: DataFrame, path: Path, **given: Any) -> DataFrame:
    """The matches of events that arrive as a stream of files, one per micro-batch."""
    place = Path(path) / f"stream-{'-'.join(given.values())}"
    events.write.parquet(str(place / "in"))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    matches = ts.match(stream.parquet(str(place / "in")), path, keep=["number"], **given)
    writer = matches.writeStream.format("parquet").option("path", str(place / "out"))
    writer = writer.option("checkpointLocation", str(place / "state")).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    assert len(query.recentProgress) > 1
    return spark.read.parquet(str(place / "out"))


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_auto_shards_what_is_large(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, placement: Placement
) -> None:
    """`auto` shards an index above the limit, and replicates a smaller one."""
    from tamis.spark import matching

    monkeypatch.setattr(matching, "_REPLICATED", 0 if placement == "sharded" else 1 << 30)
    events = spark.range(50).selectExpr("id as number", "id % 5 as a")
    with compiled(spark, [(n, f"a = {n % 5}") for n in range(20)]) as path:
        matches = ts.match(events, path)
        plan = matches._jdf.queryExecution().toString()
        assert ("explode" in plan.lower()) == (placement == "sharded")
        assert found(matches) == {(n, id) for n in range(50) for id in range(n % 5, 20, 5)}
