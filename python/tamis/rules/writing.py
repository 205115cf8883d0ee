"""Writes expressions for the importers: every rule becomes text, which is parsed once.

Names are always quoted and constants always escaped here, so that no part of a foreign rule is ever
read as a keyword, a function or an operator.
"""

import math
from collections.abc import Iterable
from decimal import Decimal

from tamis.rules.result import RuleError

TRUE = "true"
FALSE = "false"


def name(attribute: str) -> str:
    """An attribute's name, quoted."""
    return '"' + attribute.replace('"', '""') + '"'


def string(text: str) -> str:
    """A string constant."""
    return "'" + text.replace("'", "''") + "'"


def number(value: int | float | Decimal) -> str:
    """A number constant.

    Raises:
        RuleError: It is infinite or NaN, whose text would be read as a name.
    """
    if not math.isfinite(value):
        raise RuleError(f"{value} is not a number that a rule can use")
    return str(value) if not isinstance(value, float) else repr(value)


def constant(value: str | bool | int | float | Decimal) -> str:
    """The constant of a string, a boolean or a number."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return number(value)


def all_of(parts: Iterable[str]) -> str:
    """The conjunction of the parts."""
    return _joined(parts, " and ", TRUE)


def any_of(parts: Iterable[str]) -> str:
    """The disjunction of the parts."""
    return _joined(parts, " or ", FALSE)


def negated(part: str) -> str:
    """The negation of a part; unknown stays unknown."""
    return f"not ({part})"


def untrue(part: str) -> str:
    """True if the part is false or unknown."""
    return f"(({part}) is not true)"


def like_pattern(text: str) -> str:
    """The text as a part of a `like` pattern that matches it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def fold(text: str) -> str:
    """The text in lower case, as the term `lower` folds it: character by character."""
    if text.isascii():
        return text.lower()
    return "".join(_FOLDED.get(character) or character.lower() for character in text)


# The only character whose full lower case is longer than its simple one.
_FOLDED = {"\u0130": "i"}


def _joined(parts: Iterable[str], operator: str, empty: str) -> str:
    parts = list(parts)
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0]
    return operator.join(f"({part})" for part in parts)
