"""AWS EventBridge event patterns.

>>> from tamis.rules import eventbridge
>>> print(eventbridge.parse('{"source": ["aws.ec2"], "detail": {"state": [{"prefix": "stop"}]}}'))
source in ('aws.ec2') and detail.state starts with 'stop'

A pattern is an object whose leaves are arrays of alternatives. An event matches when, for every
leaf, some value of the field satisfies some alternative. Conditions on several fields of one array
of objects must hold for the same element. Patterns that AWS refuses are refused here.

The expressions do not depend on the index's `missing`.
"""

import ipaddress
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from tamis._tamis import Expression
from tamis.rules import json_input, writing
from tamis.rules.result import ReadRules, RuleError

Number: TypeAlias = int | float | Decimal

_LARGEST = Decimal("5e9")
_ORDERINGS = {"<", "<=", ">", ">=", "="}


def parse(pattern: str | bytes | Mapping[str, Any]) -> Expression:
    """Read one event pattern, as JSON text or as a mapping.

    Raises:
        RuleError: AWS would refuse the pattern, or it has no exact translation.
    """
    if isinstance(pattern, str | bytes):
        pattern = json_input.load(pattern)
    else:
        json_input.check_depth(pattern)
    if not isinstance(pattern, Mapping):
        raise RuleError("an event pattern must be a JSON object")
    return Expression.parse(_object(pattern, "the pattern"))


def read(
    source: str | Path | Mapping[str, Any], *, progress: Callable[[int], None] | None = None
) -> ReadRules:
    """Read many patterns by their ids: a JSON file, JSON text, or a mapping. For one, use `parse`.

    A bad pattern does not affect the others. A file may also hold one pattern per line as
    `{"id": ..., "pattern": {...}}`.

    Raises:
        RuleError: The file cannot be read.
        TypeError: The source is neither a path, nor text, nor a mapping.
    """
    return json_input.read_many(source, "pattern", parse, progress, _is_part)


def _is_part(_: str, value: Any) -> bool:
    """Whether a member is a field of a pattern, which is never an array itself."""
    return isinstance(value, list)


def _object(pattern: Mapping[str, Any], place: str) -> str:
    """The condition of an object, with names relative to it."""
    if not pattern:
        raise RuleError(f"{place} is empty; an object needs at least one field")
    return writing.all_of(
        _alternatives_of_objects(value, place) if key == "$or" else _field(key, value, place)
        for key, value in pattern.items()
    )


def _alternatives_of_objects(value: Any, place: str) -> str:
    if not isinstance(value, list) or len(value) < 2:
        raise RuleError(f"`$or` in {place} takes an array of at least two objects")
    if not all(isinstance(item, Mapping) for item in value):
        raise RuleError(f"`$or` in {place} takes objects only")
    return writing.any_of(_object(item, place) for item in value)


def _field(key: Any, value: Any, place: str) -> str:
    if not isinstance(key, str) or not key:
        raise RuleError(f"{place} has a field without a name")
    # An object with a single condition is a path: there are no two conditions that could hold for
    # different elements.
    path = [key]
    while isinstance(value, Mapping) and len(value) == 1 and "$or" not in value:
        key, value = next(iter(value.items()))
        if not isinstance(key, str) or not key:
            raise RuleError(f"`{'.'.join(path)}` has a field without a name")
        path.append(key)
    dotted = ".".join(path)
    if isinstance(value, Mapping):
        inner = _object(value, f"`{dotted}`")
        return f"any({writing.name(dotted)}, {inner})"
    if not isinstance(value, list):
        raise RuleError(f"`{dotted}` takes an array of alternatives or an object")
    return _leaf(dotted, value)


def _leaf(path: str, alternatives: list[Any]) -> str:
    if not alternatives:
        raise RuleError(f"`{path}` has an empty array; it needs at least one alternative")
    subject = writing.name(path)
    parts = []
    values = [item for item in alternatives if isinstance(item, str | bool | int | float | Decimal)]
    if values:
        parts.append(_one_of(subject, values))
    for item in alternatives:
        if item is None:
            parts.append(_is_null(subject))
        elif isinstance(item, Mapping):
            parts.append(_matcher(path, subject, item))
        elif isinstance(item, list):
            raise RuleError(f"`{path}` has an array inside its array of alternatives")
        elif not isinstance(item, str | bool | int | float | Decimal):
            raise RuleError(f"`{path}` has an alternative of type {type(item).__name__}")
    return writing.any_of(parts)


def _is_null(subject: str) -> str:
    return f"(exists({subject}) and {subject} is null) or any({subject}, it is null)"


def _one_of(subject: str, values: list[Any]) -> str:
    return f"{subject} in ({', '.join(writing.constant(value) for value in values)})"


def _matcher(path: str, subject: str, matcher: Mapping[str, Any]) -> str:
    if len(matcher) != 1:
        raise RuleError(f"a matcher of `{path}` has {len(matcher)} keys; it takes exactly one")
    kind, operand = next(iter(matcher.items()))
    if kind == "exists":
        if not isinstance(operand, bool):
            raise RuleError(f"`exists` of `{path}` takes true or false")
        return f"exists({subject})" if operand else f"missing({subject})"
    if kind == "anything-but":
        excluded = _anything_but(path, operand)
        other = f"any({subject}, it is null or not ({excluded}))"
        return f"{other} or (exists({subject}) and {subject} is null)"
    if kind in _MATCHERS:
        return _MATCHERS[kind](path, subject, operand)
    known = ", ".join(sorted([*_MATCHERS, "anything-but", "exists"]))
    raise RuleError(f"`{path}`: there is no matcher {json.dumps(kind)}; known are {known}")


def _anything_but(path: str, operand: Any) -> str:
    """The condition on one value `it` that `anything-but` excludes."""
    if isinstance(operand, Mapping):
        if len(operand) != 1:
            raise RuleError(f"`anything-but` of `{path}` takes exactly one matcher")
        kind, inner = next(iter(operand.items()))
        if kind not in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
            raise RuleError(
                f"`anything-but` of `{path}` does not take the matcher {json.dumps(kind)}"
            )
        items = inner if isinstance(inner, list) else [inner]
        if not items or any(not isinstance(item, str) for item in items):
            raise RuleError(
                f"`anything-but` {kind} of `{path}` takes a string or a list of strings"
            )
        if kind in ("prefix", "suffix") and "" in items:
            raise RuleError(f"`anything-but` {kind} of `{path}` does not take the empty string")
        return writing.any_of(_MATCHERS[kind](path, "it", item) for item in items)
    items = operand if isinstance(operand, list) else [operand]
    texts = [item for item in items if isinstance(item, str)]
    numbers = [item for item in items if _is_number(item)]
    if not items or len(texts) + len(numbers) < len(items):
        raise RuleError(f"`anything-but` of `{path}` takes strings or numbers")
    if texts and numbers:
        raise RuleError(f"`anything-but` of `{path}` takes strings or numbers, not both")
    return _one_of("it", items)


def _prefix(path: str, subject: str, operand: Any) -> str:
    text, folded = _affix("prefix", path, operand)
    return f"{_folded(subject, folded)} starts with {writing.string(text)}"


def _suffix(path: str, subject: str, operand: Any) -> str:
    text, folded = _affix("suffix", path, operand)
    return f"{_folded(subject, folded)} ends with {writing.string(text)}"


def _affix(kind: str, path: str, operand: Any) -> tuple[str, bool]:
    if isinstance(operand, Mapping) and list(operand) == ["equals-ignore-case"]:
        text = _text(f"{kind} equals-ignore-case", path, operand["equals-ignore-case"])
        return writing.fold(text), True
    return _text(kind, path, operand), False


def _folded(subject: str, folded: bool) -> str:
    return f"lower({subject})" if folded else subject


def _equals_ignore_case(path: str, subject: str, operand: Any) -> str:
    text = writing.fold(_text("equals-ignore-case", path, operand))
    return f"lower({subject}) = {writing.string(text)}"


def _wildcard(path: str, subject: str, operand: Any) -> str:
    text = _text("wildcard", path, operand)
    pattern: list[str] = []
    characters = iter(text)
    previous = ""
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("*", "\\"):
                raise RuleError(
                    f"`wildcard` of `{path}`: a backslash escapes `*` or a backslash only"
                )
            pattern.append(writing.like_pattern(escaped))
        elif character == "*":
            if previous == "*":
                raise RuleError(f"`wildcard` of `{path}` has two `*` in a row")
            pattern.append("%")
        else:
            pattern.append(writing.like_pattern(character))
        previous = character
    return f"{subject} like {writing.string(''.join(pattern))}"


def _numeric(path: str, subject: str, operand: Any) -> str:
    if not isinstance(operand, list) or not operand or len(operand) % 2:
        raise RuleError(f"`numeric` of `{path}` takes operators and numbers in turn")
    pairs = list(zip(operand[::2], operand[1::2], strict=True))
    for operator, value in pairs:
        if operator not in _ORDERINGS:
            raise RuleError(f"`numeric` of `{path}`: {json.dumps(operator)} is not an operator")
        if not _is_number(value):
            raise RuleError(f"`numeric` of `{path}`: the operand of `{operator}` is not a number")
        if abs(value) > _LARGEST:
            raise RuleError(f"`numeric` of `{path}` takes numbers from -5e9 to 5e9, not {value}")
    operators = [operator for operator, _ in pairs]
    if len(pairs) == 1:
        return f"{subject} {operators[0]} {writing.number(pairs[0][1])}"
    if len(pairs) > 2 or not (operators[0].startswith(">") and operators[1].startswith("<")):
        raise RuleError(
            f"`numeric` of `{path}` takes one comparison, or `>` or `>=` followed by `<` or `<=`"
        )
    (above, low), (below, high) = pairs
    if low >= high:
        raise RuleError(f"`numeric` of `{path}`: {low} is not less than {high}")
    # Both ends must hold for one value of a list.
    return f"any({subject}, it {above} {writing.number(low)} and it {below} {writing.number(high)})"


def _cidr(path: str, subject: str, operand: Any) -> str:
    text = _text("cidr", path, operand)
    if text.count("/") != 1:
        raise RuleError(f"`cidr` of `{path}` takes an address and a prefix length, not {text!r}")
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise RuleError(f"`cidr` of `{path}`: {error}") from error
    return f"{subject} in (cidr {writing.string(str(network))})"


def _text(kind: str, path: str, operand: Any) -> str:
    if not isinstance(operand, str):
        raise RuleError(f"`{kind}` of `{path}` takes a string")
    return operand


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


_MATCHERS: dict[str, Callable[[str, str, Any], str]] = {
    "cidr": _cidr,
    "equals-ignore-case": _equals_ignore_case,
    "numeric": _numeric,
    "prefix": _prefix,
    "suffix": _suffix,
    "wildcard": _wildcard,
}
