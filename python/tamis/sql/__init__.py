"""Writes expressions as WHERE clauses, for `Expression.to_sql`."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tamis.errors import ExpressionError
from tamis.sql.conditions import Writer
from tamis.sql.dialects import DIALECTS
from tamis.sql.scope import Scope
from tamis.sql.types import read_columns
from tamis.sql.values import zone_of

__all__ = ["write"]


def write(
    form: str,
    names: list[str],
    dialect: str,
    columns: Mapping[str, Any] | Any | None,
    missing: str,
    time_zone: str,
) -> str:
    """The condition of an expression, given in its JSON form with the names that it mentions.

    Raises:
        ExpressionError: There is no exact translation; the message says why.
    """
    spelling = DIALECTS.get(dialect)
    if spelling is None:
        known = ", ".join(f"`{name}`" for name in DIALECTS)
        raise ExpressionError(f"there is no dialect {dialect!r}; known are {known}")
    if missing not in ("unknown", "false"):
        raise ExpressionError(f"`missing` must be 'unknown' or 'false', not {missing!r}")
    try:
        node = json.loads(form, parse_float=Decimal)
        fields = None if columns is None else read_columns(columns)
        writer = Writer(
            Scope(spelling(), fields),
            zone_of(time_zone),
            missing,
            _free_word("element", [*names, *(fields or ())]),
        )
        return writer.condition(node)
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply to be written") from None


def _free_word(word: str, names: list[str]) -> str:
    """A word that no name starts with, ignoring case."""
    while any(name.lower().startswith(word) for name in names):
        word += "_"
    return word
