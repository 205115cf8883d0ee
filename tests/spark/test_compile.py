"""Subscriptions compiled on Spark are the subscriptions of a local index."""

import json
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import tamis
from tamis import StorageError, SubscriptionError
from tamis import spark as ts

SUBSCRIPTIONS = [(f"s{n}", f"a = {n % 7} and b between {n % 5} and {n}") for n in range(100)]


def test_what_is_compiled_opens_on_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    """`tamis.open` reads the output of `compile`, and gives the same matches."""
    frame = spark.createDataFrame(SUBSCRIPTIONS, "id string, expression string")
    compiled = ts.compile(frame, tmp_path / "index", shards=3)
    assert (compiled.version, compiled.subscriptions, compiled.shards) == (1, 100, 3)
    assert compiled.error_count == 0
    assert compiled.errors.count() == 0
    index = tamis.open(tmp_path / "index")
    assert sorted(index) == sorted(id for id, _ in SUBSCRIPTIONS)
    assert index.stats()["segments"] == 3
    shards = [tamis.open(tmp_path / "index", shard=shard) for shard in range(3)]
    assert sorted(id for shard in shards for id in shard) == sorted(index)
    with pytest.raises(StorageError, match="no shard 3, but 3 shards"):
        tamis.open(tmp_path / "index", shard=3)
    with pytest.raises(StorageError, match="holds versions"):
        index.save(tmp_path / "index")
    assert not list((tmp_path / "index").glob(".building-*"))


def test_bad_rows_are_refused_counted_and_returned(spark: SparkSession, tmp_path: Path) -> None:
    """Invalid and contradicting rows are errors with positions; the others are compiled."""
    rows = [
        ("good", "a = 1"),
        ("syntax", "a = = 1"),
        ("meaning", "a < true"),
        (None, "a = 2"),
        ("empty", None),
        ("twice", "a = 1"),
        ("twice", "a = 2"),
        ("same", "a = 1"),
        ("same", "(a == 1)"),
        ("json", '{"attribute": "a", "operator": "=", "value": 1}'),
        ("bad json", '{"attribute": "a", "operator": "==="}'),
    ]
    frame = spark.createDataFrame(rows, "id string, expression string")
    compiled = ts.compile(frame, tmp_path, shards=2)
    assert compiled.error_count == 7
    errors = {row["id"]: row for row in compiled.errors.collect()}
    assert set(errors) == {"syntax", "meaning", None, "empty", "twice", "bad json"}
    assert errors["syntax"]["position"] == 5
    assert "found `=`" in errors["syntax"]["message"]
    assert errors["syntax"]["expression"] == "a = = 1"
    assert "more than once" in errors["twice"]["message"]
    assert set(tamis.open(tmp_path)) == {"good", "same", "json"}

    with pytest.raises(SubscriptionError, match="7 rows refused, nothing was committed\n  id "):
        ts.compile(frame, tmp_path, shards=2, strict=True)
    assert ts.versions(tmp_path) == [1]


def test_metadata_and_integer_ids(spark: SparkSession, tmp_path: Path) -> None:
    """Metadata of any type and integer ids are returned unchanged."""
    rows = [(1, "a = 1", {"owner": "x"}), (2, "a = 1", None)]
    frame = spark.createDataFrame(rows, "id int, expression string, metadata map<string, string>")
    ts.compile(frame, tmp_path)
    index = tamis.open(tmp_path)
    assert index[1].metadata == {"owner": "x"}
    assert index[2].metadata is None
    events = spark.createDataFrame([(1,)], "a int")
    found = ts.match(events, tmp_path, metadata=True)
    assert found.schema.simpleString() == "struct<a:int,subscription:bigint,metadata:string>"
    assert {row["subscription"]: row["metadata"] for row in found.collect()} == {
        1: '{"owner":"x"}',
        2: None,
    }
    lists = ts.match(events, tmp_path, metadata=True, output="lists").collect()[0]
    assert lists["subscriptions"] == [1, 2]
    assert len(lists["metadata"]) == 2


@pytest.mark.parametrize("form", ["json", "struct", "map"])
def test_weights_and_boosts_rank_as_in_a_local_index(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    """Columns of weights and boosts give the scores of a local index."""
    draw, tags = Random(11), ["new", "old", "sale"]
    index, rows = tamis.Index(), list[Any]()
    for number in range(60):
        chosen, boost = draw.sample(tags, 2), draw.choice([0.5, 1.0, 3.0])
        text = f"tags in ('{chosen[0]}', '{chosen[1]}') and age > {draw.randint(0, 3)}"
        weights: dict[str, Any] = {"tags": draw.randint(0, 4), "age": draw.randint(0, 4)}
        if form != "map":
            weights["tags"] = {chosen[0]: draw.choice([0.25, 5.0])}
        index.add(number, text, weights=weights, boost=boost)
        rows.append((number, text, json.dumps(weights), boost))
    frame = spark.createDataFrame(rows, "id long, expression string, weights string, boost double")
    value = "struct<new: double, old: double, sale: double>"
    kinds = {"struct": f"struct<tags: {value}, age: double>", "map": "map<string, double>"}
    if form in kinds:
        frame = frame.withColumn("weights", sf.from_json("weights", kinds[form]))
    compiled = ts.compile(frame, tmp_path, shards=2)
    assert (compiled.subscriptions, compiled.error_count) == (60, 0)
    opened = tamis.open(tmp_path)
    assert {id: str(opened[id].expression) for id in opened} == {
        id: str(index[id].expression) for id in index
    }
    events = [(n, draw.sample(tags, 2), n % 5) for n in range(20)]
    found = ts.top(
        spark.createDataFrame(events, "number long, tags array<string>, age int"), tmp_path, 60
    )
    scores = {(row["number"], row["subscription"]): row["score"] for row in found.collect()}
    assert scores == {
        (number, match.id): match.score
        for number, tags, age in events
        for match in index.top({"tags": tags, "age": age}, n=60)
    }
    assert len(set(scores.values())) > 10


def test_weights_that_cannot_be_used_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A bad weight refuses its row, with the reason."""
    rows = [
        ("good", "a = 1", '{"a": 2}'),
        ("none", "a = 1", None),
        ("other", "a = 1", '{"b": 2}'),
        ("less", "a = 1", '{"a": -2}'),
        ("text", "a = 1", '{"a": "2"}'),
        ("list", "a = 1", "[2]"),
    ]
    frame = spark.createDataFrame(rows, "id string, expression string, weights string")
    compiled = ts.compile(frame, tmp_path)
    assert {row["id"]: row["message"] for row in compiled.errors.collect()} == {
        "other": "there is a weight for `b`, but no predicate on `b` that can take one",
        "less": "the weight of `a` is -2; it must be a finite number of at least 0",
        "text": "the weight of `a` must be a number, or an object with a number for each value",
        "list": "the weights are not a JSON object: `[2]`",
    }
    assert str(tamis.open(tmp_path)["good"].expression) == "a = 1^2"


def test_hierarchies_hold_in_every_version(spark: SparkSession, tmp_path: Path) -> None:
    """A hierarchy stays in effect after updates."""
    rows = [("us", "geo = 'US'"), ("west", "geo in ('CA', 'OR')"), ("month", "day = '2008-02'")]
    frame = spark.createDataFrame(rows, "id string, expression string")
    hierarchies: dict[str, Any] = {"geo": {"US": {"CA": ["LA"], "OR": []}}, "day": "dates"}
    with pytest.raises(tamis.ExpressionError, match="above itself"):
        ts.compile(frame, tmp_path, hierarchies={"geo": {"US": {"US": []}}})
    ts.compile(frame, tmp_path, shards=2, hierarchies=hierarchies)
    index = tamis.Index()
    index.add_many(rows)
    for attribute, values in hierarchies.items():
        index.hierarchy(attribute, values)
    places = [("LA", "2008-02-14"), ("OR", "2008-03-01"), ("US", None), ("FR", "2008-02-01")]
    events = spark.createDataFrame(places, "geo string, day string")

    def check() -> None:
        for placement in ("replicated", "sharded"):
            found = ts.match(events, tmp_path, placement=placement, output="lists")
            lists = {row["geo"]: sorted(row["subscriptions"]) for row in found.collect()}
            assert lists == {
                geo: sorted(index.match({"geo": geo, "day": day})) for geo, day in places
            }
            assert len(lists["LA"]) == len(index)

    check()
    schema = "id string, expression string, operation string"
    ts.update(tmp_path, spark.createDataFrame([("ca", "geo = 'CA'", "upsert")], schema))
    index.add("ca", "geo = 'CA'")
    check()


def test_updates_touch_only_their_shards(spark: SparkSession, tmp_path: Path) -> None:
    """An update builds only the shards it changes, and keeps the files of the others."""
    frame = spark.createDataFrame(SUBSCRIPTIONS, "id string, expression string")
    ts.compile(frame, tmp_path, shards=8)
    before = {path.name for path in tmp_path.glob("segment-*")}
    changes: list[Any] = [
        ("s1", "a = 100", "upsert", 1),
        ("s1", "a = 101", "upsert", 2),
        ("s2", None, "DELETE", 1),
        ("never there", None, "delete", 1),
        ("s3", "a = 0", "update_preimage", 1),
    ]
    schema = "id string, expression string, operation string, sequence int"
    updated = ts.update(tmp_path, spark.createDataFrame(changes, schema))
    assert (updated.version, updated.subscriptions, updated.error_count) == (2, 99, 0)
    assert 1 <= updated.built <= 3
    index = tamis.open(tmp_path)
    assert str(index["s1"].expression) == "a = 101"
    assert "s2" not in index
    assert str(index["s3"].expression) == "a = 3 and b between 3 and 3"
    assert len(before & {segment["file"] for segment in read(tmp_path, 2)["segments"]}) >= 5

    # The previous version is unchanged until it is vacuumed.
    old = tamis.open(tmp_path / "index-1.json")
    assert str(old["s1"].expression) == "a = 1 and b between 1 and 1"
    events = spark.createDataFrame([(101,)], "a int")
    assert ts.match(events, tmp_path).count() == 1
    assert ts.match(events, tmp_path, version=1).count() == 0
    gone = ts.vacuum(tmp_path)
    assert "index-1.json" in gone
    assert ts.versions(tmp_path) == [2]
    assert ts.match(events, tmp_path).count() == 1
    assert {path.name for path in tmp_path.glob("segment-*")} == {
        segment["file"] for segment in read(tmp_path, 2)["segments"]
    }
    with pytest.raises(StorageError, match="no version 1, but versions 2 to 2"):
        ts.match(events, tmp_path, version=1)


def read(folder: Path, version: int) -> Any:
    return json.loads((folder / f"index-{version}.json").read_text())


def test_a_refused_change_leaves_the_subscription(spark: SparkSession, tmp_path: Path) -> None:
    """A refused change leaves the subscription unchanged."""
    frame = spark.createDataFrame([("x", "a = 1"), ("y", "a = 1")], "id string, expression string")
    ts.compile(frame, tmp_path)
    schema = "id string, expression string, operation string"
    changes = [("x", "a = = 2", "upsert"), ("y", "a = 2", "upsert"), ("y", None, "delete")]
    updated = ts.update(tmp_path, spark.createDataFrame(changes, schema))
    assert updated.error_count == 3
    index = tamis.open(tmp_path)
    assert [str(index[id].expression) for id in ("x", "y")] == ["a = 1", "a = 1"]
    wrong = spark.createDataFrame([("x", "a = 2", "remove")], schema)
    with pytest.raises(Exception, match="operation must be 'upsert' or 'delete', not remove"):
        ts.update(tmp_path, wrong)
    assert ts.versions(tmp_path) == [1, 2]


def test_vacuum_leaves_what_a_running_job_writes(spark: SparkSession, tmp_path: Path) -> None:
    """Files that no version names are kept while they are young."""
    frame = spark.createDataFrame([("x", "a = 1")], "id string, expression string")
    ts.compile(frame, tmp_path)
    (tmp_path / "segment-0000000000000000-1.tamis").write_bytes(b"under way")
    (tmp_path / ".building-killed").mkdir()
    left = ["segment-0000000000000000-1.tamis", ".building-killed"]
    assert ts.vacuum(tmp_path) == []
    assert ts.vacuum(tmp_path, unfinished=timedelta(0)) == left
    assert list(tamis.open(tmp_path)) == ["x"]


def test_two_jobs_do_not_commit_one_version(spark: SparkSession, tmp_path: Path) -> None:
    """The second commit of a version fails and changes nothing."""
    from tamis.storage import manifest
    from tamis.storage.folder import Folder

    frame = spark.createDataFrame([("x", "a = 1")], "id string, expression string")
    ts.compile(frame, tmp_path)
    content = read(tmp_path, 1)
    manifest.commit(Folder(tmp_path), 2, content)
    with pytest.raises(StorageError, match="another job has committed version 2"):
        manifest.commit(Folder(tmp_path), 2, content)


def test_no_subscriptions_are_an_index(spark: SparkSession, tmp_path: Path) -> None:
    """An empty table compiles, opens, matches nothing and takes updates."""
    nothing = spark.createDataFrame([], "id string, expression string")
    assert ts.compile(nothing, tmp_path).subscriptions == 0
    assert len(tamis.open(tmp_path)) == 0
    assert ts.match(spark.range(3), tmp_path).count() == 0
    changes = spark.createDataFrame(
        [("x", "id = 1", "upsert")], "id string, expression string, operation string"
    )
    assert ts.update(tmp_path, changes).subscriptions == 1
    assert ts.match(spark.range(3), tmp_path).count() == 1
