"""Random table rows, and expressions over them that SQL can express.

Every comparison is between values of one type, since other engines cast; no division of decimals,
which engines round differently; text that all engines fold alike.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from judge import language as tree

MOMENT = pa.timestamp("us", tz="UTC")
ITEM = {
    "sku": pa.string(),
    "price": pa.decimal128(12, 2),
    "qty": pa.int32(),
    "at": MOMENT,
    "tags": pa.list_(pa.string()),
}
COLUMNS = {
    "row": pa.int64(),
    "i": pa.int64(),
    "j": pa.int32(),
    "d": pa.decimal128(18, 4),
    "e": pa.decimal128(12, 2),
    "f": pa.float64(),
    "s": pa.string(),
    "t": pa.string(),
    "ts": MOMENT,
    "us": MOMENT,
    "dt": pa.date32(),
    "flag": pa.bool_(),
    "tags": pa.list_(pa.string()),
    "nums": pa.list_(pa.int64()),
    "items": pa.list_(pa.struct(ITEM)),
}
SCHEMA = pa.schema(COLUMNS)

KINDS = {
    "i": "number",
    "j": "number",
    "d": "number",
    "e": "number",
    "f": "float",
    "s": "string",
    "t": "string",
    "ts": "time",
    "us": "time",
    "dt": "date",
    "flag": "boolean",
    "tags": "strings",
    "nums": "numbers",
}
ITEM_KINDS = {"sku": "string", "price": "number", "qty": "number", "at": "time", "tags": "strings"}

INTEGERS = [0, 1, 2, 3, -1, 7, 10, -10, 100]
CENTS = ["0.00", "0.10", "0.30", "1.00", "2.50", "-2.50", "3.00", "19.99", "100.00"]
FLOATS = [0.0, 0.1, 0.3, 0.5, 2.5, -2.5, 3.0, 100.0, 0.30000000000000004, 1e15]
TEXTS = ["a", "b", "A", "ab", "AB", "Ab", "", "é", "É", "abc", " a ", "red", "Red"]
PATTERNS = ["a%", "%b", "A%", "_", "%", "", "R_d", "%é%", "a_c"]
MOMENTS = [
    datetime(2026, 1, 2, 5, tzinfo=UTC),
    datetime(2026, 1, 1, 23, tzinfo=UTC),
    datetime(2026, 1, 2, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 1, 2, tzinfo=UTC),
    datetime(2026, 3, 29, 0, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 3, 29, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
    datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
    datetime(2024, 2, 29, 23, 30, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2100, 2, 28, 12, tzinfo=UTC),
    datetime(1905, 6, 1, 12, tzinfo=UTC),
]
DAYS = [date(2026, 1, 2), date(2026, 1, 1), date(2024, 2, 29), date(2026, 3, 29), date(1970, 1, 1)]
DAYS += [date(2100, 3, 1), date(2026, 10, 25)]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]
HOURS = [("1", "hour"), ("90", "minute"), ("5", "hour"), ("1", "second"), ("23", "hour")]
SPANS = [*HOURS, ("1", "day"), ("7", "day"), ("0", "second"), ("86400", "second"), ("36", "hour")]


def table(random: Random, count: int) -> pa.Table:
    return pa.Table.from_pylist([row(random, number) for number in range(count)], schema=SCHEMA)


def row(random: Random, number: int) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if random.random() < 0.1 else value

    def several(pool: list[Any]) -> Any:
        return maybe([maybe(random.choice(pool)) for _ in range(random.randint(0, 3))])

    def item() -> Any:
        return {
            "sku": maybe(random.choice(TEXTS)),
            "price": maybe(Decimal(random.choice(CENTS))),
            "qty": maybe(random.choice(INTEGERS)),
            "at": maybe(random.choice(MOMENTS)),
            "tags": several(TEXTS),
        }

    return {
        "row": number,
        "i": maybe(random.choice(INTEGERS)),
        "j": maybe(random.choice(INTEGERS)),
        "d": maybe(Decimal(random.choice(CENTS)) + Decimal(random.randint(-2, 2)) / 10_000),
        "e": maybe(Decimal(random.choice(CENTS))),
        "f": maybe(random.choice(FLOATS)),
        "s": maybe(random.choice(TEXTS)),
        "t": maybe(random.choice(TEXTS)),
        "ts": maybe(random.choice(MOMENTS) + timedelta(hours=random.choice([0, 0, 0, 1, -5]))),
        "us": maybe(random.choice(MOMENTS)),
        "dt": maybe(random.choice(DAYS)),
        "flag": maybe(random.random() < 0.5),
        "tags": several(TEXTS),
        "nums": several(INTEGERS),
        "items": maybe([maybe(item()) for _ in range(random.randint(0, 3))]),
    }


@dataclass
class Expressions:
    """Expressions about a row, or about an element of one of its lists."""

    random: Random
    kinds: dict[str, str] = field(default_factory=lambda: dict(KINDS))
    it: str | None = None
    nested: bool = True

    def node(self, leaves: int = 4) -> tree.Node:
        roll = self.random.random()
        if leaves <= 1 or roll < 0.4:
            return self.leaf()
        if roll < 0.5:
            return tree.Not(self.node(leaves))
        if roll < 0.56:
            truth = self.random.choice(["true", "false", "unknown"])
            return tree.Is(self.node(leaves - 1), truth, self.random.random() < 0.5)
        connective = self.random.choice(["and", "and", "or", "or", "xor", "xnor"])
        count = 2 if connective.startswith("x") else self.random.randint(2, 3)
        return tree.Joined(connective, tuple(self.node(leaves // count) for _ in range(count)))

    def leaf(self) -> tree.Node:
        roll = self.random.random()
        negated = self.random.random() < 0.25
        if roll < 0.25 and self.nested:
            return self.quantified()
        if roll < 0.32 and not self.it:
            return self.about_lists(negated)
        kinds = ["number", "number", "float", "string", "string", "time", "time", "date", "span"]
        if self.it:
            kinds = [kind for kind in kinds if self.names(kind)]
        kind = self.random.choice(kinds)
        if kind == "string" and self.random.random() < 0.5:
            return self.textual(negated)
        left = self.term(kind)
        if roll < 0.4 and isinstance(left, tree.Attribute | tree.It):
            return tree.Presence(left, self.random.choice(["is null", "is not null"]))
        if roll < 0.5:
            values = tuple(self.constant(kind) for _ in range(self.random.randint(1, 3)))
            return tree.Among(left, values, negated)
        right = self.term(kind) if self.random.random() < 0.4 else self.constant(kind)
        if kind in ("time", "date") and self.random.random() < 0.2:
            other = "date" if kind == "time" else "time"
            right = self.constant(other) if self.random.random() < 0.5 else right
        if roll < 0.62:
            return tree.Between(left, self.constant(kind), self.constant(kind), negated)
        if roll < 0.7:
            return tree.Distinct(left, right, negated)
        operator = self.random.choice(["=", "!=", "<", "<=", ">", ">=", "<=>"])
        return tree.Comparison(left, operator, right)

    def quantified(self) -> tree.Node:
        quantifier = self.random.choice(["any", "any", "all", "none"])
        if "nums" not in self.kinds:  # inside an item
            inside = replace(self, kinds={}, it="string", nested=False)
            return tree.Quantified(quantifier, tree.Attribute("tags"), inside.node(2))
        name = self.random.choice(["items", "items", "items", "tags", "nums"])
        kinds, it = {
            "items": (ITEM_KINDS, "item"),
            "tags": ({}, "string"),
            "nums": ({}, "number"),
        }[name]
        inside = replace(self, kinds=dict(kinds), it=it, nested=name == "items")
        return tree.Quantified(quantifier, tree.Attribute(name), inside.node(3))

    def about_lists(self, negated: bool) -> tree.Node:
        roll = self.random.random()
        if roll < 0.3:
            size = tree.Call(
                "size", (tree.Attribute(self.random.choice(["tags", "nums", "items"])),)
            )
            return tree.Comparison(
                size, self.random.choice(["=", "<", ">="]), self.constant("number")
            )
        name, kind = self.random.choice(
            [
                *(("tags", "string"), ("nums", "number"), ("items.price", "number")),
                *(("items.sku", "string"), ("items.at", "time")),
            ]
        )
        if roll < 0.5:
            values = tuple(self.constant(kind) for _ in range(2))
            return tree.Among(tree.Attribute(name), values, negated)
        operator = self.random.choice(["=", "!=", "<", ">="])
        return tree.Comparison(tree.Attribute(name), operator, self.constant(kind))

    def textual(self, negated: bool) -> tree.Node:
        left = self.term("string")
        if self.random.random() < 0.5:
            operator = self.random.choice(["like", "ilike"])
            return tree.Pattern(left, operator, self.random.choice(PATTERNS), negated)
        right = self.term("string") if self.random.random() < 0.4 else self.constant("string")
        operator = self.random.choice(["starts with", "ends with", "contains"])
        return tree.Textual(left, operator, right, negated)

    # Terms

    def names(self, kind: str) -> list[tree.Term]:
        kind = "time" if kind == "span" else kind
        names: list[tree.Term] = [
            tree.Attribute(name) for name, own in self.kinds.items() if own == kind
        ]
        return [*names, tree.It()] if self.it == kind else names

    def constant(self, kind: str) -> tree.Literal:
        match kind:
            case "number":
                return tree.Literal("number", str(self.random.choice([*INTEGERS, *CENTS])))
            case "float":
                return tree.Literal(
                    "number", self.random.choice(["0.1", "0.3", "2.5", "-2.5", "3"])
                )
            case "string":
                return tree.Literal("string", self.random.choice(TEXTS))
            case "time":
                return tree.Literal("timestamp", self.random.choice(MOMENTS).isoformat())
            case "date":
                return tree.Literal("date", self.random.choice(DAYS).isoformat())
            case _:
                return tree.Literal("interval", *self.random.choice(SPANS))

    def term(self, kind: str, depth: int = 2) -> tree.Term:
        names = self.names(kind)
        if kind == "span":
            return tree.Arithmetic("-", self.random.choice(names), self.random.choice(names))
        plain = self.random.choice(names) if names else self.constant(kind)
        roll = self.random.random()
        if roll < 0.5 or depth == 0:
            return plain
        inner = self.term(kind, depth - 1)
        if roll < 0.58 and len(names) > 1:
            return tree.Call("coalesce", (inner, self.constant(kind)))
        match kind:
            case "number" | "float":
                return self.number(kind, inner, depth)
            case "string":
                return self.string(inner)
            case "time":
                return tree.Arithmetic(
                    self.random.choice("+-"),
                    plain,
                    tree.Literal("interval", *self.random.choice(HOURS)),
                )
        times = self.names("time")
        return tree.Call("date", (self.random.choice(times),)) if times else plain

    def number(self, kind: str, inner: tree.Term, depth: int) -> tree.Term:
        roll = self.random.random()
        times, texts = self.names("time"), self.names("string")
        if roll < 0.45:
            other = self.term(kind, depth - 1) if self.random.random() < 0.6 else None
            right = other or self.constant(kind)
            return tree.Arithmetic(self.random.choice("+-*"), inner, right)
        if roll < 0.52:
            return tree.Arithmetic(
                "%", inner, tree.Literal("number", self.random.choice(["3", "7"]))
            )
        if roll < 0.6:
            return tree.Negative(inner)
        if roll < 0.75:
            return tree.Call(self.random.choice(["abs", "round", "floor", "ceil"]), (inner,))
        if roll < 0.9 and times and kind == "number":
            function = self.random.choice(["year", "month", "day", "hour", "minute", "weekday"])
            return tree.Call(function, (self.random.choice(times),))
        if texts and kind == "number":
            return tree.Call("length", (self.random.choice(texts),))
        return inner

    def string(self, inner: tree.Term) -> tree.Term:
        roll = self.random.random()
        if roll < 0.6:
            return tree.Call(self.random.choice(["lower", "upper", "trim"]), (inner,))
        if roll < 0.8:
            bounds = [tree.Literal("number", self.random.choice("12")) for _ in range(2)]
            return tree.Call("substring", (inner, *bounds))
        return tree.Call("concat", (inner, self.constant("string")))
