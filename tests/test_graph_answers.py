"""Explanations and rankings of a graph."""

import pytest

from graphs import EVENT, exchange
from tamis import Graph, GraphError, UnknownIdError


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
    # An edge that refuses, in addition to the node: one of them must accept the event.
    graph.add_edge("net2", "adv3", expression="age < 18")
    cut = graph.explain(EVENT, "pub1", "adv3").cut
    assert {place for place, _ in cut} == {"net3", ("net2", "adv3")}
    # A refusal that changes nothing is not part of the cut.
    graph.add_edge("net2", "net4")
    graph.add_node("net4", "false")
    graph.add_edge("net4", "net1")
    assert {place for place, _ in graph.explain(EVENT, "pub1", "adv3").cut} == {
        "net3",
        ("net2", "adv3"),
    }
    # The target itself may refuse.
    assert [place for place, _ in graph.explain(EVENT, "pub1", "adv2").cut] == ["adv2"]


def test_explain_what_is_not_connected() -> None:
    explanation = exchange().explain(EVENT, "adv1", "net1")
    assert not explanation.reached
    assert explanation.cut == []
    assert "no path leads there" in str(explanation)


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
        with pytest.raises(GraphError, match="max_cost must be a number of at least 0"):
            graph.top(EVENT, "pub1", max_cost=wrong)
    with pytest.raises(UnknownIdError):
        graph.top(EVENT, "nobody")
