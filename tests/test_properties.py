"""Laws that hold for every expression and event, and comparison with the oracle."""

import copy
import json
import pickle
from collections import UserDict
from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Any, TypeAlias

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import oracle
import tamis
import writers
from oracle import Matcher, Missing, Node, Predicate, Truth
from strategies import close_predicates, events, expressions, json_of, matchers, missing, randoms
from tamis import EventError, Expression, Index, LimitError

Events: TypeAlias = list[dict[str, Any]]
ANY = Random(0)
NORMALISING: tuple[Matcher, ...] = ("kindex", "cnf")


def build(node: Node) -> Expression:
    """The expression of a node, unless its normal form is too large for some matchers."""
    expression = writers.build(node, ANY)
    for matcher in NORMALISING:
        try:
            Index(matcher=matcher).add("x", expression)
        except LimitError as error:
            if error.limit != "normal_form":
                raise
            reject()
    return expression


def truth_of(expression: Expression, event: Mapping[str, Any], missing: Missing) -> Truth:
    index = Index(missing=missing)
    index.add("x", expression)
    return index.explain("x", event).truth


def expected(nodes: Mapping[Any, Node], event: Mapping[str, Any], missing: Missing) -> list[Any]:
    """The ids whose expressions the oracle finds true."""
    return [id for id, node in nodes.items() if oracle.evaluate(node, event, missing) == "true"]


def mentioned(nodes: Mapping[Any, Node]) -> set[str]:
    return {name for node in nodes.values() for name in oracle.attributes(node)}


def unambiguous(event: dict[str, Any]) -> bool:
    """Whether every attribute occurs once: `{"a.b": 1, "a": {"b": 2}}` has one twice."""
    return not oracle.given_twice(event, {name for name, _ in oracle.pairs(event)})


plain_events = events.filter(unambiguous)


# The language


@given(expressions)
def test_the_printed_text_reads_as_the_same_expression(node: Node) -> None:
    expression = build(node)
    again = tamis.parse(str(expression))
    assert again == expression
    assert hash(again) == hash(expression)
    assert str(again) == str(expression)


@given(expressions)
def test_the_json_form_reads_as_the_same_expression(node: Node) -> None:
    expression = build(node)
    form = expression.to_json()
    assert Expression.from_json(form) == expression
    assert Expression.from_json(form.encode()) == expression
    assert Expression.from_json(json.dumps(json.loads(form), indent=2)) == expression


@given(expressions, randoms, st.data())
def test_builder_text_and_json_form_agree(node: Node, random: Random, data: st.DataObject) -> None:
    built = writers.build(node, random)
    written = writers.text(node, random)
    form = data.draw(json_of(writers.form(node, random)))
    assert tamis.parse(written) == built
    assert Expression.from_json(form) == built
    assert set(built.attributes) == oracle.attributes(node)


@given(expressions, expressions)
def test_equality_follows_the_printed_text(first: Node, second: Node) -> None:
    left, right = build(first), build(second)
    assert (left == right) == (str(left) == str(right))
    assert (left != right) == (str(left) != str(right))
    if left == right:
        assert hash(left) == hash(right)


@given(expressions, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_expressions_are_pickled_and_copied(node: Node, protocol: int) -> None:
    expression = build(node)
    assert pickle.loads(pickle.dumps(expression, protocol)) == expression
    assert copy.copy(expression) == expression
    assert copy.deepcopy([expression]) == [expression]


def read_or_refuse(text: str) -> None:
    try:
        expression = tamis.parse(text)
    except (tamis.ExpressionError, tamis.LimitError):
        return
    assert tamis.parse(str(expression)) == expression


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


@given(expressions, randoms, st.data())
def test_damaged_text_is_read_or_refused(node: Node, random: Random, data: st.DataObject) -> None:
    text = writers.text(node, random)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 3))
    patch = data.draw(st.sampled_from(["", *"()'\"^,=\\-é", "not", "--"]))
    read_or_refuse(text[:start] + patch + text[start + length :])


@given(expressions, randoms, st.data())
def test_damaged_json_is_read_or_refused(node: Node, random: Random, data: st.DataObject) -> None:
    text = json.dumps(writers.form(node, random))
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 3))
    patch = data.draw(st.sampled_from(["", *'{}[]",:\\-1é', "true", "null"]))
    try:
        expression = Expression.from_json(text[:start] + patch + text[start + length :])
    except (tamis.ExpressionError, tamis.LimitError):
        return
    assert Expression.from_json(expression.to_json()) == expression
    assert tamis.parse(str(expression)) == expression


# What matches


@given(
    st.lists(expressions, max_size=6), st.lists(events, max_size=4), matchers, missing, st.data()
)
def test_the_index_is_the_oracle(
    nodes: list[Node], events: Events, matcher: Matcher, missing: Missing, data: st.DataObject
) -> None:
    numbered = dict(enumerate(nodes))
    index = Index(matcher=matcher, missing=missing)
    index.add_many((id, build(node)) for id, node in numbered.items())
    for event in events:
        forms = [event, MappingProxyType(event), UserDict(event), data.draw(json_of(event))]
        if oracle.given_twice(event, mentioned(numbered)):
            for form in forms:
                with pytest.raises(EventError, match="twice"):
                    index.match(form)
            continue
        for form in forms:
            assert index.match(form) == expected(numbered, event, missing)


@given(close_predicates(), matchers, missing)
def test_predicates_are_the_oracle(
    predicates_and_event: tuple[list[Predicate], dict[str, Any]], matcher: Matcher, missing: Missing
) -> None:
    predicates, event = predicates_and_event
    index = Index(matcher=matcher, missing=missing)
    index.add_many((id, build(predicate)) for id, predicate in enumerate(predicates))
    for form in (event, json.dumps(event)):
        truths = [index.explain(id, form).truth for id in index]
        assert truths == [oracle.evaluate(predicate, event, missing) for predicate in predicates]
        assert index.match(form) == [id for id, truth in enumerate(truths) if truth == "true"]


@given(expressions, plain_events, missing, st.data())
def test_explanations_are_the_oracle(
    node: Node, event: dict[str, Any], missing: Missing, data: st.DataObject
) -> None:
    index = Index(missing=missing)
    index.add("x", build(node))
    truth = oracle.evaluate(node, event, missing)
    for form in (event, data.draw(json_of(event))):
        explanation = index.explain("x", form)
        assert explanation.truth == truth
        assert explanation.matched == (truth == "true")
        assert (index.match(form) == ["x"]) == explanation.matched
        assert explanation.to_dict()["truth"] == truth
        assert str(explanation).startswith(truth)


@given(expressions, plain_events, missing)
def test_explanations_add_up(node: Node, event: dict[str, Any], missing: Missing) -> None:
    """The truth of every part follows from its children, that of a predicate from its values."""
    index = Index(missing=missing)
    index.add("x", build(node))
    seen = dict(oracle.pairs(event))
    parts = [index.explain("x", event).to_dict()]
    for part in parts:
        children = part.get("children", [])
        parts.extend(children)
        truths = [child["truth"] for child in children]
        match part["text"]:
            case "and" if children:
                assert part["truth"] == oracle.conjunction(truths)
            case "or" if children:
                assert part["truth"] == oracle.disjunction(truths)
            case "not" if children:
                assert part["truth"] == oracle.negate(*truths)
            case "xor" if children:
                assert part["truth"] == oracle.exclusive(*truths)
            case "xnor" if children:
                assert part["truth"] == oracle.negate(oracle.exclusive(*truths))
            case "true" | "false" as constant:
                assert part == {"text": constant, "truth": constant}
            case _:
                values = seen.get(part["attribute"], [])
                assert part["seen"] == ("missing" if values == [] else values)


@given(st.lists(expressions, max_size=4), st.lists(plain_events, max_size=4), matchers, missing)
def test_a_batch_is_its_events_one_by_one(
    nodes: list[Node], events: Events, matcher: Matcher, missing: Missing
) -> None:
    index = Index(matcher=matcher, missing=missing)
    index.add_many((str(id), build(node)) for id, node in enumerate(nodes))
    one_by_one = [index.match(event) for event in events]
    lines = "\n\n".join(json.dumps(event) for event in events)
    assert index.match_batch(events) == one_by_one
    assert index.match_batch(iter(events)) == one_by_one
    assert index.match_batch([json.dumps(event) for event in events]) == one_by_one
    assert index.match_batch(lines) == one_by_one
    assert index.match_batch(lines.encode()) == one_by_one


# Laws of three-valued logic


def laws(x: Expression, y: Expression, z: Expression) -> dict[str, tuple[Expression, Expression]]:
    """Pairs of expressions that must be equivalent for any three expressions."""
    true, false = Expression.constant(True), Expression.constant(False)
    return {
        "double negation": (~~x, x),
        "De Morgan, and": (~(x & y), ~x | ~y),
        "De Morgan, or": (~(x | y), ~x & ~y),
        "and commutes": (x & y, y & x),
        "or commutes": (x | y, y | x),
        "xor commutes": (x ^ y, y ^ x),
        "and associates": ((x & y) & z, x & (y & z)),
        "or associates": ((x | y) | z, x | (y | z)),
        "xor associates": ((x ^ y) ^ z, x ^ (y ^ z)),
        "and is idempotent": (x & x, x),
        "or is idempotent": (x | x, x),
        "and absorbs or": (x & (x | y), x),
        "or absorbs and": (x | (x & y), x),
        "and distributes": (x & (y | z), (x & y) | (x & z)),
        "or distributes": (x | (y & z), (x | y) & (x | z)),
        "true is neutral to and": (x & true, x),
        "false is neutral to or": (x | false, x),
        "false decides and": (x & false, false),
        "true decides or": (x | true, true),
        "xor by and, or, not": (x ^ y, (x & ~y) | (~x & y)),
        "xnor is not xor": (x.xnor(y), ~(x ^ y)),
        "xor with true is not": (x ^ true, ~x),
        "all_of is and": (tamis.all_of([x, y, z]), x & y & z),
        "any_of is or": (tamis.any_of([x, y, z]), x | y | z),
    }


@given(expressions, expressions, expressions, plain_events, missing)
def test_laws(x: Node, y: Node, z: Node, event: dict[str, Any], missing: Missing) -> None:
    pairs = laws(build(x), build(y), build(z))
    index = Index(missing=missing)
    index.add_many([(f"{name}, left", left) for name, (left, _) in pairs.items()])
    index.add_many([(f"{name}, right", right) for name, (_, right) in pairs.items()])
    for name in pairs:
        left = index.explain(f"{name}, left", event).truth
        right = index.explain(f"{name}, right", event).truth
        assert left == right, name


@given(expressions, expressions, plain_events, missing)
def test_a_contradiction_is_at_most_a_tautology(
    x: Node, y: Node, event: dict[str, Any], missing: Missing
) -> None:
    """A law of Kleene algebra, which in two-valued logic is false implies true."""
    order = ["false", "unknown", "true"]
    contradiction = truth_of(build(x) & ~build(x), event, missing)
    tautology = truth_of(build(y) | ~build(y), event, missing)
    assert order.index(contradiction) <= 1 <= order.index(tautology)


@given(expressions, plain_events)
def test_without_unknowns_negation_is_two_valued(node: Node, event: dict[str, Any]) -> None:
    expression = build(node)
    truths = {truth_of(expression, event, "false"), truth_of(~expression, event, "false")}
    assert truths == {"true", "false"}


# An index that changes

ids: st.SearchStrategy[str | int] = st.integers(0, 5) | st.sampled_from(["0", "1", "x", "é"])


@given(st.lists(expressions, min_size=1, max_size=6), plain_events, matchers, missing, randoms)
def test_matches_come_in_the_order_of_insertion(
    nodes: list[Node], event: dict[str, Any], matcher: Matcher, missing: Missing, random: Random
) -> None:
    numbered = list(enumerate(nodes))
    random.shuffle(numbered)
    one_by_one = Index(matcher=matcher, missing=missing)
    at_once = Index(matcher=matcher, missing=missing)
    for id, node in numbered:
        one_by_one.add(id, build(node))
    at_once.add_many([(id, build(node)) for id, node in numbered])
    assert list(one_by_one) == list(at_once) == [id for id, _ in numbered]
    assert one_by_one.match(event) == expected(dict(numbered), event, missing)
    assert at_once.match(event) == one_by_one.match(event)


@given(st.dictionaries(ids, expressions, max_size=5), expressions, plain_events, matchers, missing)
def test_adding_then_removing_changes_nothing(
    nodes: dict[str | int, Node],
    extra: Node,
    event: dict[str, Any],
    matcher: Matcher,
    missing: Missing,
) -> None:
    index = Index(matcher=matcher, missing=missing)
    index.add_many({id: build(node) for id, node in nodes.items()})
    before = list(index), index.match(event), len(index)
    index.add("extra", build(extra))
    index.remove("extra")
    assert (list(index), index.match(event), len(index)) == before
    assert "extra" not in index


changes = st.one_of(
    st.tuples(st.just("add"), st.dictionaries(ids, expressions, min_size=1, max_size=1)),
    st.tuples(st.just("add_many"), st.dictionaries(ids, expressions, max_size=4)),
    st.tuples(st.just("remove"), st.dictionaries(ids, st.none(), min_size=1, max_size=1)),
)


@given(st.lists(changes, max_size=24), plain_events, matchers, missing)
def test_an_index_is_an_ordered_mapping(
    changes: list[tuple[str, Any]], event: dict[str, Any], matcher: Matcher, missing: Missing
) -> None:
    index = Index(matcher=matcher, missing=missing)
    model: dict[str | int, Node] = {}
    for change, items in changes:
        if change == "remove":
            (id,) = items
            if id in model:
                index.remove(id)
                del model[id]
            else:
                with pytest.raises(tamis.UnknownIdError):
                    index.remove(id)
            continue
        if change == "add":
            for id, node in items.items():
                index.add(id, build(node))
        else:
            index.add_many([(id, build(node)) for id, node in items.items()])
        for id, node in items.items():  # a replaced one moves to the end
            model.pop(id, None)
            model[id] = node
    assert list(index) == list(model)
    assert len(index) == len(model) == index.stats()["subscriptions"]
    assert index.match(event) == expected(model, event, missing)
    for id, node in model.items():
        assert id in index
        assert index[id].expression == build(node)
