"""Names and values that are refused, in events and in the builder, and misuse of the builder."""

import datetime
import decimal
import json
import math
import uuid
from collections import UserDict
from collections.abc import Callable
from typing import Any

import pytest

import tamis
from refusal import (
    refused,
    short,
    untyped_attr,
    untyped_tamis,
)
from tamis import (
    EventError,
    Expression,
    ExpressionError,
    Index,
    LimitError,
    Limits,
    attr,
    parse,
)

# Attribute names


@pytest.mark.parametrize("name", [3, None, 1.5, True, b"a", ("a",), frozenset("a")], ids=repr)
def test_attribute_names_of_another_type_in_an_event(index: Any, name: Any) -> None:
    words = "an attribute's name must be a string", type(name).__name__
    with refused(EventError, *words, index=index):
        index.match({name: 1})
    with refused(EventError, *words, index=index):
        index.match({"a": 1, "b": {"c": 3, name: 1}})
    with refused(EventError, *words, index=index):
        index.match(UserDict({name: 1}))
    with refused(EventError, *words, index=index):
        index.explain("one", {name: 1})
    with refused(EventError, "item 1", *words, index=index):
        index.match_batch([{"a": 1}, {name: 1}])


def test_names_below_what_nobody_asks_about_are_not_looked_at(index: Any) -> None:
    assert index.match({"a": 1, "other": {3: 1}}) == index.match({"a": 1})


@pytest.mark.parametrize("name", [3, None, 1.5, b"a", ("a",)], ids=repr)
def test_attribute_names_of_another_type_in_the_builder(name: Any) -> None:
    words = "an attribute's name must be a string", type(name).__name__
    with refused(ExpressionError, *words):
        untyped_attr[name] == 1  # noqa: B015
    with refused(ExpressionError, *words):
        untyped_attr[name].isin([1])


@pytest.mark.parametrize("name", [3, None, 1.5, b"a", ("a",)], ids=repr)
def test_longer_names_of_another_type_in_the_builder(name: Any) -> None:
    with refused(ExpressionError, "an attribute's name must be a string", type(name).__name__):
        untyped_attr.user[name] == 1  # noqa: B015


def test_an_empty_name() -> None:
    with refused(ExpressionError, "name is empty"):
        attr[""] == 1  # noqa: B015
    with refused(ExpressionError, "name is empty"):
        parse('"" = 1')


# Values

UNSUPPORTED = [
    datetime.time(12, 30),
    decimal.Context(),
    uuid.UUID(int=1),
    b"bytes",
    bytearray(b"bytes"),
    object(),
    1 + 2j,
    range(3),
    int,
    ...,
]


@pytest.mark.parametrize("value", UNSUPPORTED, ids=short)
def test_unsupported_types_in_an_event(index: Any, value: Any) -> None:
    words = "`a`", "a string, a number, a boolean, a time", type(value).__name__
    for event in ({"a": value}, {"a": [1, value]}, {"a": (value,)}, UserDict(a=value)):
        with refused(EventError, *words, index=index):
            index.match(event)
    with refused(EventError, "`b.c`", type(value).__name__, index=index):
        index.match({"b": {"c": value}})
    with refused(EventError, "item 2", *words, index=index) as caught:
        index.match_batch([{}, {"a": 1}, {"a": value}])
    assert caught.value.item == 2
    assert index.match({"a": 1, "nobody asks": value}) == index.match({"a": 1})


@pytest.mark.parametrize(
    "value",
    [*UNSUPPORTED, None, [1], {"a": 1}, {1}],
    ids=short,
)
def test_unsupported_types_in_the_builder(value: Any) -> None:
    words = "a string, a number, a boolean, a time", type(value).__name__
    calls: list[Callable[[], Expression]] = [
        lambda: untyped_attr.a == value,
        lambda: untyped_attr.a != value,
        lambda: untyped_attr.a < value,
        lambda: untyped_attr.a.isin([1, value]),
        lambda: untyped_attr.a.between(1, value),
        lambda: untyped_attr.a.like(value),
        lambda: untyped_attr.a == tamis.weighted(value, 2.0),
    ]
    for call in calls:
        with refused(ExpressionError, "`a ", *words):
            call()


@pytest.mark.parametrize("inner", [[1], (1,), {1}, []], ids=repr)
def test_lists_in_lists(index: Any, inner: Any) -> None:
    for event in ({"a": [inner]}, {"a": (1, inner)}, {"b": [inner]}, {"b": {"c": [inner]}}):
        with refused(
            EventError, "inside the list", "strings, numbers, booleans and objects", index=index
        ):
            index.match(event)


def test_mappings_of_any_kind_in_lists() -> None:
    index = Index()
    index.add("three", "b.c = 3")
    for event in ({"b": [{"c": 3}]}, {"b": [1, UserDict(c=3)]}, '{"b": [{"c": 3}, {"c": 4}]}'):
        assert index.match(event) == ["three"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=repr)
def test_numbers_that_no_literal_says(value: float) -> None:
    index = Index()
    index.add("null", "a is null")
    index.add("above", "a > 1e300")
    index.add("below", "a < -1e300")
    expected = ["null"] if math.isnan(value) else ["above"] if value > 0 else ["below"]
    assert index.match({"a": value}) == expected
    assert index.match(json.dumps({"a": value, "nobody asks": value})) == expected
    for call in (attr.a.__eq__, attr.a.__lt__, lambda value: attr.a.isin([value])):
        with refused(ExpressionError, "is not a value"):
            call(value)
    with refused(ExpressionError, "weight", "finite"):
        attr.a == tamis.weighted(1, value)  # noqa: B015


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, 10**38 - 1], ids=repr)
def test_integers_beyond_64_bits(value: int) -> None:
    index = Index()
    index.add("it", attr.a == value)
    index.add("more", attr.a > value)
    for event in ({"a": value}, {"a": [value, value]}, f'{{"a": {value}}}'):
        assert index.match(event) == ["it"]
    assert parse(f"a = {value}") == (attr.a == value)


@pytest.mark.parametrize("value", [10**38, -(10**40), 10**5000], ids=["39", "41", "huge"])
def test_integers_of_more_than_38_digits(index: Any, value: int) -> None:
    for event in ({"a": value + 1}, {"a": [1, value + 1]}):
        with refused(EventError, "`a`", "38 digits", "string", index=index):
            index.match(event)
    with refused(ExpressionError, "38 digits"):
        attr.a == value + 1  # noqa: B015


def test_numbers_that_cannot_be_kept(index: Any) -> None:
    with refused(EventError, "`a`", "1e9999999", "too large", index=index):
        index.match('{"a": 1e9999999}')
    with refused(ExpressionError, "-1e-9999999", "too small"):
        parse("a = -1e-9999999")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), -1e-300])
def test_weights_that_are_none(weight: float) -> None:
    with refused(ExpressionError, "weight", "finite number of at least 0"):
        attr.a == tamis.weighted(1, weight)  # noqa: B015
    with refused(ExpressionError, "weight"):
        attr.a.isin([tamis.weighted(1, weight), 2])


def test_weights_without_meaning() -> None:
    with refused(ExpressionError, "negated"):
        attr.a != tamis.weighted(1, 2.0)  # noqa: B015
    with refused(ExpressionError, "two weights"):
        attr.a.isin([tamis.weighted(1, 2.0), tamis.weighted(1.0, 3.0)])
    with pytest.raises((ExpressionError, TypeError)):
        untyped_attr.a.between(tamis.weighted(1, 2.0), 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: attr.a < True, "no order"),
        (lambda: attr.a.between(1, "z"), "two numbers, two strings"),
        (lambda: attr.a.like(3), "one string"),
        (lambda: attr.a.startswith(3), "one string"),
        (lambda: attr.a.like("50\\"), "lone backslash"),
        (lambda: attr.a.matches("("), "not a regular expression"),
        (lambda: attr.a.matches(r"(a)\1"), "not a regular expression"),
        (lambda: Expression.predicate("a", "~", [1], []), "no operator"),
        (lambda: Expression.predicate("a", "=", [], []), "one value"),
        (lambda: Expression.predicate("a", "exists", [1], []), "no value"),
        (lambda: Expression.predicate("a", "between", [1, 2, 3], []), "two values"),
        (lambda: Expression.predicate("a", "=", [1, 2], []), "one value"),
    ],
)
def test_predicates_that_mean_nothing(call: Callable[[], Expression], words: str) -> None:
    with refused(ExpressionError, words):
        call()


def test_a_set_is_no_text() -> None:
    with refused(TypeError, "a list of values", "['CA']"):
        attr.state.isin("CA")
    with refused(TypeError, "iterable"):
        untyped_attr.state.isin(3)


def test_patterns_that_grow(index: Any) -> None:
    pattern = "((a{100}){100}){100}"
    with refused(LimitError, "pattern", str(Limits().pattern), index=index) as caught:
        index.add("new", f"a matches '{pattern}'")
    assert caught.value.limit == "pattern"
    with refused(LimitError, "pattern"):
        attr.a.matches(pattern)


def test_patterns_take_linear_time() -> None:
    index = Index()
    index.add("evil", attr.a.matches("^(a+)+$"))
    assert index.match({"a": "a" * 100_000 + "b"}) == []


# Misused expressions


def test_an_expression_is_no_truth_value() -> None:
    expression: Any = attr.a == 1
    uses: list[Callable[[], object]] = [
        lambda: bool(expression),
        lambda: not expression,
        lambda: expression and expression,
        lambda: expression or expression,
        lambda: 1 if expression else 2,
    ]
    for use in uses:
        with refused(TypeError, "neither true nor false", "& | ^ ~"):
            use()
    with refused(TypeError, "attr.a", "compare"):
        bool(attr.a)


def test_chained_comparisons() -> None:
    with refused(TypeError, "between(low, high)"):
        1 < attr.a < 3  # noqa: B015
    with refused(TypeError, "between(low, high)"):
        1 <= attr.a == 3  # noqa: B015


def test_attributes_are_compared_with_each_other() -> None:
    assert str(attr.a == attr.b) == "a = b"
    assert str(attr.a < attr.b) == "a < b"


def test_attributes_are_predicates(index: Any) -> None:
    index.add("new", attr.a)
    assert str(attr.a & ~attr.b) == "a = true and not b = true"
    assert str(attr.a | (attr.b == 1)) == "a = true or b = 1"
    with refused(TypeError, "unhashable"):
        hash(attr.a)
    with refused(AttributeError, "compare"):
        untyped_attr.a.b = 1


@pytest.mark.parametrize("other", ["b = 1", None, True, 3])
def test_expressions_combine_with_expressions_only(other: Any) -> None:
    expression: Any = attr.a == 1
    for combine in (
        lambda: expression & other,
        lambda: other | expression,
        lambda: expression ^ other,
        lambda: expression.xnor(other),
        lambda: tamis.all_of([expression, other]),
        lambda: tamis.any_of([other]),
    ):
        with pytest.raises(TypeError):
            combine()
    assert expression != other
    with pytest.raises(TypeError):
        untyped_tamis.Expression()
