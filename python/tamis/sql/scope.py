"""Locates attributes in a row, or in an element of a list."""

from collections.abc import Mapping
from dataclasses import dataclass

from tamis.errors import ExpressionError
from tamis.sql.dialects import Dialect
from tamis.sql.terms import NOTHING, Value
from tamis.sql.types import UNKNOWN, Type


@dataclass(frozen=True)
class Path:
    """Values in a list: the list, and the path from its elements to them."""

    items: str
    element: Type
    names: tuple[str, ...]


@dataclass(frozen=True)
class Scope:
    """A row, or an element of a list.

    Attributes:
        dialect: The database.
        fields: The types of the columns; None if they are not given.
        owner: The element's variable; None for a row.
        element: The element's type, for `it`.
        depth: The number of enclosing lists.
    """

    dialect: Dialect
    fields: Mapping[str, Type] | None
    owner: str | None = None
    element: Type = UNKNOWN
    depth: int = 0

    def find(self, name: str | None) -> Value | Path:
        """The value of an attribute, or of the element itself for None; an object has no value."""
        found = self.locate(name)
        return NOTHING if isinstance(found, Value) and found.type.kind == "object" else found

    def locate(self, name: str | None) -> Value | Path:
        """The value of an attribute, which may be an object."""
        if name is None:
            assert self.owner is not None
            return self.reach(self.owner, self.element, ())
        parts = tuple(name.split("."))
        if self.fields is None:
            return Value(self.plain(parts), UNKNOWN, free=True)
        way = _only_way(self.fields, parts, "columns")
        if way is None:
            return NOTHING
        column, kind, rest = way
        return self.reach(self.member(self.owner, column), kind, rest)

    def member(self, owner: str | None, name: str) -> str:
        if owner is None:
            return self.dialect.column(name)
        return self.dialect.field(owner, name)

    def plain(self, names: tuple[str, ...]) -> str:
        owner = self.owner
        for name in names:
            owner = self.member(owner, name)
        assert owner is not None
        return owner

    def reach(self, sql: str, kind: Type, rest: tuple[str, ...]) -> Value | Path:
        """Continue from a value to a part of it."""
        if kind.kind == "list":
            assert kind.element is not None
            return Path(sql, kind.element, rest)
        if kind.kind == "unknown":
            for name in rest:
                sql = self.dialect.field(sql, name)
            return Value(sql, UNKNOWN, free=True)
        if not rest:
            return self.column(sql, kind)
        if kind.kind != "object":
            return NOTHING
        way = _only_way(kind.fields, rest, "fields")
        if way is None:
            return NOTHING
        name, inner, remainder = way
        return self.reach(self.dialect.field(sql, name), inner, remainder)

    def column(self, sql: str, kind: Type) -> Value:
        """A column, in the form in which its values are compared."""
        if kind.kind.startswith("unsupported"):
            name = kind.kind.removeprefix("unsupported ")
            raise ExpressionError(f"the column {sql} has the type {name}, which is not supported")
        if kind.kind == "float":
            wide = f"cast({sql} as {self.dialect.double})" if kind.narrow else sql
            return Value(f"nullif({wide}, {self.dialect.float('NaN')})", Type("float"))
        if kind.kind == "timestamp" and kind.local:
            return Value(self.dialect.as_timestamp(sql), Type("timestamp", local=True))
        return Value(sql, kind)

    def inside(self, variable: str, element: Type) -> "Scope":
        """The scope of an element that a variable denotes."""
        return self.of(self.dialect.column(variable), element)

    def of(self, owner: str, element: Type) -> "Scope":
        """The scope of an element."""
        fields = None if element.kind == "unknown" else element.fields
        return Scope(self.dialect, fields, owner, element, self.depth + 1)


def _only_way(
    fields: Mapping[str, Type], parts: tuple[str, ...], what: str
) -> tuple[str, Type, tuple[str, ...]] | None:
    """The field whose name begins a dotted name, with the rest of it; None if there is none."""
    ways = [
        (name, fields[name], parts[length:])
        for length in range(1, len(parts) + 1)
        if (name := ".".join(parts[:length])) in fields
    ]
    if len(ways) > 1:
        raise ExpressionError(f"`{'.'.join(parts)}` may be several {what}")
    return ways[0] if ways else None
