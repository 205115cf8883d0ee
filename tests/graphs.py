"""Helpers for graph tests: all strategies, and the example of the paper."""

from tamis import Graph
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
