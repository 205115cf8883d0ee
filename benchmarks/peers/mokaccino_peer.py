"""PyPI's `mokaccino`: a percolator for Boolean queries over text."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mokaccino import Document, Percolator, Query

from benchmarks.peers.normal import Leaf, Node, Scalar, normal_form, refuse

_ORDERINGS = {"<": "from_klt", "<=": "from_kle", ">": "from_kgt", ">=": "from_kge"}


class Engine:
    """Values are text or integers; floats are refused, because it reads them incorrectly."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._ids = list[str | int]()
        self._percolator: Any = Percolator()

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Add all, then run its optimiser."""
        for id, text in items:
            query = _query(normal_form(text, self._missing))
            self._percolator.add_query_id(query, len(self._ids))
            self._ids.append(id)
        self._percolator = self._percolator.optimized()

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids that an event matches."""
        document = Document()
        for name, value in json.loads(event).items():
            if value is not None:
                document.add_value(name, _text(value))
        return [self._ids[number] for number in self._percolator.percolate_list(document)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise refuse(f"the {type(value).__name__} {value!r}")


def _query(node: Node) -> Any:
    if isinstance(node, Leaf):
        return _leaf(node)
    if not node.members:
        raise refuse("a constant")
    combine = Query.from_and if node.every else Query.from_or
    return combine([_query(member) for member in node.members])


def _leaf(leaf: Leaf) -> Any:
    if not leaf.values:
        raise refuse("an empty set")
    if leaf.negated and not leaf.absent:
        raise refuse("a negation that asks for a value: it has no test of presence")

    def one(value: Scalar) -> Any:
        if leaf.operator != "in":
            if not isinstance(value, int) or isinstance(value, bool):
                raise refuse(f"{leaf.operator} {value!r}")
            return getattr(Query, _ORDERINGS[leaf.operator])(leaf.attribute, value)
        return Query.from_kv(leaf.attribute, _text(value))

    query = Query.from_or([one(value) for value in leaf.values])
    return Query.from_not(query) if leaf.negated else query
