"""Input that a graph refuses, without being changed."""

from typing import Any

import pytest

import tamis
from graphs import EVENT, exchange
from tamis import Graph, GraphError, UnknownIdError


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
        ([("a", "b", "c")], None, GraphError, "a node must be an id, or"),
        (["a", 1.5], None, tamis.SubscriptionError, "an id must be a string"),
        ([("a", "x =")], None, tamis.ExpressionSyntaxError, r"item 0 \(node \('a', 'x ="),
        ([("a", 5)], None, tamis.ExpressionError, "text or a tamis.Expression, not int"),
        (None, [("a",)], GraphError, "an edge must be"),
        (None, ["ab"], GraphError, "an edge must be"),
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
    with pytest.raises(ValueError, match=r"strategy must be one of .*not \"dfs\""):
        graph.match(EVENT, "pub1", strategy="dfs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='missing must be "unknown" or "false"'):
        Graph(missing="no")  # type: ignore[arg-type]
    with pytest.raises(tamis.EventError):
        graph.match(5, "pub1")  # type: ignore[arg-type]
    limited = Graph(limits=tamis.Limits(nodes=2))
    with pytest.raises(tamis.LimitError):
        limited.add_node("a", "x = 1 and y = 2")
