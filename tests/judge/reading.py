"""Parses the text of an expression, so that handwritten cases can be judged, too.

It supports the whole language, but its error messages are not helpful.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from judge import language as tree
from judge.language import MIRRORED

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
DATE = re.compile(r"\d{4}(?:-\d{1,2}){2}(?:[Tt]\d+:|(?![\w.]))")  # refused without quotes
SIGNS = {"==": "=", "<>": "!="}
COMPARISONS = {"=", "!=", "<", "<=", ">", ">=", "<=>"}
TYPED = {"timestamp", "date", "interval", "ip", "cidr", "version"}
TEXT_CALLS = {"startswith": "starts with", "endswith": "ends with", "contains": "contains"}
RESERVED = {
    *("and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false")
}


class Unreadable(Exception):  # noqa: N818 - what the tests skip
    """The text is not valid, or the judge does not support it."""


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
        """The first way that succeeds, or the error of the last one."""
        place = self.place
        for way in ways[:-1]:
            try:
                return way()
            except Unreadable:
                self.place = place
        return ways[-1]()

    # Expressions

    def whole(self) -> tree.Node:
        node = self.disjunction()
        self.sign(";")
        if self.peek().kind != "end":
            raise Unreadable(self.peek().text)
        return node

    def chain(self, operand: Callable[[], tree.Node], connectives: dict[str, str]) -> tree.Node:
        node = operand()
        while True:
            for spelling, connective in connectives.items():
                if self.words(spelling) or self.sign(spelling):
                    node = tree.Joined(connective, (node, operand()))
                    break
            else:
                return node

    def disjunction(self) -> tree.Node:
        return self.chain(self.exclusion, {"or": "or", "||": "or"})

    def exclusion(self) -> tree.Node:
        return self.chain(self.conjunction, {"xor": "xor", "xnor": "xnor"})

    def conjunction(self) -> tree.Node:
        return self.chain(self.negation, {"and": "and", "&&": "and"})

    def negation(self) -> tree.Node:
        if self.words("not") or self.sign("!"):
            return tree.Not(self.negation())
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
            node = tree.Is(node, truth, negated)
        return node

    def parenthesised(self) -> tree.Node:
        self.need("(")
        node = self.disjunction()
        self.need(")")
        return node

    def predicate(self) -> tree.Node:
        special = self.special()
        if special is not None:
            return special
        left = self.term()
        negated = self.words("not")
        node = self.tail(left, negated)
        if self.sign("^"):
            raise Unreadable("weights")
        return node

    def special(self) -> tree.Node | None:
        """Constants, presence, elements and predicates that are written as calls."""
        token, called = self.peek(), self.peek(1).text == "("
        if token.word in ("true", "false") and self.peek(1).text not in [*COMPARISONS, "==", "<>"]:
            self.place += 1
            return tree.Constant(token.word == "true")
        if not called:
            return None
        if token.word in ("exists", "missing"):
            self.place += 2
            term = self.term()
            self.need(")")
            return tree.Presence(term, token.word)
        if token.word in ("any", "all", "none"):
            self.place += 2
            over = self.term()
            assert isinstance(over, tree.Attribute | tree.It)
            self.need(",")
            self.inside.append(True)
            inner = self.disjunction()
            self.inside.pop()
            self.need(")")
            return tree.Quantified(token.word, over, inner)
        if token.word in TEXT_CALLS or token.word == "array_contains":
            self.place += 1
            left, right = self.arguments()
            if token.word == "array_contains":
                return tree.Comparison(left, "=", right)
            return tree.Textual(left, TEXT_CALLS[token.word], right)
        return None

    def tail(self, left: tree.Term, negated: bool) -> tree.Node:
        if self.words("in"):
            self.need("(")
            values = []
            while not self.sign(")"):
                value = self.term()
                if not isinstance(value, tree.Literal):
                    raise Unreadable("a set of terms")
                values.append(value)
                if self.peek().text != ")":
                    self.need(",")
            return tree.Among(left, tuple(values), negated)
        if self.words("between"):
            low = self.term()
            if not self.words("and"):
                raise Unreadable("and")
            return tree.Between(left, low, self.term(), negated)
        for operator in ("starts with", "ends with", "contains"):
            if self.words(*operator.split()):
                return tree.Textual(left, operator, self.term(), negated)
        for word in ("like", "ilike", "matches", "rlike", "regexp"):
            if self.words(word):
                return self.pattern(left, word, negated)
        if negated:
            raise Unreadable("not")
        return self.positive(left)

    def pattern(self, left: tree.Term, word: str, negated: bool) -> tree.Node:
        pattern = self.string()
        if word in ("rlike", "regexp"):
            word = "matches"
        if word != "matches" and self.words("escape"):
            mark = re.escape(self.string())
            plain = re.sub(rf"({mark}.|\\)", rewritten, pattern, flags=re.DOTALL)
            pattern = plain
        return tree.Pattern(left, word, pattern, negated)

    def positive(self, left: tree.Term) -> tree.Node:
        operator = self.sign(*COMPARISONS)
        if operator is not None:
            right = self.term()
            if isinstance(left, tree.Literal) and not isinstance(right, tree.Literal):
                left, operator, right = right, MIRRORED[operator], left
            return tree.Comparison(left, operator, right)
        if self.peek().word == "is":
            for negated in (False, True):
                is_not = ["is", "not"] if negated else ["is"]
                if self.words(*is_not, "null"):
                    return tree.Presence(left, "is not null" if negated else "is null")
                if self.words(*is_not, "distinct", "from"):
                    return tree.Distinct(left, self.term(), negated)
        if isinstance(left, tree.Attribute | tree.It):
            return tree.Comparison(left, "=", tree.Literal("boolean", "true"))
        raise Unreadable("a term alone")

    # Terms

    def term(self) -> tree.Term:
        term = self.product()
        while operator := self.sign("+", "-"):
            term = tree.Arithmetic(operator, term, self.product())
        return term

    def product(self) -> tree.Term:
        term = self.signed()
        while operator := self.sign("*", "/", "%"):
            term = tree.Arithmetic(operator, term, self.signed())
        return term

    def signed(self) -> tree.Term:
        if not self.sign("-"):
            return self.atom()
        operand = self.signed()
        if isinstance(operand, tree.Literal) and operand.kind == "number":
            negative = operand.text.startswith("-")
            return tree.Literal("number", operand.text[1:] if negative else f"-{operand.text}")
        return tree.Negative(operand)

    def atom(self) -> tree.Term:
        token = self.peek()
        if self.sign("("):
            term = self.term()
            self.need(")")
            return term
        self.place += 1
        following = self.peek()
        match token.kind:
            case "number":
                return tree.Literal("number", token.text)
            case "string":
                return tree.Literal("string", unquoted(token.text))
            case "name":
                return tree.Attribute(unquoted(token.text))
            case "word" if token.word in ("true", "false"):
                return tree.Literal("boolean", token.word)
            case "word" if token.word in RESERVED:
                raise Unreadable(token.text)
            case "word" if token.word in TYPED and following.kind == "string":
                return self.typed(token.word)
            case "word" if token.word in ("cast", "try_cast") and following.text == "(":
                return self.cast()
            case "word" if following.text == "(":
                return tree.Call(token.word, tuple(self.arguments()))
            case "word" if token.text == "it" and self.inside[-1]:
                return tree.It()
            case "word":
                return tree.Attribute(token.text)
        raise Unreadable(token.text)

    def typed(self, kind: str) -> tree.Literal:
        text = self.string()
        if kind != "interval":
            return tree.Literal(kind, text)  # type: ignore[arg-type]
        unit = self.peek().word
        self.place += 1
        return tree.Literal("interval", text, unit)

    def cast(self) -> tree.Term:
        self.need("(")
        operand = self.term()
        if not self.words("as"):
            raise Unreadable("as")
        type = self.peek().word
        self.place += 1
        self.need(")")
        return tree.Cast(operand, type)

    def arguments(self) -> list[tree.Term]:
        self.need("(")
        found: list[tree.Term] = []
        while not self.sign(")"):
            found.append(self.term())
            if self.peek().text != ")":
                self.need(",")
        return found


def rewritten(found: re.Match[str]) -> str:
    """Replace another escape character by the usual one."""
    return "\\" + found[0][-1]


def read(text: str) -> tree.Node:
    return Reader(tokens(text)).whole()
