"""Laws of the text of expressions with terms, types and lists."""

import copy
import pickle
import re
from collections.abc import Iterator
from random import Random

from hypothesis import given
from hypothesis import strategies as st

import tamis
from judge.generate import expressions
from judge.language import Node, text
from tamis import Expression

seeds = st.integers(0, (1 << 32) - 1)


def random_node(seed: int) -> Node:
    return expressions(Random(seed)).node()


nodes = seeds.map(random_node)


@given(nodes)
def test_the_printed_text_reads_as_the_same_expression(node: Node) -> None:
    expression = tamis.parse(text(node))
    again = tamis.parse(str(expression))
    assert again == expression
    assert hash(again) == hash(expression)
    assert str(again) == str(expression)


@given(nodes)
def test_the_json_form_reads_as_the_same_expression(node: Node) -> None:
    expression = tamis.parse(text(node))
    form = expression.to_json()
    assert Expression.from_json(form) == expression
    assert Expression.from_json(form.encode()) == expression
    assert Expression.from_json(form).to_json() == form


@given(nodes, st.randoms(use_true_random=False))
def test_spelling_does_not_matter(node: Node, random: Random) -> None:
    expression = tamis.parse(text(node))
    for ending in ("", ";", " ;\n", " -- done"):
        assert tamis.parse(text(node, random) + ending) == expression


def without_a_pair(written: str) -> Iterator[str]:
    """The text without one pair of parentheses, except those of calls and sets."""
    quoted = [found.span() for found in re.finditer(r"'(?:''|[^'])*'|\"(?:\"\"|[^\"])*\"", written)]
    opened: list[int] = []
    for place, character in enumerate(written):
        if any(start <= place < end for start, end in quoted):
            continue
        if character == "(":
            opened.append(place)
        elif character == ")":
            start = opened.pop()
            called = re.search(r"[\w\"`]$|\bin $", written[:start])
            if not called:
                yield f"{written[:start]} {written[start + 1 : place]} {written[place + 1 :]}"


@given(nodes)
def test_no_parentheses_are_left_out_or_too_many(node: Node) -> None:
    expression = tamis.parse(text(node))
    for fewer in without_a_pair(str(expression)):
        try:
            other = tamis.parse(fewer)
        except tamis.ExpressionError:
            continue
        assert other != expression, fewer


@given(nodes, nodes)
def test_equality_follows_the_printed_text(first: Node, second: Node) -> None:
    left, right = tamis.parse(text(first)), tamis.parse(text(second))
    assert (left == right) == (str(left) == str(right))
    if left == right:
        assert hash(left) == hash(right)


@given(nodes, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_expressions_are_pickled_and_copied(node: Node, protocol: int) -> None:
    expression = tamis.parse(text(node))
    assert pickle.loads(pickle.dumps(expression, protocol)) == expression
    assert copy.deepcopy([expression]) == [expression]


@given(nodes, st.randoms(use_true_random=False), st.data())
def test_damaged_text_is_read_or_refused(node: Node, random: Random, data: st.DataObject) -> None:
    written = text(node, random)
    start = data.draw(st.integers(0, len(written)))
    length = data.draw(st.integers(0, 3))
    patch = data.draw(st.sampled_from(["", *"()'\"^,=\\-é`;*/+%", "not", "--", "/*", "any(", "it"]))
    try:
        expression = tamis.parse(written[:start] + patch + written[start + length :])
    except (tamis.ExpressionError, tamis.LimitError):
        return
    assert tamis.parse(str(expression)) == expression
    assert Expression.from_json(expression.to_json()) == expression
