"""PyPI's `rustworkx`: a breadth-first search that stops at nodes that refuse an event."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import rustworkx
from rustworkx.visit import BFSVisitor, PruneSearch

from benchmarks.peers.functions import Event, function


class Engine:
    """Expressions are Python functions, each called at most once per event."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._functions = dict[int, Callable[[Event], bool]]()
        self._graph = rustworkx.PyDiGraph(multigraph=False)
        self._numbers = dict[int, int]()

    def add_many(
        self, nodes: Iterable[tuple[int, str | None]], edges: Iterable[tuple[int, int]], /
    ) -> None:
        """Compile all."""
        nodes = list(nodes)
        numbers = self._graph.add_nodes_from([node for node, _ in nodes])
        self._numbers |= dict(zip((node for node, _ in nodes), numbers, strict=True))
        for node, text in nodes:
            if text is not None:
                self._functions[self._numbers[node]] = function(text, self._missing)
        ends = [(self._numbers[source], self._numbers[target]) for source, target in edges]
        self._graph.add_edges_from_no_data(ends)

    def match(self, event: bytes, source: int, /) -> Iterable[int]:
        """The nodes that an event reaches."""
        start = self._numbers[source]
        search = _Search(self._functions, json.loads(event), start)
        rustworkx.bfs_search(self._graph, [start], search)
        return [self._graph[number] for number in search.reached]


class _Search(BFSVisitor):  # type: ignore[misc]
    def __init__(
        self, functions: dict[int, Callable[[Event], bool]], event: Event, start: int
    ) -> None:
        self.functions = functions
        self.event = event
        self.start = start
        self.reached = list[int]()

    def discover_vertex(self, v: Any) -> None:
        """Record a node, or stop there."""
        if v == self.start:
            return
        holds = self.functions.get(v)
        if holds is not None and not holds(self.event):
            raise PruneSearch
        self.reached.append(v)
