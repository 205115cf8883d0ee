"""The served version of an index, a graph or XML filters."""

from dataclasses import dataclass
from typing import Any, Literal

from tamis._tamis import Filter, Index
from tamis.errors import UnknownIdError
from tamis.graph import Graph
from tamis.serve.problem import RequestError

Kind = Literal["index", "graph", "filter"]


@dataclass(frozen=True, slots=True)
class Held:
    """A served version; requests use it from start to end.

    Attributes:
        engine: The index, graph or filter.
        version: Its name in responses.
    """

    engine: Index | Graph | Filter
    version: str

    @property
    def kind(self) -> Kind:
        """The kind of the engine."""
        if isinstance(self.engine, Index):
            return "index"
        return "graph" if isinstance(self.engine, Graph) else "filter"

    @property
    def index(self) -> Index:
        """The engine, if it is an index.

        Raises:
            RequestError: It is none.
        """
        if isinstance(self.engine, Index):
            return self.engine
        raise not_for(self.kind)

    def find(self, name: str, type: str | None = None) -> str | int:
        """The id in a path or a query: a string or, if there is no such string, an integer.

        Args:
            name: How it is written.
            type: `string` or `integer` to restrict it to one of them.

        Raises:
            UnknownIdError: Neither exists.
        """
        if type != "integer" and name in self.engine:
            return name
        number = as_integer(name)
        if type != "string" and number is not None and number in self.engine:
            return number
        raise UnknownIdError(f"there is nothing called {name!r} here")

    def describe(self, id: str | int) -> dict[str, Any]:
        """A subscription, a filter or a node as an object."""
        engine = self.engine
        if isinstance(engine, Index):
            return describe_subscription(engine, id)
        if isinstance(engine, Filter):
            found = engine[id]
            described: dict[str, Any] = {"id": found.id, "xpath": found.xpath}
            if found.namespaces:
                described["namespaces"] = found.namespaces
            if found.variables:
                described["variables"] = found.variables
            return described
        expression = engine.expression(id)
        return {"id": id, "expression": None if expression is None else str(expression)}


def describe_subscription(index: Index, id: str | int) -> dict[str, Any]:
    """A subscription."""
    found = index[id]
    described: dict[str, Any] = {"id": found.id, "expression": str(found.expression)}
    if found.metadata is not None:
        described["metadata"] = found.metadata
    if found.boost != 1.0:
        described["boost"] = found.boost
    if found.priority:
        described["priority"] = found.priority
    if found.active_from is not None:
        described["active_from"] = found.active_from.isoformat()
    if found.active_until is not None:
        described["active_until"] = found.active_until.isoformat()
    return described


def as_integer(name: str) -> int | None:
    """The 64-bit integer whose canonical spelling is a text."""
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return None
    number = int(name)
    return number if str(number) == name and -(2**63) <= number < 2**63 else None


def not_for(kind: Kind) -> RequestError:
    """The request does not fit the kind of the served folder."""
    return RequestError(409, "WrongKind", f"this server serves a {kind}, which cannot answer that")
