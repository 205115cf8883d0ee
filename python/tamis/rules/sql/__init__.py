"""WHERE clauses of other SQL dialects, parsed by sqlglot (`pip install tamis[sql]`).

    from tamis.rules import sql

    sql.parse("lower(name) LIKE 'a%' AND ts > TIMESTAMP '2026-01-01'", dialect="spark")

Supports conditions on one row: comparisons, `in`, `between`, `like`, and functions that Tamis has.
Subqueries, aggregates, window functions and other functions are refused by name. Null handling is
SQL's, so use an index with `missing="unknown"`, the default.

Two differences from databases do not show in the text: in Tamis, a number and a string are
different values, whereas some databases cast one of them; and names are case-sensitive, whereas
most databases ignore case.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tamis._tamis import Expression
from tamis.rules import json_input
from tamis.rules.result import ReadRules, RuleError

__all__ = ["parse", "read"]


def parse(condition: str, dialect: str = "spark") -> Expression:
    """Read the condition of a WHERE clause.

    Args:
        condition: The condition, without the word `where`.
        dialect: A dialect that sqlglot supports, such as `spark`, `postgres` or `duckdb`.

    Raises:
        RuleError: sqlglot is not installed, or the condition has no exact translation.
    """
    try:
        from tamis.rules.sql.conditions import condition_text
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "sqlglot":
            raise
        raise RuleError("reading SQL needs sqlglot: pip install 'tamis[sql]'") from error
    return Expression.parse(condition_text(condition, dialect))


def read(
    source: str | Path | Mapping[str, Any],
    dialect: str = "spark",
    *,
    progress: Callable[[int], None] | None = None,
) -> ReadRules:
    """Read many conditions by id: a JSON file or text, or a mapping. For one, use `parse`.

    A JSON text is one object, or lines of `{"id": ..., "condition": "..."}`. A bad condition does
    not affect the others.

    Raises:
        RuleError: The file cannot be read.
        TypeError: The source is neither a path, nor text, nor a mapping.
    """
    convert = partial(_parse_item, dialect=dialect)
    return json_input.read_many(source, "condition", convert, progress)


def _parse_item(condition: object, dialect: str) -> Expression:
    if not isinstance(condition, str):
        raise RuleError("a condition must be a string")
    return parse(condition, dialect)
