"""Evaluates Sigma rules in plain Python over pySigma's parse tree.

Independent of the importer and of expressions. A rule is prepared once, as
functions of a `View`, which finds the values of an event at most once.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias

from sigma import conditions, types

Event: TypeAlias = dict[str, Any]
Test: TypeAlias = Callable[["View"], bool]


class View:
    """An event, as rules see it."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.names = {key.split(".")[0] for key in event}
        self.found: dict[str, list[Any]] = {}
        self.texts: list[str] | None = None

    def values(self, field: str) -> list[Any]:
        """All values of a field, including nulls and objects."""
        known = self.found.get(field)
        if known is None:
            known = []
            if field.split(".", 1)[0] in self.names:
                known = list(values_of(self.event, field.split(".")))
            self.found[field] = known
        return known

    def present(self, field: str) -> list[Any]:
        return [v for v in self.values(field) if v is not None and not isinstance(v, dict)]

    def all_texts(self) -> list[str]:
        if self.texts is None:
            self.texts = list(texts_of(self.event))
        return self.texts


def prepare(rule: Any) -> Test:
    """A function that decides whether an event satisfies a rule."""
    return either([condition(item.parsed) for item in rule.detection.parsed_condition])


def either(tests: list[Test]) -> Test:
    return lambda view: any(test(view) for test in tests)


def condition(node: Any) -> Test:
    if isinstance(node, conditions.ConditionAND):
        tests = [condition(item) for item in node.args]
        return lambda view: all(test(view) for test in tests)
    if isinstance(node, conditions.ConditionOR):
        return either([condition(item) for item in node.args])
    if isinstance(node, conditions.ConditionNOT):
        negated = condition(node.args[0])
        return lambda view: not negated(view)
    if isinstance(node, conditions.ConditionFieldEqualsValueExpression):
        return field_test(node.field, node.value)
    assert isinstance(node, conditions.ConditionValueExpression)
    return keyword_test(node.value)


def values_of(event: Any, path: list[str]) -> Iterator[Any]:
    """The values of a field; names with dots may be one key or several."""
    if not path:
        if isinstance(event, list):
            for item in event:
                yield from values_of(item, path)
        else:
            yield event
        return
    if isinstance(event, list):
        for item in event:
            yield from values_of(item, path)
    elif isinstance(event, dict):
        for split in range(1, len(path) + 1):
            key = ".".join(path[:split])
            if key in event:
                yield from values_of(event[key], path[split:])


def texts_of(event: Any) -> Iterator[str]:
    if isinstance(event, dict):
        for value in event.values():
            yield from texts_of(value)
    elif isinstance(event, list):
        for value in event:
            yield from texts_of(value)
    elif isinstance(event, bool):
        yield "true" if event else "false"
    elif event is not None:
        yield str(event)


def field_test(field: str, value: Any) -> Test:
    if isinstance(value, types.SigmaExpansion):
        return either([field_test(field, item) for item in value.values])
    if isinstance(value, types.SigmaNull):
        return lambda view: not view.present(field)
    if isinstance(value, types.SigmaExists):
        wanted = value.exists
        return lambda view: any(not isinstance(v, dict) for v in view.values(field)) is wanted
    if isinstance(value, types.SigmaCompareExpression) and value.op.name == "NEQ":
        equal = field_test(field, value.number)
        return lambda view: not equal(view)
    if isinstance(value, types.SigmaFieldReference):
        return lambda view: any(
            refers(item, other, value)
            for item in view.present(field)
            for other in view.values(value.field)
            if other is not None
        )
    test = value_test(value)
    return lambda view: any(test(item) for item in view.present(field))


def refers(item: Any, other: Any, value: Any) -> bool:
    if not (isinstance(item, str) and isinstance(other, str)):
        plain = not value.starts_with and not value.ends_with
        return plain and type(item) is type(other) and bool(item == other)
    folded, wanted = lower(item), lower(other)
    if value.starts_with:
        return folded.startswith(wanted)
    return folded.endswith(wanted) if value.ends_with else folded == wanted


def value_test(value: Any) -> Callable[[Any], bool]:
    """A test of one value of an event."""
    if isinstance(value, types.SigmaString):
        return string_test(value)
    if isinstance(value, types.SigmaTimestampPart):
        part, wanted = value.timestamp_part.name.lower(), value.number
        return lambda item: getattr(read_time(item), part, None) == wanted
    if isinstance(value, types.SigmaNumber):
        number, text = value.number, str(value.number)
        return lambda item: (
            not isinstance(item, bool)
            and (item == number if isinstance(item, int | float) else item == text)
        )
    if isinstance(value, types.SigmaBool):
        flag, word = value.boolean, str(value.boolean).lower()
        return lambda item: item is flag or (isinstance(item, str) and lower(item) == word)
    if isinstance(value, types.SigmaRegularExpression):
        flags = re.RegexFlag(0)
        for each in value.flags:
            flags |= value.sigma_to_python_flags[each]
        expression = re.compile(str(value.regexp), flags)
        return lambda item: isinstance(item, str) and expression.search(item) is not None
    if isinstance(value, types.SigmaCIDRExpression):
        network = value.network
        return lambda item: (address := read_address(item)) is not None and address in network
    assert isinstance(value, types.SigmaCompareExpression)
    operator, limit = value.op.name, value.number.number
    return lambda item: compare(read_number(item), operator, limit)


def compare(number: float | None, operator: str, limit: float) -> bool:
    if number is None:
        return False
    return {
        "LT": number < limit,
        "LTE": number <= limit,
        "GT": number > limit,
        "GTE": number >= limit,
    }[operator]


def string_test(value: types.SigmaString) -> Callable[[Any], bool]:
    special = any(not isinstance(part, str) for part in value.s)
    if value.s and all(part == types.SpecialChars.WILDCARD_MULTI for part in value.s):
        return lambda _: True
    found, exact = pattern(value), cased(value)
    text = "".join(str(part) for part in value.s)
    number = re.fullmatch(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", text)

    def test(item: Any) -> bool:
        if isinstance(item, str):
            return found.fullmatch(item if exact else lower(item)) is not None
        if special:
            return False
        if isinstance(item, bool):
            return lower(text) == str(item).lower()
        return number is not None and float(text) == item

    return test


def cased(value: types.SigmaString) -> bool:
    return isinstance(value, types.SigmaCasedString)


def pattern(value: types.SigmaString) -> re.Pattern[str]:
    written = {types.SpecialChars.WILDCARD_MULTI: ".*", types.SpecialChars.WILDCARD_SINGLE: "."}
    parts = [
        re.escape(part if cased(value) else lower(part)) if isinstance(part, str) else written[part]  # type: ignore[index]
        for part in value.s
    ]
    return re.compile("".join(parts), re.DOTALL)


def keyword_test(value: Any) -> Test:
    """A test of a value that may occur anywhere in the event."""
    if isinstance(value, types.SigmaExpansion):
        return either([keyword_test(item) for item in value.values])
    if isinstance(value, types.SigmaRegularExpression):
        test = value_test(value)
        return lambda view: any(test(text) for text in view.all_texts())
    if isinstance(value, types.SigmaNumber):
        number = str(value.number)
        return lambda view: any(number in text for text in view.all_texts())
    found, exact = pattern(value), cased(value)
    return lambda view: any(
        found.search(text if exact else lower(text)) for text in view.all_texts()
    )


@cache
def lower(text: str) -> str:
    if text.isascii():
        return text.lower()
    return "".join("i" if c == "\u0130" else c.lower() for c in text)


def read_number(item: Any) -> float | None:
    if isinstance(item, bool):
        return None
    if isinstance(item, int | float):
        return item
    if isinstance(item, str) and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", item):
        return float(item)
    return None


def read_time(item: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(item) if isinstance(item, str) else None
    except ValueError:
        return None


def read_address(item: Any) -> Any:
    try:
        return ipaddress.ip_address(item) if isinstance(item, str) else None
    except ValueError:
        return None
