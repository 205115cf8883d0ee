"""Expressions made with the builder instead of written as text."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import tamis
from judge.language import (
    Among,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Cast,
    Comparison,
    Constant,
    It,
    Joined,
    Literal,
    Negative,
    Node,
    Not,
    Pattern,
    Presence,
    Quantified,
    Term,
    Textual,
)
from tamis import Expression, attr, it


class Unbuildable(Exception):  # noqa: N818 - what the tests pass over
    """Text has it, the builder has no way to say it."""


def build(node: Node) -> Expression:
    match node:
        case Constant(value):
            return Expression.constant(value)
        case Not(operand):
            return ~build(operand)
        case Joined("and", operands):
            return tamis.all_of([build(operand) for operand in operands])
        case Joined("or", operands):
            return tamis.any_of([build(operand) for operand in operands])
        case Joined("xor", (left, right)):
            return build(left) ^ build(right)
        case Joined(_, (left, right)):
            return build(left).xnor(build(right))
        case Quantified(quantifier, list, inner):
            found: Expression = getattr(operand(list), quantifier)(build(inner))
            return found
        case Comparison(Literal(), _, _):
            raise Unbuildable("a constant on the left")
        case Comparison(left, "=", right):
            return expression(operand(left) == value(right))
        case Comparison(left, "!=", right):
            return expression(operand(left) != value(right))
        case Comparison(left, "<", right):
            return expression(operand(left) < value(right))
        case Comparison(left, "<=", right):
            return expression(operand(left) <= value(right))
        case Comparison(left, ">", right):
            return expression(operand(left) > value(right))
        case Comparison(left, ">=", right):
            return expression(operand(left) >= value(right))
    return predicate(node)


def predicate(node: Node) -> Expression:
    match node:
        case Among(term, literals, negated):
            values = [value(literal) for literal in literals]
            over = operand(term)
            return expression(over.not_in(values) if negated else over.isin(values))
        case Between(term, low, high, negated):
            over = operand(term)
            method = over.not_between if negated else over.between
            return expression(method(value(low), value(high)))
        case Textual(term, operator, right, negated):
            name = ("not_" if negated else "") + operator.replace(" ", "")
            return expression(getattr(operand(term), name)(value(right)))
        case Pattern(term, operator, pattern, negated):
            name = ("not_" if negated else "") + operator
            return expression(getattr(operand(term), name)(pattern))
        case Presence(term, operator):
            return expression(getattr(operand(term), operator.replace(" ", "_"))())
    raise Unbuildable(type(node).__name__)


def expression(found: Any) -> Expression:
    assert isinstance(found, Expression)
    return found


def value(term: Term) -> Any:
    """What stands right of an operator: a value of Python, or an operand."""
    if not isinstance(term, Literal):
        return operand(term)
    match term.kind:
        case "number":
            exact = Decimal(term.text)
            return int(exact) if exact == exact.to_integral_value() else exact
        case "string":
            return term.text
        case "boolean":
            return term.text == "true"
        case "date":
            return date.fromisoformat(term.text)
        case "interval":
            return timedelta(**{f"{term.unit}s": int(term.text)})
        case "timestamp" if term.text.endswith("Z") and len(term.text) == 20:
            return datetime.fromisoformat(term.text)
    raise Unbuildable(term.kind)


def operand(term: Term) -> Any:
    match term:
        case Attribute(name):
            return attr[name]
        case It():
            return it
        case Negative(inner):
            return -operand(inner)
        case Cast(inner, type):
            return operand(inner).cast(type)
        case Arithmetic(operator, left, right):
            first, second = operand(left), value(right)
            match operator:
                case "+":
                    return first + second
                case "-":
                    return first - second
                case "*":
                    return first * second
                case "/":
                    return first / second
                case _:
                    return first % second
        case Call("now"):
            return tamis.now()
        case Call(function, (first, *others)) if not isinstance(first, Literal):
            return getattr(operand(first), function)(*map(value, others))
    raise Unbuildable("a constant or the whole event as an operand")
