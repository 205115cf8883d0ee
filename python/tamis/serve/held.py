"""What is served: one version of an index, of a graph or of XML filters."""

from dataclasses import dataclass
from typing import Any, Literal

from tamis._tamis import Filter, Index
from tamis.errors import UnknownIdError
from tamis.graph import Graph
from tamis.serve.problem import RequestError

Kind = Literal["index", "graph", "filter"]


@dataclass(frozen=True, slots=True)
class Held:
    """One version of what is served; requests that began with it end with it.

    Attributes:
        engine: What answers.
        version: What responses call it.
    """

    engine: Index | Graph | Filter
    version: str

    @property
    def kind(self) -> Kind:
        """What the engine is."""
        if isinstance(self.engine, Index):
            return "index"
        return "graph" if isinstance(self.engine, Graph) else "filter"

    @property
    def index(self) -> Index:
        """The engine, where it is an index.

        Raises:
            RequestError: It is none.
        """
        if isinstance(self.engine, Index):
            return self.engine
        raise not_for(self.kind)

    def find(self, name: str, type: str | None = None) -> str | int:
        """The id that a path or a query names: a string or, where none is there, an integer.

        Args:
            name: How it is written.
            type: `string` or `integer` where only one of them is meant.

        Raises:
            UnknownIdError: There is neither.
        """
        if type != "integer" and name in self.engine:
            return name
        number = as_integer(name)
        if type != "string" and number is not None and number in self.engine:
            return number
        raise UnknownIdError(f"there is nothing called {name!r} here")

    def describe(self, id: str | int) -> dict[str, Any]:
        """What is known about a subscription, a filter or a node."""
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
    """The 64-bit integer that a text is the usual spelling of."""
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return None
    number = int(name)
    return number if str(number) == name and -(2**63) <= number < 2**63 else None


def not_for(kind: Kind) -> RequestError:
    """What is asked makes no sense for what is served."""
    return RequestError(409, "WrongKind", f"this server serves a {kind}, which cannot answer that")
