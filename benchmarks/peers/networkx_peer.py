"""PyPI's `networkx`: a breadth-first search over the nodes that accept an event."""

import json
from collections.abc import Callable, Iterable, Iterator

import networkx

from benchmarks.peers.functions import Event, function


class Engine:
    """Expressions are Python functions, each called at most once per event."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._functions = dict[int, Callable[[Event], bool]]()
        self._graph = networkx.DiGraph()

    def add_many(
        self, nodes: Iterable[tuple[int, str | None]], edges: Iterable[tuple[int, int]], /
    ) -> None:
        """Compile all."""
        for node, text in nodes:
            self._graph.add_node(node)
            if text is not None:
                self._functions[node] = function(text, self._missing)
        self._graph.add_edges_from(edges)

    def match(self, event: bytes, source: int, /) -> Iterable[int]:
        """The nodes that an event reaches."""
        given = json.loads(event)
        asked = {source}

        def passed(node: int) -> Iterator[int]:
            for child in self._graph[node]:
                if child not in asked:
                    asked.add(child)
                    holds = self._functions.get(child)
                    if holds is None or holds(given):
                        yield child

        return [child for _, child in networkx.generic_bfs_edges(self._graph, source, passed)]
