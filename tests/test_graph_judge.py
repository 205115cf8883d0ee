"""Compares the nodes reached in random graphs with NetworkX."""

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs import STRATEGIES
from tamis import Graph

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
                # Removing the cut leaves no path; if the cut accepted the event, there would be
                # one.
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
