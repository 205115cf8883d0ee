"""Expressions in negation normal form, with two truth values.

The peers have two truth values, Tamis has three. An expression is true in Kleene's logic exactly if
its negation normal form is true when every leaf whose attribute has no value is false; with
`missing="false"`, negated leaves of such attributes are true instead.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tamis

Scalar = str | int | float | bool

_ORDERINGS = {"<", "<=", ">", ">="}


@dataclass(frozen=True)
class Leaf:
    """A test of one attribute.

    Attributes:
        attribute: Its name.
        operator: `in`, or one of the orderings.
        values: The values of the set, or the single bound.
        negated: Whether the test must fail.
        absent: Whether it is true for an attribute without a value.
    """

    attribute: str
    operator: str
    values: tuple[Scalar, ...]
    negated: bool
    absent: bool


@dataclass(frozen=True)
class Group:
    """A conjunction or disjunction."""

    every: bool
    members: tuple["Node", ...]


Node = Leaf | Group


def normal_form(text: str, missing: str) -> Node:
    """Parse an expression; raises a `SubscriptionError` if no peer supports it."""
    return _normal(json.loads(tamis.parse(text).to_json()), False, missing == "false")


def refuse(what: str) -> tamis.SubscriptionError:
    """Create the error that the results table shows."""
    return tamis.SubscriptionError(f"cannot express {what}")


def leaves(node: Node) -> Iterable[Leaf]:
    """All tests."""
    if isinstance(node, Leaf):
        yield node
    else:
        for member in node.members:
            yield from leaves(member)


def _normal(form: Any, negated: bool, weak: bool) -> Node:
    if isinstance(form, bool):
        return Group(form != negated, ())
    if "not" in form:
        return _normal(form["not"], not negated, weak)
    for name in ("and", "or"):
        if name in form:
            members = tuple(_normal(member, negated, weak) for member in form[name])
            return Group((name == "and") != negated, members)
    for name in ("xor", "xnor"):
        if name in form:
            one, other = form[name]
            differ = (name == "xor") != negated
            both = [
                Group(True, (_normal(one, first, weak), _normal(other, first != differ, weak)))
                for first in (False, True)
            ]
            return Group(False, tuple(both))
    return _leaf(form, negated, weak)


def _leaf(form: dict[str, Any], negated: bool, weak: bool) -> Node:
    if "xpath" in form:
        raise refuse("xpath(...)")
    name, operator = form["attribute"], form["operator"]
    if operator in ("!=", "not in", "not between"):
        operator = {"!=": "="}.get(operator, operator.removeprefix("not "))
        negated = not negated

    def leaf(operator: str, *values: Scalar) -> Leaf:
        return Leaf(name, operator, values, negated, weak and negated)

    if operator == "=":
        return leaf("in", form["value"])
    if operator == "in":
        return leaf("in", *form["values"])
    if operator in _ORDERINGS:
        return leaf(operator, form["value"])
    if operator == "between":
        low, high = form["values"]
        return Group(not negated, (leaf(">=", low), leaf("<=", high)))
    raise refuse(f"the operator {operator!r}")
