"""Events reach the same nodes on Spark as in a local graph."""

import json
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from longer import long_test
from tamis import EventError, Graph, StorageError, UnknownIdError
from tamis import spark as ts
from tamis.graph import Strategy
from tamis.spark.matching import Output

from .test_match import SCHEMA, event, expression

NODES = 60


def random_graph(seed: int) -> Graph:
    """A graph with cycles, in which some nodes and edges have expressions."""
    draw = Random(seed)

    def maybe() -> str | None:
        return expression(draw) if draw.random() < 0.4 else None

    graph = Graph()
    ends = [f"n{number}" for number in range(NODES)]
    # The first ten are sinks.
    edges = [(draw.choice(ends[10:]), draw.choice(ends), maybe(), 1.0) for _ in range(4 * NODES)]
    graph.add_many([(end, maybe()) for end in ends], edges)
    return graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph(3)


@pytest.fixture(scope="module")
def path(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    graph.save(folder)
    return folder


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    draw = Random(9)
    return [{**event(draw, number), "start": f"n{draw.randrange(NODES)}"} for number in range(300)]


@pytest.fixture(scope="module")
def frame(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(events, f"{SCHEMA}, start string").repartition(3)


def reached(graph: Graph, events: list[dict[str, Any]], **more: Any) -> dict[int, list[str]]:
    """The nodes that each event reaches from its source."""
    return {
        event["number"]: [str(node) for node in graph.match(event, event["start"], **more)]
        for event in events
    }


@pytest.mark.parametrize("output", ["pairs", "lists"])
@pytest.mark.parametrize("form", ["columns", "struct", "json"])
def test_nodes_are_those_of_a_local_graph(
    frame: DataFrame, path: Path, graph: Graph, events: Any, output: Output, form: str
) -> None:
    """Every event reaches the same nodes as in a local graph."""
    expected = reached(graph, events)
    assert sum(map(len, expected.values())) > 3000
    given: dict[str, Any] = {"sources": "start", "keep": ["number"], "output": output}
    if form == "columns":
        found = ts.match_graph(frame, path, **given)
    else:
        struct = sf.struct("age", "user", "tags", "score", "member")
        packed = struct if form == "struct" else sf.to_json(struct)
        packed_frame = frame.select("number", "start", packed.alias("packed"))
        if form == "json":  # JSON leaves nulls out
            local = packed_frame.collect()
            expected = {
                row[0]: [str(node) for node in graph.match(row[2], row[1])] for row in local
            }
        found = ts.match_graph(packed_frame, path, event="packed", **given)
    assert found.columns == ["number", "nodes" if output == "lists" else "node"]
    rows = found.collect()
    if output == "lists":
        assert {row["number"]: row["nodes"] for row in rows} == expected
    else:
        pairs = sorted((row["number"], row["node"]) for row in rows)
        assert pairs == sorted((number, node) for number, ids in expected.items() for node in ids)


@pytest.mark.parametrize("strategy", ["general", "bfs"])
def test_one_source_sinks_and_strategies(
    frame: DataFrame, path: Path, graph: Graph, events: Any, strategy: Strategy
) -> None:
    """One source for all events, only sinks, and all strategies give the same nodes."""
    found = ts.match_graph(frame, path, "n11", sinks_only=True, strategy=strategy, keep=["number"])
    expected = {
        (event["number"], node)
        for event in events
        for node in graph.match(event, "n11", sinks_only=True)
    }
    rows = [tuple(row) for row in found.collect()]
    assert len(rows) == len(expected) > 0
    assert set(rows) == expected


def test_events_that_say_nothing_reach_what_asks_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Events without columns reach the nodes that accept every event."""
    graph = Graph()
    graph.add_edge(1, 2)
    graph.add_edge(2, 3, expression="a = 1")
    graph.save(tmp_path)
    found = ts.match_graph(spark.range(3), tmp_path, 1)
    assert found.schema.simpleString() == "struct<id:bigint,node:bigint>"
    assert sorted(tuple(row) for row in found.collect()) == [(0, 2), (1, 2), (2, 2)]
    lists = ts.match_graph(spark.range(2), tmp_path, 2, output="lists", keep=[]).collect()
    assert [row["nodes"] for row in lists] == [[], []]


def test_a_stream_follows_what_is_saved(spark: SparkSession, tmp_path: Path) -> None:
    """A stream searches the graph that is current when a micro-batch begins."""
    saved, incoming, out = tmp_path / "graph", tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    graph = Graph()
    graph.add_edge("pub", "net", expression="a < 5")
    graph.save(saved)
    stream = spark.readStream.schema("number long, a long, b long").json(str(incoming))
    writer = ts.match_graph(stream, saved, "pub", keep=["number"]).writeStream.format("parquet")
    writer = writer.option("path", str(out)).option("checkpointLocation", str(tmp_path / "state"))
    running = writer.start()

    def send(first: int) -> None:
        lines = [
            json.dumps({"number": n, "a": n % 10, "b": n % 2}) for n in range(first, first + 50)
        ]
        (incoming / f".{first}").write_text("\n".join(lines))
        (incoming / f".{first}").rename(incoming / f"{first}.json")
        running.processAllAvailable()

    try:
        send(0)
        graph.add_edge("net", "adv", expression="b = 1")  # an attribute not mentioned before
        graph.save(saved)
        send(50)
    finally:
        running.stop()
    found = spark.read.parquet(str(out))
    assert found.where("event_error is not null").count() == 0
    rows = sorted(tuple(row) for row in found.select("number", "node").collect())
    expected = [(n, "net") for n in range(100) if n % 10 < 5]
    expected += [(n, "adv") for n in range(50, 100) if n % 10 < 5 and n % 2]
    assert rows == sorted(expected)


def test_a_job_goes_on_with_the_version_it_began_with(spark: SparkSession, tmp_path: Path) -> None:
    """Saving another version does not affect a running job."""
    graph = Graph()
    graph.add_edge(1, 2, expression="a = 1")
    assert ts.save_graph(graph, tmp_path) == 1
    events = spark.createDataFrame([(1,)], "a long")
    late = ts.match_graph(events, tmp_path, 1)
    graph.add_edge(1, 3)
    assert ts.save_graph(graph, tmp_path) == 2
    assert late.count() == 1
    assert ts.match_graph(events, tmp_path, 1).count() == 2
    assert ts.versions(tmp_path) == [1, 2]
    assert {name.rpartition(".")[2] for name in ts.vacuum(tmp_path)} == {"json", "tamis"}
    assert ts.match_graph(events, tmp_path, 1).count() == 2
    assert len(Graph.open(tmp_path)) == 3  # the current one
    with pytest.raises(StorageError, match="there is no version 1"):
        ts.match_graph(events, tmp_path, 1, version=1)
    with pytest.raises(StorageError, match="the folder holds versions"):
        graph.save(tmp_path)
    graph.save(tmp_path / "plain")
    with pytest.raises(StorageError, match=r"Graph\.save wrote"):
        ts.save_graph(graph, tmp_path / "plain")


@long_test
def test_graphs_are_saved_while_micro_batches_read(spark: SparkSession, tmp_path: Path) -> None:
    """No micro-batch fails, and each uses one version: all its events reach the same node."""
    saved, incoming, out = tmp_path / "graph", tmp_path / "in", tmp_path / "out"
    incoming.mkdir()

    def save(number: int) -> None:
        graph = Graph()
        graph.add_edge("pub", f"v{number}", expression="a >= 0")
        assert ts.save_graph(graph, saved) == number

    save(1)
    stream = spark.readStream.schema("number long, a long").option("maxFilesPerTrigger", 1)
    found = ts.match_graph(stream.json(str(incoming)), saved, "pub", keep=["number"])
    writer = found.repartition(4).writeStream.format("parquet").option("path", str(out))
    running = writer.option("checkpointLocation", str(tmp_path / "state")).start()
    stop = threading.Event()

    def keep_saving() -> None:
        number = 1
        while not stop.wait(0.01):
            save(number := number + 1)

    saver = threading.Thread(target=keep_saving)
    saver.start()
    try:
        for file in range(15):
            lines = [json.dumps({"number": file, "a": n}) for n in range(200)]
            (incoming / f".{file}").write_text("\n".join(lines))
            (incoming / f".{file}").rename(incoming / f"{file}.json")
            running.processAllAvailable()
    finally:
        stop.set()
        saver.join()
        running.stop()
    met = spark.read.parquet(str(out)).groupBy("number", "node").count().collect()
    assert sorted(row["number"] for row in met) == list(range(15))
    assert {row["count"] for row in met} == {200}
    assert len({row["node"] for row in met}) > 5


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "pass `source`, a node, or `sources`"),
        ({"source": "n1", "sources": "start"}, ValueError, "pass `source`, a node"),
        ({"source": "n999"}, UnknownIdError, "no node has the id 'n999'"),
        ({"source": 1}, UnknownIdError, "no node has the id 1"),
        ({"sources": "begin"}, EventError, "need the column `begin`"),
        ({"sources": "score"}, EventError, "`score` is of the type double; sources are ids"),
        ({"source": "n1", "keep": ["other"]}, EventError, "need the column `other`"),
        ({"source": "n1", "event": "age"}, EventError, "`age` is of the type int; events are"),
        ({"source": "n1", "output": "rows"}, ValueError, "output must be"),
        ({"source": "n1", "strategy": "depth"}, ValueError, "strategy must be one of auto"),
    ],
)
def test_what_is_wrong_is_said_on_the_driver(
    frame: DataFrame, path: Path, arguments: dict[str, Any], error: Any, message: str
) -> None:
    """A wrong column or argument is named before a job starts."""
    with pytest.raises(error, match=message):
        ts.match_graph(frame, path, **arguments)


def test_sources_that_are_not_there_fail_the_job(spark: SparkSession, path: Path) -> None:
    """A source that is not a node fails the job; the error names it."""
    for start, message in ((None, "the source is null"), ("x", 'the source is "x", an id that no')):
        rows = spark.createDataFrame([(1, "n1"), (2, start)], "age int, start string").coalesce(1)
        with pytest.raises(Exception, match=rf"Error: event with age=2, start=.*: {message}"):
            ts.match_graph(rows, path, sources="start").collect()


def test_what_is_no_graph(spark: SparkSession, tmp_path: Path) -> None:
    """A folder without a graph is refused by its name."""
    events = spark.createDataFrame([(1,)], "a long")
    with pytest.raises(StorageError, match=r"not a graph: it has neither versions nor a graph"):
        ts.match_graph(events, tmp_path / "nowhere", 1)
    graph = Graph()
    graph.add_edge(1, 2, expression="a = 1")
    graph.save(tmp_path)
    late = ts.match_graph(events, tmp_path, 1)
    manifest = tmp_path / "graph.json"
    text = manifest.read_text()
    content = json.loads(text)
    for change, message in (({"format": 9}, "format 9"), ({"segments": 1}, "damaged")):
        manifest.write_text(json.dumps({**content, **change}))
        with pytest.raises(StorageError, match=message):
            ts.match_graph(events, tmp_path, 1)
    manifest.write_text(text)
    graph.add_edge(1, 3)
    graph.save(tmp_path)
    with pytest.raises(Exception, match="the graph was replaced since this job began"):
        late.collect()
    (file,) = tmp_path.glob("graph-*")
    file.unlink()
    with pytest.raises(StorageError, match=file.name):
        ts.match_graph(events, tmp_path, 1)
