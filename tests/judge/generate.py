"""Random expressions, about what the events of `judge.events` have."""

from dataclasses import dataclass
from random import Random

from judge.events import ELEMENT, KINDS, LISTS, PART
from judge.language import (
    Among,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Cast,
    Comparison,
    Constant,
    Distinct,
    Is,
    It,
    Joined,
    Literal,
    Negative,
    Node,
    Not,
    Pattern,
    Presence,
    Quantified,
    Term,
    Textual,
)
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
    """Without functions: only what typed literals and lists bring."""
    without: frozenset[str] = frozenset()
    """Kinds of values, functions and `is` that are left out."""

    def node(self, leaves: int = 4) -> Node:
        roll = self.random.random()
        if leaves <= 1 or roll < 0.35:
            return self.leaf()
        if roll < 0.47:
            return Not(self.node(leaves))
        if roll < 0.52 and "is" not in self.without:
            truth = self.random.choice(["true", "false", "unknown"])
            return Is(self.node(leaves - 1), truth, self.random.random() < 0.5)
        connective = self.random.choice(["and", "and", "or", "or", "xor", "xnor"])
        count = 2 if connective.startswith("x") else self.random.randint(2, 3)
        return Joined(connective, tuple(self.node(leaves // count) for _ in range(count)))

    def leaf(self) -> Node:
        roll = self.random.random()
        if roll < 0.02:
            return Constant(self.random.random() < 0.5)
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
                literal = Literal("boolean", self.random.choice(["true", "false"]))
                return Comparison(self.attribute("boolean"), self.equality(), literal)
            case _:
                return self.other(negated)

    def equality(self) -> str:
        return self.random.choice(["=", "=", "!=", "<=>"])

    def operator(self) -> str:
        return self.random.choice(["=", "=", "!=", "<", "<=", ">", ">=", "<=>"])

    def presence(self) -> Node:
        operator = self.random.choice(["exists", "missing", "is null", "is not null"])
        if operator.startswith("is") and self.random.random() < 0.5 and not self.dull:
            kinds = [kind for kind in ("number", "string", "time") if kind not in self.without]
            return Presence(self.term(self.random.choice(kinds)), operator)
        return Presence(self.attribute(self.random.choice(["number", "string"])), operator)

    def ordered(self, kind: str, negated: bool = False) -> Node:
        left = self.term(kind, depth=2)
        roll = self.random.random()
        right = self.term(kind) if roll < 0.3 and not self.dull else self.constant(kind)
        if roll > 0.75:
            low, high = self.bounds(kind)
            return Between(left, low, high, negated)
        if roll > 0.65:
            count = self.random.randint(1, 3)
            values = [self.constant(kind if i == 0 else None) for i in range(count)]
            return Among(left, tuple(values), negated)
        if roll < 0.05:
            return Distinct(left, right, negated)
        return Comparison(left, self.operator(), right)

    def bounds(self, kind: str) -> tuple[Term, Term]:
        if self.random.random() < 0.25 and not self.dull:
            return self.term(kind), self.term(kind)
        low = self.constant(kind)
        high = self.constant(kind)
        while low.kind != high.kind:
            high = self.constant(kind)
        return low, high

    def textual(self, negated: bool) -> Node:
        left = self.term("string", depth=2)
        roll = self.random.random()
        if roll < 0.4:
            operator = self.random.choice(["like", "ilike", "ilike", "matches"])
            pool = REGEXES if operator == "matches" else PATTERNS
            return Pattern(left, operator, self.random.choice(pool), negated)
        operator = self.random.choice(["starts with", "ends with", "contains"])
        if roll < 0.7 or self.dull:
            right: Term = Literal("string", pick(self.random, STRINGS, RARE_STRINGS))
        else:
            right = self.term("string")
        return Textual(left, operator, right, negated)

    def address(self, negated: bool) -> Node:
        left = self.attribute("address")
        literal = Literal("ip", self.random.choice(ADDRESSES))
        if self.random.random() < 0.4:
            return Comparison(left, self.equality(), literal)
        networks = [
            Literal("cidr", self.random.choice(NETWORKS)) for _ in range(self.random.randint(1, 2))
        ]
        if self.random.random() < 0.3:
            networks.append(literal)
        return Among(left, tuple(networks), negated)

    def other(self, negated: bool) -> Node:
        """What has no kind: rollout, keywords, types, sizes, two attributes of any type."""
        roll = self.random.random()
        if self.dull or roll < 0.3:
            left, right = self.anything(), self.anything()
            return Comparison(left, self.operator(), right)
        if roll < 0.5:
            bucket = Call("bucket", (self.anything(), *self.random.choice(BUCKETS)))
            least = Literal("number", self.random.choice(["0", "1", "5", "50"]))
            return Comparison(bucket, self.random.choice(["<", ">=", "="]), least)
        if roll < 0.7 and self.it is None and "values" not in self.without:
            keyword = Literal("string", self.random.choice(STRINGS))
            all = Call("values")
            if self.random.random() < 0.5:
                all = Call("lower", (all,))
            return Textual(all, "contains", keyword, negated)
        name = self.anything()
        if roll < 0.85:
            kinds = ["string", "number", "boolean", "null", "list", "object"]
            wanted = Literal("string", self.random.choice(kinds))
            return Comparison(Call("type", (name,)), self.random.choice(["=", "!="]), wanted)
        count = Literal("number", self.random.choice("0123"))
        if self.random.random() < 0.7 and self.lists and "paths" not in self.without:
            name = Attribute(self.random.choice(self.lists))
        return Comparison(Call("size", (name,)), self.operator(), count)

    def quantified(self) -> Node:
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
        return Quantified(quantifier, Attribute(name), inner.node(2))

    # Terms

    def anything(self) -> Attribute | It:
        if self.it is not None and (not self.kinds or self.random.random() < 0.2):
            return It()
        return Attribute(self.random.choice(list(self.kinds)))

    def attribute(self, kind: str) -> Attribute | It:
        """An attribute of a kind; rarely of another, or one that no event has."""
        roll = self.random.random()
        if roll < 0.03:
            return Attribute("gone")
        names = [name for name, own in self.kinds.items() if own == kind]
        if self.it == kind and (not names or self.random.random() < 0.2):
            return It()
        if self.it is None and "paths" not in self.without and self.random.random() < 0.06:
            inner = [f"items.{name}" for name, own in ELEMENT.items() if own == kind]
            names = inner or names
        if not names or roll < 0.08:
            return self.anything()
        return Attribute(self.random.choice(names))

    def constant(self, kind: str | None) -> Literal:
        others = [other for other in ("time", "version") if other not in self.without]
        kind = kind or self.random.choice(["number", "string", *others])
        match kind:
            case "number":
                return Literal("number", self.number_text(0.15))
            case "string":
                return Literal("string", pick(self.random, STRINGS, RARE_STRINGS))
            case "time" if self.random.random() < 0.4:
                return Literal("date", self.random.choice(LITERAL_DATES))
            case "time":
                return Literal("timestamp", self.random.choice(LITERAL_TIMES))
            case "version":
                return Literal("version", self.random.choice(VERSIONS))
            case "address":
                return Literal("ip", self.random.choice(ADDRESSES))
            case "boolean":
                return Literal("boolean", self.random.choice(["true", "false"]))
            case _:
                return Literal("interval", *self.random.choice(INTERVALS))

    def number_text(self, rare: float) -> str:
        return pick(self.random, NUMBERS, RARE_NUMBERS, 0 if "digits" in self.without else rare)

    def term(self, kind: str, depth: int = 1) -> Term:
        roll = self.random.random()
        if self.dull:
            return self.attribute(kind) if kind != "duration" else self.attribute("duration")
        if kind == "duration":
            if roll < 0.4:
                return self.attribute("duration")
            right = Call("now") if roll < 0.7 else self.term("time", 0)
            return Arithmetic("-", self.attribute("time"), right)
        if roll < 0.4 or depth == 0 or kind in ("version", "boolean", "address"):
            return self.attribute(kind)
        if roll < 0.47 and "coalesce" not in self.without:
            other = self.constant(kind) if self.random.random() < 0.5 else self.attribute(kind)
            return Call("coalesce", (self.term(kind, depth - 1), other))
        match kind:
            case "number":
                return self.number(depth)
            case "string":
                return self.string(depth)
            case _:
                return self.time(depth)

    def number(self, depth: int) -> Term:
        roll = self.random.random()
        if roll < 0.5:
            operator = self.random.choice("++--**" if "division" in self.without else "++--**/%")
            right = self.term("number", depth - 1)
            if self.random.random() < 0.4:
                right = Literal("number", self.number_text(0.1))
            return Arithmetic(operator, self.term("number", depth - 1), right)
        if roll < 0.58:
            inner = self.term("number", depth - 1)
            return Negative(inner)
        if roll < 0.75:
            function = self.random.choice(["abs", "round", "floor", "ceil"])
            return Call(function, (self.term("number", depth - 1),))
        if roll < 0.82:
            return Call("length", (self.term("string", depth - 1),))
        if roll < 0.92 and "time" not in self.without:
            function = self.random.choice(["year", "month", "day", "hour", "minute", "weekday"])
            return Call(function, (self.term("time", depth - 1),))
        type = self.random.choice(["integer", "decimal", "float"])
        return Cast(self.attribute(self.random.choice(["number", "string"])), type)

    def string(self, depth: int) -> Term:
        roll = self.random.random()
        if roll < 0.6:
            function = self.random.choice(["lower", "lower", "upper", "trim"])
            return Call(function, (self.term("string", depth - 1),))
        if roll < 0.75:
            bounds = [Literal("number", self.random.choice(["0", "1", "2", "-1", "5"]))]
            bounds.append(Literal("number", self.random.choice(["0", "1", "2", "9", "-1"])))
            return Call("substring", (self.term("string", depth - 1), *bounds))
        if roll < 0.9:
            others = [self.term("string", depth - 1), self.constant("string")]
            self.random.shuffle(others)
            return Call("concat", tuple(others))
        return Cast(self.attribute(self.random.choice(["number", "boolean", "string"])), "string")

    def time(self, depth: int) -> Term:
        roll = self.random.random()
        if roll < 0.25:
            return Call("now")
        if roll < 0.6:
            span = Literal("interval", *self.random.choice(INTERVALS))
            base = Call("now") if roll < 0.4 else self.term("time", depth - 1)
            return Arithmetic(self.random.choice("+-"), base, span)
        if roll < 0.8:
            return Call("date", (self.term("time", depth - 1),))
        return Cast(self.attribute("time"), self.random.choice(["timestamp", "date"]))


def expressions(
    random: Random, dull: bool = False, without: frozenset[str] = frozenset()
) -> Expressions:
    return Expressions(random, dict(KINDS), dull=dull, without=without)
