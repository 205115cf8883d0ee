"""The language: terms and expressions as small trees, and how they are written.

The writer makes choices that must not matter (parentheses, spellings, white space), taken from a
random generator; without one it writes plainly.
"""

import re
from dataclasses import dataclass
from random import Random
from typing import Literal as Choice
from typing import TypeAlias

Kind: TypeAlias = Choice[
    "number", "string", "boolean", "timestamp", "date", "interval", "ip", "cidr", "version"
]

# Terms


@dataclass(frozen=True)
class Attribute:
    name: str


@dataclass(frozen=True)
class It:
    """The element itself, inside `any`, `all` and `none`."""


@dataclass(frozen=True)
class Literal:
    """A constant by its text: `20.50`, `it's`, `2026-01-02`; an interval also has a unit."""

    kind: Kind
    text: str
    unit: str = ""


@dataclass(frozen=True)
class Call:
    """A function by its name: `lower`, `substring`, `coalesce`, `now`, `values`, `bucket` ..."""

    function: str
    arguments: tuple["Term", ...] = ()


@dataclass(frozen=True)
class Cast:
    operand: "Term"
    type: str


@dataclass(frozen=True)
class Arithmetic:
    """One of `+ - * / %`."""

    operator: str
    left: "Term"
    right: "Term"


@dataclass(frozen=True)
class Negative:
    operand: "Term"


Term: TypeAlias = Attribute | It | Literal | Call | Cast | Arithmetic | Negative

# Expressions


@dataclass(frozen=True)
class Constant:
    value: bool


@dataclass(frozen=True)
class Not:
    child: "Node"


@dataclass(frozen=True)
class Joined:
    """Two or more children of `and` or `or`; exactly two of `xor` or `xnor`."""

    connective: str
    children: tuple["Node", ...]


@dataclass(frozen=True)
class Comparison:
    """One of `= != < <= > >=`, or `<=>`."""

    left: Term
    operator: str
    right: Term


@dataclass(frozen=True)
class Distinct:
    """`is distinct from`, or with `negated` `is not distinct from`."""

    left: Term
    right: Term
    negated: bool


@dataclass(frozen=True)
class Among:
    term: Term
    values: tuple[Literal, ...]
    negated: bool = False


@dataclass(frozen=True)
class Between:
    term: Term
    low: Term
    high: Term
    negated: bool = False


@dataclass(frozen=True)
class Textual:
    """One of `starts with`, `ends with`, `contains`."""

    term: Term
    operator: str
    right: Term
    negated: bool = False


@dataclass(frozen=True)
class Pattern:
    """One of `like`, `ilike`, `matches`; the pattern escapes with a backslash."""

    term: Term
    operator: str
    pattern: str
    negated: bool = False


@dataclass(frozen=True)
class Presence:
    """One of `exists`, `missing`, `is null`, `is not null`."""

    term: Term
    operator: str


@dataclass(frozen=True)
class Quantified:
    """One of `any`, `all`, `none` over the elements of an attribute."""

    quantifier: str
    list: Attribute | It
    inner: "Node"


@dataclass(frozen=True)
class Is:
    child: "Node"
    truth: str
    negated: bool = False


Node: TypeAlias = (
    Constant
    | Not
    | Joined
    | Comparison
    | Distinct
    | Among
    | Between
    | Textual
    | Pattern
    | Presence
    | Quantified
    | Is
)

MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
RESERVED = {
    *("and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false")
}
LEVELS = {"or": 0, "xor": 1, "xnor": 1, "and": 2}
PLAIN = Random(0)


def children(node: Node) -> tuple[Node, ...]:
    """The children of an expression, without those about elements."""
    match node:
        case Not(child) | Is(child):
            return (child,)
        case Joined(_, children):
            return children
        case _:
            return ()


def terms(node: Node) -> tuple[Term, ...]:
    """The terms that an expression compares, not those of its children."""
    match node:
        case Comparison(left, _, right) | Distinct(left, right):
            return (left, right)
        case Among(term) | Pattern(term) | Presence(term):
            return (term,)
        case Textual(term, _, right):
            return (term, right)
        case Between(term, low, high):
            return (term, low, high)
        case _:
            return ()


# Writing


class Writer:
    """Writes nodes as text, with choices from a random generator, or plainly."""

    def __init__(self, random: Random | None = None) -> None:
        self.random = random

    def chance(self, probability: float) -> bool:
        return self.random is not None and self.random.random() < probability

    def word(self, keyword: str) -> str:
        return keyword.upper() if self.chance(0.2) else keyword

    def blank(self) -> str:
        if self.random is not None and self.chance(0.1):
            return self.random.choice(["\n", "  ", "\t", " /* it's a comment */ ", " -- a 'b\n"])
        return " "

    def node(self, node: Node, level: int = 0) -> str:
        """An expression, in parentheses if it binds less tightly than its surroundings."""
        written, own = self.bare(node)
        return f"({written})" if own < level or self.chance(0.1) else written

    def bare(self, node: Node) -> tuple[str, int]:
        match node:
            case Constant(value):
                return self.word(str(value).lower()), 4
            case Not(child):
                return f"{self.word('not')} {self.node(child, 3)}", 3
            case Joined(connective, children):
                level = LEVELS[connective]
                inside = [self.node(children[0], level)]
                inside += [self.node(child, level + 1) for child in children[1:]]
                return self.join(f" {self.word(connective)}{self.blank()}", inside), level
            case Is(child, truth, negated):
                written = f"({self.node(child)}) is {'not ' if negated else ''}{truth}"
                return written, 4
            case Quantified(quantifier, list, inner):
                return f"{self.word(quantifier)}({self.term(list)}, {self.node(inner)})", 4
            case _:
                return self.predicate(node), 4

    def join(self, separator: str, parts: list[str]) -> str:
        return separator.join(parts)

    def predicate(self, node: Node) -> str:
        match node:
            case Comparison(left, operator, right):
                if isinstance(right, Literal) and self.chance(0.2):
                    left, operator, right = right, MIRRORED[operator], left
                if operator == "!=" and self.chance(0.3):
                    operator = "<>"
                return f"{self.term(left)}{self.blank()}{operator} {self.term(right)}"
            case Distinct(left, right, negated):
                words = self.word("is not distinct from" if negated else "is distinct from")
                return f"{self.term(left)} {words} {self.term(right)}"
            case Among(term, values, negated):
                words = self.word("not in" if negated else "in")
                written = ", ".join(self.term(value) for value in values)
                return f"{self.term(term)} {words} ({written})"
            case Between(term, low, high, negated):
                words = self.word("not between" if negated else "between")
                return f"{self.term(term)} {words} {self.term(low)} and {self.term(high)}"
            case Textual(term, operator, right, negated):
                function = operator.replace(" ", "")
                if not negated and self.chance(0.15):
                    return f"{function}({self.term(term)}, {self.term(right)})"
                words = self.word(f"not {operator}" if negated else operator)
                return f"{self.term(term)} {words} {self.term(right)}"
            case Pattern(term, operator, pattern, negated):
                return self.pattern(term, operator, pattern, negated)
            case Presence(term, "exists" | "missing" as operator):
                return f"{self.word(operator)}({self.term(term)})"
            case Presence(term, operator):
                return f"{self.term(term)} {self.word(operator)}"
        raise AssertionError(node)

    def pattern(self, term: Term, operator: str, pattern: str, negated: bool) -> str:
        if operator == "matches" and self.random is not None and self.chance(0.2):
            operator = self.random.choice(["rlike", "regexp"])
        escape = ""
        if operator in ("like", "ilike") and "!" not in pattern and self.chance(0.15):
            pattern = re.sub(r"\\(.)", lambda found: escaped(found[1]), pattern, flags=re.DOTALL)
            escape = " escape '!'"
        words = self.word(f"not {operator}" if negated else operator)
        return f"{self.term(term)} {words} {quoted(pattern)}{escape}"

    def term(self, term: Term, level: int = 0) -> str:
        written, own = self.bare_term(term)
        extra = own < 3 and self.chance(0.1)
        return f"({written})" if own < level or extra else written

    def bare_term(self, term: Term) -> tuple[str, int]:
        match term:
            case Attribute(name):
                return self.name(name), 3
            case It():
                return "it", 3
            case Literal():
                written = literal(term)
                return written, 2 if written.startswith("-") else 3
            case Call(function, arguments):
                written = ", ".join(self.term(argument) for argument in arguments)
                return f"{self.word(function)}({written})", 3
            case Cast(operand, type):
                function = "try_cast" if self.chance(0.2) else "cast"
                return f"{function}({self.term(operand)} as {type})", 3
            case Arithmetic("+" | "-" as operator, left, right):
                return f"{self.term(left, 0)} {operator} {self.term(right, 1)}", 0
            case Arithmetic(operator, left, right):
                return f"{self.term(left, 1)} {operator} {self.term(right, 2)}", 1
            case Negative(operand):
                return f"-{self.term(operand, 3)}", 2

    def name(self, name: str) -> str:
        plain = re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name, re.ASCII)
        if plain and name.lower() not in RESERVED | {"it"} and not self.chance(0.1):
            return name
        if self.chance(0.3):
            return "`" + name.replace("`", "``") + "`"
        return '"' + name.replace('"', '""') + '"'


def escaped(character: str) -> str:
    return f"!{character}" if character in "%_" else character


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal(literal: Literal) -> str:
    match literal.kind:
        case "number" | "boolean":
            return literal.text
        case "string":
            return quoted(literal.text)
        case "interval":
            return f"interval {quoted(literal.text)} {literal.unit}"
        case kind:
            return f"{kind} {quoted(literal.text)}"


def text(node: Node, random: Random | None = None) -> str:
    return Writer(random).node(node)
