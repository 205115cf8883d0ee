"""Expressions put together in Python instead of written as text.

>>> from tamis import attr
>>> print(attr.age.between(18, 25) & ~attr.state.isin(["CA", "OR"]))
age between 18 and 25 and not state in ('CA', 'OR')
"""

from collections.abc import Iterable, Mapping
from typing import Never, Protocol, TypeAlias

from tamis._tamis import Expression, Limits
from tamis.errors import ExpressionError


class _Integer(Protocol):
    """What is exactly an integer without being Python's own, such as NumPy's."""

    def __index__(self) -> int: ...


class Weighted:
    """A value with a weight; made by `weighted`."""

    __slots__ = ("value", "weight")

    def __init__(self, value: "Scalar", weight: float) -> None:
        self.value = value
        self.weight = weight

    def __repr__(self) -> str:
        return f"weighted({self.value!r}, {self.weight!r})"


Scalar: TypeAlias = str | float | bool | _Integer
Value: TypeAlias = Scalar | Weighted


def weighted(value: Scalar, weight: float) -> Weighted:
    """Give a value of a predicate its weight, as `value^weight` does in text.

    >>> print(attr.tags.isin([weighted("new", 2.5), "sale"]))
    tags in ('new'^2.5, 'sale')
    """
    return Weighted(value, weight)


def xpath(
    text: str, *, namespaces: Mapping[str, str] | None = None, weight: float | None = None
) -> Expression:
    """Ask whether the document of an event satisfies an XPath 1.0 expression.

    >>> print(xpath("//price[. < 300]") & ~xpath("//draft"))
    xpath('//price[. < 300]') and not xpath('//draft')

    Args:
        text: The expression; see `tamis.xml` for the language.
        namespaces: The namespaces that its prefixes stand for.
        weight: What a match is worth; 1 if not given.
    """
    return Expression.xpath(text, namespaces=namespaces, weight=weight)


def _predicate(attribute: str, operator: str, *operands: Value) -> Expression:
    values = [operand.value if isinstance(operand, Weighted) else operand for operand in operands]
    weights: list[float] = []
    if any(isinstance(operand, Weighted) for operand in operands):
        weights = [operand.weight if isinstance(operand, Weighted) else 1.0 for operand in operands]
        if "between" in operator:  # one predicate, one weight, written after the upper end
            if isinstance(operands[0], Weighted):
                raise ExpressionError("the weight of `between` belongs to its upper end")
            weights = weights[1:]
    return Expression.predicate(attribute, operator, values, weights)


class Attribute:
    """An attribute by its name; comparing it makes an `Expression`.

    Longer names are reached with a dot, or in brackets where a name is no Python identifier or is
    that of a method: `attr.user.age`, `attr["user.age"]`, `attr["user"]["like"]`.
    """

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> "Attribute":
        if name.startswith("__"):  # Python looks for its own methods this way
            raise AttributeError(name)
        return Attribute(f"{self._name}.{name}")

    def __getitem__(self, name: object) -> "Attribute":
        if not isinstance(name, str):
            found = type(name).__name__
            raise ExpressionError(f"an attribute's name is a string, not {found}")
        return Attribute(f"{self._name}.{name}")

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"an attribute cannot be assigned to; compare it: attr.{name} == ...")

    def __eq__(self, value: Value) -> Expression:  # type: ignore[override]
        return _predicate(self._name, "=", value)

    def __ne__(self, value: Value) -> Expression:  # type: ignore[override]
        return _predicate(self._name, "!=", value)

    def __lt__(self, value: Value) -> Expression:
        return _predicate(self._name, "<", value)

    def __le__(self, value: Value) -> Expression:
        return _predicate(self._name, "<=", value)

    def __gt__(self, value: Value) -> Expression:
        return _predicate(self._name, ">", value)

    def __ge__(self, value: Value) -> Expression:
        return _predicate(self._name, ">=", value)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> Never:
        raise TypeError(
            f"attr.{self._name} is no truth value; compare it, as in attr.{self._name} == True"
        )

    def isin(self, values: Iterable[Value]) -> Expression:
        """Some value of the attribute is one of these."""
        return _predicate(self._name, "in", *_values(values))

    def not_in(self, values: Iterable[Value]) -> Expression:
        """The attribute has values, and none is one of these."""
        return _predicate(self._name, "not in", *_values(values))

    def between(self, low: Scalar, high: Value) -> Expression:
        """Some value of the attribute lies between the two, ends included."""
        return _predicate(self._name, "between", low, high)

    def not_between(self, low: Scalar, high: Value) -> Expression:
        """The attribute has values, and none lies between the two."""
        return _predicate(self._name, "not between", low, high)

    def like(self, pattern: Value) -> Expression:
        """Some value follows the pattern: `%` any run, `_` one character, a backslash escapes."""
        return _predicate(self._name, "like", pattern)

    def not_like(self, pattern: Value) -> Expression:
        """The attribute has values, and none follows the pattern."""
        return _predicate(self._name, "not like", pattern)

    def startswith(self, prefix: Value) -> Expression:
        """Some value begins with the prefix."""
        return _predicate(self._name, "starts with", prefix)

    def endswith(self, suffix: Value) -> Expression:
        """Some value ends with the suffix."""
        return _predicate(self._name, "ends with", suffix)

    def contains(self, part: Value) -> Expression:
        """Some value has the part in it."""
        return _predicate(self._name, "contains", part)

    def matches(self, pattern: Value) -> Expression:
        """The regular expression is found in some value."""
        return _predicate(self._name, "matches", pattern)

    def not_startswith(self, prefix: Value) -> Expression:
        """The attribute has values, and none begins with the prefix."""
        return _predicate(self._name, "not starts with", prefix)

    def not_endswith(self, suffix: Value) -> Expression:
        """The attribute has values, and none ends with the suffix."""
        return _predicate(self._name, "not ends with", suffix)

    def not_contains(self, part: Value) -> Expression:
        """The attribute has values, and none has the part in it."""
        return _predicate(self._name, "not contains", part)

    def not_matches(self, pattern: Value) -> Expression:
        """The attribute has values, and the regular expression is found in none."""
        return _predicate(self._name, "not matches", pattern)

    def exists(self) -> Expression:
        """The event has the attribute, if only as a null."""
        return _predicate(self._name, "exists")

    def missing(self) -> Expression:
        """The event does not have the attribute."""
        return _predicate(self._name, "missing")

    def is_null(self) -> Expression:
        """The attribute has no value: it is null or missing."""
        return _predicate(self._name, "is null")

    def is_not_null(self) -> Expression:
        """The attribute has a value."""
        return _predicate(self._name, "is not null")

    def __repr__(self) -> str:
        return f"attr[{self._name!r}]"


def _values(values: Iterable[Value]) -> Iterable[Value]:
    if isinstance(values, str):
        raise TypeError(f"a set is a list of values, not the text {values!r}; write [{values!r}]")
    return values


class _Attributes:
    """The door to attributes: `attr.age`, `attr["user.age"]`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__"):  # Python looks for its own methods this way
            raise AttributeError(name)
        return Attribute(name)

    def __getitem__(self, name: str) -> Attribute:
        return Attribute(name)

    def __repr__(self) -> str:
        return "attr"


attr = _Attributes()


def all_of(expressions: Iterable[Expression]) -> Expression:
    """All of the expressions, joined by `and`; without any, `true`."""
    return Expression.all_of(list(expressions))


def any_of(expressions: Iterable[Expression]) -> Expression:
    """Some of the expressions, joined by `or`; without any, `false`."""
    return Expression.any_of(list(expressions))


def parse(text: str, *, limits: Limits | None = None) -> Expression:
    """Read an expression from its text.

    >>> print(parse("age >= 18 AND NOT (state IN ('CA'))"))
    age >= 18 and not state in ('CA')
    """
    return Expression.parse(text, limits=limits)


def _restore(text: str) -> Expression:
    """Read back an expression that pickle wrote; it was accepted once, so it is not bounded."""
    unbounded = 2**63 - 1
    limits = Limits(
        text=unbounded, depth=unbounded, nodes=unbounded, set=unbounded, pattern=unbounded
    )
    return Expression.parse(text, limits=limits)
