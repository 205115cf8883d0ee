"""Random expressions over the attributes of `judge.events`."""

from dataclasses import dataclass
from random import Random

from judge import language as tree
from judge.events import ELEMENT, KINDS, LISTS, PART
from judge.pools import (
    ADDRESSES,
    BUCKETS,
    INTERVALS,
    LITERAL_DATES,
    LITERAL_TIMES,
    NETWORKS,
    NUMBERS,
    PATTERNS,
    RARE_NUMBERS,
    RARE_STRINGS,
    REGEXES,
    STRINGS,
    VERSIONS,
    pick,
)


@dataclass
class Expressions:
    """Expressions over the attributes of an event, or the fields of an element."""

    random: Random
    kinds: dict[str, str]
    lists: tuple[str, ...] = tuple(LISTS)
    it: str | None = None
    nested: int = 2
    dull: bool = False
    """Without functions: only typed constants and lists."""
    without: frozenset[str] = frozenset()
    """Kinds of values, functions and `is` that are left out."""

    def node(self, leaves: int = 4) -> tree.Node:
        roll = self.random.random()
        if leaves <= 1 or roll < 0.35:
            return self.leaf()
        if roll < 0.47:
            return tree.Not(self.node(leaves))
        if roll < 0.52 and "is" not in self.without:
            truth = self.random.choice(["true", "false", "unknown"])
            return tree.Is(self.node(leaves - 1), truth, self.random.random() < 0.5)
        connective = self.random.choice(["and", "and", "or", "or", "xor", "xnor"])
        count = 2 if connective.startswith("x") else self.random.randint(2, 3)
        return tree.Joined(connective, tuple(self.node(leaves // count) for _ in range(count)))

    def leaf(self) -> tree.Node:
        roll = self.random.random()
        if roll < 0.02:
            return tree.Constant(self.random.random() < 0.5)
        if roll < 0.2 and self.nested and self.lists:
            return self.quantified()
        if roll < 0.26:
            return self.presence()
        negated = self.random.random() < 0.25
        kind = self.random.choice(
            [
                *("number", "number", "string", "string", "time", "time", "address", "version"),
                *("boolean", "duration", "other"),
            ]
        )
        if kind in self.without:
            kind = "number"
        match kind:
            case "number":
                return self.ordered(kind, negated)
            case "string":
                return self.textual(negated) if self.random.random() < 0.6 else self.ordered(kind)
            case "time" | "duration":
                return self.ordered(kind, negated)
            case "version":
                return self.ordered(kind, negated)
            case "address":
                return self.address(negated)
            case "boolean":
                literal = tree.Literal("boolean", self.random.choice(["true", "false"]))
                return tree.Comparison(self.attribute("boolean"), self.equality(), literal)
            case _:
                return self.other(negated)

    def equality(self) -> str:
        return self.random.choice(["=", "=", "!=", "<=>"])

    def operator(self) -> str:
        return self.random.choice(["=", "=", "!=", "<", "<=", ">", ">=", "<=>"])

    def presence(self) -> tree.Node:
        operator = self.random.choice(["exists", "missing", "is null", "is not null"])
        if operator.startswith("is") and self.random.random() < 0.5 and not self.dull:
            kinds = [kind for kind in ("number", "string", "time") if kind not in self.without]
            return tree.Presence(self.term(self.random.choice(kinds)), operator)
        return tree.Presence(self.attribute(self.random.choice(["number", "string"])), operator)

    def ordered(self, kind: str, negated: bool = False) -> tree.Node:
        left = self.term(kind, depth=2)
        roll = self.random.random()
        right = self.term(kind) if roll < 0.3 and not self.dull else self.constant(kind)
        if roll > 0.75:
            low, high = self.bounds(kind)
            return tree.Between(left, low, high, negated)
        if roll > 0.65:
            count = self.random.randint(1, 3)
            values = [self.constant(kind if i == 0 else None) for i in range(count)]
            return tree.Among(left, tuple(values), negated)
        if roll < 0.05:
            return tree.Distinct(left, right, negated)
        return tree.Comparison(left, self.operator(), right)

    def bounds(self, kind: str) -> tuple[tree.Term, tree.Term]:
        if self.random.random() < 0.25 and not self.dull:
            return self.term(kind), self.term(kind)
        low = self.constant(kind)
        high = self.constant(kind)
        while low.kind != high.kind:
            high = self.constant(kind)
        return low, high

    def textual(self, negated: bool) -> tree.Node:
        left = self.term("string", depth=2)
        roll = self.random.random()
        if roll < 0.4:
            operator = self.random.choice(["like", "ilike", "ilike", "matches"])
            pool = REGEXES if operator == "matches" else PATTERNS
            return tree.Pattern(left, operator, self.random.choice(pool), negated)
        operator = self.random.choice(["starts with", "ends with", "contains"])
        if roll < 0.7 or self.dull:
            right: tree.Term = tree.Literal("string", pick(self.random, STRINGS, RARE_STRINGS))
        else:
            right = self.term("string")
        return tree.Textual(left, operator, right, negated)

    def address(self, negated: bool) -> tree.Node:
        left = self.attribute("address")
        literal = tree.Literal("ip", self.random.choice(ADDRESSES))
        if self.random.random() < 0.4:
            return tree.Comparison(left, self.equality(), literal)
        networks = [
            tree.Literal("cidr", self.random.choice(NETWORKS))
            for _ in range(self.random.randint(1, 2))
        ]
        if self.random.random() < 0.3:
            networks.append(literal)
        return tree.Among(left, tuple(networks), negated)

    def other(self, negated: bool) -> tree.Node:
        """Predicates without a kind: rollout, keywords, types, sizes, attributes of any type."""
        roll = self.random.random()
        if self.dull or roll < 0.3:
            left, right = self.anything(), self.anything()
            return tree.Comparison(left, self.operator(), right)
        if roll < 0.5:
            bucket = tree.Call("bucket", (self.anything(), *self.random.choice(BUCKETS)))
            least = tree.Literal("number", self.random.choice(["0", "1", "5", "50"]))
            return tree.Comparison(bucket, self.random.choice(["<", ">=", "="]), least)
        if roll < 0.7 and self.it is None and "values" not in self.without:
            keyword = tree.Literal("string", self.random.choice(STRINGS))
            all = tree.Call("values")
            if self.random.random() < 0.5:
                all = tree.Call("lower", (all,))
            return tree.Textual(all, "contains", keyword, negated)
        name = self.anything()
        if roll < 0.85:
            kinds = ["string", "number", "boolean", "null", "list", "object"]
            wanted = tree.Literal("string", self.random.choice(kinds))
            return tree.Comparison(
                tree.Call("type", (name,)), self.random.choice(["=", "!="]), wanted
            )
        count = tree.Literal("number", self.random.choice("0123"))
        if self.random.random() < 0.7 and self.lists and "paths" not in self.without:
            name = tree.Attribute(self.random.choice(self.lists))
        return tree.Comparison(tree.Call("size", (name,)), self.operator(), count)

    def quantified(self) -> tree.Node:
        quantifier = self.random.choice(["any", "any", "all", "none"])
        if self.it is None:
            known = [name for name in self.lists if name != "box" or "paths" not in self.without]
            name = self.random.choice(["items", "items", "items", *known])
        else:
            name = self.random.choice(self.lists)
        lists: tuple[str, ...]
        kinds, lists, it = {"items": (ELEMENT, ("parts", "tags"), "number")}.get(
            name, ({}, (), "string" if name in ("tags", "s") else "number")
        )
        if name == "parts":
            kinds, lists, it = PART, (), "string"
        inner = Expressions(
            self.random, dict(kinds), lists, it, self.nested - 1, self.dull, self.without
        )
        return tree.Quantified(quantifier, tree.Attribute(name), inner.node(2))

    # Terms

    def anything(self) -> tree.Attribute | tree.It:
        if self.it is not None and (not self.kinds or self.random.random() < 0.2):
            return tree.It()
        return tree.Attribute(self.random.choice(list(self.kinds)))

    def attribute(self, kind: str) -> tree.Attribute | tree.It:
        """An attribute of a kind; rarely one of another kind, or one that no event has."""
        roll = self.random.random()
        if roll < 0.03:
            return tree.Attribute("gone")
        names = [name for name, own in self.kinds.items() if own == kind]
        if self.it == kind and (not names or self.random.random() < 0.2):
            return tree.It()
        if self.it is None and "paths" not in self.without and self.random.random() < 0.06:
            inner = [f"items.{name}" for name, own in ELEMENT.items() if own == kind]
            names = inner or names
        if not names or roll < 0.08:
            return self.anything()
        return tree.Attribute(self.random.choice(names))

    def constant(self, kind: str | None) -> tree.Literal:
        others = [other for other in ("time", "version") if other not in self.without]
        kind = kind or self.random.choice(["number", "string", *others])
        match kind:
            case "number":
                return tree.Literal("number", self.number_text(0.15))
            case "string":
                return tree.Literal("string", pick(self.random, STRINGS, RARE_STRINGS))
            case "time" if self.random.random() < 0.4:
                return tree.Literal("date", self.random.choice(LITERAL_DATES))
            case "time":
                return tree.Literal("timestamp", self.random.choice(LITERAL_TIMES))
            case "version":
                return tree.Literal("version", self.random.choice(VERSIONS))
            case "address":
                return tree.Literal("ip", self.random.choice(ADDRESSES))
            case "boolean":
                return tree.Literal("boolean", self.random.choice(["true", "false"]))
            case _:
                return tree.Literal("interval", *self.random.choice(INTERVALS))

    def number_text(self, rare: float) -> str:
        return pick(self.random, NUMBERS, RARE_NUMBERS, 0 if "digits" in self.without else rare)

    def term(self, kind: str, depth: int = 1) -> tree.Term:
        roll = self.random.random()
        if self.dull:
            return self.attribute(kind) if kind != "duration" else self.attribute("duration")
        if kind == "duration":
            if roll < 0.4:
                return self.attribute("duration")
            right = tree.Call("now") if roll < 0.7 else self.term("time", 0)
            return tree.Arithmetic("-", self.attribute("time"), right)
        if roll < 0.4 or depth == 0 or kind in ("version", "boolean", "address"):
            return self.attribute(kind)
        if roll < 0.47 and "coalesce" not in self.without:
            other = self.constant(kind) if self.random.random() < 0.5 else self.attribute(kind)
            return tree.Call("coalesce", (self.term(kind, depth - 1), other))
        match kind:
            case "number":
                return self.number(depth)
            case "string":
                return self.string(depth)
            case _:
                return self.time(depth)

    def number(self, depth: int) -> tree.Term:
        roll = self.random.random()
        if roll < 0.5:
            operator = self.random.choice("++--**" if "division" in self.without else "++--**/%")
            right = self.term("number", depth - 1)
            if self.random.random() < 0.4:
                right = tree.Literal("number", self.number_text(0.1))
            return tree.Arithmetic(operator, self.term("number", depth - 1), right)
        if roll < 0.58:
            inner = self.term("number", depth - 1)
            return tree.Negative(inner)
        if roll < 0.75:
            function = self.random.choice(["abs", "round", "floor", "ceil"])
            return tree.Call(function, (self.term("number", depth - 1),))
        if roll < 0.82:
            return tree.Call("length", (self.term("string", depth - 1),))
        if roll < 0.92 and "time" not in self.without:
            function = self.random.choice(["year", "month", "day", "hour", "minute", "weekday"])
            return tree.Call(function, (self.term("time", depth - 1),))
        type = self.random.choice(["integer", "decimal", "float"])
        return tree.Cast(self.attribute(self.random.choice(["number", "string"])), type)

    def string(self, depth: int) -> tree.Term:
        roll = self.random.random()
        if roll < 0.6:
            function = self.random.choice(["lower", "lower", "upper", "trim"])
            return tree.Call(function, (self.term("string", depth - 1),))
        if roll < 0.75:
            bounds = [tree.Literal("number", self.random.choice(["0", "1", "2", "-1", "5"]))]
            bounds.append(tree.Literal("number", self.random.choice(["0", "1", "2", "9", "-1"])))
            return tree.Call("substring", (self.term("string", depth - 1), *bounds))
        if roll < 0.9:
            others = [self.term("string", depth - 1), self.constant("string")]
            self.random.shuffle(others)
            return tree.Call("concat", tuple(others))
        return tree.Cast(
            self.attribute(self.random.choice(["number", "boolean", "string"])), "string"
        )

    def time(self, depth: int) -> tree.Term:
        roll = self.random.random()
        if roll < 0.25:
            return tree.Call("now")
        if roll < 0.6:
            span = tree.Literal("interval", *self.random.choice(INTERVALS))
            base = tree.Call("now") if roll < 0.4 else self.term("time", depth - 1)
            return tree.Arithmetic(self.random.choice("+-"), base, span)
        if roll < 0.8:
            return tree.Call("date", (self.term("time", depth - 1),))
        return tree.Cast(self.attribute("time"), self.random.choice(["timestamp", "date"]))


def expressions(
    random: Random, dull: bool = False, without: frozenset[str] = frozenset()
) -> Expressions:
    return Expressions(random, dict(KINDS), dull=dull, without=without)
