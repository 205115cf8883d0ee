"""The meaning of an expression on an event, as simply as possible.

Written only from the semantics and sharing nothing with the engine, so that the two can be
compared: an expression is a small tree, and its truth is a function of the tree, the event and the
missing mode. Speed does not matter.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

Value: TypeAlias = str | int | float | bool
Truth: TypeAlias = Literal["true", "false", "unknown"]
Missing: TypeAlias = Literal["unknown", "false"]
Matcher: TypeAlias = Literal[
    "auto", "compiled", "atree", "kindex", "cnf", "dewey", "interval", "scan"
]


@dataclass(frozen=True)
class Constant:
    value: bool


@dataclass(frozen=True)
class Predicate:
    """The operator is spelled as in text. There is no weight, one, or one per value of a set."""

    attribute: str
    operator: str
    operands: tuple[Value, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class Not:
    child: "Node"


@dataclass(frozen=True)
class And:
    children: tuple["Node", ...]


@dataclass(frozen=True)
class Or:
    children: tuple["Node", ...]


@dataclass(frozen=True)
class Xor:
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Xnor:
    left: "Node"
    right: "Node"


Node: TypeAlias = Constant | Predicate | Not | And | Or | Xor | Xnor

# Every negated operator with its positive form.
POSITIVE = {
    "!=": "=",
    "not in": "in",
    "not between": "between",
    "not like": "like",
    "not starts with": "starts with",
    "not ends with": "ends with",
    "not contains": "contains",
    "not matches": "matches",
    "missing": "exists",
    "is not null": "is null",
}


def evaluate(node: Node, event: Mapping[str, Any], missing: Missing = "unknown") -> Truth:
    """The truth of an expression on an event in which every attribute occurs once."""
    match node:
        case Constant(value):
            return truth(value)
        case Predicate():
            return evaluate_predicate(node, dict(pairs(event)), missing)
        case Not(child):
            return negate(evaluate(child, event, missing))
        case And(children):
            return conjunction([evaluate(child, event, missing) for child in children])
        case Or(children):
            return disjunction([evaluate(child, event, missing) for child in children])
        case Xor(left, right):
            return exclusive(evaluate(left, event, missing), evaluate(right, event, missing))
        case Xnor(left, right):
            return negate(evaluate(Xor(left, right), event, missing))


def attributes(node: Node) -> set[str]:
    """The attributes that an expression mentions."""
    match node:
        case Constant():
            return set()
        case Predicate():
            return {node.attribute}
        case Not(child):
            return attributes(child)
        case And(children) | Or(children):
            return {name for child in children for name in attributes(child)}
        case Xor(left, right) | Xnor(left, right):
            return attributes(left) | attributes(right)


# Three truth values


def truth(value: bool) -> Truth:
    return "true" if value else "false"


def negate(truth: Truth) -> Truth:
    negations: dict[Truth, Truth] = {"true": "false", "false": "true", "unknown": "unknown"}
    return negations[truth]


def conjunction(truths: list[Truth]) -> Truth:
    if "false" in truths:
        return "false"
    return "unknown" if "unknown" in truths else "true"


def disjunction(truths: list[Truth]) -> Truth:
    if "true" in truths:
        return "true"
    return "unknown" if "unknown" in truths else "false"


def exclusive(left: Truth, right: Truth) -> Truth:
    if "unknown" in (left, right):
        return "unknown"
    return truth(left != right)


# Events


def pairs(event: Mapping[str, Any], path: str | None = None) -> Iterator[tuple[str, Any]]:
    """The attributes of an event by their dotted names: a list of values, or None for a null."""
    for key, value in event.items():
        name = key if path is None else f"{path}.{key}"
        if isinstance(value, Mapping):
            yield from pairs(value, name)
        elif isinstance(value, list | tuple):
            yield name, [item for item in value if item is not None]
        elif value is None:
            yield name, None
        else:
            yield name, [value]


def given_twice(event: Mapping[str, Any], names: set[str]) -> set[str]:
    """The names that occur more than once in an event, which is an error."""
    counts = Counter(name for name, _ in pairs(event))
    return {name for name in names if counts[name] > 1}


# Predicates


def evaluate_predicate(predicate: Predicate, event: dict[str, Any], missing: Missing) -> Truth:
    operator = predicate.operator
    if operator in POSITIVE:
        positive = Predicate(predicate.attribute, POSITIVE[operator], predicate.operands)
        return negate(evaluate_predicate(positive, event, missing))
    values = event.get(predicate.attribute, [])
    if operator == "exists":
        return truth(values is None or values != [])
    if operator == "is null":
        return truth(not values)
    if not values:
        return missing
    return truth(any(satisfies(value, operator, predicate.operands) for value in values))


def satisfies(value: Value, operator: str, operands: tuple[Value, ...]) -> bool:
    if operator in ("=", "in"):
        return any(compare(value, operand) == 0 for operand in operands)
    order = [compare(value, operand) for operand in operands]
    if kind(value) == "boolean" or None in order:
        return False
    (first, *rest) = [comparison or 0 for comparison in order]
    match operator:
        case "<":
            return first < 0
        case "<=":
            return first <= 0
        case ">":
            return first > 0
        case ">=":
            return first >= 0
        case "between":
            return first >= 0 and rest[0] <= 0
    text, operand = str(value), str(operands[0])
    match operator:
        case "like":
            return like(text, operand)
        case "starts with":
            return text[: len(operand)] == operand
        case "ends with":
            return operand == "" or text[-len(operand) :] == operand
        case "contains":
            return operand in text
        case "matches":  # `$` is the very end; Python's also matches before a last line break
            return re.search(operand.replace("$", r"\Z"), text) is not None
    raise AssertionError(f"unknown operator {operator}")


def kind(value: Value) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def compare(left: Value, right: Value) -> int | None:
    """Negative, 0 or positive if left is below, equal to or above right; None for two types."""
    if kind(left) != kind(right):
        return None
    if isinstance(left, str) and isinstance(right, str):
        a, b = left.encode(), right.encode()
        return (a > b) - (a < b)
    exact_left, exact_right = Fraction(left), Fraction(right)
    return (exact_left > exact_right) - (exact_left < exact_right)


def like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(like(text[start:], rest) for start in range(len(text) + 1))
    if first == "_":
        return text != "" and like(text[1:], rest)
    if first == "\\":
        first, rest = rest[0], rest[1:]
    return text[:1] == first and like(text[1:], rest)
