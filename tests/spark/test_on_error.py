"""Unreadable events do not affect the matches of others, and streams continue."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import tamis
from longer import long_test
from tamis import spark as ts

COUNT, EVERY = 4_000, 1_000


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    rows = [(n, f"a = {n} or b = {n}") for n in range(10)] + [(10, "missing(c)"), (11, "c = 'x'")]
    frame = spark.createDataFrame(rows, "id long, expression string")
    ts.compile(frame, folder, shards=3)
    return folder


def line(number: int) -> str:
    return json.dumps({"a": number % 10, "n": number})


@pytest.fixture(scope="module")
def lines(spark: SparkSession) -> DataFrame:
    """Lines of which every thousandth is not JSON."""
    good = sf.concat(sf.lit('{"a": '), sf.col("id") % 10, sf.lit("}"))
    bad = sf.when(sf.col("id") % (2 * EVERY) == 7, sf.lit('{"a": ')).otherwise(
        sf.expr("cast(X'7b808182' as string)")
    )
    is_bad = sf.col("id") % EVERY == 7
    return spark.range(0, COUNT, 1, 3).select(
        sf.col("id").alias("n"), sf.when(is_bad, bad).otherwise(good).alias("e")
    )


BAD = set(range(7, COUNT, EVERY))
GOOD = [n for n in range(COUNT) if n not in BAD]


@pytest.mark.parametrize("placement", ["replicated", "sharded"])
def test_pairs(lines: DataFrame, path: Path, placement: Any) -> None:
    """A refused event gives one row with its reason; the others match as without it."""
    found = ts.match(lines, path, event="e", keep=["n"], placement=placement, on_error="collect")
    assert found.columns == ["n", "subscription", "event_error"]
    rows = [tuple(row) for row in found.collect()]
    refused = [row for row in rows if row[2] is not None]
    assert {row[0] for row in refused} == BAD
    assert len(refused) == len(BAD)  # once, for any number of shards
    reasons = [row[2] for row in refused if row[0] % (2 * EVERY) == 7]
    assert all(reason.startswith("the event is invalid JSON: column 6: ") for reason in reasons)
    assert all(row[1] is None for row in refused)
    matches = sorted(row[:2] for row in rows if row[2] is None)
    assert matches == sorted((n, id) for n in GOOD for id in (n % 10, 10))
    skipped = ts.match(lines, path, event="e", keep=["n"], placement=placement, on_error="skip")
    assert skipped.columns == ["n", "subscription"]
    assert sorted(tuple(row) for row in skipped.collect()) == matches
    with pytest.raises(Exception, match=r"event with n=\d*7"):
        ts.match(lines, path, event="e", keep=["n"], placement=placement).collect()


@pytest.mark.parametrize("placement", ["replicated", "sharded"])
def test_lists_and_rankings(lines: DataFrame, path: Path, placement: Any) -> None:
    """The same in lists and rankings."""
    options: dict[str, Any] = {"event": "e", "keep": ["n"], "placement": placement}
    found = ts.match(lines, path, output="lists", on_error="collect", **options)
    assert found.columns == ["n", "subscriptions", "event_error"]
    rows = {row["n"]: row for row in found.collect()}
    assert len(rows) == COUNT
    assert {n for n, row in rows.items() if row["event_error"] is not None} == BAD
    assert all(rows[n]["subscriptions"] == [] for n in BAD)
    assert all(sorted(rows[n]["subscriptions"]) == [n % 10, 10] for n in GOOD)
    skipped = ts.match(lines, path, output="lists", on_error="skip", **options)
    assert sorted(row["n"] for row in skipped.collect()) == GOOD
    best = ts.top(lines, path, 1, on_error="collect", add_version=True, **options)
    assert best.columns == ["n", "subscription", "score", "rank", "version", "event_error"]
    ranked = best.collect()
    assert {row["n"] for row in ranked if row["event_error"] is not None} == BAD
    assert len(ranked) == COUNT
    assert all((row["rank"] == 1) == (row["event_error"] is None) for row in ranked)
    assert ts.top(lines, path, 1, on_error="skip", **options).count() == len(GOOD)


def test_attributes_that_only_some_shards_mention(spark: SparkSession, path: Path) -> None:
    """An event is refused for all shards or for none."""
    events = spark.sql("select 1L as a, cast(X'80' as string) as b union all select 2L, 'two'")
    for placement in ("replicated", "sharded"):
        found = ts.match(events, path, placement=placement, on_error="collect")
        rows = Counter((row["a"], row["subscription"]) for row in found.collect())
        assert rows == {(1, None): 1, (2, 2): 1, (2, 10): 1}


def test_documents(spark: SparkSession, tmp_path: Path) -> None:
    """An event with an invalid document is refused."""
    rows = [("x", "xpath('//x')"), ("y", "not xpath('//x')")]
    ts.compile(spark.createDataFrame(rows, "id string, expression string"), tmp_path, shards=2)
    documents = spark.createDataFrame(
        [(1, "<x/>"), (2, "<x"), (3, "<y/>"), (4, None)], "n long, document string"
    )
    found = ts.match_xml(documents, tmp_path, keep=["n"], on_error="collect").collect()
    refused = [row for row in found if row["event_error"]]
    assert [row["n"] for row in refused] == [2]
    assert sorted((row["n"], row["subscription"]) for row in found if row not in refused) == [
        (1, "x"),
        (3, "y"),
    ]
    assert ts.match_xml(documents, tmp_path, on_error="skip").count() == 2


def test_graphs(spark: SparkSession, tmp_path: Path, lines: DataFrame) -> None:
    """`match_graph` continues, too, with pairs and with lists."""
    graph = tamis.Graph()
    for node in range(10):
        graph.add_node(f"n{node}", f"a = {node}")
        graph.add_edge("s", f"n{node}")
    graph.save(tmp_path)
    found = ts.match_graph(lines, tmp_path, "s", event="e", keep=["n"], on_error="collect")
    assert found.columns == ["n", "node", "event_error"]
    rows = found.collect()
    assert sorted(row["n"] for row in rows if row["event_error"] is not None) == sorted(BAD)
    matches = sorted((row["n"], row["node"]) for row in rows if row["event_error"] is None)
    assert matches == [(n, f"n{n % 10}") for n in GOOD]
    lists = ts.match_graph(
        lines, tmp_path, "s", event="e", keep=["n"], output="lists", on_error="skip"
    )
    assert sorted(row["n"] for row in lists.collect()) == GOOD


def test_other_words(spark: SparkSession, path: Path, lines: DataFrame) -> None:
    """An unknown value of `on_error` is refused."""
    wrong: Any = "ignore"
    with pytest.raises(ValueError, match="on_error must be"):
        ts.match(lines, path, event="e", on_error=wrong)
    with pytest.raises(tamis.EventError, match="have a column `event_error`"):
        ts.match(spark.sql("select 1 as a, '' as event_error"), path, on_error="collect")


def test_a_subscription_that_is_not_utf8(spark: SparkSession, tmp_path: Path) -> None:
    """Ids and expressions that are not UTF-8 are refused, row by row."""
    rows = spark.sql(
        "select 'x' as id, 'a = 1' as expression union all "
        "select 'y', concat('a = \\'', cast(X'808182' as string), '\\'') union all "
        "select cast(X'808182' as string), 'a = 1'"
    )
    compiled = ts.compile(rows, tmp_path, shards=1)
    assert (compiled.subscriptions, compiled.error_count) == (1, 2)
    errors = {row["id"]: row["message"] for row in compiled.errors.collect()}
    assert "not valid UTF-8" in errors["y"]
    assert r"\x80\x81\x82" in errors[None]


# Streams


def write_lines(folder: Path, number: int, count: int) -> None:
    """Write one file of lines atomically; every tenth line is unreadable."""
    lines = [line(number * count + n).encode() for n in range(count)]
    lines[::10] = [b'{"a": \xff' + str(number * count + n).encode() for n in range(0, count, 10)]
    (folder / f".{number}").write_bytes(b"\n".join(lines))
    (folder / f".{number}").rename(folder / f"lines-{number:04}.txt")


def check(rows: list[Any], count: int) -> None:
    """Check that each of `count` lines occurs once: matched or refused."""
    found = Counter((row["subscription"], row["event_error"] is None, row["value"]) for row in rows)
    assert set(found.values()) == {1}
    refused = [value for id, good, value in found if not good]
    assert len(refused) == count // 10
    assert all(id is None for id, good, _ in found if not good)
    matched = {(json.loads(value)["n"], id) for id, good, value in found if good}
    assert matched == {(n, id) for n in range(count) if n % 10 for id in (n % 10, 10)}


def counted(query: StreamingQuery, path: Path) -> Counter[str]:
    """The counts in the query's progress, over all micro-batches."""
    total = Counter[str]()
    for progress in query.recentProgress:
        total.update(progress.observedMetrics[f"tamis-{path.name}"].asDict())
    return total


@pytest.mark.parametrize("placement", ["replicated", "sharded"])
def test_a_stream_goes_on(spark: SparkSession, path: Path, tmp_path: Path, placement: Any) -> None:
    """A stream gives matches and reasons, and counts both in its progress."""
    incoming = tmp_path / "in"
    incoming.mkdir()
    stream = spark.readStream.text(str(incoming))
    found = ts.match(stream, path, event="value", placement=placement)
    assert found.columns == ["value", "subscription", "event_error"]
    writer = found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    for round in range(2):  # stopped and restarted
        write_lines(incoming, 2 * round, 50)
        write_lines(incoming, 2 * round + 1, 50)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        assert counted(query, path) == {"matches": 180, "refused": 10}
    check(spark.read.parquet(str(tmp_path / "out")).collect(), 200)


@pytest.mark.parametrize("kind", ["top", "graph", "skip"])
def test_other_streams_go_on(spark: SparkSession, path: Path, tmp_path: Path, kind: str) -> None:
    """The same for streams of `top`, of graphs, and with `skip`."""
    incoming = tmp_path / "in"
    incoming.mkdir()
    write_lines(incoming, 0, 50)
    stream = spark.readStream.text(str(incoming))
    if kind == "graph":
        graph = tamis.Graph()
        graph.add_node("n", "exists(a)")
        graph.add_edge("s", "n")
        graph.save(tmp_path / "graph")
        found = ts.match_graph(stream, tmp_path / "graph", "s", event="value")
    elif kind == "top":
        found = ts.top(stream, path, 1, event="value")
    else:
        found = ts.match(stream, path, event="value", on_error="skip", output="lists")
    query = found.writeStream.format("memory").queryName(f"other_{kind}")
    query.trigger(availableNow=True).start().awaitTermination()
    rows = spark.table(f"other_{kind}").collect()
    if kind == "skip":
        assert len(rows) == 45
    else:
        assert sum(row["event_error"] is not None for row in rows) == 5
        assert sum(row["event_error"] is None for row in rows) == 45


JOB = """
import sys
from pathlib import Path
from tamis import spark as ts
from tamis.spark.session import local_session
folder, index = Path(sys.argv[1]), sys.argv[2]
options = {"spark.sql.streaming.fileSink.log.compactInterval": "1000"}
spark = local_session(cores=2, log=folder / "log", options=options)
stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "in"))
found = ts.match(stream, index, event="value")
writer = found.writeStream.format("parquet").option("path", str(folder / "out"))
query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
print("ready", flush=True)
query.awaitTermination()
"""


@contextmanager
def streaming(folder: Path, index: Path) -> Iterator[None]:
    """A stream in a separate process, which is killed at the end."""
    command = [sys.executable, "-c", JOB, str(folder), str(index)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"ready\n"
            yield
        finally:
            os.killpg(job.pid, signal.SIGKILL)


@long_test
def test_a_stream_with_bad_events_is_killed(
    spark: SparkSession, path: Path, tmp_path: Path
) -> None:
    """After a kill and a restart, each match and each reason occurs exactly once."""
    incoming, out = tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    files = 0

    def committed() -> int:
        log = out / "_spark_metadata"
        return sum(path.name.isdigit() for path in log.iterdir()) if log.exists() else 0

    for _ in range(3):
        before, until = committed(), time.monotonic() + 240
        with streaming(tmp_path, path):
            for _ in range(4):
                write_lines(incoming, files, 50)
                files += 1
            while committed() < before + 2:
                assert time.monotonic() < until, "the stream does not go on"
                time.sleep(0.05)
        # Killed at some point in a micro-batch.
    with streaming(tmp_path, path):
        until = time.monotonic() + 240
        while True:
            rows = spark.read.parquet(str(out)).collect()
            if len({row["value"] for row in rows}) == files * 50:
                break
            assert time.monotonic() < until, "events are lost"
            time.sleep(0.5)
    check(rows, files * 50)
