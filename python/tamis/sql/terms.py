"""Writes terms in SQL, with their types.

Missing values, terms without a result and NaN are null in SQL. Numbers are cast so that no database
rounds or overflows; if that is not possible, the term is refused.

Durations and computed times are counts of microseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from tamis.errors import ExpressionError
from tamis.sql import values
from tamis.sql.dialects import Dialect
from tamis.sql.types import (
    DATE,
    DIGITS,
    FLOAT,
    NUMBER,
    SPAN,
    STRING,
    TIME,
    TIMESTAMP,
    Type,
    exact,
    integers,
)

# The maximum length of a condition in characters.
SIZE = 4 << 20
# Numbers of up to this many digits are exact floats.
FLOAT_DIGITS = 15
# Moments of the years 1 to 9999, in microseconds.
FIRST = -62_135_596_800_000_000
LAST = 253_402_300_799_999_999
# A computed time may be a day outside: in other time zones it is still within these years.
DAY = 86_400_000_000

# The type that a column must have, if types are not given.
_WANTED = {"number": NUMBER, "time": TIME}
_PARTS = ("year", "month", "day", "hour", "minute", "weekday")


@dataclass(frozen=True)
class Value:
    """A piece of SQL and its type.

    Attributes:
        sql: The piece; None if there is no value at all.
        type: Its type.
        constant: Its value, if it is a constant.
        moment: Whether it is a time as a count of microseconds.
        free: Whether it is a column whose type follows only from its use.
    """

    sql: str | None
    type: Type
    constant: values.Constant | None = None
    moment: bool = False
    free: bool = False


NOTHING = Value(None, Type("unknown"))


class Terms:
    """Writes terms of one scope: a row, or an element of a list.

    Args:
        dialect: The database.
        zone: The zone of times without an offset.
        attribute: The value of an attribute, or of the element itself for None.
        size: The number of values of a list term.
        demand: Called with a column and the type that its use requires.
    """

    def __init__(
        self,
        dialect: Dialect,
        zone: tzinfo,
        attribute: Callable[[str | None], Value],
        size: Callable[[Any], Value],
        demand: Callable[[str, str], None],
    ) -> None:
        self.dialect = dialect
        self.zone = zone
        self.attribute = attribute
        self.size = size
        self.demand = demand

    def term(self, term: Any) -> Value:
        """The value of a term of the JSON form."""
        value = self._term(term)
        if value.sql is not None and len(value.sql) > SIZE:
            raise ExpressionError(f"the condition would have more than {SIZE} characters")
        return value

    def _term(self, term: Any) -> Value:
        if "attribute" in term:
            return self.attribute(term["attribute"])
        if "it" in term:
            return self.attribute(None)
        if "value" in term:
            return self.constant(values.read(term["value"], self.zone))
        name, arguments = term["function"], term["arguments"]
        if name in ("+", "*", "/", "%") or (name == "-" and len(arguments) == 2):
            return self.arithmetic(name, *map(self.term, arguments))
        if name in _PARTS:
            return self.part(name, self.time(name, self.term(arguments[0])))
        if name == "size":
            return self.size(arguments[0])
        if name == "cast":
            return self.cast(self.term(arguments[0]), term["type"])
        known = _FUNCTIONS.get(name)
        if known is None:
            raise ExpressionError(f"SQL has no function `{name}`")
        return known(self, [self.term(argument) for argument in arguments])

    def constant(self, constant: values.Constant) -> Value:
        """A constant that is compared with an unknown type."""
        kind, value = constant.type.kind, constant.value
        match kind:
            case "string":
                sql = self.dialect.string(value)
            case "boolean":
                sql = "true" if value else "false"
            case "exact":
                sql = self.number(value, constant.type)
            case "timestamp":
                sql = self.moment(value)
            case "date":
                sql = self.dialect.date(values.date_text(value))
            case _:
                return Value(str(microseconds(value)), SPAN, constant)
        return Value(sql, constant.type, constant)

    def number(self, value: Decimal, kind: Type) -> str:
        if kind.digits > DIGITS:
            raise ExpressionError(f"the number {value} has more than {DIGITS} digits")
        if kind.digits > 18:
            return f"cast('{value:f}' as decimal({kind.digits}, {kind.scale}))"
        return f"{value:f}" if value >= 0 else f"({value:f})"

    def moment(self, nanoseconds: int) -> str:
        text = values.timestamp_text(microseconds(nanoseconds))
        if text is None:
            raise ExpressionError("the timestamp is outside the years 1 to 9999")
        return self.dialect.timestamp(text)

    # Types

    def wanted(self, value: Value, kind: str) -> Value:
        """A value as one of this kind, if it is a column whose type follows from its use."""
        if not value.free or value.sql is None:
            return value
        self.demand(value.sql, kind)
        return replace(value, type=_WANTED.get(kind) or Type(kind), free=False)

    def string(self, function: str, value: Value) -> str | None:
        value = self.wanted(value, "string")
        if value.type.kind in ("string", "unknown"):
            return value.sql
        if value.type.kind in ("timestamp", "date", "time", "exact", "float", "number", "boolean"):
            return None
        raise ExpressionError(f"`{function}` of a {value.type.kind} cannot be written")

    def time(self, function: str, value: Value) -> Value:
        value = self.wanted(value, "time")
        match value.type.kind:
            case "timestamp" if value.moment and value.sql is not None:
                return Value(self.dialect.from_microseconds(value.sql), TIMESTAMP)
            case "timestamp" | "date" | "time":
                return value
            case "string":
                raise ExpressionError(f"`{function}` would read text as a time")
        return NOTHING

    # Numbers

    def arithmetic(self, operator: str, left: Value, right: Value) -> Value:
        if left.sql is None or right.sql is None:
            return NOTHING
        if left.free or right.free or "number" in (left.type.kind, right.type.kind):
            raise ExpressionError(
                f"the result of `{operator}` depends on the types of its columns; "
                "say them with `columns`"
            )
        kinds = {left.type.kind, right.type.kind}
        if kinds & {"timestamp", "date", "time", "span"}:
            return self.time_arithmetic(operator, left, right)
        if "string" in kinds or "boolean" in kinds:
            return NOTHING
        if kinds <= {"exact", "float"}:
            if "float" in kinds:
                return self.float_arithmetic(operator, left, right)
            return self.exact_arithmetic(operator, left, right)
        raise ExpressionError(
            f"`{operator}` between {' and '.join(sorted(kinds))} cannot be written"
        )

    def exact_arithmetic(self, operator: str, left: Value, right: Value) -> Value:
        if operator == "/":
            raise ExpressionError(
                "a quotient of exact numbers is rounded differently by every database"
            )
        (a, s), (b, t) = (
            (left.type.digits, left.type.scale),
            (right.type.digits, right.type.scale),
        )
        scale = s + t if operator == "*" else max(s, t)
        whole = max(a - s, b - t)
        if operator == "*":
            digits = a + b
            fits = digits <= DIGITS and (scale == 0 or digits < DIGITS)
        elif operator == "%":
            digits = max(min(a - s, b - t), 1) + scale
            fits = whole + scale <= DIGITS
        else:
            digits = whole + scale + 1
            fits = digits <= DIGITS
        if not fits:
            raise ExpressionError(
                f"`{operator}` of numbers of {a} and {b} digits may have more than {DIGITS} digits"
            )
        least = self.dialect.operand_digits(digits)
        first, second = self.as_decimal(left, least), self.as_decimal(right, least)
        if operator == "%":
            second = f"nullif({second}, 0)"
        return Value(f"({first} {operator} {second})", exact(digits, scale))

    def as_decimal(self, value: Value, least: int = 0) -> str:
        assert value.sql is not None
        kind = value.type
        return f"cast({value.sql} as decimal({max(kind.digits, least)}, {kind.scale}))"

    def float_arithmetic(self, operator: str, left: Value, right: Value) -> Value:
        first, second = self.as_float(left), self.as_float(right)
        if operator in "/%":
            second = f"nullif({second}, {self.dialect.float('0')})"
        result = self.dialect.float_arithmetic(first, operator, second)
        return Value(self.dialect.finite(result), FLOAT)

    def as_float(self, value: Value) -> str:
        """A number as the float nearest to it."""
        assert value.sql is not None
        if value.type.kind == "float":
            return value.sql
        if value.constant is not None:
            return self.dialect.float(str(value.constant.value))
        if not value.type.integer and value.type.digits > FLOAT_DIGITS:
            raise ExpressionError(
                f"databases round decimals of {value.type.digits} digits differently to floats"
            )
        return f"cast({value.sql} as {self.dialect.double})"

    def rounding(self, function: str, value: Value) -> Value:
        if value.sql is None or value.type.kind in ("string", "boolean", "timestamp", "date"):
            return NOTHING
        if value.free or value.type.kind == "number":
            raise ExpressionError(
                f"the result of `{function}` depends on the column's type; say it with `columns`"
            )
        kind = value.type
        if kind.kind == "span" and function == "abs":
            return Value(f"abs({value.sql})", SPAN)
        if kind.kind == "float" and function in ("abs", "-"):
            sql = f"abs({value.sql})" if function == "abs" else f"(-{value.sql})"
            return Value(self.dialect.finite(sql), FLOAT)
        if kind.kind == "float":
            raise ExpressionError(f"`{function}` of a float differs between databases")
        if kind.kind != "exact":
            raise ExpressionError(f"`{function}` of a {kind.kind} cannot be written")
        if function == "abs":
            return Value(f"abs({self.as_decimal(value)})", exact(kind.digits, kind.scale))
        if function == "-":
            return Value(f"(-{self.as_decimal(value)})", exact(kind.digits, kind.scale))
        if kind.scale == 0:
            return value
        digits = min(kind.digits - kind.scale + 1, DIGITS)
        inner = f"{function}({self.as_decimal(value)})"
        return Value(f"cast({inner} as decimal({digits}, 0))", exact(digits))

    # Times

    def time_arithmetic(self, operator: str, left: Value, right: Value) -> Value:
        kinds = (left.type.kind, right.type.kind)
        if "string" in kinds:
            raise ExpressionError(f"`{operator}` would read text as a time")
        times = [kind in ("timestamp", "date", "time") for kind in kinds]
        if operator == "-" and all(times):
            first, second = self.as_microseconds(left), self.as_microseconds(right)
            return Value(f"({first} - {second})", SPAN)
        if kinds == ("span", "span") and operator in "+-":
            return Value(f"({left.sql} {operator} {right.sql})", SPAN)
        if (operator == "+" and any(times) and "span" in kinds) or (
            operator == "-" and times[0] and kinds[1] == "span"
        ):
            time, span = (left, right) if times[0] else (right, left)
            count = f"({self.as_microseconds(time)} {operator} {span.sql})"
            inside = f"{count} between {FIRST - DAY} and {LAST + DAY}"
            return Value(f"(case when {inside} then {count} end)", TIMESTAMP, moment=True)
        if "span" in kinds and operator == "*":
            raise ExpressionError("a multiple of a duration cannot be written")
        return NOTHING

    def as_microseconds(self, value: Value) -> str:
        assert value.sql is not None
        if value.moment:
            return value.sql
        if value.constant is not None and value.type.kind == "timestamp":
            return str(microseconds(value.constant.value))
        if value.constant is not None:
            return str(microseconds(values.midnight(value.constant.value, self.zone)))
        time = value.sql
        if value.type.kind == "date":
            time = self.dialect.as_timestamp(time)
        return self.dialect.microseconds(time)

    def part(self, part: str, value: Value) -> Value:
        if value.sql is None:
            return NOTHING
        if value.type.kind == "date" and part in ("hour", "minute"):
            return Value(f"(case when {value.sql} is not null then 0 end)", integers(2))
        return Value(self.dialect.part(part, value.sql), integers(4))

    # Choice and types

    def coalesce(self, arguments: list[Value]) -> Value:
        given = [each for each in arguments if each.sql is not None]
        if len(given) < 2:
            return given[0] if given else NOTHING
        known = next((each.type.kind for each in given if not each.free), None)
        if known is None:
            raise ExpressionError(
                "the types of the arguments of `coalesce` are not known: say `columns`"
            )
        kind = "number" if known == "exact" and any(each.free for each in given) else known
        given = [self.wanted(each, kind) for each in given]
        kinds = {each.type.kind for each in given}
        if kinds == {"timestamp"}:
            if any(each.moment for each in given):
                counts = ", ".join(self.as_microseconds(each) for each in given)
                return Value(f"coalesce({counts})", TIMESTAMP, moment=True)
        elif kinds == {"exact"}:
            scale = max(each.type.scale for each in given)
            digits = max(each.type.digits - each.type.scale for each in given) + scale
            if digits > DIGITS:
                raise ExpressionError(f"`coalesce` of numbers that need {digits} digits together")
            parts = (f"cast({each.sql} as decimal({digits}, {scale}))" for each in given)
            return Value(f"coalesce({', '.join(parts)})", exact(digits, scale))
        elif len(kinds) > 1 or kinds - {"string", "boolean", "float", "date", "span"}:
            raise ExpressionError(f"`coalesce` of {' and '.join(sorted(kinds))} has no SQL type")
        return Value(f"coalesce({', '.join(str(each.sql) for each in given)})", given[0].type)

    def cast(self, value: Value, kind: str) -> Value:
        if value.sql is None:
            return NOTHING
        match value.type.kind, kind:
            case ("string", "string") | ("boolean", "boolean") | ("float", "float"):
                return value
            case ("timestamp", "timestamp") | ("date", "date") | ("exact", "decimal"):
                return value
            case ("exact", "integer") if value.type.scale == 0:
                return value
            case "exact", "string" if value.type.integer:
                return Value(f"cast({value.sql} as {self.dialect.text})", STRING)
            case "exact", "float":
                return Value(self.as_float(value), FLOAT)
            case "timestamp", "date":
                return self.date([value])
            case "date", "timestamp":
                return Value(self.as_microseconds(value), TIMESTAMP, moment=True)
        source = "a column of unknown type" if value.free else f"a {value.type.kind}"
        raise ExpressionError(f"a cast of {source} to {kind} differs between databases")

    def date(self, arguments: list[Value]) -> Value:
        value = self.time("date", arguments[0])
        if value.sql is None or value.type.kind == "date":
            return value
        return Value(self.dialect.as_date(value.sql), DATE)

    def now(self, _: list[Value]) -> Value:
        return Value(self.dialect.now(), TIMESTAMP)


def microseconds(nanoseconds: int) -> int:
    """A constant's microseconds.

    Raises:
        ExpressionError: It has a fraction of a microsecond.
    """
    if nanoseconds % values.MICROSECOND:
        raise ExpressionError("databases do not support fractions of a microsecond")
    return nanoseconds // values.MICROSECOND


def _text_function(name: str) -> Callable[[Terms, list[Value]], Value]:
    def write(terms: Terms, arguments: list[Value]) -> Value:
        text = terms.string(name, arguments[0])
        return NOTHING if text is None else Value(getattr(terms.dialect, name)(text), STRING)

    return write


def _length(terms: Terms, arguments: list[Value]) -> Value:
    text = terms.string("length", arguments[0])
    return NOTHING if text is None else Value(terms.dialect.length(text), integers(10))


def _substring(terms: Terms, arguments: list[Value]) -> Value:
    text = terms.string("substring", arguments[0])
    numbers = [each.constant.value if each.constant else None for each in arguments[1:]]
    if not all(isinstance(number, Decimal) and number == int(number) for number in numbers):
        raise ExpressionError("`substring` is written with constant positions only")
    start, count = (int(number) for number in numbers if number is not None)
    if text is None or count < 0:
        return NOTHING
    end = min(start + count, 2**31 - 1)
    start = min(max(start, 1), 2**31 - 1)
    return Value(terms.dialect.substring(text, start, max(end - start, 0)), STRING)


def _concat(terms: Terms, arguments: list[Value]) -> Value:
    parts = [terms.string("concat", each) for each in arguments]
    texts = [part for part in parts if part is not None]
    return NOTHING if len(texts) < len(parts) else Value(terms.dialect.concat(texts), STRING)


def _rounding(name: str) -> Callable[[Terms, list[Value]], Value]:
    return lambda terms, arguments: terms.rounding(name, arguments[0])


def _type(_: Terms, arguments: list[Value]) -> Value:
    value = arguments[0]
    words = {"string": "string", "boolean": "boolean", "exact": "number", "float": "number"}
    if value.free or value.type.kind not in words or value.constant is not None:
        raise ExpressionError("`type` is written for columns of text, numbers and booleans only")
    word = words[value.type.kind]
    return Value(f"(case when {value.sql} is null then 'null' else '{word}' end)", STRING)


_FUNCTIONS: dict[str, Callable[[Terms, list[Value]], Value]] = {
    "lower": _text_function("lower"),
    "upper": _text_function("upper"),
    "trim": _text_function("trim"),
    "length": _length,
    "substring": _substring,
    "concat": _concat,
    "abs": _rounding("abs"),
    "-": _rounding("-"),
    "round": _rounding("round"),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "coalesce": Terms.coalesce,
    "date": Terms.date,
    "now": Terms.now,
    "type": _type,
}
