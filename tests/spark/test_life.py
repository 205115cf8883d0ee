"""Priorities, conditions on metadata, validity and counts on Spark are those of a local index."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tamis
from tamis import spark as ts
from tamis.errors import SubscriptionError
from tamis.spark.matching import Placement

COLUMNS = (
    "id string, expression string, metadata struct<tenant: string, level: int>, priority int, "
    "active_from timestamp, active_until string"
)
PAST, FUTURE = datetime(2020, 1, 1, tzinfo=UTC), "2999-01-01"
WHERE = "tenant = 'a' and level > 0"


def rule(draw: Random, number: int) -> dict[str, Any]:
    return {
        "id": f"s{number:03}",
        "expression": f"x > {draw.randint(0, 9)} and y in ('a', '{draw.choice('bcd')}')",
        "metadata": {"tenant": draw.choice("abc"), "level": draw.randint(0, 2)},
        "priority": draw.choice([None, 1, 2, 3]),
        "active_from": draw.choice([None, PAST, datetime(2990, 1, 1, tzinfo=UTC)]),
        "active_until": draw.choice([None, FUTURE, "2021-01-01T00:00Z"]),
    }


RULES = [rule(Random(seed), seed) for seed in range(120)]
EVENTS = [{"number": n, "x": n % 12, "y": "abcd"[n % 4]} for n in range(40)]


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("life")
    rows = spark.createDataFrame([tuple(rule.values()) for rule in RULES], COLUMNS)
    done = ts.compile(rows, folder, shards=3, metadata_columns=["tenant"])
    refused = {row["id"] for row in done.errors.collect()}
    assert refused == {rule["id"] for rule in RULES if is_empty(rule)}
    return folder


def is_empty(rule: dict[str, Any]) -> bool:
    """Whether its validity ends before it begins."""
    later = rule["active_from"] is not None and rule["active_from"].year == 2990
    return later and rule["active_until"] == "2021-01-01T00:00Z"


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [tuple(event.values()) for event in EVENTS], "number int, x int, y string"
    )


def opened(path: Path) -> tamis.Index:
    index = tamis.open(path)
    assert index.metadata_columns == ["tenant"]
    return index


@pytest.mark.parametrize("placement", ["replicated", "sharded"])
@pytest.mark.parametrize("where", [None, WHERE])
def test_spark_finds_what_an_index_finds(
    path: Path, events: DataFrame, placement: Placement, where: str | None
) -> None:
    """`match`, `first` and `count`, with and without `where`, are those of a local index."""
    index = opened(path)
    expected = {event["number"]: set(index.match(event, where=where)) for event in EVENTS}
    assert any(expected.values())
    matched = ts.match(events, path, placement=placement, where=where).collect()
    pairs = {(row["number"], row["subscription"]) for row in matched}
    assert pairs == {(number, id) for number, ids in expected.items() for id in ids}
    counted = ts.count(events, path, placement=placement, where=where).collect()
    counts = Counter(id for ids in expected.values() for id in ids)
    assert {row["subscription"]: row["count"] for row in counted} == dict(counts)
    first = ts.first(events, path, 2, placement=placement, where=where, keep=["number"])
    found = dict[int, list[tuple[str, int]]]()
    for row in sorted(first.collect(), key=lambda row: (row["number"], row["rank"])):
        found.setdefault(row["number"], []).append((row["subscription"], row["priority"]))
    assert found == {
        event["number"]: [(id, index[id].priority) for id in ids]
        for event in EVENTS
        if (ids := index.first(event, 2, where=where))
    }


def test_an_unknown_name_in_where_is_a_warning(path: Path, events: DataFrame) -> None:
    where = "tenent = 'a' and leval > 0"
    with pytest.warns(tamis.MetadataWarning) as warned:
        found = ts.match(events, path, where=where)
    told = f"the metadata of {len(opened(path))} subscriptions does not have; did you mean"
    assert [str(warning.message) for warning in warned] == [
        f"`where` asks for `tenent`, which {told} `tenant`?",
        f"`where` asks for `leval`, which {told} `level`?",
    ]
    assert found.count() == 0
    with pytest.warns(tamis.MetadataWarning, match="tenent"):
        ts.match_column(path, where="tenent = 'a'")


def test_explain_says_that_a_rule_is_inactive(path: Path, events: DataFrame) -> None:
    index = opened(path)
    old = next(id for id in index if index[id].active_until is not None)
    [row] = ts.explain(
        events, path, subscription=old, limit=1, now=datetime(2999, 6, 1, tzinfo=UTC)
    ).collect()
    assert row["explanation"].startswith("false    active before ")


def test_an_update_keeps_all_of_it(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    """Priorities, metadata and validity survive an update of other rows."""
    rules = [rule for rule in RULES if not is_empty(rule)]
    rows = spark.createDataFrame([tuple(rule.values()) for rule in rules], COLUMNS)
    ts.compile(rows, tmp_path, shards=2, metadata_columns=["tenant"])
    before = opened(tmp_path)
    change = {"operation": "upsert", "id": rules[0]["id"], "expression": "x >= 0", "priority": 99}
    changes = spark.createDataFrame(
        [tuple(change.values())], "operation string, id string, expression string, priority long"
    )
    ts.update(tmp_path, changes)
    after = opened(tmp_path)
    assert after.first({"x": 0}) == [rules[0]["id"]]
    for rule in rules[1:]:
        one, other = before[rule["id"]], after[rule["id"]]
        assert (one.priority, one.metadata) == (other.priority, other.metadata)
        assert (one.active_from, one.active_until) == (other.active_from, other.active_until)


def test_counts_pass_over_bad_events(spark: SparkSession, path: Path) -> None:
    """`count` with `skip` counts the events that can be read."""
    lines = spark.createDataFrame([('{"x": 9, "y": "a"}',), ('{"x": ',)], "event string")
    index = opened(path)
    expected = dict.fromkeys(index.match({"x": 9, "y": "a"}), 1)
    placements: tuple[Placement, ...] = ("replicated", "sharded")
    for placement in placements:
        counted = ts.count(lines, path, event="event", placement=placement, on_error="skip")
        assert {row["subscription"]: row["count"] for row in counted.collect()} == expected
    with pytest.raises(ValueError, match="on_error"):
        ts.count(lines, path, event="event", on_error="collect")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "message"),
    [("priority double", "priorities are integers"), ("active_from int", "timestamps, dates")],
)
def test_columns_of_wrong_types(
    spark: SparkSession, tmp_path: Path, columns: str, message: str
) -> None:
    """A rules column of the wrong type is an error before the job starts."""
    rows = spark.createDataFrame([], f"id string, expression string, {columns}")
    with pytest.raises(SubscriptionError, match=message):
        ts.compile(rows, tmp_path, shards=1)
