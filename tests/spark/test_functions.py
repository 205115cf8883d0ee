"""SQL functions give the results of a local index, for every form of events and every query."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

import tamis
from tamis import spark as ts
from tamis.spark import evaluating

from .test_match import SCHEMA, event, expression
from .test_stream import subscribe, write_events

EVENTS = [event(Random(seed), seed) for seed in range(120)]
RULES = [(f"s{n}", expression(Random(n)), n % 7, {"tenant": "ab"[n % 2]}) for n in range(150)]


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    columns = "id string, expression string, priority int, metadata struct<tenant: string>"
    ts.compile(spark.createDataFrame(RULES, columns), folder, shards=2)
    return folder


@pytest.fixture
def events(spark: SparkSession, path: Path) -> Iterator[DataFrame]:
    """A view `events`, and the index called `rules`."""
    frame = spark.createDataFrame(EVENTS, SCHEMA).repartition(3)
    frame.createOrReplaceTempView("events")
    ts.register(spark, {"rules": path})
    yield frame
    spark.catalog.dropTempView("events")


def by_number(frame: DataFrame) -> list[Row]:
    rows = sorted(frame.collect(), key=lambda row: int(row["number"]))
    assert [row["number"] for row in rows] == list(range(len(EVENTS)))
    return rows


def test_they_give_what_an_index_gives(spark: SparkSession, path: Path, events: DataFrame) -> None:
    """Every SQL function returns for each event what the method of an index returns."""
    index = tamis.open(path)
    query = """select *, tamis_match(struct(*), 'rules') as hits,
        tamis_top(struct(*), 'rules', 3) as best, tamis_first(struct(*), 'rules') as first,
        tamis_explain(struct(*), 'rules', 's7') as why, tamis_error(struct(*), 'rules') as error,
        tamis_match(struct(*), 'rules', where => "tenant = 'a'") as some from events"""
    found = by_number(spark.sql(query))
    for row, given in zip(found, EVENTS, strict=True):
        assert row["hits"] == index.match(given)
        best = [(match.id, match.score) for match in index.top(given, n=3)]
        assert [tuple(match) for match in row["best"]] == best
        assert ([] if row["first"] is None else [row["first"]]) == index.first(given)
        assert row["why"] == str(index.explain("s7", given))
        assert row["error"] is None
        assert row["some"] == index.match(given, where="tenant = 'a'")
    lists = by_number(ts.match(events, path, output="lists", keep=["number"]))
    assert [row["hits"] for row in found] == [row["subscriptions"] for row in lists]


def test_every_form_of_events(spark: SparkSession, path: Path, events: DataFrame) -> None:
    """Structs, JSON, binary, variants and maps are events."""
    struct = sf.struct("age", "user", "tags", "score", "member")
    text = sf.to_json(struct)
    forms = {
        "struct": struct,
        "json": text,
        "binary": text.cast("binary"),
        "variant": sf.parse_json(text),
        "nested": sf.struct(
            "age", sf.parse_json(sf.to_json("user")).alias("user"), "tags", "score"
        ),
        "map": sf.create_map(sf.lit("user.state"), "user.state", sf.lit("user.name"), "user.name"),
    }
    columns = [form.alias(name) for name, form in forms.items()]
    packed = events.select("number", *columns)
    asked = [f"tamis_match({name}, 'rules') as hits_{name}" for name in forms]
    ranked = "tamis_top(variant, 'rules', 2) as top_variant"
    chosen = "tamis_first(variant, 'rules') as first_variant"
    found = by_number(packed.selectExpr("number", *asked, ranked, chosen))
    index = tamis.open(path)
    for row, given in zip(found, EVENTS, strict=True):
        user = given["user"] or {}
        flat = {"user.state": user.get("state"), "user.name": user.get("name")}
        known = {name: value for name, value in given.items() if value is not None}
        assert row["hits_struct"] == index.match(given)
        for name in ("json", "binary", "variant"):
            assert row[f"hits_{name}"] == index.match(known), name
        assert row["hits_nested"] == index.match({**given, "member": None})
        assert row["hits_map"] == index.match(flat)
        best = [(match.id, match.score) for match in index.top(known, n=2)]
        assert [tuple(match) for match in row["top_variant"]] == best
        assert [row["first_variant"]] == (index.first(known) or [None])


def test_refused_events_are_null(spark: SparkSession, events: DataFrame) -> None:
    """A refused event gives NULL, `tamis_error` gives the reason, and the query continues."""
    lines = spark.createDataFrame(
        [(1, '{"age": 3}'), (2, '{"age": '), (3, None)], "n int, e string"
    )
    asked = [f"tamis_{name}(e, 'rules') as {name}" for name in ("match", "first", "error")]
    more = ["tamis_top(e, 'rules', 1) as top", "tamis_explain(e, 'rules', 's1') as explain"]
    rows = {row["n"]: row for row in lines.selectExpr("n", *asked, *more).collect()}
    refused = rows[2].asDict()
    assert refused.pop("error").startswith("the event is invalid JSON: column 8: ")
    assert refused == {"n": 2, "match": None, "first": None, "top": None, "explain": None}
    assert (rows[3]["match"], rows[3]["error"]) == (None, "the event is null")
    assert rows[1]["error"] is None
    assert rows[1]["match"] is not None
    assert rows[1]["explain"] is not None
    unknown = lines.selectExpr("tamis_explain('{}', 'rules', 'nobody') as x").first()
    assert unknown == ("no subscription has the id 'nobody'",)


def test_which_index_is_said_row_by_row(spark: SparkSession, tmp_path: Path) -> None:
    """Each row may use another index."""
    for name in ("one", "two"):
        rules = [(n + 100 * (name == "two"), f"a = {n}") for n in range(10)]
        frame = spark.createDataFrame(rules, "id long, expression string")
        ts.compile(frame, tmp_path / name, shards=1)
    names = ts.register(spark, {name: tmp_path / name for name in ("one", "two")}, prefix="t_")
    assert "t_match" in names
    which = "case when a % 3 = 0 then 'one' when a % 3 = 1 then 'two' end"
    query = f"select a, t_match(struct(a), {which}) as hits from (select id as a from range(10))"
    expected = {a: [[a], [a + 100], None][a % 3] for a in range(10)}
    assert {row["a"]: row["hits"] for row in spark.sql(query).collect()} == expected


def hits(spark: SparkSession, index: str, function: str = "tamis_match") -> list[Any]:
    row = spark.sql(f"""select {function}('{{"a": 1}}', '{index}') as hits""").first()
    assert row is not None
    found: list[Any] = row["hits"]
    return found


def test_names_stay_at_their_version_and_paths_follow(spark: SparkSession, tmp_path: Path) -> None:
    """A name and a column keep their version; a path means the current one."""
    subscribe(spark, tmp_path, 0, 10)
    ts.register(spark, {"rules": tmp_path})
    column = ts.match_column(tmp_path, "e")
    subscribe(spark, tmp_path, 10, 10)
    assert hits(spark, "rules") == [1]
    assert sorted(hits(spark, str(tmp_path))) == [1, 11]
    frame = spark.createDataFrame([('{"a": 1}',)], "e string")
    assert frame.select(column).first() == ([1],)
    ts.register(spark, {"rules": tmp_path, "old": (tmp_path, 1)})
    assert sorted(hits(spark, "rules")) == [1, 11]
    assert hits(spark, "old") == [1]
    assert frame.select(ts.match_column(tmp_path, "e", version=1)).first() == ([1],)


def test_types_of_ids(spark: SparkSession, path: Path, tmp_path: Path) -> None:
    """Indexes with ids of two types give strings; a wrong type is refused."""
    subscribe(spark, tmp_path, 0, 10)
    ts.register(spark, {"numbers": tmp_path, "texts": path})
    assert hits(spark, "numbers") == ["1"]  # the same type for all
    row = spark.sql("""select tamis_explain('{"a": 1}', 'numbers', '1') as x""").first()
    assert row is not None
    assert row["x"].startswith("true")
    with pytest.raises(ValueError, match="the ids of 'texts' are strings"):
        ts.register(spark, {"texts": path}, ids="bigint")


def test_what_workers_refuse(path: Path) -> None:
    """Errors for wrong arguments describe the valid ones."""
    pinned = evaluating.Pinned({}, "bigint", None)
    event, there = pa.array(["{}"]), pa.array([str(path)])
    with pytest.raises(tamis.StorageError, match="register them with ids='string'"):
        evaluating.call("match", pinned, {}, event, there)
    with pytest.raises(tamis.StorageError, match=r"nowhere: not an index.* there is none$"):
        evaluating.call("match", pinned, {}, event, pa.array(["nowhere"]))
    named = evaluating.Pinned({"b": ("there", "1"), "a": ("there", "1")}, "bigint", None)
    known = "nor is it a name passed to `register`, whose last call counts: there is 'a', 'b'$"
    with pytest.raises(tamis.StorageError, match=known):
        evaluating.call("match", named, {}, event, pa.array(["c"]))
    with pytest.raises(
        tamis.EventError, match=r"is of the type int64; it must be a struct, such as str"
    ):
        evaluating.call("match", pinned, {}, pa.array([1]), there)
    with pytest.raises(TypeError, match="tamis_top takes event, index, n, and optionally now"):
        evaluating.call("top", pinned, {}, event, there)
    with pytest.raises(ValueError, match="n must be at least 1, not 0"):
        evaluating.call("top", pinned, {}, event, there, pa.array([0]))
    months = pa.array([{"age": None}], pa.struct([("age", pa.month_day_nano_interval())]))
    with pytest.raises(tamis.EventError, match="Interval"):
        evaluating.call("match", evaluating.Pinned({}, "string", None), {}, months, there)
    with pytest.raises(ValueError, match="now must be a timestamp, not '2026-01-01'"):
        evaluating.call("match", pinned, {}, event, there, now=pa.array(["2026-01-01"]))
    empty = evaluating.call("match", pinned, {}, event.slice(1), there.slice(1))
    assert len(empty) == 0


def test_now(spark: SparkSession, tmp_path: Path) -> None:
    """`now()` is that of `register`, of the query, or of each row, depending on the query."""
    rules = [("past", "at < now()"), ("future", "at > now()"), ("now", "at = now()")]
    ts.compile(spark.createDataFrame(rules, "id string, expression string"), tmp_path)
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    ts.register(spark, {"rules": tmp_path}, now=noon)
    moments = [noon - timedelta(hours=1), noon, noon + timedelta(hours=1)]
    frame = spark.createDataFrame([(moment,) for moment in moments], "at timestamp").coalesce(1)
    own = "tamis_match(struct(at), 'rules')"
    query = "tamis_match(struct(at), 'rules', now => current_timestamp())"
    each = "tamis_match(struct(at), 'rules', now => at)"
    rows = frame.orderBy("at").selectExpr(own, query, each).collect()
    assert [row[0] for row in rows] == [["past"], ["now"], ["future"]]
    assert [row[1] for row in rows] == [["past"]] * 3
    assert [row[2] for row in rows] == [["now"]] * 3
    asked = sf.struct(sf.current_timestamp().alias("at"))
    assert spark.range(3).select(ts.match_column(tmp_path, asked)).distinct().collect() == [
        (["now"],)
    ]
    fixed = ts.match_column(tmp_path, sf.struct("at"), now=noon)
    assert frame.select(fixed.alias("hits")).where("hits = array('now')").count() == 1


def test_the_table_function(spark: SparkSession, path: Path, events: DataFrame) -> None:
    """`LATERAL tamis_matches` and its `TABLE` form give a row per match."""
    index = tamis.open(path)
    expected = [(given["number"], id) for given in EVENTS for id in index.match(given)]
    columns = ", ".join(f"e.{name}" for name in events.columns)
    lateral = f"""select e.number, m.subscription from events e,
        lateral tamis_matches(struct({columns}), 'rules') m"""
    assert sorted(tuple(row) for row in spark.sql(lateral).collect()) == sorted(expected)
    table = spark.sql(f"select * from tamis_matches(table(events), '{path}')")
    assert table.columns == [*events.columns, "subscription"]
    rows = table.select("number", "subscription").collect()
    assert sorted(tuple(row) for row in rows) == sorted(expected)
    some = spark.sql("""select count(*) from
        tamis_matches(table(events), 'rules', where => "tenant = 'a'")""")
    counted = sum(len(index.match(given, where="tenant = 'a'")) for given in EVENTS)
    assert some.first() == (counted,)
    whole = "select e.number, m.subscription from (select *, struct(*) as event from events) e"
    joined = f"{whole}, lateral tamis_matches(e.event, 'rules') m"
    assert sorted(tuple(row) for row in spark.sql(joined).collect()) == sorted(expected)
    outer = f"""{whole} left join
        lateral tamis_matches(e.event, 'rules', where => "tenant = 'c'") m on true"""
    nothing = [(number, None) for number in range(len(EVENTS))]
    assert sorted(tuple(row) for row in spark.sql(outer).collect()) == nothing
    with pytest.raises(Exception, match=r"the event is of the type .*int; it must be a struct"):
        spark.sql("select * from events, lateral tamis_matches(age, 'rules')").collect()
    with pytest.raises(Exception, match="index must be constant"):
        spark.sql("select * from events, lateral tamis_matches(struct(age), user.name)").collect()


def test_views_and_streams(spark: SparkSession, tmp_path: Path) -> None:
    """Views and SQL streams use the version at registration; paths use the current one."""
    index, incoming = tmp_path / "index", tmp_path / "in"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    ts.register(spark, {"rules": index})
    stream = spark.readStream.schema("number long, a long").json(str(incoming))
    stream.createOrReplaceTempView("incoming")
    spark.sql(
        f"""create or replace temporary view matched as select number,
            tamis_match(struct(a), 'rules') as named, tamis_match(struct(a), '{index}') as followed,
            tamis_match(struct(a), '{index}', now => current_timestamp()) as timed from incoming"""
    )
    running = spark.table("matched").writeStream.format("memory").queryName("found_here").start()
    try:
        write_events(incoming, 0, 10)
        running.processAllAvailable()
        subscribe(spark, index, 10, 10)
        write_events(incoming, 10, 10)
        running.processAllAvailable()
    finally:
        running.stop()
    rows = {row["number"]: row for row in spark.table("found_here").collect()}
    assert {number: row["named"] for number, row in rows.items()} == {
        n: [n % 10] for n in range(20)
    }
    for n in range(20):
        assert rows[n]["followed"] == rows[n]["timed"]
        assert sorted(rows[n]["followed"]) == [n % 10, n % 10 + 10][: 1 + (n > 9)]
    for view in ("incoming", "matched", "found_here"):
        spark.catalog.dropTempView(view)


def test_each_micro_batch_has_its_version_and_moment(spark: SparkSession, tmp_path: Path) -> None:
    """In `foreachBatch`, `match_column` and `register` use both as of a micro-batch's start."""
    index, incoming = tmp_path / "index", tmp_path / "in"
    incoming.mkdir()
    subscribe(spark, index, 0, 10)
    stream = spark.readStream.schema("number long, a long").option("maxFilesPerTrigger", 1)
    met = dict[int, set[tuple[int, int, bool]]]()
    moments = list[datetime]()

    def write(events: DataFrame, batch: int) -> None:
        session = events.sparkSession
        ts.register(session, {"rules": index})
        events.createOrReplaceTempView("micro_batch")
        moments.append(datetime.now(UTC))
        named = session.sql(
            f"""select number, size(tamis_match(struct(a), 'rules')) as named,
                size(tamis_match(named_struct('at', timestamp '{moments[0]}'), '{clock}')) = 1
                as late from micro_batch"""
        )
        column = events.select("number", sf.size(ts.match_column(index)).alias("hits"))
        rows = named.join(column, "number").select("named", "hits", "late").distinct().collect()
        met[batch] = {(row["named"], row["hits"], row["late"]) for row in rows}
        if batch == 0:
            subscribe(spark, index, 10, 10)

    clock = tmp_path / "clock"
    rule = spark.createDataFrame([(1, "at < now()")], "id long, expression string")
    ts.compile(rule, clock)
    for first in (0, 10, 20):
        write_events(incoming, first, 10)
    each = stream.json(str(incoming)).writeStream.foreachBatch(write).trigger(availableNow=True)
    each.option("checkpointLocation", str(tmp_path / "state")).start().awaitTermination()
    # The first time is after the registration of its own micro-batch, and before later ones.
    assert met == {0: {(1, 1, False)}, 1: {(2, 2, True)}, 2: {(2, 2, True)}}


def test_errors_are_a_column(spark: SparkSession, path: Path) -> None:
    """`error_column` is `tamis_error`."""
    lines = spark.createDataFrame([("{}",), ('{"age": ',)], "e string")
    asked = lines.select(ts.match_column(path, "e"), ts.error_column(path, "e"))
    good, bad = asked.collect()
    assert good[0] is not None
    assert good[1] is None
    assert bad[0] is None
    assert "the event is invalid JSON" in bad[1]


def test_rules_themselves_are_refused(spark: SparkSession) -> None:
    """A DataFrame instead of a path is refused, and the error says what to do."""
    rules = spark.createDataFrame([("a", "a = 1")], "id string, expression string")
    unexpected: Any = rules
    message = r"take the folder of an index, not a DataFrame: .*`ts.compile\(rules, path\)`"
    with pytest.raises(TypeError, match=message):
        ts.register(spark, names={"rules": unexpected})
    with pytest.raises(TypeError, match=message):
        ts.match_column(unexpected)
    with pytest.raises(TypeError, match=message):
        ts.error_column(unexpected, version=1)
    with pytest.raises(
        tamis.StorageError, match=r'not an index.*`ts.compile\("no_such", folder\)`, and pass the'
    ):
        ts.register(spark, names={"rules": "no_such"})
