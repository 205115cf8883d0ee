"""The values of a term, in an event or in an element of a list."""

import ipaddress
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias
from typing import Literal as Choice
from zoneinfo import ZoneInfo

from judge import values as v
from judge.functions import FUNCTIONS, WORDS, bucket, calculate, cast_number, negative, read_number
from judge.language import Arithmetic, Attribute, Call, Cast, It, Literal, Negative, Term
from judge.values import Day, Instant, Number, Span, Unspecified, Value

Missing: TypeAlias = Choice["unknown", "false"]
YEAR_1 = (1 - v.EPOCH) * v.DAY
LAST_DAY = date.max.toordinal()
YEAR_10000 = (LAST_DAY + 1 - v.EPOCH) * v.DAY


@dataclass(frozen=True)
class Setting:
    """The settings of an index, and the time of the call."""

    missing: Missing = "unknown"
    time_zone: str = "UTC"
    now: datetime = datetime(2026, 1, 2, 5, tzinfo=UTC)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


@dataclass(frozen=True)
class Scope:
    """An event, or one element of a list: a mapping has fields, anything else is only `it`."""

    setting: Setting
    raw: Any
    inside: bool = False

    @property
    def zone(self) -> ZoneInfo:
        return self.setting.zone

    def lookup(self, name: str) -> tuple[list[Any], bool]:
        """The content of a dotted name, and whether the path leads through a list."""
        found, through = [self.raw], False
        for part in name.split("."):
            holders: list[Any] = []
            for raw in found:
                if isinstance(raw, list):
                    through = True
                    holders += raw
                else:
                    holders.append(raw)
            found = [raw[part] for raw in holders if isinstance(raw, Mapping) and part in raw]
        return found, through

    def find(self, term: Attribute | It) -> tuple[list[Any], bool]:
        return ([self.raw], False) if isinstance(term, It) else self.lookup(term.name)


class Terms:
    """The values of terms in one scope; none if a term is missing."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.zone = scope.zone

    def scalars(self, raw: Any) -> list[Value]:
        """The values of one field: for a list those of its elements; without nulls."""
        if isinstance(raw, list):
            if any(isinstance(element, list) for element in raw):
                raise Unspecified("a list in a list")
            return [value for element in raw for value in self.scalars(element)]
        if isinstance(raw, Mapping):
            return []
        value = v.value_of(raw, self.zone)
        return [] if value is None else [value]

    def values(self, term: Term) -> list[Value]:
        """The values of a term; none if it is missing."""
        match term:
            case Attribute() | It():
                found, _ = self.scope.find(term)
                return [value for raw in found for value in self.scalars(raw)]
            case Literal():
                return [self.literal(term)]
            case Negative(operand):
                return self.results(negative, operand)
            case Arithmetic(operator, left, right):
                return self.results(lambda a, b: self.arithmetic(operator, a, b), left, right)
            case Cast(operand, type):
                return self.results(lambda value: self.cast(value, type), operand)
            case Call():
                return self.call(term)

    def results(self, function: Callable[..., Value | None], *arguments: Term) -> list[Value]:
        """The results of a function for all combinations of arguments for which it has one."""
        lists = [self.values(argument) for argument in arguments]
        results = [function(*chosen) for chosen in itertools.product(*lists)]
        return [result for result in results if result is not None]

    def literal(self, literal: Literal) -> Value:
        match literal.kind:
            case "number":
                return Number(Decimal(literal.text))
            case "boolean":
                return literal.text == "true"
            case "string":
                return literal.text
            case "interval":
                return v.read_span(literal.text, literal.unit)
            case "ip":
                return ipaddress.ip_address(literal.text)
            case "version":
                version = v.read_version(literal.text)
                assert version is not None
                return version
            case _:
                time = v.read_time(literal.text, self.zone)
                assert time is not None
                return time

    def call(self, term: Call) -> list[Value]:
        arguments = term.arguments
        match term.function:
            case "now":
                return [v.instant_of(self.scope.setting.now, self.zone)]
            case "values":
                if self.scope.inside:
                    raise Unspecified("the whole event, asked by an element")
                return [v.canonical(value) for value in self.everything(self.scope.raw)]
            case "coalesce":
                for argument in arguments:
                    found = self.values(argument)
                    if found:
                        return found
                return []
            case "size":
                return self.size(arguments[0])
            case "type":
                return self.type(arguments[0])
            case "bucket":
                (value, count, *salt) = arguments
                assert isinstance(count, Literal)
                before = salt[0].text if salt and isinstance(salt[0], Literal) else ""
                return self.results(lambda a: bucket(a, int(count.text), before), value)
            case "year" | "month" | "day" | "hour" | "minute" | "weekday" | "date":
                return self.results(lambda a: self.clock(term.function, a), *arguments)
            case function:
                return self.results(FUNCTIONS[function], *arguments)

    def everything(self, raw: Any) -> Iterator[Value]:
        if isinstance(raw, Mapping):
            for inner in raw.values():
                yield from self.everything(inner)
        elif isinstance(raw, list):
            for inner in raw:
                yield from self.everything(inner)
        else:
            yield from self.scalars(raw)

    def size(self, term: Term) -> list[Value]:
        if not isinstance(term, Attribute | It):
            count = len(self.values(term))
            return [v.number(count)] if count else []
        found, through = self.scope.find(term)
        if through:
            raise Unspecified("the size of a path through a list")
        if not found or is_null(found[0]):
            return []
        return [v.number(len(found[0]) if isinstance(found[0], list) else 1)]

    def type(self, term: Term) -> list[Value]:
        if not isinstance(term, Attribute | It):
            raise Unspecified("the type of a computed term")
        found, through = self.scope.find(term)
        if through:
            raise Unspecified("the type of a path through a list")
        match found:
            case []:
                return []
            case [list()]:
                return ["list"]
            case [dict()]:
                return ["object"]
        value = v.value_of(found[0], self.zone)
        if value is None:
            return ["null"]
        if v.kind(value) not in ("string", "number", "boolean"):
            raise Unspecified("the type of a time")
        return [v.kind(value)]

    def clock(self, function: str, value: Value) -> Value | None:
        time = v.read_time(value, self.zone) if isinstance(value, str) else value
        if isinstance(time, Day):
            shown = datetime.fromordinal(time.ordinal)
        elif isinstance(time, Instant):
            shown = v.local(time, self.zone)
        else:
            return None
        if function == "date":
            return Day(shown.toordinal())
        if function == "weekday":
            return v.number(shown.isoweekday())
        return v.number(int(getattr(shown, function)))

    def arithmetic(self, operator: str, left: Value, right: Value) -> Value | None:
        if isinstance(left, Number) and isinstance(right, Number):
            return calculate(operator, left, right)
        if isinstance(right, Span) and operator in "+-":
            time = v.read_time(left, self.zone) if isinstance(left, str) else left
            if isinstance(time, Span):
                raise Unspecified("durations added to durations")
            if isinstance(time, Instant | Day):
                return self.shifted(time, right.nanoseconds * (1 if operator == "+" else -1))
            return None
        if isinstance(left, Span) or isinstance(right, Span):
            raise Unspecified("durations as numbers, or before a time")
        if operator == "-" and (isinstance(left, v.TIMES) or isinstance(right, v.TIMES)):
            return self.difference(left, right)
        return None

    def difference(self, left: Value, right: Value) -> Value | None:
        first = v.read_time(left, self.zone) if isinstance(left, str) else left
        second = v.read_time(right, self.zone) if isinstance(right, str) else right
        if not isinstance(first, Instant | Day) or not isinstance(second, Instant | Day):
            return None
        elapsed = v.moment_of(first, self.zone) - v.moment_of(second, self.zone)
        if (
            isinstance(first, Day)
            and isinstance(second, Day)
            and elapsed != (first.ordinal - second.ordinal) * v.DAY
        ):
            raise Unspecified("days between dates where a day has not 24 hours")
        return Span(elapsed)

    def shifted(self, time: Instant | Day, nanoseconds: int) -> Value | None:
        moment = v.moment_of(time, self.zone) + nanoseconds
        if not YEAR_1 <= moment < YEAR_10000:
            if not YEAR_1 - v.DAY <= moment < YEAR_10000 + v.DAY:
                return None
            raise Unspecified("hours around the years 1 and 9999")
        if isinstance(time, Day):
            days, rest = divmod(nanoseconds, v.DAY)
            day = Day(time.ordinal + days)
            if not 1 <= day.ordinal <= LAST_DAY:
                raise Unspecified("hours around the years 1 and 9999")
            if rest or v.moment_of(day, self.zone) != moment:
                raise Unspecified("hours added to a date")
            return day
        return Instant(moment)

    def cast(self, value: Value, type: str) -> Value | None:
        match type:
            case "string":
                return v.canonical(value)
            case "timestamp" | "date":
                return self.cast_time(value, type)
            case "boolean":
                if isinstance(value, bool) or value in ("true", "false"):
                    return value if isinstance(value, bool) else value == "true"
                if isinstance(value, str) and value.strip().lower() not in WORDS:
                    return None
                raise Unspecified("what else is true")
        if isinstance(value, bool):
            raise Unspecified("a boolean as a number")
        read = read_number(value) if isinstance(value, str) else value
        if not isinstance(read, Number):
            return None
        return cast_number(read, type)

    def cast_time(self, value: Value, type: str) -> Value | None:
        time = v.read_time(value, self.zone) if isinstance(value, str) else value
        if isinstance(time, Day):
            return time if type == "date" else v.midnight(time, self.zone)
        if isinstance(time, Instant):
            return time if type == "timestamp" else self.clock("date", time)
        return None


def is_null(raw: Any) -> bool:
    return raw is None or (isinstance(raw, float) and math.isnan(raw))


def holds_objects(raw: Any) -> bool:
    return isinstance(raw, list) and any(isinstance(element, dict) for element in raw)
