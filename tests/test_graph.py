"""`tamis.Graph`: searching, changing and saving."""

import itertools
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tamis
from graphs import EVENT, STRATEGIES, exchange
from tamis import Graph
from tamis.graph import Strategy


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_paper_s_example(strategy: Strategy) -> None:
    graph = exchange()
    assert sorted(map(str, graph.match(EVENT, "pub1", strategy=strategy))) == [
        "adv1",
        "net1",
        "net2",
    ]
    assert list(graph.match(EVENT, "pub1", sinks_only=True, strategy=strategy)) == ["adv1"]
    assert list(graph.match({"topic": "travel"}, "pub1", strategy=strategy)) == []
    assert list(graph.match(EVENT, "adv1", strategy=strategy)) == []


def test_the_source_is_not_asked_and_found_only_over_a_cycle() -> None:
    graph = Graph()
    graph.add_node("a", "x = 1")
    graph.add_edge("a", "b")
    assert list(graph.match({"x": 2}, "a")) == ["b"]
    graph.add_edge("b", "a")
    assert list(graph.match({"x": 2}, "a")) == ["b"]
    assert list(graph.match({"x": 1}, "a")) == ["b", "a"]
    loop = Graph()
    loop.add_edge(1, 1)
    for strategy in STRATEGIES:
        assert list(loop.match({}, 1, strategy=strategy)) == [1]


def test_results_stream() -> None:
    graph = Graph()
    graph.add_many(edges=[(0, n) for n in range(1, 10_001)])
    matches = graph.match({}, 0)
    assert next(matches) == 1
    first = matches.counts["edges"]
    assert first < 100
    assert len(list(matches)) == 9_999
    assert matches.counts["edges"] == 10_000
    with pytest.raises(StopIteration):
        next(matches)


def test_a_stream_sees_the_graph_of_its_beginning() -> None:
    graph = Graph()
    graph.add_many(edges=[(0, n) for n in range(1, 1001)])
    matches = graph.match({}, 0)
    assert next(matches) == 1
    graph.remove_node(0)
    graph.settle()
    assert len(list(matches)) == 999
    assert 0 not in graph


def test_parallel_edges_are_alternatives() -> None:
    graph = Graph()
    graph.add_edge("a", "b", expression="x = 1", cost=5)
    graph.add_edge("a", "b", expression="y = 1", cost=3)
    graph.settle()
    graph.add_edge("a", "b", expression="z = 1")
    for event in ({"x": 1}, {"y": 1}, {"z": 1}):
        assert list(graph.match(event, "a")) == ["b"]
    assert list(graph.match({"x": 2}, "a")) == []
    assert sorted(cost for *_, cost in graph.edges("a")) == [1, 3, 5]
    graph.remove_edge("a", "b")
    assert list(graph.match({"x": 1, "y": 1, "z": 1}, "a")) == []
    graph.add_edge("a", "b", cost=2)
    graph.add_edge("a", "b", cost=1)
    graph.settle()
    assert graph.edges() == [("a", "b", None, 1.0)]


def test_changes() -> None:
    graph = exchange()
    graph.add_node("net2", "topic = 'travel'")
    assert list(graph.match(EVENT, "pub1")) == ["net1"]
    graph.add_node("net2")
    assert graph.expression("net2") is None
    assert "adv1" in list(graph.match(EVENT, "pub1"))
    graph.remove_edge("net1", "net2")
    assert list(graph.match(EVENT, "pub1")) == ["net1"]
    graph.remove_node("net1")
    assert "net1" not in graph
    assert list(graph.match(EVENT, "pub1")) == []
    # A node that was removed and added again has no edges.
    graph.add_node("net1")
    assert list(graph.match(EVENT, "pub1")) == []
    assert len(graph) == 7
    graph.settle()
    assert graph.stats()["changes"] == 0
    assert len(graph) == len(list(graph)) == 7


def test_what_is_there_can_be_looked_at() -> None:
    graph = exchange()
    assert len(graph) == 7
    assert list(graph)[:3] == ["net1", "net2", "net3"]
    assert "pub1" in graph
    assert 5 not in graph
    assert 1.5 not in graph
    assert str(graph.expression("net2")) == "topic = 'sports'"
    assert graph.edges("pub1") == [("pub1", "net1", None, 1.0)]
    assert len(graph.edges()) == 7
    graph.settle()
    stats = graph.stats()
    assert (stats["nodes"], stats["edges"], stats["largest_component"]) == (7, 7, 2)
    assert repr(graph) == "<Graph of 7 nodes>"
    assert graph.missing == "unknown"
    assert Graph(missing="false").missing == "false"


def test_missing_attributes() -> None:
    for missing, expected in (("unknown", []), ("false", ["b"])):
        graph = Graph(missing=missing)  # type: ignore[arg-type]
        graph.add_node("b", "not x = 1")
        graph.add_edge("a", "b")
        assert list(graph.match({}, "a")) == expected


def test_a_mapping_of_nodes_and_integers_as_ids() -> None:
    graph = Graph()
    graph.add_many(
        {1: "x = 1", 2: None, "2": tamis.attr.x == 1}, [(0, 1), (1, 2, "x > 0"), (1, "2")]
    )
    assert set(graph.match({"x": 1}, 0)) == {1, 2, "2"}
    assert list(graph.match({"x": 2}, 0)) == []


def test_a_long_path_and_a_dense_graph() -> None:
    path = Graph()
    path.add_many(edges=((n, n + 1) for n in range(300_000)))
    assert sum(1 for _ in path.match({}, 0)) == 300_000
    assert path.explain({}, 0, 300_000).path == list(range(300_001))
    dense = Graph()
    dense.add_many(edges=itertools.permutations(range(400), 2))
    for strategy in STRATEGIES:
        assert sum(1 for _ in dense.match({}, 0, strategy=strategy)) == 400


def test_save_and_open(tmp_path: Path) -> None:
    graph = exchange()
    graph.add_edge("net2", "adv3", expression="age > 30", cost=0.5)
    graph.save(tmp_path / "graph")
    for verify in (True, False):
        opened = Graph.open(tmp_path / "graph", verify=verify)
        assert type(opened) is Graph
        assert list(opened) == list(graph)
        assert sorted(map(str, opened.edges())) == sorted(map(str, graph.edges()))
        for strategy in STRATEGIES:
            found = opened.match(EVENT, "pub1", strategy=strategy)
            assert set(found) == set(graph.match(EVENT, "pub1"))
        opened.add_edge("adv3", "adv4")
        assert "adv4" in list(opened.match(EVENT, "pub1"))
        opened.save(tmp_path / "again")
        assert "adv4" in list(Graph.open(tmp_path / "again").match(EVENT, "pub1"))
    with pytest.raises(tamis.StorageError, match=r"not a graph: graph\.json is missing"):
        Graph.open(tmp_path)


def test_many_threads() -> None:
    graph = Graph()
    graph.add_edge(0, 1)
    failures: list[BaseException] = []

    def run(work: Iterable[Any]) -> None:
        try:
            for _ in work:
                pass
        except BaseException as failure:
            failures.append(failure)

    def write(first: int) -> Iterator[None]:
        for n in range(300):
            node = first + 2 * n
            graph.add_edge(0, node, expression=f"x > {n % 3}")
            graph.add_edge(node, 0)
            if n % 3 == 0:
                graph.remove_node(node)
            yield

    def read() -> Iterator[None]:
        for _ in range(200):
            assert 1 in list(graph.match({"x": 5}, 0))
            yield

    threads = [
        threading.Thread(target=run, args=(w,)) for w in (write(2), write(3), read(), read())
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sum(1 for _ in graph.match({"x": 5}, 0)) == 402
