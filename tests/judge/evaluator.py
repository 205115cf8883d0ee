"""Evaluates an expression: a function of the tree, the event and the setting.

Written only from the description of the language. Raises `Unspecified` if that leaves something
open.
"""

import ipaddress
import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias
from typing import Literal as Choice

from judge import language as tree
from judge import values as v
from judge.functions import (
    lower,
    regular,
    textual,
)
from judge.terms import Scope, Setting, Terms, holds_objects, is_null
from judge.values import Number, Unspecified, Value

Truth: TypeAlias = Choice["true", "false", "unknown"]


def evaluate(node: tree.Node, event: Mapping[str, Any], setting: Setting | None = None) -> Truth:
    return Evaluation(Scope(setting or Setting(), event)).node(node)


# Three truth values


def truth(value: bool) -> Truth:
    return "true" if value else "false"


def negate(truth: Truth) -> Truth:
    negations: dict[Truth, Truth] = {"true": "false", "false": "true", "unknown": "unknown"}
    return negations[truth]


def conjunction(truths: list[Truth]) -> Truth:
    if "false" in truths:
        return "false"
    return "unknown" if "unknown" in truths else "true"


def exclusive(left: Truth, right: Truth) -> Truth:
    return "unknown" if "unknown" in (left, right) else truth(left != right)


class Evaluation(Terms):
    """The truth of expressions in one scope."""

    def node(self, node: tree.Node) -> Truth:
        match node:
            case tree.Constant(value):
                return truth(value)
            case tree.Not(child):
                return negate(self.node(child))
            case tree.Joined(connective, children):
                truths = [self.node(child) for child in children]
                match connective:
                    case "and":
                        return conjunction(truths)
                    case "or":
                        return negate(conjunction([negate(truth) for truth in truths]))
                    case "xor":
                        return exclusive(*truths)
                    case _:
                        return negate(exclusive(*truths))
            case tree.Is(child, wanted, negated):
                return truth((self.node(child) == wanted) != negated)
            case tree.Quantified():
                return self.quantified(node)
            case tree.Presence(term, operator):
                return self.presence(term, operator)
            case tree.Distinct(left, right, negated):
                same = self.same(left, right)
                return same if negated else negate(same)
            case tree.Comparison(left, "<=>", right):
                return self.same(left, right)
            case _:
                return self.predicate(node)

    def some(self, test: Callable[..., bool], *terms: tree.Term) -> Truth:
        """Whether some values of the terms satisfy a test; without values, `missing` decides."""
        found = [self.values(term) for term in terms]
        if not all(found):
            return self.scope.setting.missing
        results = [test(*chosen) for chosen in itertools.product(*found)]
        return truth(any(results))

    def predicate(self, node: tree.Node) -> Truth:
        match node:
            case tree.Comparison(left, "!=", right):
                return negate(self.predicate(tree.Comparison(left, "=", right)))
            case tree.Comparison(left, operator, right):
                return self.some(
                    lambda a, b: self.compare(a, operator, b, left, right), left, right
                )
            case tree.Among(term, literals, True):
                return negate(self.predicate(tree.Among(term, literals)))
            case tree.Among(term, literals):
                return self.some(lambda value: self.among(value, literals), term)
            case tree.Between(term, low, high, True):
                return negate(self.predicate(tree.Between(term, low, high)))
            case tree.Between(term, tree.Literal() as low, tree.Literal() as high):
                (least,), (most,) = self.values(low), self.values(high)
                return self.some(
                    lambda value: (
                        self.compare(value, ">=", least, term, low)
                        & self.compare(value, "<=", most, term, high)
                    ),
                    term,
                )
            case tree.Between(term, low, high):
                ends = [tree.Comparison(term, ">=", low), tree.Comparison(term, "<=", high)]
                return conjunction([self.predicate(end) for end in ends])
            case tree.Textual(term, operator, right, True):
                return negate(self.predicate(tree.Textual(term, operator, right)))
            case tree.Textual(term, operator, right):
                return self.some(lambda a, b: textual(a, operator, b), term, right)
            case tree.Pattern(term, operator, pattern, True):
                return negate(self.predicate(tree.Pattern(term, operator, pattern)))
            case tree.Pattern(term, "ilike", pattern):
                lowered = tree.Pattern(tree.Call("lower", (term,)), "like", lower(pattern))
                return self.predicate(lowered)
            case tree.Pattern(term, operator, pattern):
                wanted = regular(pattern) if operator == "like" else pattern.replace("$", r"\Z")
                flags = re.DOTALL if operator == "like" else 0
                try:
                    expression = re.compile(wanted, flags)
                except re.error:
                    raise Unspecified("a regular expression that Python does not read") from None
                return self.some(
                    lambda a: isinstance(a, str) and expression.search(a) is not None, term
                )
        raise AssertionError(node)

    def compare(self, left: Value, operator: str, right: Value, *terms: tree.Term) -> bool:
        """One comparison; a string literal compared with a time of the event is unspecified."""
        for term, met in zip(terms, (right, left), strict=True):
            wordy = isinstance(term, tree.Literal) and term.kind == "string"
            if wordy and not isinstance(met, str | bool | Number):
                raise Unspecified("a string literal against a time of the event")
        return v.holds(left, operator, right, self.zone)

    def among(self, value: Value, literals: tuple[tree.Literal, ...]) -> bool:
        results = [self.is_one(value, literal) for literal in literals]  # all, to find open ones
        return any(results)

    def is_one(self, value: Value, literal: tree.Literal) -> bool:
        if literal.kind != "cidr":
            (wanted,) = self.values(literal)
            return self.compare(value, "=", wanted, literal, literal)
        address = v.read_address(value) if isinstance(value, str) else value
        network = ipaddress.ip_network(literal.text)
        return isinstance(address, v.Address) and address in network

    def same(self, left: tree.Term, right: tree.Term) -> Truth:
        first, second = self.values(left), self.values(right)
        if not first or not second:
            return truth(not first and not second)
        return self.predicate(tree.Comparison(left, "=", right))

    # Presence and elements

    def presence(self, term: tree.Term, operator: str) -> Truth:
        if operator in ("missing", "is not null"):
            opposite = "exists" if operator == "missing" else "is null"
            return negate(self.presence(term, opposite))
        if operator == "is null":
            if isinstance(term, tree.It) and isinstance(self.scope.raw, dict | list):
                raise Unspecified("whether an object is null")
            return truth(not self.values(term))
        assert isinstance(term, tree.Attribute | tree.It)
        found, through = self.scope.find(term)
        if through or any(isinstance(raw, dict) or holds_objects(raw) for raw in found):
            raise Unspecified("the presence of what is no value")
        return truth(any(self.scalars(raw) or is_null(raw) for raw in found))

    def quantified(self, node: tree.Quantified) -> Truth:
        if node.quantifier == "none":
            return negate(self.quantified(replace(node, quantifier="any")))
        found, through = self.scope.find(node.list)
        if through:
            raise Unspecified("the elements of lists in a list")
        if not found or is_null(found[0]):
            return self.scope.setting.missing
        elements = found[0] if isinstance(found[0], list) else found
        if any(isinstance(element, list) for element in elements):
            raise Unspecified("a list in a list")
        inner = [
            Evaluation(replace(self.scope, raw=element, inside=True)).node(node.inner) == "true"
            for element in elements
        ]
        return truth(any(inner) if node.quantifier == "any" else all(inner))
