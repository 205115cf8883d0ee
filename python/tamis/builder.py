"""Expressions built in Python instead of written as text.

>>> from tamis import attr
>>> print(attr.age.between(18, 25) & ~attr.state.isin(["CA", "OR"]))
age between 18 and 25 and not state in ('CA', 'OR')
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Never, Protocol, TypeAlias, Union

from tamis._tamis import Expression, Limits
from tamis._tamis import Term as _Term
from tamis.errors import ExpressionError

if TYPE_CHECKING:  # only their types are needed, and importing them takes time
    from datetime import date, timedelta
    from decimal import Decimal
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    _Address: TypeAlias = IPv4Address | IPv4Network | IPv6Address | IPv6Network
    _Typed: TypeAlias = Decimal | date | timedelta | _Address


class _Integer(Protocol):
    """An integer type other than Python's, such as NumPy's."""

    def __index__(self) -> int: ...


class Weighted:
    """A value with a weight; created by `weighted`."""

    __slots__ = ("value", "weight")

    def __init__(self, value: "Scalar", weight: float) -> None:
        self.value = value
        self.weight = weight

    def __repr__(self) -> str:
        return f"weighted({self.value!r}, {self.weight!r})"


Scalar: TypeAlias = Union[str, float, bool, _Integer, "_Typed"]
Value: TypeAlias = Scalar | Weighted
Right: TypeAlias = "Value | Operand"


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
        namespaces: The namespaces of its prefixes.
        weight: The weight of a match; 1 by default.
    """
    return Expression.xpath(text, namespaces=namespaces, weight=weight)


class Operand:
    """An attribute or a function of attributes, which can be compared.

    A comparison returns an `Expression`; arithmetic and functions return another operand.

    >>> print((attr.price * attr.quantity > 100) & attr.name.lower().contains("x"))
    price * quantity > 100 and lower(name) contains 'x'
    """

    __slots__ = ()

    def _term(self) -> _Term:
        raise NotImplementedError

    def _predicate(self, operator: str, *operands: Right) -> Expression:
        values = [
            operand.value if isinstance(operand, Weighted) else operand for operand in operands
        ]
        weights: list[float] = []
        if any(isinstance(operand, Weighted) for operand in operands):
            weights = [
                operand.weight if isinstance(operand, Weighted) else 1.0 for operand in operands
            ]
            if "between" in operator:  # one predicate, one weight, written after the upper end
                if isinstance(operands[0], Weighted):
                    raise ExpressionError("the weight of `between` belongs to its upper end")
                weights = weights[1:]
        terms = [value._term() if isinstance(value, Operand) else value for value in values]
        return Expression.predicate(self._term(), operator, terms, weights)

    def _call(self, function: str, *arguments: object) -> "Term":
        return _call(function, self, *arguments)

    def __eq__(self, value: Right) -> Expression:  # type: ignore[override]
        return self._predicate("=", value)

    def __ne__(self, value: Right) -> Expression:  # type: ignore[override]
        return self._predicate("!=", value)

    def __lt__(self, value: Right) -> Expression:
        return self._predicate("<", value)

    def __le__(self, value: Right) -> Expression:
        return self._predicate("<=", value)

    def __gt__(self, value: Right) -> Expression:
        return self._predicate(">", value)

    def __ge__(self, value: Right) -> Expression:
        return self._predicate(">=", value)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: object) -> "Term":
        return _call("+", self, other)

    def __radd__(self, other: object) -> "Term":
        return _call("+", other, self)

    def __sub__(self, other: object) -> "Term":
        return _call("-", self, other)

    def __rsub__(self, other: object) -> "Term":
        return _call("-", other, self)

    def __mul__(self, other: object) -> "Term":
        return _call("*", self, other)

    def __rmul__(self, other: object) -> "Term":
        return _call("*", other, self)

    def __truediv__(self, other: object) -> "Term":
        return _call("/", self, other)

    def __rtruediv__(self, other: object) -> "Term":
        return _call("/", other, self)

    def __mod__(self, other: object) -> "Term":
        return _call("%", self, other)

    def __rmod__(self, other: object) -> "Term":
        return _call("%", other, self)

    def __neg__(self) -> "Term":
        return _call("-", self)

    def __abs__(self) -> "Term":
        return _call("abs", self)

    def __tamis_expression__(self) -> Expression:
        """The operand as a predicate: it is `true`."""
        return self._predicate("=", True)

    def __invert__(self) -> Expression:
        return ~self.__tamis_expression__()

    def __and__(self, other: "Expression | Operand") -> Expression:
        return self.__tamis_expression__() & _expression(other)

    def __rand__(self, other: Expression) -> Expression:
        return other & self.__tamis_expression__()

    def __or__(self, other: "Expression | Operand") -> Expression:
        return self.__tamis_expression__() | _expression(other)

    def __ror__(self, other: Expression) -> Expression:
        return other | self.__tamis_expression__()

    def __xor__(self, other: "Expression | Operand") -> Expression:
        return self.__tamis_expression__() ^ _expression(other)

    def __rxor__(self, other: Expression) -> Expression:
        return other ^ self.__tamis_expression__()

    def isin(self, values: Iterable[Value]) -> Expression:
        """Some value is one of these."""
        return self._predicate("in", *_values(values))

    def not_in(self, values: Iterable[Value]) -> Expression:
        """There are values, and none is one of these."""
        return self._predicate("not in", *_values(values))

    def between(self, low: "Scalar | Operand", high: Right) -> Expression:
        """Some value lies between the two, both included; operands give two comparisons."""
        if isinstance(low, Operand) or isinstance(high, Operand):
            return (self >= low) & (self <= high)
        return self._predicate("between", low, high)

    def not_between(self, low: "Scalar | Operand", high: Right) -> Expression:
        """There are values, and none lies between the two."""
        if isinstance(low, Operand) or isinstance(high, Operand):
            return ~self.between(low, high)
        return self._predicate("not between", low, high)

    def like(self, pattern: Value) -> Expression:
        """Some value matches the pattern: `%` any text, `_` any character; a backslash escapes."""
        return self._predicate("like", pattern)

    def not_like(self, pattern: Value) -> Expression:
        """There are values, and none matches the pattern."""
        return self._predicate("not like", pattern)

    def ilike(self, pattern: Scalar) -> Expression:
        """Some value matches the pattern, ignoring case."""
        return self._call("lower").like(_lower(pattern))

    def not_ilike(self, pattern: Scalar) -> Expression:
        """There are values, and none matches the pattern, ignoring case."""
        return self._call("lower").not_like(_lower(pattern))

    def startswith(self, prefix: Right) -> Expression:
        """Some value begins with the prefix."""
        return self._predicate("starts with", prefix)

    def endswith(self, suffix: Right) -> Expression:
        """Some value ends with the suffix."""
        return self._predicate("ends with", suffix)

    def contains(self, part: Right) -> Expression:
        """Some value contains the text."""
        return self._predicate("contains", part)

    def matches(self, pattern: Value) -> Expression:
        """Some value contains a match of the regular expression."""
        return self._predicate("matches", pattern)

    def not_startswith(self, prefix: Right) -> Expression:
        """There are values, and none begins with the prefix."""
        return self._predicate("not starts with", prefix)

    def not_endswith(self, suffix: Right) -> Expression:
        """There are values, and none ends with the suffix."""
        return self._predicate("not ends with", suffix)

    def not_contains(self, part: Right) -> Expression:
        """There are values, and none contains the text."""
        return self._predicate("not contains", part)

    def not_matches(self, pattern: Value) -> Expression:
        """There are values, and none contains a match of the regular expression."""
        return self._predicate("not matches", pattern)

    def exists(self) -> Expression:
        """The event has it, possibly as null."""
        return self._predicate("exists")

    def missing(self) -> Expression:
        """The event does not have it."""
        return self._predicate("missing")

    def is_null(self) -> Expression:
        """There is no value: it is null or missing."""
        return self._predicate("is null")

    def is_not_null(self) -> Expression:
        """There is a value."""
        return self._predicate("is not null")

    def is_true(self) -> Expression:
        """Whether the value is `true`; false if there is no value."""
        return self.__tamis_expression__().is_true()

    def is_not_true(self) -> Expression:
        """Whether the value is not `true`, or there is no value."""
        return self.__tamis_expression__().is_not_true()

    def is_false(self) -> Expression:
        """Whether there is a value that is not `true`."""
        return self.__tamis_expression__().is_false()

    def is_not_false(self) -> Expression:
        """Whether the value is `true`, or there is no value."""
        return self.__tamis_expression__().is_not_false()

    def is_unknown(self) -> Expression:
        """There is no value, so tests of it are unknown."""
        return self._predicate("is unknown")

    def is_not_unknown(self) -> Expression:
        """There is a value, so tests of it are true or false."""
        return self._predicate("is not unknown")


class Term(Operand):
    """A function of attributes, such as `attr.name.lower()` or `attr.price * attr.quantity`.

    Functions of the language that take the operand as their first argument are methods.
    """

    __slots__ = ("_inner",)
    _inner: _Term

    def __init__(self, inner: _Term) -> None:
        object.__setattr__(self, "_inner", inner)

    def _term(self) -> _Term:
        return self._inner

    def __getattr__(self, name: str) -> Callable[..., "Term"]:
        if name.startswith("_"):  # Python looks for its own methods this way
            raise AttributeError(name)
        return lambda *arguments: _function(name, self, *arguments)

    def __bool__(self) -> Never:
        raise TypeError(f"{self._inner} is not a truth value; compare it")

    def __repr__(self) -> str:
        return f"<Term {self._inner}>"


class Attribute(Operand):
    """An attribute by its name; a comparison returns an `Expression`.

    Reach longer names with a dot, or with brackets if a name is not a Python identifier or is that
    of a method: `attr.user.age`, `attr["user.age"]`, `attr["user"]["like"]`. Calling the name after
    the last dot applies the function of that name: `attr.name.lower()`,
    `attr.a.cast("integer")`; `any`, `all` and `none` test the elements of a list:
    `attr.items.any(attr.price > 3)`.
    """

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _term(self) -> _Term:
        return _Term.attribute(self._name)

    def __getattr__(self, name: str) -> "_Member":
        if name.startswith("__"):  # Python looks for its own methods this way
            raise AttributeError(name)
        return _Member(self, name)

    def __getitem__(self, name: object) -> "Attribute":
        if not isinstance(name, str):
            found = type(name).__name__
            raise ExpressionError(f"an attribute's name must be a string, not {found}")
        return Attribute(f"{self._name}.{name}")

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"an attribute cannot be assigned to; compare it: attr.{name} == ...")

    def __bool__(self) -> Never:
        raise TypeError(
            f"attr.{self._name} is not a truth value; compare it, as in attr.{self._name} == True"
        )

    def __repr__(self) -> str:
        return f"attr[{self._name!r}]"


class _Member(Attribute):
    """The name after a dot: an attribute or, when called, a function of the operand before it."""

    __slots__ = ("_function", "_parent")
    _parent: Attribute
    _function: str

    def __init__(self, parent: Attribute, name: str) -> None:
        super().__init__(f"{parent._name}.{name}")
        object.__setattr__(self, "_parent", parent)
        object.__setattr__(self, "_function", name)

    def __call__(self, *arguments: object, weight: float | None = None) -> Any:
        if self._function in ("any", "all", "none"):
            (inner,) = arguments
            return _elements(self._function, self._parent, inner, weight)
        return _function(self._function, self._parent, *arguments)


class _Element(Attribute):
    """The element of a list, inside `any`, `all` and `none`."""

    __slots__ = ()

    def _term(self) -> _Term:
        return _Term.element()

    def __repr__(self) -> str:
        return "it"


def _values(values: Iterable[Value]) -> Iterable[Value]:
    if isinstance(values, str):
        raise TypeError(f"a set is a list of values, not the text {values!r}; write [{values!r}]")
    return values


def _lower(pattern: Scalar) -> str:
    """The pattern in lower case, computed as `lower` computes it."""
    if not isinstance(pattern, str):
        raise ExpressionError(f"`ilike` takes a string, not {type(pattern).__name__}")
    return _Term.lower(pattern)


def _expression(operand: "Expression | Operand") -> Expression:
    return operand.__tamis_expression__() if isinstance(operand, Operand) else operand


def _call(function: str, *arguments: object, type: str | None = None) -> Term:
    terms = [
        argument._term() if isinstance(argument, Operand) else argument for argument in arguments
    ]
    return Term(_Term.call(function, terms, type=type))


def _function(name: str, operand: Operand, *arguments: object) -> Term:
    if name == "cast":
        (kind,) = arguments
        return _call("cast", operand, type=str(kind))
    return _call(name, operand, *arguments)


def _elements(
    quantifier: str, operand: Attribute, inner: object, weight: float | None
) -> Expression:
    if isinstance(inner, Operand):
        inner = inner.__tamis_expression__()
    if not isinstance(inner, Expression):
        raise ExpressionError(f"`{quantifier}` takes an expression, not {type(inner).__name__}")
    return Expression.elements(quantifier, operand._term(), inner, weight=weight)


def now() -> Term:
    """The time of the match, or the value of `now=`.

    >>> print(attr.created > now())
    created > now()
    """
    return _call("now")


def values() -> Term:
    """All values of an event as texts, whatever their names.

    >>> print(values().lower().contains("x"))
    lower(values()) contains 'x'
    """
    return _call("values")


it = _Element("it")


class _Attributes:
    """The entry point to attributes: `attr.age`, `attr["user.age"]`."""

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
    """The expressions joined by `and`; `true` if there are none."""
    return Expression.all_of(list(expressions))


def any_of(expressions: Iterable[Expression]) -> Expression:
    """The expressions joined by `or`; `false` if there are none."""
    return Expression.any_of(list(expressions))


def parse(text: str, *, limits: Limits | None = None) -> Expression:
    """Parse an expression.

    >>> print(parse("age >= 18 AND NOT (state IN ('CA'))"))
    age >= 18 and not state in ('CA')
    """
    return Expression.parse(text, limits=limits)


def _restore(text: str) -> Expression:
    """Restore a pickled expression; it was accepted before, so limits do not apply."""
    unbounded = 2**63 - 1
    limits = Limits(
        text=unbounded, depth=unbounded, nodes=unbounded, set=unbounded, pattern=unbounded
    )
    return Expression.parse(text, limits=limits)
