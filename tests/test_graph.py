"""`tamis.Graph`: what it finds, what it refuses, and NetworkX as the judge of reachability."""

import itertools
import json
import pickle
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import networkx
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import tamis
from tamis import EventError, Graph, GraphError, UnknownIdError
from tamis.graph import Strategy

STRATEGIES: tuple[Strategy, ...] = (
    "auto",
    "dag",
    "dag-skipping",
    "general",
    "general-skipping",
    "index",
    "bfs",
)
EVENT = {"topic": "sports", "age": 35, "adsize": "300x200"}


def exchange() -> Graph:
    """The example of the paper's first figure."""
    graph = Graph()
    graph.add_node("net1", "topic in ('sports', 'finance') and age > 30")
    graph.add_node("net2", "topic = 'sports'")
    graph.add_node("net3", "topic = 'travel'")
    graph.add_node("adv1", "age between 30 and 40")
    graph.add_node("adv2", "adsize = '728x90'")
    for source, target in [
        ("pub1", "net1"),
        ("net1", "net2"),
        ("net2", "net1"),
        ("net2", "net3"),
        ("net2", "adv1"),
        ("net1", "adv2"),
        ("net3", "adv3"),
    ]:
        graph.add_edge(source, target)
    return graph


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


def test_batches() -> None:
    graph = exchange()
    events = [EVENT, {"topic": "finance", "age": 50}, {}]
    expected = [list(graph.match(event, "pub1")) for event in events]
    assert graph.match_batch(events, "pub1") == expected
    assert graph.match_batch((event for event in events), "pub1") == expected
    lines = "\n".join(map(json.dumps, events)) + "\n\n"
    assert graph.match_batch(lines, "pub1") == expected
    assert graph.match_batch(lines.encode(), "pub1") == expected
    assert graph.match_batch(events[:2], ["net3", "net2"]) == [["adv3"], ["net1"]]
    assert graph.match_batch([EVENT] * 200, "pub1", sinks_only=True) == [["adv1"]] * 200
    assert graph.match_batch([], "pub1") == []
    with pytest.raises(GraphError, match="2 sources and 1 events"):
        graph.match_batch([EVENT], ["net3", "net2"])
    with pytest.raises(GraphError, match="more events than sources, which are 1"):
        graph.match_batch([EVENT, EVENT], ["net3"])
    with pytest.raises(tamis.EventError, match="not one event"):
        graph.match_batch(EVENT, "pub1")
    with pytest.raises(tamis.EventError, match=r"item 1 \(event\)"):
        graph.match_batch([{}, {"age": float("nan")}], "pub1")


def test_explain_a_path() -> None:
    explanation = exchange().explain(EVENT, "pub1", "adv1")
    assert explanation.reached
    assert explanation.path == ["pub1", "net1", "net2", "adv1"]
    assert explanation.cut == []
    assert str(explanation) == '"adv1" is reached: "pub1" -> "net1" -> "net2" -> "adv1"'
    assert "reached" in repr(explanation)


def test_explain_a_cut() -> None:
    graph = exchange()
    explanation = graph.explain(EVENT, "pub1", "adv3")
    assert not explanation.reached
    assert explanation.path is None
    ((node, why),) = explanation.cut
    assert node == "net3"
    assert why.truth == "false"
    assert "topic = 'travel'" in str(explanation)
    # An edge that refuses, beside the node: either must take the event.
    graph.add_edge("net2", "adv3", expression="age < 18")
    cut = graph.explain(EVENT, "pub1", "adv3").cut
    assert {place for place, _ in cut} == {"net3", ("net2", "adv3")}
    # What refuses but would change nothing is not in the way.
    graph.add_edge("net2", "net4")
    graph.add_node("net4", "false")
    graph.add_edge("net4", "net1")
    assert {place for place, _ in graph.explain(EVENT, "pub1", "adv3").cut} == {
        "net3",
        ("net2", "adv3"),
    }
    # The target itself may be the one that refuses.
    assert [place for place, _ in graph.explain(EVENT, "pub1", "adv2").cut] == ["adv2"]


def test_explain_what_is_not_connected() -> None:
    explanation = exchange().explain(EVENT, "adv1", "net1")
    assert not explanation.reached
    assert explanation.cut == []
    assert "no path leads there" in str(explanation)


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
    # A node added again is another one: its edges are gone.
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


def test_unknown_ids() -> None:
    graph = exchange()
    for ask in (
        lambda: graph.match(EVENT, "nobody"),
        lambda: graph.match_batch([EVENT], "nobody"),
        lambda: graph.match_batch([EVENT], ["nobody"]),
        lambda: graph.explain(EVENT, "nobody", "net1"),
        lambda: graph.explain(EVENT, "net1", "nobody"),
        lambda: graph.remove_node("nobody"),
        lambda: graph.expression("nobody"),
        lambda: graph.edges("nobody"),
    ):
        with pytest.raises(UnknownIdError, match="no node has the id 'nobody'"):
            ask()
    with pytest.raises(UnknownIdError, match="no edge leads from 'net1' to 'pub1'"):
        graph.remove_edge("net1", "pub1")
    with pytest.raises(UnknownIdError):
        graph.match(EVENT, 1.5)  # type: ignore[arg-type]
    assert list(Graph()) == []
    with pytest.raises(UnknownIdError):
        Graph().match({}, "a")


@pytest.mark.parametrize("cost", [-1, -1e-300, float("nan"), float("inf"), float("-inf")])
def test_costs_are_finite_and_not_negative(cost: float) -> None:
    graph = Graph()
    with pytest.raises(GraphError, match="finite number from 0"):
        graph.add_edge("a", "b", cost=cost)
    with pytest.raises(GraphError, match=r"item 1 \(edge \('b', 'c', None, .*finite number"):
        graph.add_many(edges=[("a", "b"), ("b", "c", None, cost)])
    assert len(graph) == 0


@pytest.mark.parametrize(
    ("nodes", "edges", "error", "message"),
    [
        ([("a", "b", "c")], None, GraphError, "a node is an id, or"),
        (["a", 1.5], None, tamis.SubscriptionError, "an id is a string"),
        ([("a", "x =")], None, tamis.ExpressionSyntaxError, r"item 0 \(node \('a', 'x ="),
        ([("a", 5)], None, tamis.ExpressionError, "text or a tamis.Expression, not int"),
        (None, [("a",)], GraphError, "an edge is"),
        (None, ["ab"], GraphError, "an edge is"),
        (None, [("a", "b", None, "cheap")], GraphError, "not str"),
        (None, [("a", "b"), ("a", None)], tamis.SubscriptionError, "item 1"),
        ("ab", None, tamis.SubscriptionError, "not text"),
        (None, 5, tamis.SubscriptionError, "not int"),
    ],
)
def test_a_batch_that_cannot_be_used_adds_nothing(
    nodes: Any, edges: Any, error: type[Exception], message: str
) -> None:
    graph = Graph()
    with pytest.raises(error, match=message):
        graph.add_many(nodes, edges)
    assert len(graph) == 0


def test_bad_arguments() -> None:
    graph = exchange()
    with pytest.raises(ValueError, match=r"strategy is one of .*not \"dfs\""):
        graph.match(EVENT, "pub1", strategy="dfs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='missing is "unknown" or "false"'):
        Graph(missing="no")  # type: ignore[arg-type]
    with pytest.raises(tamis.EventError):
        graph.match(5, "pub1")  # type: ignore[arg-type]
    limited = Graph(limits=tamis.Limits(nodes=2))
    with pytest.raises(tamis.LimitError):
        limited.add_node("a", "x = 1 and y = 2")
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(graph)


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
    with pytest.raises(tamis.StorageError, match=r"no graph: it has no graph\.json"):
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


NODES = st.integers(0, 11)
LABELS = st.sampled_from(["a", "b", "c", None])


@settings(deadline=None)
@given(
    labels=st.lists(LABELS, min_size=12, max_size=12),
    edges=st.lists(st.tuples(NODES, NODES, LABELS), max_size=40),
    later=st.lists(st.tuples(st.booleans(), NODES, NODES), max_size=10),
    label=st.sampled_from("abc"),
    acyclic=st.booleans(),
)
def test_networkx_agrees(
    labels: list[str | None],
    edges: list[tuple[int, int, str | None]],
    later: list[tuple[bool, int, int]],
    label: str,
    acyclic: bool,
) -> None:
    if acyclic:
        edges = [(min(a, b), max(a, b), on) for a, b, on in edges if a != b]
    expression = {None: None} | {name: f"label = '{name}'" for name in "abc"}
    graph, judge = Graph(), networkx.MultiDiGraph()
    graph.add_many(
        {node: expression[on] for node, on in enumerate(labels)},
        [(a, b, expression[on]) for a, b, on in edges],
    )
    judge.add_nodes_from(range(12))
    judge.add_edges_from((a, b, {"on": on}) for a, b, on in edges)
    event = {"label": label}

    def check() -> None:
        takes = {node for node, on in enumerate(labels) if on in (None, label)}
        open_edges = [
            (a, b) for a, b, on in judge.edges(data="on") if on in (None, label) and b in takes
        ]
        for source in range(12):
            valid = networkx.DiGraph(open_edges)
            valid.add_nodes_from(range(12))
            expected = set(networkx.descendants(valid, source))
            if any(b == source and (a == source or a in expected) for a, b in open_edges):
                expected.add(source)
            for strategy in STRATEGIES:
                found = list(graph.match(event, source, strategy=strategy))
                assert len(found) == len(set(found))
                assert set(found) == expected, strategy
            target = (source + 5) % 12
            explanation = graph.explain(event, source, target)
            assert explanation.reached == (target in expected)
            if explanation.path is not None and target != source:
                assert (
                    networkx.shortest_path_length(valid, source, target)
                    == len(explanation.path) - 1
                )
            if not explanation.reached:
                # Without what is in the way, no path is left; and without it being in the way,
                # there was one.
                rest = judge.copy()
                for place, why in explanation.cut:
                    assert not why.matched
                    if isinstance(place, tuple):
                        bad = [
                            key
                            for key, data in rest.get_edge_data(*place, default={}).items()
                            if data["on"] not in (None, label)
                        ]
                        rest.remove_edges_from([(*place, key) for key in bad])
                    elif place != source:
                        rest.remove_node(place)
                    else:
                        rest.remove_edges_from(list(rest.in_edges(place)))
                if target in rest and target != source:
                    assert not networkx.has_path(rest, source, target)
                if not explanation.cut and target != source:
                    assert not networkx.has_path(judge, source, target)

    check()
    for added, a, b in later:
        if added:
            graph.add_edge(a, b)
            judge.add_edge(a, b, on=None)
        elif judge.has_edge(a, b):
            graph.remove_edge(a, b)
            judge.remove_edges_from([(a, b)] * judge.number_of_edges(a, b))
    check()
    graph.settle()
    check()


def test_top() -> None:
    graph = Graph()
    graph.add_many(
        {"net1": "topic = 'sports'", "adv1": "age in (35^4, 36)", "adv2": "age > 30", "adv3": None},
        [
            ("pub1", "net1", None, 0.5),
            ("pub1", "net2", None, 3),
            ("net1", "adv1", None, 2),
            ("net2", "adv1", None, 0.25),
            ("net1", "adv2", "adsize = '300x200'", 0.25),
            ("net1", "adv3", None, 0),
            ("net1", "adv4"),
        ],
    )
    best = graph.top(EVENT, "pub1", 4)
    assert [(found.id, found.value, found.score, found.cost) for found in best] == [
        ("adv1", 1.5, 4.0, 2.5),
        ("net1", 0.5, 1.0, 0.5),
        ("adv2", 0.25, 1.0, 0.75),
        ("adv3", -0.5, 0.0, 0.5),
    ]
    assert best[0].path == ["pub1", "net1", "adv1"]
    assert repr(best[3]) == (
        'Delivery(id="adv3", value=-0.5, score=0, cost=0.5, path=["pub1", "net1", "adv3"])'
    )
    assert [found.id for found in graph.top(EVENT, "pub1", 9, sinks_only=True)][:2] == [
        "adv1",
        "adv2",
    ]
    assert [found.id for found in graph.top(EVENT, "pub1", max_cost=0.5)] == ["net1", "adv3"]
    assert graph.top(EVENT, "pub1", 1, weights={"age": 0.5})[0].id == "net1"
    assert graph.top(EVENT, "pub1", 0) == []
    graph.add_node("adv3", "age > 30")
    assert [found.id for found in graph.top(EVENT, "pub1", 2)] == ["adv1", "net1"]
    for wrong in (-1, float("nan")):
        with pytest.raises(GraphError, match="max_cost is a number from 0"):
            graph.top(EVENT, "pub1", max_cost=wrong)
    with pytest.raises(UnknownIdError):
        graph.top(EVENT, "nobody")


def test_from_networkx_and_back() -> None:
    theirs = networkx.MultiDiGraph()
    theirs.add_node("net1", expression="topic = 'sports'")
    theirs.add_edge("pub1", "net1", cost=0.5)
    theirs.add_edge("net1", "adv1", expression="age > 30")
    theirs.add_edge("net1", "adv1", cost=3)
    graph = Graph.from_networkx(theirs)
    assert list(graph.match({"topic": "sports"}, "pub1")) == ["net1", "adv1"]
    back = graph.to_networkx()
    assert networkx.utils.nodes_equal(back.nodes, theirs.nodes)
    assert sorted(back.edges(data="cost")) == [
        ("net1", "adv1", 1.0),
        ("net1", "adv1", 3.0),
        ("pub1", "net1", 0.5),
    ]
    undirected = Graph.from_networkx(networkx.path_graph(4))
    assert set(undirected.match({}, 3)) == {0, 1, 2, 3}
    with pytest.raises(tamis.SubscriptionError, match="an id is a string"):
        Graph.from_networkx(networkx.DiGraph([((1, 2), (3, 4))]))


def test_from_tables() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    nodes = pyarrow.table({"id": ["a", "b"], "expression": [None, "x = 1"]})
    edges = pyarrow.table({"source": ["a", "b"], "target": ["b", "c"], "cost": [1.5, None]})
    graph = Graph.from_tables(nodes, edges, missing="false")
    assert list(graph.match({"x": 1}, "a")) == ["b", "c"]
    assert graph.missing == "false"
    assert graph.edges("a") == [("a", "b", None, 1.5)]
    integers = Graph.from_tables(None, pyarrow.table({"source": [1, 1], "target": [2, 3]}))
    assert set(integers.match({}, 1)) == {2, 3}
    with pytest.raises(GraphError, match="table of edges lacks the column `target`; it has source"):
        Graph.from_tables(None, pyarrow.table({"source": [1]}))
    with pytest.raises(GraphError, match="table of nodes lacks the column `id`"):
        Graph.from_tables(pyarrow.table({"name": [1]}), edges)


def test_from_csv(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,expression\na,\nb,\"x in ('1', '2')\"\n", encoding="utf-8")
    edges.write_text("source,target,cost\na,b,0.5\nb,c,\n", encoding="utf-8")
    graph = Graph.from_csv(nodes, edges)
    assert list(graph.match({"x": "1"}, "a")) == ["b", "c"]
    assert graph.edges() == [("a", "b", None, 0.5), ("b", "c", None, 1.0)]
    assert len(Graph.from_csv(None, edges)) == 3
    edges.write_text("source,target,cost\na,b,cheap\n", encoding="utf-8")
    with pytest.raises(GraphError, match=r"edges\.csv, line 2: the cost 'cheap' is no number"):
        Graph.from_csv(nodes, edges)
    edges.write_text("", encoding="utf-8")
    with pytest.raises(GraphError, match="lacks the column `source`, `target`; it has none"):
        Graph.from_csv(nodes, edges)


def test_draw() -> None:
    graph = exchange()
    graph.add_edge("net1", 'a "quoted" <name>\n\x00&', expression="age < 18", cost=2)
    root = etree.fromstring(graph.draw(EVENT, "pub1").encode())
    classes = {
        element.get("data-id"): str(element.get("class")).split()[1]
        for element in root.iter("{*}g")
        if element.get("data-id")
    }
    assert classes["pub1"] == "source"
    assert classes["net1"] == classes["net2"] == classes["adv1"] == "reached"
    assert classes["net3"] == classes["adv2"] == "refuses"
    assert classes["adv3"] == "idle"
    edges = [
        str(element.get("class")).split()[1]
        for element in root.iter("{*}path")
        if element.get("class")
    ]
    assert (edges.count("refuses"), edges.count("idle"), len(edges)) == (1, 1, 8)
    dot = graph.draw(EVENT, "pub1", format="dot")
    assert dot.startswith("digraph {")
    assert r'label="a \"quoted\" <name>\n' in dot
    assert dot.count("->") == 8
    assert graph.draw().count("<rect") == 8
    assert graph.draw(EVENT, "pub1", most=3).count("<rect") == 3
    assert "<svg" in Graph().draw()
    with pytest.raises(UnknownIdError):
        graph.draw(EVENT, "nobody")
    with pytest.raises(GraphError, match="give both, or neither"):
        graph.draw(EVENT)
    with pytest.raises(ValueError, match='format is "svg" or "dot"'):
        graph.draw(format="png")  # type: ignore[arg-type]


def arrow_pairs(table: Any) -> list[tuple[int, Any]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_batches_of_arrow_data() -> None:
    graph = exchange()
    events: list[dict[str, Any]] = [EVENT, {"topic": "travel"}, {**EVENT, "adsize": "728x90"}, {}]
    table = pyarrow.Table.from_pylist(events, schema=pyarrow.schema(ARROW))
    lists = graph.match_batch(events, "pub1")
    expected = [(row, node) for row, nodes in enumerate(lists) for node in nodes]
    found = graph.match_batch(table, "pub1")
    assert found.column_names == ["event", "node"]
    assert arrow_pairs(found) == expected
    texts = pyarrow.table({"e": [json.dumps(event) for event in events]})
    assert arrow_pairs(graph.match_batch(texts, "pub1", column="e")) == expected
    sources = ["pub1", "net1", "net2", "adv1"]
    each = table.append_column("from", [sources])
    expected = [
        (row, node)
        for row, nodes in enumerate(graph.match_batch(events, sources, sinks_only=True))
        for node in nodes
    ]
    assert arrow_pairs(graph.match_batch(each, sources="from", sinks_only=True)) == expected
    assert graph.match_batch(table.slice(0, 0), "pub1").num_rows == 0
    assert sorted(graph.attributes) == ["adsize", "age", "topic"]


ARROW = [("topic", pyarrow.string()), ("age", pyarrow.int32()), ("adsize", pyarrow.string())]


def test_arrow_data_that_cannot_be_searched() -> None:
    graph = exchange()
    table = pyarrow.table({"age": [1, 2], "from": ["pub1", "x"], "none": ["pub1", None]})
    both: dict[str, Any] = {"source": "pub1", "sources": "from"}
    for arguments in ({}, both):
        with pytest.raises(ValueError, match="give `source`, a node, or `sources`"):
            graph.match_batch(table, **arguments)
    with pytest.raises(UnknownIdError):
        graph.match_batch(table, "pub7")
    with pytest.raises(EventError, match="no column `start`"):
        graph.match_batch(table, sources="start")
    with pytest.raises(
        GraphError, match=r'item 1 \(event\): the source is "x", an id that no node'
    ):
        graph.match_batch(table, sources="from")
    with pytest.raises(GraphError, match=r"item 1 \(event\): the source is null"):
        graph.match_batch(table, sources="none")
    with pytest.raises(ValueError, match="with Arrow data only"):
        graph.match_batch([{}], "pub1", column="e")
    graph.add_edge("pub1", 7)
    with pytest.raises(GraphError, match="an Arrow column holds one kind"):
        graph.match_batch(table, "pub1")
