"""Matches on Spark are the matches of a local index, in both placements and all forms of events."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import tamis
from tamis import spark as ts
from tamis.spark.matching import Placement

STATES = ["CA", "NV", "NY", "OR", "WA"]
TAGS = ["new", "old", "red", "sale"]


def expression(draw: Random) -> str:
    predicates = [
        f"age between {draw.randint(0, 40)} and {draw.randint(40, 90)}",
        f"user.state in ('{draw.choice(STATES)}', '{draw.choice(STATES)}')",
        f"tags = '{draw.choice(TAGS)}'",
        f"tags not in ('{draw.choice(TAGS)}')",
        f"score < {draw.randint(0, 100) / 10}",
        "member",
        "missing(age)",
        f"user.name starts with '{draw.choice('abc')}'",
    ]
    chosen = draw.sample(predicates, draw.randint(1, 3))
    text = draw.choice([" and ", " or ", " xor "]).join(f"({predicate})" for predicate in chosen)
    return f"not ({text})" if draw.random() < 0.2 else text


def event(draw: Random, number: int) -> dict[str, Any]:
    """An event in which anything may be missing, or null."""

    def maybe(value: Any) -> Any:
        return value if draw.random() < 0.8 else None

    return {
        "number": number,
        "age": maybe(draw.randint(0, 90)),
        "user": maybe({"state": maybe(draw.choice(STATES)), "name": maybe(draw.choice("abcd"))}),
        "tags": maybe([maybe(tag) for tag in draw.sample(TAGS, draw.randint(0, 3))]),
        "score": maybe(draw.randint(0, 100) / 10),
        "member": maybe(draw.random() < 0.5),
    }


SCHEMA = (
    "number long, age int, user struct<state: string, name: string>, tags array<string>, "
    "score double, member boolean"
)


@pytest.fixture(scope="module")
def subscriptions() -> list[tuple[str, str]]:
    draw = Random(5)
    return [(f"s{n}", expression(draw)) for n in range(300)]


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    draw = Random(6)
    return [event(draw, number) for number in range(500)]


@pytest.fixture(scope="module")
def frame(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(events, SCHEMA).repartition(3)


@pytest.fixture(scope="module")
def path(
    spark: SparkSession,
    subscriptions: list[tuple[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("index")
    ts.compile(
        spark.createDataFrame(subscriptions, "id string, expression string"), folder, shards=3
    )
    return folder


@pytest.fixture(scope="module")
def expected(
    subscriptions: list[tuple[str, str]], events: list[dict[str, Any]]
) -> set[tuple[int, str]]:
    index = tamis.Index()
    index.add_many(subscriptions)
    found = {(event["number"], id) for event in events for id in index.match(event)}
    assert len(found) > 10_000
    return found


def pairs(found: DataFrame) -> set[tuple[int, str]]:
    rows = found.select("number", "subscription").collect()
    assert len({tuple(row) for row in rows}) == len(rows)
    return {(row[0], row[1]) for row in rows}


PLACEMENTS: list[Placement] = ["replicated", "sharded"]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_pairs(frame: DataFrame, path: Path, expected: Any, placement: Placement) -> None:
    """Both placements find the pairs that a local index finds, and keep all columns."""
    found = ts.match(frame, path, placement=placement)
    assert found.columns == [*frame.columns, "subscription"]
    assert pairs(found) == expected
    row = found.where("user.state is not null").first()
    assert row is not None
    assert row.asDict(recursive=True)["user"] is not None


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_lists(frame: DataFrame, path: Path, expected: Any, placement: Placement) -> None:
    """Lists hold the same pairs, in the order of a local index."""
    found = ts.match(frame, path, output="lists", keep=["number"], placement=placement).collect()
    assert sorted(row["number"] for row in found) == list(range(500))
    lists = {row["number"]: row["subscriptions"] for row in found}
    assert {(number, id) for number, ids in lists.items() for id in ids} == expected
    assert sum(map(len, lists.values())) == len(expected)
    index = tamis.open(path)
    row = frame.where("number = 3").first()
    assert row is not None
    assert lists[3] == index.match(row.asDict(recursive=True))  # and in this order


def test_slices_of_shards(frame: DataFrame, path: Path, expected: Any) -> None:
    """Several tasks may share the events of a shard."""
    found = ts.match(frame, path, placement="sharded", slices=2, keep=["number"])
    assert pairs(found) == expected


@pytest.mark.parametrize("form", ["struct", "json", "binary", "variant", "map"])
def test_one_column_holds_the_events(
    frame: DataFrame, path: Path, expected: Any, subscriptions: Any, form: str
) -> None:
    """Events in one column have the same matches as in a local index."""
    struct = sf.struct("age", "user", "tags", "score", "member")
    text = sf.to_json(struct)
    column = {
        "struct": struct,
        "json": text,
        "binary": text.cast("binary"),
        "variant": sf.parse_json(text),
        "map": sf.create_map(
            *(sf.lit("user.state"), sf.col("user.state"), sf.lit("user.name"), sf.col("user.name"))
        ),
    }[form]
    packed = frame.select("number", column.alias("packed"))
    found = pairs(ts.match(packed, path, event="packed"))
    if form == "struct":
        assert found == expected
        return
    index = tamis.Index()
    index.add_many(subscriptions)
    rows = packed.collect()
    local = [row["packed"] for row in rows]
    local = [
        value.toJson() if form == "variant" else bytes(value) if form == "binary" else value
        for value in local
    ]
    numbers = [row["number"] for row in rows]
    assert found == {
        (number, id)
        for number, ids in zip(numbers, index.match_batch(local), strict=True)
        for id in ids
    }


def test_what_index_save_wrote(
    frame: DataFrame, subscriptions: Any, expected: Any, tmp_path: Path
) -> None:
    """A folder of `Index.save` can be matched; it has no shards."""
    index = tamis.Index()
    index.add_many(subscriptions)
    index.save(tmp_path)
    assert pairs(ts.match(frame, tmp_path)) == expected
    with pytest.raises(tamis.StorageError, match="no shards"):
        ts.match(frame, tmp_path, placement="sharded")


def test_columns_that_nobody_mentions_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """Spark does not compute columns that no expression mentions."""
    ts.compile(spark.createDataFrame([("x", "b > 1")], "id string, expression string"), tmp_path)
    events = spark.range(4).selectExpr(
        "id", "id as b", "assert_true(false) as never", "current_date() as at"
    )
    found = ts.match(events, tmp_path, keep=["id"])
    assert sorted(row["id"] for row in found.collect()) == [2, 3]
    assert "current_timestamp" not in found._jdf.queryExecution().logical().toString()
    nothing = ts.match(
        spark.range(3).select(sf.lit(1).alias("other")), tmp_path, output="lists", keep=[]
    )
    assert [row["subscriptions"] for row in nothing.collect()] == [[], [], []]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_now_is_that_of_the_query_and_values_are_all(
    spark: SparkSession, tmp_path: Path, placement: Placement
) -> None:
    """`now()` equals the query's `current_timestamp()` in all tasks and shards."""
    rows = [("now", "at = now()"), ("then", "at < now()"), ("values", "values() = 'x'")]
    ts.compile(spark.createDataFrame(rows, "id string, expression string"), tmp_path, shards=2)
    events = spark.range(0, 4, 1, 2).selectExpr(
        "id", "if(id = 3, 'x', 'y') as text", "current_timestamp() as at"
    )
    found = ts.match(events, tmp_path, keep=["id"], placement=placement).collect()
    expected = [(0, "now"), (1, "now"), (2, "now"), (3, "now"), (3, "values")]
    assert sorted((row["id"], row["subscription"]) for row in found) == expected


def test_now_may_be_given(spark: SparkSession, tmp_path: Path) -> None:
    """A given time, or a column of times, replaces the clock in every function."""
    rules = [("now", "at = now()"), ("then", "at < now()")]
    frame = spark.createDataFrame(rules, "id string, expression string")
    ts.compile(frame, tmp_path / "index")
    noon = datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))
    events = spark.sql("select timestamp '2026-01-01 12:00:00Z' as at")
    index, graph = tmp_path / "index", tamis.Graph()
    graph.add_node("n", "at = now()")
    graph.add_edge("s", "n")
    graph.save(tmp_path / "graph")
    for moment in (noon, sf.lit("2026-01-01T12:00:00Z")):
        found = [
            ts.match(events, index, keep=[], now=moment).collect(),
            ts.top(events, index, keep=[], now=moment).select("subscription").collect(),
            ts.first(events, index, keep=[], now=moment).select("subscription").collect(),
            ts.count(events, index, now=moment).select("subscription").collect(),
        ]
        assert found == [[("now",)]] * 4
    (row,) = ts.match_graph(events, tmp_path / "graph", "s", keep=[], now=noon).collect()
    assert row["node"] == "n"
    (row,) = ts.explain(events, index, subscription="then", now=noon).collect()
    assert row["explanation"].startswith("false")
    with pytest.raises(ValueError, match="now must be a datetime with a time zone"):
        ts.match(events, index, now=datetime(2026, 1, 1))


def test_names_with_dots_and_quotes(spark: SparkSession, tmp_path: Path) -> None:
    """Column names are used unchanged."""
    rows = [("x", '"a.b" = 1 and "it`s" = 2')]
    ts.compile(spark.createDataFrame(rows, "id string, expression string"), tmp_path)
    events = spark.createDataFrame([(1, 2), (1, 3)], "`a.b` int, `it``s` int")
    assert [tuple(row) for row in ts.match(events, tmp_path).collect()] == [(1, 2, "x")]


def test_large_results_come_in_parts(spark: SparkSession, tmp_path: Path) -> None:
    """A batch with many matches comes back in several batches."""
    rows = [(n, "a >= 0") for n in range(200)]
    ts.compile(spark.createDataFrame(rows, "id long, expression string"), tmp_path)
    events = spark.range(0, 3000, 1, 1).withColumnRenamed("id", "a")
    assert ts.match(events, tmp_path).count() == 600_000
    lists = ts.match(events, tmp_path, output="lists").selectExpr("sum(size(subscriptions))")
    assert lists.first() == (600_000,)


def test_explanations_are_those_of_a_local_index(frame: DataFrame, path: Path) -> None:
    """`explain` gives the explanations of a local index."""
    found = ts.match(frame, path, placement="replicated")
    index = tamis.open(path)
    rows = ts.explain(found, path, limit=7).collect()
    assert len(rows) == 7
    for row in rows:
        event = row.asDict(recursive=True)
        explanation, id = event.pop("explanation"), event.pop("subscription")
        assert explanation == str(index.explain(id, event))
        assert explanation.startswith("true")
    packed = frame.limit(1).select(sf.struct("age", "user").alias("e"))
    (row,) = ts.explain(packed, path, event="e", subscription="s3").collect()
    assert row["explanation"] == str(index.explain("s3", row["e"].asDict(recursive=True)))


def test_explanations_have_the_moment_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """Explanations show the query's `current_timestamp()`."""
    rules = [("x", "t > now() - interval '1' day")]
    ts.compile(spark.createDataFrame(rules, "id string, expression string"), tmp_path)
    events = spark.range(0, 6, 1, 3).select(sf.lit("2026-01-02T05:00Z").alias("t"))
    asked = events.withColumn("asked", sf.date_format(sf.current_timestamp(), "ss.SSSSSS"))
    rows = ts.explain(asked, tmp_path, subscription="x").collect()
    assert len(rows) == 6
    moments = {row["explanation"].partition("is timestamp ")[2] for row in rows}
    assert len(moments) == 1
    # Fractions are printed without trailing zeros.
    assert f":{rows[0]['asked'].rstrip('0').rstrip('.')}Z'" in moments.pop()


def test_documents(spark: SparkSession, tmp_path: Path) -> None:
    """XPath expressions query a column of documents, also after an update."""
    rows = [
        ("cheap", "xpath('//price[. < 300]')"),
        ("urgent", "xpath('//item') and priority > 3"),
        ("plain", "priority > 3"),
    ]
    ts.compile(spark.createDataFrame(rows, "id string, expression string"), tmp_path, shards=3)
    documents = [
        (1, 5, "<item><price>299</price></item>"),
        (2, 1, "<item><price>300</price></item>"),
        (3, 9, None),
    ]
    frame = spark.createDataFrame(documents, "number int, priority int, document string")
    for placement in PLACEMENTS:
        found = ts.match(frame, tmp_path, document="document", placement=placement)
        pairs = sorted((row["number"], row["subscription"]) for row in found.collect())
        assert pairs == [(1, "cheap"), (1, "plain"), (1, "urgent"), (3, "plain")]
    binary = frame.select("number", sf.col("document").cast("binary").alias("document"))
    alone = ts.match_xml(binary, tmp_path, keep=["number"]).collect()
    assert [tuple(row) for row in alone] == [(1, "cheap")]
    schema = "id string, expression string, operation string"
    changes = spark.createDataFrame([("cheap", "xpath('//price[. = 300]')", "upsert")], schema)
    ts.update(tmp_path, changes)
    alone = ts.match_xml(binary, tmp_path, keep=["number"]).collect()
    assert [tuple(row) for row in alone] == [(2, "cheap")]
    with pytest.raises(tamis.EventError, match="documents are strings or binary"):
        ts.match_xml(frame, tmp_path, document="number")


def test_rankings_are_those_of_a_local_index(spark: SparkSession, tmp_path: Path) -> None:
    """The merged rankings of shards equal that of a local index."""
    draw = Random(8)
    rows = []
    for number in range(200):
        tags = ", ".join(f"'{tag}'^{draw.choice([0.5, 1, 2, 3])}" for tag in draw.sample(TAGS, 2))
        rows.append((number, f"tags in ({tags})", draw.choice([0.5, 1.0, 2.0])))
    schema = "id long, expression string, boost double"
    ts.compile(spark.createDataFrame(rows, schema), tmp_path, shards=3)
    index = tamis.open(tmp_path)
    events = [(n, draw.sample(TAGS, draw.randint(0, 3))) for n in range(40)]
    frame = spark.createDataFrame(events, "number long, tags array<string>")
    weights = {"tags": {"new": 3.0}}
    expected = [
        (number, match.id, match.score, rank)
        for number, tags in events
        for rank, match in enumerate(index.top({"tags": tags}, n=7, weights=weights), 1)
    ]
    assert len(expected) > 100
    for placement in PLACEMENTS:
        found = ts.top(frame, tmp_path, 7, weights=weights, placement=placement, keep=["number"])
        assert found.columns == ["number", "subscription", "score", "rank"]
        rows_found = sorted(tuple(row) for row in found.collect())
        assert sorted(rows_found) == sorted(expected)
    with pytest.raises(ValueError, match="n must be at least 1"):
        ts.top(frame, tmp_path, 0)
