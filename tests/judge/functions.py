"""The functions on values: numbers, text, rollout; None if there is no result."""

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import xxhash

from judge import values as v
from judge.values import Number, Span, Unspecified, Value

WORDS = {"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0", "on", "off"}


# Numbers


def in_bounds(value: Decimal, floating: bool = False) -> Number | None:
    """A result, if it is a number of at most 38 digits."""
    if not value.is_finite():
        return None
    trimmed = value.normalize(v.EXACT)
    if floating or not trimmed:
        return Number(trimmed, floating)
    if trimmed.adjusted() >= v.DIGITS or trimmed.adjusted() < -60:
        raise Unspecified("how large an exponent may be")
    return Number(trimmed) if len(trimmed.as_tuple().digits) <= v.DIGITS else None


def negative(operand: Value) -> Value | None:
    if isinstance(operand, Span):
        raise Unspecified("a negative duration")
    if not isinstance(operand, Number):
        return None
    return in_bounds(operand.value.copy_negate(), operand.floating)


def calculate(operator: str, left: Number, right: Number) -> Number | None:
    if left.floating or right.floating:
        result = calculate_floats(operator, float(left.value), float(right.value))
        return v.from_float(result) if result is not None and math.isfinite(result) else None
    a, b = left.value, right.value
    match operator:
        case "+":
            return in_bounds(v.EXACT.add(a, b))
        case "-":
            return in_bounds(v.EXACT.subtract(a, b))
        case "*":
            return in_bounds(v.EXACT.multiply(a, b))
    if not b:
        return None
    if operator == "%":
        return in_bounds(v.EXACT.remainder(a, b))
    rounded = Context(prec=v.DIGITS, rounding=ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
    return in_bounds(rounded.divide(a, b))


def calculate_floats(operator: str, a: float, b: float) -> float | None:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case _ if b == 0 or math.isinf(a):
            return None
        case "/":
            return a / b
        case _:
            return math.fmod(a, b)


def rounded(rounding: str) -> Callable[[Value], Value | None]:
    def function(operand: Value) -> Value | None:
        if not isinstance(operand, Number) or not operand.value.is_finite():
            return None
        return in_bounds(operand.value.to_integral_value(rounding, v.EXACT), operand.floating)

    return function


def absolute(operand: Value) -> Value | None:
    if isinstance(operand, Span):
        raise Unspecified("the absolute value of a duration")
    return (
        in_bounds(operand.value.copy_abs(), operand.floating)
        if isinstance(operand, Number)
        else None
    )


def read_number(text: str) -> Number | None:
    if re.fullmatch(r"-?\d+(\.\d+)?", text, re.ASCII):
        digits = text.replace("-", "").replace(".", "").strip("0")
        if len(digits) > v.DIGITS:
            raise Unspecified("texts of more digits than there are")
        return Number(Decimal(text))
    if re.search(r"\d|inf|nan", text, re.IGNORECASE):
        raise Unspecified("other texts of numbers")
    return None


def cast_number(value: Number, type: str) -> Number | None:
    if not value.value.is_finite():
        raise Unspecified("infinity as another type")
    match type:
        case "float":
            return v.from_float(float(value.value))
        case "decimal":
            return in_bounds(value.value)
        case _:
            if value.value != value.value.to_integral_value():
                raise Unspecified("a fraction as an integer")
            if abs(value.value) >= 2**63:
                raise Unspecified("how large an integer may be")
            return Number(value.value)


# Text


WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def lower(text: str) -> str:
    """Unicode's simple mapping; it is shorter than the full one only for U+0130."""
    return "".join(character.lower()[0] for character in text)


def upper(text: str) -> str:
    return "".join(simple_upper(character) for character in text)


def simple_upper(character: str) -> str:
    """If the full mapping is longer, the simple one is the title case, or the character."""
    for mapped in (character.upper(), character.title()):
        if len(mapped) == 1:
            return mapped
    return character


def substring(text: str, start: Value, count: Value) -> str | None:
    if not isinstance(start, Number) or not isinstance(count, Number):
        return None
    if any(
        not n.value.is_finite() or n.value != n.value.to_integral_value() for n in (start, count)
    ):
        raise Unspecified("parts of a character")
    first, length = int(start.value), int(count.value)
    if length < 0:
        return None
    return text[max(first - 1, 0) : max(first - 1 + length, 0)]


def on_text(function: Callable[..., Value | None]) -> Callable[..., Value | None]:
    def checked(text: Value, *others: Value) -> Value | None:
        return function(text, *others) if isinstance(text, str) else None

    return checked


def concat(*parts: Value) -> Value | None:
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(parts) else None


def bucket(value: Value, count: int, salt: str) -> Value:
    return v.number(xxhash.xxh3_64_intdigest(f"{salt}\0{v.canonical(value)}".encode()) % count)


FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "lower": on_text(lower),
    "upper": on_text(upper),
    "trim": on_text(lambda text: text.strip(WHITE_SPACE)),
    "length": on_text(lambda text: v.number(len(text))),
    "substring": on_text(substring),
    "concat": concat,
    "abs": absolute,
    "round": rounded(ROUND_HALF_UP),
    "floor": rounded(ROUND_FLOOR),
    "ceil": rounded(ROUND_CEILING),
}


def textual(left: Value, operator: str, right: Value) -> bool:
    if not isinstance(left, str) or not isinstance(right, str):
        return False
    match operator:
        case "starts with":
            return left.startswith(right)
        case "ends with":
            return left.endswith(right)
        case _:
            return right in left


def regular(pattern: str) -> str:
    """A `like` pattern as a regular expression for the whole text."""
    written = ""
    characters = iter(pattern)
    for character in characters:
        match character:
            case "%":
                written += ".*"
            case "_":
                written += "."
            case "\\":
                written += re.escape(next(characters))
            case _:
                written += re.escape(character)
    return rf"\A{written}\Z"
