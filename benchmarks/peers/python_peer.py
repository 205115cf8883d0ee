"""No engine at all: a loop over functions, and a search through dictionaries."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.peers.functions import Event, function


class Engine:
    """Calls every function for every event."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._functions = list[tuple[str | int, Callable[[Event], bool]]]()

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Compile all."""
        self._functions += [(id, function(text, self._missing)) for id, text in items]

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids that an event matches."""
        given = json.loads(event)
        return [id for id, holds in self._functions if holds(given)]


class Graph:
    """A breadth-first search that evaluates every node it reaches."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._functions = dict[int, Callable[[Event], bool]]()
        self._children = dict[int, list[int]]()

    def add_many(
        self, nodes: Iterable[tuple[int, str | None]], edges: Iterable[tuple[int, int]], /
    ) -> None:
        """Compile all."""
        for node, text in nodes:
            if text is not None:
                self._functions[node] = function(text, self._missing)
        for source, target in edges:
            self._children.setdefault(source, []).append(target)

    def match(self, event: bytes, source: int, /) -> Iterable[int]:
        """The nodes that an event reaches."""
        given = json.loads(event)
        seen, reached, waiting = {source}, list[int](), deque([source])
        while waiting:
            for child in self._children.get(waiting.popleft(), ()):
                if child not in seen:
                    seen.add(child)
                    holds = self._functions.get(child)
                    if holds is None or holds(given):
                        reached.append(child)
                        waiting.append(child)
        return reached
