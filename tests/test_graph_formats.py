"""Graphs from NetworkX, tables and files, and as drawings."""

from pathlib import Path

import networkx
import pytest
from lxml import etree

import tamis
from graphs import EVENT, exchange
from tamis import Graph, GraphError, UnknownIdError


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
    with pytest.raises(tamis.SubscriptionError, match="an id must be a string"):
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
    with pytest.raises(GraphError, match=r"edges\.csv, line 2: the cost 'cheap' is not a number"):
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
