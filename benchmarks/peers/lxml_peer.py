"""PyPI's `lxml`: a loop over compiled expressions."""

from collections.abc import Iterable, Sequence
from typing import Any

from lxml import etree


class Engine:
    """Evaluates one XPath 1.0 expression after the other."""

    def __init__(self) -> None:
        self._filters = list[tuple[str | int, Any]]()

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Compile all."""
        self._filters += [(id, etree.XPath(f"boolean({text})")) for id, text in items]

    def match(self, document: bytes, /) -> Sequence[Any]:
        """The ids of the expressions that select something in a document."""
        tree = etree.fromstring(document)
        return [id for id, holds in self._filters if holds(tree)]
