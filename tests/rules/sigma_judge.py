"""What a Sigma rule says of an event, evaluated in plain Python over pySigma's parse tree.

Written apart from the importer: it knows nothing of expressions.
"""

import ipaddress
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sigma import conditions, types

Event = dict[str, Any]


def matches(rule: Any, event: Event) -> bool:
    return any(holds(item.parsed, event) for item in rule.detection.parsed_condition)


def holds(node: Any, event: Event) -> bool:
    if isinstance(node, conditions.ConditionAND):
        return all(holds(item, event) for item in node.args)
    if isinstance(node, conditions.ConditionOR):
        return any(holds(item, event) for item in node.args)
    if isinstance(node, conditions.ConditionNOT):
        return not holds(node.args[0], event)
    if isinstance(node, conditions.ConditionFieldEqualsValueExpression):
        return field_holds(node.field, node.value, event)
    assert isinstance(node, conditions.ConditionValueExpression)
    return keyword_holds(node.value, event)


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


def field_holds(field: str, value: Any, event: Event) -> bool:
    found = list(values_of(event, field.split(".")))
    present = [item for item in found if item is not None and not isinstance(item, dict)]
    if isinstance(value, types.SigmaExpansion):
        return any(field_holds(field, item, event) for item in value.values)
    if isinstance(value, types.SigmaNull):
        return not present
    if isinstance(value, types.SigmaExists):
        return any(not isinstance(item, dict) for item in found) is value.exists
    if isinstance(value, types.SigmaCompareExpression) and value.op.name == "NEQ":
        return not field_holds(field, value.number, event)
    if isinstance(value, types.SigmaFieldReference):
        others = [item for item in values_of(event, value.field.split(".")) if item is not None]
        return any(refers(item, other, value) for item in present for other in others)
    return any(value_holds(item, value) for item in present)


def refers(item: Any, other: Any, value: Any) -> bool:
    if not (isinstance(item, str) and isinstance(other, str)):
        plain = not value.starts_with and not value.ends_with
        return plain and type(item) is type(other) and item == other
    item, other = lower(item), lower(other)
    if value.starts_with:
        return bool(item.startswith(other))
    return bool(item.endswith(other) if value.ends_with else item == other)


def value_holds(item: Any, value: Any) -> bool:
    if isinstance(value, types.SigmaString):
        return string_holds(item, value)
    if isinstance(value, types.SigmaTimestampPart):
        moment = read_time(item)
        return (
            moment is not None
            and getattr(moment, value.timestamp_part.name.lower()) == value.number
        )
    if isinstance(value, types.SigmaNumber):
        if isinstance(item, bool):
            return False
        return item == value.number if isinstance(item, int | float) else item == str(value.number)
    if isinstance(value, types.SigmaBool):
        return item is value.boolean or (
            isinstance(item, str) and lower(item) == str(value.boolean).lower()
        )
    if isinstance(value, types.SigmaRegularExpression):
        flags = re.RegexFlag(0)
        for flag in value.flags:
            flags |= value.sigma_to_python_flags[flag]
        return isinstance(item, str) and re.search(str(value.regexp), item, flags) is not None
    if isinstance(value, types.SigmaCIDRExpression):
        try:
            return isinstance(item, str) and ipaddress.ip_address(item) in value.network
        except ValueError:
            return False
    assert isinstance(value, types.SigmaCompareExpression)
    number = read_number(item)
    if number is None:
        return False
    limit = value.number.number
    compared = {
        "LT": number < limit,
        "LTE": number <= limit,
        "GT": number > limit,
        "GTE": number >= limit,
    }
    return compared[value.op.name]


def string_holds(item: Any, value: types.SigmaString) -> bool:
    special = any(not isinstance(part, str) for part in value.s)
    if value.s and all(part == types.SpecialChars.WILDCARD_MULTI for part in value.s):
        return True
    if isinstance(item, str):
        return pattern(value).fullmatch(item if cased(value) else lower(item)) is not None
    if special:
        return False
    text = "".join(str(part) for part in value.s)
    if isinstance(item, bool):
        return lower(text) == str(item).lower()
    number = re.fullmatch(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", text)
    return number is not None and float(text) == item


def cased(value: types.SigmaString) -> bool:
    return isinstance(value, types.SigmaCasedString)


def pattern(value: types.SigmaString) -> re.Pattern[str]:
    written = {types.SpecialChars.WILDCARD_MULTI: ".*", types.SpecialChars.WILDCARD_SINGLE: "."}
    parts = [
        re.escape(part if cased(value) else lower(part)) if isinstance(part, str) else written[part]  # type: ignore[index]
        for part in value.s
    ]
    return re.compile("".join(parts), re.DOTALL)


def keyword_holds(value: Any, event: Event) -> bool:
    if isinstance(value, types.SigmaExpansion):
        return any(keyword_holds(item, event) for item in value.values)
    if isinstance(value, types.SigmaRegularExpression):
        return any(value_holds(text, value) for text in texts_of(event))
    if isinstance(value, types.SigmaNumber):
        return any(str(value.number) in text for text in texts_of(event))
    found = pattern(value)
    return any(found.search(text if cased(value) else lower(text)) for text in texts_of(event))


def lower(text: str) -> str:
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
