"""Converts WHERE clauses to expressions, as text.

This walks the tree that sqlglot parses. Conditions and values have separate methods: a condition
becomes an expression, a value becomes a term or a constant.
"""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tamis.rules import writing
from tamis.rules.result import RuleError, one_line
from tamis.rules.sql import regular

SIZE = 1 << 20
DEPTH = 200

# Dialects in which a backslash escapes in a `like` pattern without an `escape` clause.
_BACKSLASH_ESCAPES = {
    "bigquery", "clickhouse", "databricks", "doris", "hive", "materialize", "mysql", "postgres",
    "redshift", "risingwave", "singlestore", "spark", "spark2", "starrocks",
}  # fmt: skip
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
_TEXT_TESTS: dict[type[exp.Expression], str] = {
    exp.StartsWith: "starts with",
    exp.EndsWith: "ends with",
    exp.Contains: "contains",
}
_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.TsOrDsToDate: "date",
    exp.Date: "date",
    exp.ArraySize: "size",
}
_NAMED_FUNCTIONS = {"now": "now", "cardinality": "size"}
# Dialects in which Monday is 0; it is 1 here.
_MONDAY_IS_ZERO = {"spark", "databricks", "mysql"}
_TYPES = {
    exp.DType.TEXT: "string",
    exp.DType.VARCHAR: "string",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp",
    exp.DType.DATETIME: "timestamp",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DOUBLE: "float",
}
_UNITS = {
    "day": "day",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "week": "week",
    "millisecond": "millisecond",
    "microsecond": "microsecond",
}

_Rule: TypeAlias = Callable[["_Writer", Any], str]


# The message of sqlglot for a missing operand.
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]+'>")


def condition_text(condition: str, dialect: str) -> str:
    """The expression of a WHERE clause.

    Raises:
        RuleError: The condition is invalid, or has no exact translation.
    """
    if len(condition) > SIZE:
        raise RuleError(
            f"the condition has {len(condition)} characters; at most {SIZE} are allowed"
        )
    try:
        tree: Any = sqlglot.parse_one(condition, read=dialect)
    except RecursionError:
        raise RuleError("the condition is nested too deeply") from None
    except (SqlglotError, ValueError) as error:
        reason = _MISSING.sub("an operand is missing", one_line(str(error)))
        raise RuleError(f"not a condition in {dialect}: {reason}") from error
    if tree is None:
        raise RuleError("the condition is empty")
    return _Writer(dialect).condition(tree)


class _Writer:
    """Writes the parts of one condition; keeps the dialect and the variables of lambdas."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.elements: list[str] = []
        self.depth = 0

    def condition(self, node: exp.Expression) -> str:
        """The expression of a condition."""
        # Flatten long chains of one operator, so that their length does not count as depth.
        if isinstance(node, exp.And | exp.Or):
            join = writing.all_of if isinstance(node, exp.And) else writing.any_of
            return join([self.condition(part) for part in _flattened(node)])
        self.depth += 1
        if self.depth > DEPTH:
            raise RuleError(f"the condition is nested deeper than {DEPTH} levels")
        try:
            return self._condition(node)
        finally:
            self.depth -= 1

    def _condition(self, node: exp.Expression) -> str:
        if isinstance(node, exp.Paren):
            return self.condition(node.this)
        if isinstance(node, exp.Not):
            return writing.negated(self.condition(node.this))
        if node.args.get("negate") and not isinstance(node, exp.Like | exp.ILike):
            raise RuleError(f"`{node.sql(self.dialect)}` is not supported")
        if isinstance(node, exp.EQ | exp.NEQ) and (_asks(node.this) or _asks(node.expression)):
            connective = "xnor" if isinstance(node, exp.EQ) else "xor"
            return f"({self.condition(node.this)}) {connective} ({self.condition(node.expression)})"
        if isinstance(node, exp.Coalesce) and _asks(node.this):
            return self._known(node)
        if type(node) in _COMPARISONS:
            return self._comparison(node, _COMPARISONS[type(node)])
        for kind, rule in _CONDITIONS.items():
            if isinstance(node, kind):
                return rule(self, node)
        if isinstance(node, exp.Anonymous):
            return self._named_condition(node)
        return self.value(node)

    def _known(self, node: exp.Coalesce) -> str:
        """`coalesce(condition, false)`: unknown counts as false, or as true."""
        (other,) = node.expressions if len(node.expressions) == 1 else (None,)
        if not isinstance(other, exp.Boolean):
            raise RuleError("`coalesce` of a condition takes true or false")
        words = "is not false" if other.this else "is true"
        return f"({self.condition(node.this)}) {words}"

    def _comparison(self, node: exp.Expression, operator: str) -> str:
        if isinstance(node.this, exp.Null) or isinstance(node.expression, exp.Null):
            raise RuleError(f"`{node.sql(self.dialect)}` compares with null, which is never true")
        left, right = self.value(node.this), self.value(node.expression)
        if _is_constant(node.this) and _is_constant(node.expression):
            raise RuleError(f"`{node.sql(self.dialect)}` compares two constants")
        return f"{left} {operator} {right}"

    def _named_condition(self, node: exp.Anonymous) -> str:
        name = str(node.this).lower()
        arguments = node.expressions
        if name in ("isnull", "isnotnull") and len(arguments) == 1:
            return f"{self.value(arguments[0])} is {'not ' if name == 'isnotnull' else ''}null"
        if name == "forall" and len(arguments) == 2:
            return self._elements("all", arguments[0], arguments[1])
        return self.value(node)

    def _elements(self, quantifier: str, items: exp.Expression, function: exp.Expression) -> str:
        """`exists(items, x -> ...)` and `forall`, over elements that the lambda names."""
        if not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
            raise RuleError(f"`{quantifier}` over `{items.sql()}` takes a lambda of one variable")
        subject = self.value(items)
        self.elements.append(str(function.expressions[0].this))
        try:
            return f"{quantifier}({subject}, {self.condition(function.this)})"
        finally:
            self.elements.pop()

    def value(self, node: exp.Expression) -> str:
        """The term or constant of a value."""
        self.depth += 1
        if self.depth > DEPTH:
            raise RuleError(f"the condition is nested deeper than {DEPTH} levels")
        try:
            return self._value(node)
        finally:
            self.depth -= 1

    def _value(self, node: exp.Expression) -> str:
        if isinstance(node, exp.Paren):
            return f"({self.value(node.this)})"
        if isinstance(node, exp.Column | exp.Dot | exp.Identifier | exp.Bracket):
            return self._name(node)
        if type(node) in _ARITHMETIC:
            operator = _ARITHMETIC[type(node)]
            return f"({self.value(node.this)} {operator} {self.value(node.expression)})"
        if type(node) in _FUNCTIONS:
            argument = node.this
            if isinstance(argument, exp.TsOrDsToDate) and not isinstance(node, exp.TsOrDsToDate):
                argument = argument.this  # the parts of a time take the time itself
            return f"{_FUNCTIONS[type(node)]}({self.value(argument)})"
        for kind, rule in _VALUES.items():
            if isinstance(node, kind):
                return rule(self, node)
        if isinstance(node, exp.Anonymous):
            name = str(node.this).lower()
            if name == "weekday" and self.dialect in _MONDAY_IS_ZERO:
                return f"(weekday({', '.join(map(self.value, node.expressions))}) - 1)"
            if name in _NAMED_FUNCTIONS:
                return f"{_NAMED_FUNCTIONS[name]}({', '.join(map(self.value, node.expressions))})"
            raise RuleError(f"there is no function `{name}` in Tamis")
        if isinstance(node, exp.Query | exp.Subquery):
            raise RuleError("a subquery needs more than one row")
        if isinstance(node, exp.AggFunc):
            raise RuleError(f"the aggregate `{node.sql_name().lower()}` needs more than one row")
        if isinstance(node, exp.Window):
            raise RuleError("a window function needs more than one row")
        if isinstance(node, exp.Func):
            raise RuleError(f"there is no function `{node.sql_name().lower()}` in Tamis")
        raise RuleError(f"`{node.sql(self.dialect)}` is not supported")

    def _name(self, node: exp.Expression) -> str:
        parts = _name_parts(node)
        if self.elements and parts[0] == self.elements[-1]:
            return writing.name(".".join(parts[1:])) if len(parts) > 1 else "it"
        if self.elements:
            raise RuleError(
                f"`{'.'.join(parts)}` does not belong to the element `{self.elements[-1]}`"
            )
        return writing.name(".".join(parts))


def _name_parts(node: exp.Expression) -> list[str]:
    if isinstance(node, exp.Identifier):
        return [str(node.this)]
    if isinstance(node, exp.Column):
        return [part.name for part in node.parts]
    if isinstance(node, exp.Dot):
        return [*_name_parts(node.this), *_name_parts(node.expression)]
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        key = node.expressions[0]
        if isinstance(key, exp.Literal) and key.is_string:
            return [*_name_parts(node.this), key.this]
        raise RuleError(f"`{node.sql()}` uses a position of an array, which Tamis does not store")
    raise RuleError(f"`{node.sql()}` is not the name of an attribute")


def _asks(node: exp.Expression) -> bool:
    """Whether a part is a condition, and not just a name or a constant."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in ("isnull", "isnotnull", "forall")
    if isinstance(node, exp.Coalesce):
        return _asks(node.this)
    known = (exp.And, exp.Or, exp.Not, *_COMPARISONS, *_CONDITIONS)
    return isinstance(node, known)


def _flattened(node: exp.Expression) -> list[exp.Expression]:
    kind = type(node)
    parts, waiting = [], [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, kind):
            waiting += [current.expression, current.this]
        else:
            parts.append(current)
    return parts


def _is_constant(node: exp.Expression) -> bool:
    return not any(isinstance(part, exp.Column | exp.Identifier) for part in node.walk())


def _literal(_: _Writer, node: exp.Literal) -> str:
    return writing.string(node.this) if node.is_string else _number(node.this)


def _number(text: str) -> str:
    try:
        Decimal(text)
    except InvalidOperation:
        raise RuleError(f"`{text}` is not a number that Tamis reads") from None
    return text


def _negative(writer: _Writer, node: exp.Neg) -> str:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{_number(node.this.this)}"
    return f"-({writer.value(node.this)})"


def _is(writer: _Writer, node: exp.Is) -> str:
    if isinstance(node.expression, exp.Null):
        if _asks(node.this):
            return f"({writer.condition(node.this)}) is unknown"
        return f"{writer.value(node.this)} is null"
    if isinstance(node.expression, exp.Boolean):
        word = "true" if node.expression.this else "false"
        return f"({writer.condition(node.this)}) is {word}"
    raise RuleError(f"`is` takes null, true or false, not `{node.expression.sql()}`")


def _in(writer: _Writer, node: exp.In) -> str:
    if node.args.get("query") is not None or node.args.get("unnest") is not None:
        raise RuleError("`in` with a subquery needs more than one row")
    values = node.expressions
    if not values or any(not _is_constant(value) for value in values):
        raise RuleError("`in` takes a list of constants")
    if any(isinstance(value, exp.Null) for value in values):
        raise RuleError("`in` with null in its list is never false")
    return f"{writer.value(node.this)} in ({', '.join(map(writer.value, values))})"


def _between(writer: _Writer, node: exp.Between) -> str:
    low, high = writer.value(node.args["low"]), writer.value(node.args["high"])
    return f"{writer.value(node.this)} between {low} and {high}"


def _like(writer: _Writer, node: exp.Expression) -> str:
    escape = "\\" if writer.dialect in _BACKSLASH_ESCAPES else ""
    if isinstance(node, exp.Escape):
        if not isinstance(node.expression, exp.Literal) or len(node.expression.this) != 1:
            raise RuleError("`escape` takes one character")
        node, escape = node.this, node.expression.this
    pattern = node.expression
    operator = "ilike" if isinstance(node, exp.ILike) else "like"
    if node.args.get("negate"):
        operator = f"not {operator}"
    if isinstance(pattern, exp.Any | exp.All):
        join = writing.any_of if isinstance(pattern, exp.Any) else writing.all_of
        inner = pattern.this
        patterns = inner.expressions if isinstance(inner, exp.Tuple) else [inner.this]
        return join(_one_like(writer, node.this, operator, item, escape) for item in patterns)
    return _one_like(writer, node.this, operator, pattern, escape)


def _one_like(
    writer: _Writer, subject: exp.Expression, operator: str, pattern: exp.Expression, escape: str
) -> str:
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise RuleError(f"`{operator}` takes a constant pattern")
    written = _like_pattern(pattern.this, escape)
    return f"{writer.value(subject)} {operator} {writing.string(written)}"


def _like_pattern(pattern: str, escape: str) -> str:
    """The pattern, with a backslash as the escape character."""
    result = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None or escaped not in ("%", "_", escape):
                raise RuleError(f"the pattern {pattern!r} escapes something other than a wildcard")
            result.append(writing.like_pattern(escaped))
        elif character == "\\":
            result.append("\\\\")
        else:
            result.append(character)
    return "".join(result)


def _regular(writer: _Writer, node: exp.RegexpLike | exp.RegexpILike) -> str:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise RuleError("a regular expression must be a constant")
    if node.args.get("flag") is not None:
        raise RuleError("flags of a regular expression are not supported; write (?i) into it")
    text = regular.with_ascii_classes(pattern.this)
    if isinstance(node, exp.RegexpILike):
        text = f"(?i){text}"
    return f"{writer.value(node.this)} matches {writing.string(text)}"


def _text_test(writer: _Writer, node: exp.Expression) -> str:
    operator = _TEXT_TESTS[type(node)]
    return f"{writer.value(node.this)} {operator} {writer.value(node.expression)}"


def _null_safe(operator: str) -> _Rule:
    def write(writer: _Writer, node: exp.Expression) -> str:
        other = node.expression
        if isinstance(other, exp.Null):
            negation = "not " if operator == "is distinct from" else ""
            return f"{writer.value(node.this)} is {negation}null"
        return f"{writer.value(node.this)} {operator} {writer.value(other)}"

    return write


def _array_contains(writer: _Writer, node: exp.ArrayContains) -> str:
    return f"{writer.value(node.this)} = {writer.value(node.expression)}"


def _exists(writer: _Writer, node: exp.Exists) -> str:
    if node.args.get("expression") is None:
        raise RuleError("`exists` with a subquery needs more than one row")
    return writer._elements("any", node.this, node.expression)


def _substring(writer: _Writer, node: exp.Substring) -> str:
    start, length = node.args.get("start"), node.args.get("length")
    while isinstance(start, exp.Paren):
        start = start.this
    if not isinstance(start, exp.Literal) or start.is_string or int(start.this) < 1:
        raise RuleError("`substring` takes a position of at least 1 here")
    if length is None:
        raise RuleError("`substring` needs a length")
    return f"substring({writer.value(node.this)}, {start.this}, {writer.value(length)})"


def _round(writer: _Writer, node: exp.Round) -> str:
    if node.args.get("decimals") is not None:
        raise RuleError("`round` to a number of digits is not in Tamis")
    return f"round({writer.value(node.this)})"


def _concat(writer: _Writer, node: exp.Expression) -> str:
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    return f"concat({', '.join(map(writer.value, parts))})"


def _coalesce(writer: _Writer, node: exp.Coalesce) -> str:
    return f"coalesce({', '.join(map(writer.value, [node.this, *node.expressions]))})"


def _cast(writer: _Writer, node: exp.Cast) -> str:
    kind = node.to.this
    operand = node.this
    if isinstance(operand, exp.Literal) and operand.is_string:
        if kind == exp.DType.DATE:
            return f"date {writing.string(operand.this)}"
        if _TYPES.get(kind) == "timestamp":
            return f"timestamp {writing.string(operand.this)}"
    if isinstance(operand, exp.Literal) and kind in (exp.DType.DOUBLE, exp.DType.FLOAT):
        return _number(operand.this)
    if kind not in _TYPES or node.to.expressions:
        shown = node.to.sql(writer.dialect)
        raise RuleError(f"a cast to {shown} cannot be expressed exactly in Tamis")
    if node.args.get("format") is not None:
        raise RuleError("a cast with a format is not in Tamis")
    return f"cast({writer.value(operand)} as {_TYPES[kind]})"


def _interval(_: _Writer, node: exp.Interval) -> str:
    unit = str(node.args.get("unit") or "").lower().rstrip("s")
    amount = node.this
    if unit not in _UNITS:
        raise RuleError(f"an interval in {unit or 'no unit'} is not an exact duration")
    if not isinstance(amount, exp.Literal):
        raise RuleError("an interval takes a constant")
    return f"interval '{_number(amount.this)}' {_UNITS[unit]}"


_CONDITIONS: dict[Any, _Rule] = {
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _like,
    exp.RegexpLike: _regular,
    exp.RegexpILike: _regular,
    (exp.StartsWith, exp.EndsWith, exp.Contains): _text_test,
    exp.NullSafeEQ: _null_safe("is not distinct from"),
    exp.NullSafeNEQ: _null_safe("is distinct from"),
    exp.ArrayContains: _array_contains,
    exp.Exists: _exists,
    exp.Boolean: lambda _, node: "true" if node.this else "false",
}
_VALUES: dict[Any, _Rule] = {
    exp.Literal: _literal,
    exp.Boolean: lambda _, node: "true" if node.this else "false",
    exp.Neg: _negative,
    exp.Substring: _substring,
    exp.Round: _round,
    (exp.Concat, exp.DPipe): _concat,
    exp.Coalesce: _coalesce,
    exp.Cast: _cast,
    exp.Interval: _interval,
    exp.CurrentTimestamp: lambda _, __: "now()",
}
