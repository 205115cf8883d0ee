"""Random rows and expressions for `to_sql`: edge values, predicates of any type."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

import tamis
from judge import rows
from judge.language import (
    Among,
    Attribute,
    Between,
    Call,
    Comparison,
    It,
    Literal,
    Node,
    Pattern,
    Presence,
    Quantified,
    Term,
    Textual,
    text,
)

EDGES: dict[str, list[Any]] = {
    "i": [2**63 - 1, -(2**63), 2**53, 2**53 + 1, 9007199254740993],
    "j": [2**31 - 1, -(2**31)],
    "d": [Decimal("99999999999999.9999"), Decimal("-99999999999999.9999"), Decimal("0.0001")],
    "f": [float("nan"), float("inf"), float("-inf"), -0.0, 1e300, 5e-324, 2.0**53, 0.1 + 0.2],
    "s": ["İI", "ΑΣ", "straße", "100%", "a_b", "back\\slash", "it's", "${x}", "a\nb", "\u3000a\t", "K", "😀"],
    "t": ["", "%", "\\", "\u017f", "É", "xx"],
    "ts": [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, 999999, UTC)],
    "dt": [date(1, 1, 1), date(9999, 12, 31)],
}  # fmt: skip
NUMBERS = ["0", "-0.0", "1", "2.5", "0.3", "0.30000000000000004", "1e3", "1e-3", "9007199254740993"]
NUMBERS += ["9223372036854775807", "9223372036854775808", "-1e30", "0.1000000000000000055", "1e300"]
TIMES = [
    "2026-01-02T05:00:00Z",
    "2026-03-29 02:30:00",
    "2026-10-25 02:30",
    "1970-01-01 00:00:00.0000001Z",
]
TIMES += ["0001-01-01T00:00:00Z", "2026-01-02T05:00:00+05:30"]
REGULAR = [
    "^a",
    "b$",
    "a.c",
    "[a-c]+",
    "^(a|b)*$",
    "x{2}",
    "[^a-z]",
    "é|É",
    r"\.",
    "a\\\\b",
    "^$",
    "(ab)+?",
]
REGULAR += [r"\d", r"\bred\b", "(?i)A", "."]
PATTERNS = ["a%", "%b", "_", "%", "", "%\\%%", "a\\_b", "back\\\\%", "%'%", "%\n%", "__", "%😀"]
LITERALS = [
    "number",
    "number",
    "string",
    "string",
    "boolean",
    "timestamp",
    "date",
    "interval",
    "version",
]


def table(random: Random, count: int) -> pa.Table:
    """Rows of all types, with some edge values."""
    made = []
    for number in range(count):
        row = rows.row(random, number)
        for name, edges in EDGES.items():
            if random.random() < 0.15:
                row[name] = random.choice(edges)
        made.append(row)
    return pa.Table.from_pylist(made, schema=rows.SCHEMA)


@dataclass
class Expressions(rows.Expressions):
    """Expressions over rows that combine any column with any operator and literal."""

    def leaf(self) -> Node:
        if self.random.random() < 0.5:
            return super().leaf()
        return self.any_predicate()

    def any_predicate(self) -> Node:
        term = self.any_term()
        negated = self.random.random() < 0.25
        match self.random.randrange(8):
            case 0:
                return Presence(term, self.random.choice(["is null", "is not null"]))
            case 1:
                literals = [self.any_literal() for _ in range(self.random.randint(0, 3))]
                return Among(term, tuple(literals), negated)
            case 2:
                kind = self.random.choice(["number", "string", "timestamp", "date"])
                return Between(term, self.any_literal(kind), self.any_literal(kind), negated)
            case 3:
                operator = self.random.choice(["starts with", "ends with", "contains"])
                return Textual(term, operator, self.any_literal("string"), negated)
            case 4:
                return Pattern(term, "like", self.random.choice(PATTERNS), negated)
            case 5:
                return Pattern(term, "matches", self.random.choice(REGULAR), negated)
            case 6:
                operator = self.random.choice(["=", "!=", "<", "<=", ">", ">=", "<=>"])
                return Comparison(term, operator, self.any_term())
        literal = self.any_literal()
        operators = ["=", "!="] if literal.kind == "boolean" else ["=", "!=", "<", "<=", ">", ">="]
        return Comparison(term, self.random.choice(operators), literal)

    def any_term(self) -> Term:
        names: list[Term] = [Attribute(name) for name in self.kinds]
        if self.it is not None:
            names.append(It())
        else:
            names += [Attribute("items.sku"), Attribute("items.qty"), Attribute("nowhere")]
        term = self.random.choice(names)
        if self.random.random() < 0.2:
            functions = ["lower", "upper", "trim", "length", "abs", "floor", "year", "date", "size"]
            return Call(self.random.choice(functions), (term,))
        return term

    def any_literal(self, kind: str | None = None) -> Literal:
        kind = kind or self.random.choice(LITERALS)
        match kind:
            case "number":
                return Literal("number", self.random.choice(NUMBERS))
            case "boolean":
                return Literal("boolean", self.random.choice(["true", "false"]))
            case "timestamp":
                return Literal("timestamp", self.random.choice(TIMES))
            case "date":
                return Literal(
                    "date", self.random.choice(["2026-01-02", "0001-01-01", "2026-03-29"])
                )
            case "interval":
                return Literal("interval", *self.random.choice(rows.SPANS))
            case "version":
                return Literal("version", "1.2.3")
        texts = [*rows.TEXTS, *EDGES["s"], *EDGES["t"]]
        return Literal("string", self.random.choice(texts))

    def quantified(self) -> Node:
        node = super().quantified()
        if isinstance(node, Quantified) and self.random.random() < 0.1 and "i" in self.kinds:
            name = self.random.choice(["i", "s", "nowhere"])  # a single value is a list of one
            inside = type(self)(self.random, {}, "number" if name == "i" else "string", False)
            return Quantified(node.quantifier, Attribute(name), inside.node(2))
        return node


@dataclass
class Written:
    """An expression and its condition."""

    expression: tamis.Expression
    condition: str


def written(
    random: Random, count: int, dialect: str, zone: str, missing: Any, columns: Any
) -> Iterator[Written | str]:
    """Random expressions with their conditions, or the reasons why they are refused."""
    for _ in range(count):
        try:
            expression = tamis.parse(text(Expressions(random).node()))
        except tamis.ExpressionError:
            continue  # compares constants, or orders booleans
        try:
            condition = expression.to_sql(dialect, columns=columns, missing=missing, time_zone=zone)
        except tamis.ExpressionError as error:
            yield str(error)
        else:
            yield Written(expression, condition)


def matching(
    expressions: list[tamis.Expression], data: pa.Table, zone: str, missing: Any
) -> list[set[int]]:
    """The rows that match each expression."""
    index = tamis.Index(time_zone=zone, missing=missing)
    index.add_many(enumerate(expressions))
    found: list[set[int]] = [set() for _ in expressions]
    for row, numbers in enumerate(index.match_batch(data.to_pylist())):
        for number in numbers:
            found[int(number)].add(row)
    return found
