"""Converts the conditions of Sigma rules to expressions, as text.

This walks the tree that pySigma parses, after its modifiers have been applied: `base64`, `windash`
and similar ones have become alternatives, `contains` and similar ones have become wildcards.
"""

import re
from collections.abc import Callable
from typing import Any

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.rule import SigmaRule
from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SpecialChars,
    TimestampPart,
)

from tamis.rules import writing
from tamis.rules.result import RuleError

# A number that a rule gives as a string, such as EventID: '4688'.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?")
_BOOLEANS = {"true": "true", "false": "false"}
_ORDERINGS = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
}
_PARTS = {
    TimestampPart.MINUTE: "minute",
    TimestampPart.HOUR: "hour",
    TimestampPart.DAY: "day",
    TimestampPart.MONTH: "month",
    TimestampPart.YEAR: "year",
}


def rule_text(rule: SigmaRule) -> str:
    """The expression of a rule. If it has several conditions, one must hold.

    Raises:
        RuleError: The rule has no exact translation.
    """
    return writing.any_of(condition_text(item.parsed) for item in rule.detection.parsed_condition)


def condition_text(condition: Any) -> str:
    """The expression of a parsed condition.

    Raises:
        RuleError: The condition has no exact translation.
    """
    if isinstance(condition, ConditionAND):
        return writing.all_of(condition_text(item) for item in condition.args)
    if isinstance(condition, ConditionOR):
        return _alternatives(condition.args)
    if isinstance(condition, ConditionNOT):
        return writing.negated(condition_text(condition.args[0]))
    if isinstance(condition, ConditionFieldEqualsValueExpression):
        return _field_text(condition.field, condition.value)
    if isinstance(condition, ConditionValueExpression):
        return _keyword_text(condition.value)
    raise RuleError(f"a condition of type {type(condition).__name__} is not supported")


def _alternatives(items: list[Any]) -> str:
    """Alternatives; equalities on the same field are combined into one set."""
    sets: dict[str, list[str]] = {}
    parts: list[str] = []
    for item in items:
        plain = _plain_text(item)
        if plain is None:
            parts.append(condition_text(item))
        else:
            subject, text = plain
            sets.setdefault(subject, []).append(writing.string(text))
    parts.extend(f"{subject} in ({', '.join(texts)})" for subject, texts in sets.items())
    return writing.any_of(parts)


def _plain_text(item: Any) -> tuple[str, str] | None:
    """The subject and the text of an equality with plain text."""
    if not isinstance(item, ConditionFieldEqualsValueExpression):
        return None
    value = item.value
    if not isinstance(value, SigmaString) or len(value.s) != 1 or not isinstance(value.s[0], str):
        return None
    subject, fold = _text_subject(writing.name(item.field), value)
    text = fold(value.s[0])
    if _NUMBER.fullmatch(text) or text in _BOOLEANS:
        return None
    return subject, text


def _text_subject(subject: str, value: SigmaString) -> tuple[str, Callable[[str], str]]:
    """The term to compare with a text, and the function that folds the rule's text for it."""
    if isinstance(value, SigmaCasedString):
        return subject, str
    return f"lower({subject})", writing.fold


def _field_text(field: str, value: Any) -> str:
    subject = writing.name(field)
    if isinstance(value, SigmaExpansion):
        return writing.any_of(_field_text(field, item) for item in value.values)
    if isinstance(value, SigmaString):
        return _string_text(subject, value)
    if isinstance(value, SigmaTimestampPart):
        part = _PARTS.get(value.timestamp_part)
        if part is None:
            raise RuleError("Tamis has no term for the week of a time")
        return f"{part}({subject}) = {writing.number(value.number)}"
    if isinstance(value, SigmaNumber):
        number = writing.number(value.number)
        return f"{subject} in ({number}, {writing.string(number)})"
    if isinstance(value, SigmaBool):
        return _boolean_text(subject, value.boolean)
    if isinstance(value, SigmaNull):
        return f"{subject} is null"
    if isinstance(value, SigmaExists):
        return f"exists({subject})" if value.exists else f"missing({subject})"
    if isinstance(value, SigmaRegularExpression):
        return f"{subject} matches {writing.string(_regex(value))}"
    if isinstance(value, SigmaCIDRExpression):
        return f"{subject} in (cidr {writing.string(str(value.network))})"
    if isinstance(value, SigmaCompareExpression):
        return _comparison_text(field, value)
    if isinstance(value, SigmaFieldReference):
        return _reference_text(subject, value)
    raise RuleError(f"a value of type {type(value).__name__} is not supported")


def _comparison_text(field: str, value: SigmaCompareExpression) -> str:
    if value.op == CompareOperators.NEQ:
        return writing.negated(_field_text(field, value.number))
    # Logs often contain numbers as text. A cast converts them, but would also convert booleans.
    compared = f"{_ORDERINGS[value.op]} {writing.number(value.number.number)}"
    text = f"type(it) = 'string' and cast(it as decimal) {compared}"
    return f"any({writing.name(field)}, it {compared} or {text})"


def _reference_text(subject: str, value: SigmaFieldReference) -> str:
    other = writing.name(value.field)
    if value.starts_with and value.ends_with:
        return f"lower({subject}) contains lower({other})"
    if value.starts_with:
        return f"lower({subject}) starts with lower({other})"
    if value.ends_with:
        return f"lower({subject}) ends with lower({other})"
    return f"({subject} = {other}) or (lower({subject}) = lower({other}))"


def _boolean_text(subject: str, boolean: bool) -> str:
    word = "true" if boolean else "false"
    return f"{subject} = {word} or lower({subject}) = '{word}'"


def _string_text(subject: str, value: SigmaString) -> str:
    parts = _parts(value)
    folded, fold = _text_subject(subject, value)
    parts = [fold(part) if isinstance(part, str) else part for part in parts]
    if not any(isinstance(part, SpecialChars) for part in parts):
        return _equal_text(subject, folded, "".join(map(str, parts)))
    star = SpecialChars.WILDCARD_MULTI
    if all(part is star for part in parts):
        return f"{subject} is not null"
    core = [part for part in parts if part is not star]
    starts, ends = parts[0] is star, parts[-1] is star
    if len(core) == 1 and isinstance(core[0], str):
        operand = writing.string(core[0])
        if starts and ends:
            return f"{folded} contains {operand}"
        return f"{folded} {'ends' if starts else 'starts'} with {operand}"
    return f"{folded} like {writing.string(_like(parts))}"


def _equal_text(subject: str, folded: str, text: str) -> str:
    equal = f"{folded} = {writing.string(text)}"
    if _NUMBER.fullmatch(text):
        return f"{equal} or {subject} = {text}"
    if text in _BOOLEANS:
        return f"{equal} or {subject} = {text}"
    return equal


def _keyword_text(value: Any) -> str:
    """A value that may be anywhere in the event."""
    if isinstance(value, SigmaExpansion):
        return writing.any_of(_keyword_text(item) for item in value.values)
    if isinstance(value, SigmaRegularExpression):
        return f"values() matches {writing.string(_regex(value))}"
    if isinstance(value, SigmaNumber):
        return f"values() contains {writing.string(writing.number(value.number))}"
    if not isinstance(value, SigmaString):
        raise RuleError(f"a keyword of type {type(value).__name__} is not supported")
    subject, fold = _text_subject("values()", value)
    parts = [fold(part) if isinstance(part, str) else part for part in _parts(value)]
    star = SpecialChars.WILDCARD_MULTI
    core = [part for part in parts if part is not star]
    if len(core) == 1 and isinstance(core[0], str):
        return f"{subject} contains {writing.string(core[0])}"
    if not core:
        raise RuleError("a keyword without text would match every event")
    return f"{subject} like {writing.string(_like([star, *parts, star]))}"


def _parts(value: SigmaString) -> list[str | SpecialChars]:
    for part in value.s:
        if isinstance(part, Placeholder):
            raise RuleError(f"the placeholder %{part.name}% is not resolved; a pipeline can do it")
    return [part for part in value.s if not isinstance(part, Placeholder)]


def _like(parts: list[str | SpecialChars]) -> str:
    written = {SpecialChars.WILDCARD_MULTI: "%", SpecialChars.WILDCARD_SINGLE: "_"}
    return "".join(
        writing.like_pattern(part) if isinstance(part, str) else written[part] for part in parts
    )


def _regex(value: SigmaRegularExpression) -> str:
    for part in value.regexp.s:
        if isinstance(part, Placeholder):
            raise RuleError(f"the placeholder %{part.name}% is not resolved; a pipeline can do it")
    flags = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
    prefix = f"(?{flags})" if flags else ""
    return prefix + value.regexp.to_plain()
