"""Reads the text of an expression as a tree, so that cases written by hand can be judged as well.

It takes what the language has, without caring for good messages: what it cannot read is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from judge.language import (
    MIRRORED,
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

T = TypeVar("T")

TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<string>'(?:''|[^'])*')
    |(?P<name>"(?:""|[^"])*"|`(?:``|[^`])*`)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    |(?P<sign><=>|<=|>=|<>|!=|==|&&|\|\||[-+*/%=<>!(),;^])
    """,
    re.VERBOSE | re.DOTALL,
)
DATE = re.compile(r"\d{4}(?:-\d{1,2}){2}(?:[Tt]\d+:|(?![\w.]))")  # refused where it has no quotes
SIGNS = {"==": "=", "<>": "!="}
COMPARISONS = {"=", "!=", "<", "<=", ">", ">=", "<=>"}
TYPED = {"timestamp", "date", "interval", "ip", "cidr", "version"}
TEXT_CALLS = {"startswith": "starts with", "endswith": "ends with", "contains": "contains"}
RESERVED = {
    *("and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false")
}


class Unreadable(Exception):  # noqa: N818 - what the tests skip
    """No text of this language, or one that the judge does not read."""


@dataclass
class Token:
    kind: str
    text: str

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind == "word" else ""


def tokens(text: str) -> list[Token]:
    found, place = [], 0
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None:
            raise Unreadable(text[place:])
        assert token.lastgroup is not None
        if token.lastgroup == "number" and DATE.match(text, place):
            raise Unreadable(text[place:])
        if token.lastgroup != "blank":
            found.append(Token(token.lastgroup, token[0]))
        place = token.end()
    return found


def unquoted(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


@dataclass
class Reader:
    tokens: list[Token]
    place: int = 0
    inside: list[bool] = field(default_factory=lambda: [False])

    # Tokens

    def peek(self, ahead: int = 0) -> Token:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else Token("end", "")

    def sign(self, *signs: str) -> str | None:
        token = self.peek()
        text = SIGNS.get(token.text, token.text)
        if token.kind == "sign" and text in signs:
            self.place += 1
            return text
        return None

    def words(self, *words: str) -> bool:
        if all(self.peek(ahead).word == word for ahead, word in enumerate(words)):
            self.place += len(words)
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.sign(sign):
            raise Unreadable(f"{sign} before {self.peek().text}")

    def string(self) -> str:
        token = self.peek()
        if token.kind != "string":
            raise Unreadable(f"a string, not {token.text}")
        self.place += 1
        return unquoted(token.text)

    def either(self, *ways: Callable[[], T]) -> T:
        """The first way that reads on, else what the last one says."""
        place = self.place
        for way in ways[:-1]:
            try:
                return way()
            except Unreadable:
                self.place = place
        return ways[-1]()

    # Expressions

    def whole(self) -> Node:
        node = self.disjunction()
        self.sign(";")
        if self.peek().kind != "end":
            raise Unreadable(self.peek().text)
        return node

    def chain(self, operand: Callable[[], Node], connectives: dict[str, str]) -> Node:
        node = operand()
        while True:
            for spelling, connective in connectives.items():
                if self.words(spelling) or self.sign(spelling):
                    node = Joined(connective, (node, operand()))
                    break
            else:
                return node

    def disjunction(self) -> Node:
        return self.chain(self.exclusion, {"or": "or", "||": "or"})

    def exclusion(self) -> Node:
        return self.chain(self.conjunction, {"xor": "xor", "xnor": "xnor"})

    def conjunction(self) -> Node:
        return self.chain(self.negation, {"and": "and", "&&": "and"})

    def negation(self) -> Node:
        if self.words("not") or self.sign("!"):
            return Not(self.negation())
        node = self.either(self.predicate, self.parenthesised)
        while self.peek().word == "is":
            place = self.place
            self.words("is")
            negated = self.words("not")
            truth = self.peek().word
            if truth not in ("true", "false", "unknown"):
                self.place = place
                raise Unreadable(truth)
            self.place += 1
            node = Is(node, truth, negated)
        return node

    def parenthesised(self) -> Node:
        self.need("(")
        node = self.disjunction()
        self.need(")")
        return node

    def predicate(self) -> Node:
        special = self.special()
        if special is not None:
            return special
        left = self.term()
        negated = self.words("not")
        node = self.tail(left, negated)
        if self.sign("^"):
            raise Unreadable("weights")
        return node

    def special(self) -> Node | None:
        """Constants, presence, elements and predicates that are written as calls."""
        token, called = self.peek(), self.peek(1).text == "("
        if token.word in ("true", "false") and self.peek(1).text not in [*COMPARISONS, "==", "<>"]:
            self.place += 1
            return Constant(token.word == "true")
        if not called:
            return None
        if token.word in ("exists", "missing"):
            self.place += 2
            term = self.term()
            self.need(")")
            return Presence(term, token.word)
        if token.word in ("any", "all", "none"):
            self.place += 2
            over = self.term()
            assert isinstance(over, Attribute | It)
            self.need(",")
            self.inside.append(True)
            inner = self.disjunction()
            self.inside.pop()
            self.need(")")
            return Quantified(token.word, over, inner)
        if token.word in TEXT_CALLS or token.word == "array_contains":
            self.place += 1
            left, right = self.arguments()
            if token.word == "array_contains":
                return Comparison(left, "=", right)
            return Textual(left, TEXT_CALLS[token.word], right)
        return None

    def tail(self, left: Term, negated: bool) -> Node:
        if self.words("in"):
            self.need("(")
            values = []
            while not self.sign(")"):
                value = self.term()
                if not isinstance(value, Literal):
                    raise Unreadable("a set of terms")
                values.append(value)
                if self.peek().text != ")":
                    self.need(",")
            return Among(left, tuple(values), negated)
        if self.words("between"):
            low = self.term()
            if not self.words("and"):
                raise Unreadable("and")
            return Between(left, low, self.term(), negated)
        for operator in ("starts with", "ends with", "contains"):
            if self.words(*operator.split()):
                return Textual(left, operator, self.term(), negated)
        for word in ("like", "ilike", "matches", "rlike", "regexp"):
            if self.words(word):
                return self.pattern(left, word, negated)
        if negated:
            raise Unreadable("not")
        return self.positive(left)

    def pattern(self, left: Term, word: str, negated: bool) -> Node:
        pattern = self.string()
        if word in ("rlike", "regexp"):
            word = "matches"
        if word != "matches" and self.words("escape"):
            mark = re.escape(self.string())
            plain = re.sub(rf"({mark}.|\\)", rewritten, pattern, flags=re.DOTALL)
            pattern = plain
        return Pattern(left, word, pattern, negated)

    def positive(self, left: Term) -> Node:
        operator = self.sign(*COMPARISONS)
        if operator is not None:
            right = self.term()
            if isinstance(left, Literal) and not isinstance(right, Literal):
                left, operator, right = right, MIRRORED[operator], left
            return Comparison(left, operator, right)
        if self.peek().word == "is":
            for negated in (False, True):
                is_not = ["is", "not"] if negated else ["is"]
                if self.words(*is_not, "null"):
                    return Presence(left, "is not null" if negated else "is null")
                if self.words(*is_not, "distinct", "from"):
                    return Distinct(left, self.term(), negated)
        if isinstance(left, Attribute | It):
            return Comparison(left, "=", Literal("boolean", "true"))
        raise Unreadable("a term alone")

    # Terms

    def term(self) -> Term:
        term = self.product()
        while operator := self.sign("+", "-"):
            term = Arithmetic(operator, term, self.product())
        return term

    def product(self) -> Term:
        term = self.signed()
        while operator := self.sign("*", "/", "%"):
            term = Arithmetic(operator, term, self.signed())
        return term

    def signed(self) -> Term:
        if not self.sign("-"):
            return self.atom()
        operand = self.signed()
        if isinstance(operand, Literal) and operand.kind == "number":
            negative = operand.text.startswith("-")
            return Literal("number", operand.text[1:] if negative else f"-{operand.text}")
        return Negative(operand)

    def atom(self) -> Term:
        token = self.peek()
        if self.sign("("):
            term = self.term()
            self.need(")")
            return term
        self.place += 1
        following = self.peek()
        match token.kind:
            case "number":
                return Literal("number", token.text)
            case "string":
                return Literal("string", unquoted(token.text))
            case "name":
                return Attribute(unquoted(token.text))
            case "word" if token.word in ("true", "false"):
                return Literal("boolean", token.word)
            case "word" if token.word in RESERVED:
                raise Unreadable(token.text)
            case "word" if token.word in TYPED and following.kind == "string":
                return self.typed(token.word)
            case "word" if token.word in ("cast", "try_cast") and following.text == "(":
                return self.cast()
            case "word" if following.text == "(":
                return Call(token.word, tuple(self.arguments()))
            case "word" if token.text == "it" and self.inside[-1]:
                return It()
            case "word":
                return Attribute(token.text)
        raise Unreadable(token.text)

    def typed(self, kind: str) -> Literal:
        text = self.string()
        if kind != "interval":
            return Literal(kind, text)  # type: ignore[arg-type]
        unit = self.peek().word
        self.place += 1
        return Literal("interval", text, unit)

    def cast(self) -> Term:
        self.need("(")
        operand = self.term()
        if not self.words("as"):
            raise Unreadable("as")
        type = self.peek().word
        self.place += 1
        self.need(")")
        return Cast(operand, type)

    def arguments(self) -> list[Term]:
        self.need("(")
        found: list[Term] = []
        while not self.sign(")"):
            found.append(self.term())
            if self.peek().text != ")":
                self.need(",")
        return found


def rewritten(found: re.Match[str]) -> str:
    """What another escape character makes literal, by the usual one."""
    return "\\" + found[0][-1]


def read(text: str) -> Node:
    return Reader(tokens(text)).whole()
