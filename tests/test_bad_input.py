"""Expressions that are refused: texts, JSON forms, sizes; and their errors."""

import pickle
import time
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from refusal import (
    GENEROUS,
    LONE,
    MANY,
    check_limit,
    refused,
    untyped_tamis,
)
from tamis import (
    EventError,
    Expression,
    ExpressionError,
    ExpressionSyntaxError,
    Index,
    LimitError,
    Limits,
    SubscriptionError,
    TamisError,
    UnknownIdError,
    attr,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# Texts


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "-- only a comment", "\u00a0\u2003"])
def test_empty_and_blank_text(index: Any, text: str) -> None:
    with refused(ExpressionSyntaxError, "expected an expression", "the end of the text") as caught:
        parse(text)
    assert caught.value.line == text.count("\n") + 1
    with refused(ExpressionSyntaxError, "expected an expression", index=index):
        index.add("new", text)


def test_ten_megabytes_of_text(index: Any) -> None:
    text = " or ".join(["a = 123456"] * 714_286)
    assert len(text) == 10_000_000
    with refused(LimitError, index=index) as caught:
        index.add("new", text)
    check_limit(caught.value, "text", 10_000_000, Limits().text)
    with refused(LimitError) as caught:
        parse(text, limits=Limits(text=2**30))
    check_limit(caught.value, "nodes", Limits().nodes + 1, Limits().nodes)
    expression = parse(text, limits=GENEROUS)
    assert str(expression) == text
    generous = Index(limits=GENEROUS)
    generous.add("huge", expression)
    assert generous.match({"a": 123456}) == ["huge"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x " * 5_000_000, "line 1, column 3"),
        ("'" * 10_000_001, "line 1, column 1"),
        ("\n" * 10_000_000, "line 10000001, column 1"),
        ("(" * 10_000_000, "line 1, column 10000001"),
        ("a = 'x' and " + "é" * 5_000_000 + " ?", "line 1, column 5000014"),
        ("a in (" + "1," * 5_000_000, "line 1, column 10000007"),
    ],
    ids=["words", "quotes", "lines", "parentheses", "letters", "values"],
)
def test_ten_megabytes_of_nonsense(text: str, words: str) -> None:
    with refused(ExpressionSyntaxError, words) as caught:
        parse(text, limits=GENEROUS)
    assert len(str(caught.value)) < 1000


def test_ten_megabytes_of_json_form() -> None:
    one = '{"attribute":"a","operator":"=","value":1}'
    form = '{"or":[' + ",".join([one] * 232_559) + "]}"
    assert len(form) > 10_000_000
    with refused(LimitError) as caught:
        Expression.from_json(form)
    check_limit(caught.value, "text", len(form), Limits().text)
    started = time.monotonic()
    expression = Expression.from_json(form, limits=GENEROUS)
    assert time.monotonic() - started < 10, "reading JSON takes more than linear time"
    assert expression.to_json() == form


@pytest.mark.parametrize("text", [None, 3, b"a = 1", ["a = 1"], object(), 1.5])
def test_text_of_another_type(index: Any, text: Any) -> None:
    with refused(ExpressionError, "string", type(text).__name__):
        parse(text)
    with refused(ExpressionError, "text or a tamis.Expression", type(text).__name__, index=index):
        index.add("new", text)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("", "JSON form"),
        ("{", "JSON form"),
        ("null", "`true` or `false`"),
        ("[]", "`true` or `false`"),
        ("3", "`true` or `false`"),
        ("{}", "`attribute` and `operator`"),
        ("true false", "JSON form"),
        ('{"and": true}', "an array of expressions"),
        ('{"nand": []}', "nand"),
        ('{"xor": [true]}', "two expressions"),
        ('{"not": true, "and": []}', "one connective"),
        ('{"attribute": "a"}', "lacks `operator`"),
        ('{"operator": "exists"}', "lacks `attribute`"),
        ('{"attribute": "", "operator": "exists"}', "empty"),
        ('{"attribute": "a", "operator": "~"}', "not an operator"),
        ('{"attribute": "a", "operator": "=", "value": null}', "a string, a number"),
        ('{"attribute": "a", "operator": "=", "value": 1, "value": 2}', "once"),
        ('{"attribute": "a", "operator": "=", "value": 1, "values": [1]}', "one of them"),
        (
            '{"attribute": "a", "operator": "=", "value": 999999999999999999999999999999999999999}',
            "39 digits",
        ),
        ('{"attribute": "a", "operator": "=", "value": 1e99999}', "too large"),
        ('{"attribute": "a", "operator": "=", "value": NaN}', "JSON form"),
        ('{"attribute": "a", "operator": "<", "value": true}', "no order"),
        ('{"attribute": "a", "operator": "between", "values": [1]}', "two values"),
        ('{"attribute": "a", "operator": "in", "values": [1], "weights": [1, 2]}', "weights"),
        ('{"attribute": "a", "operator": "=", "value": 1, "weight": -1}', "at least 0"),
        ('{"attribute": "a", "operator": "!=", "value": 1, "weight": 2}', "negated"),
    ],
)
def test_json_forms_that_are_none(form: str, words: str) -> None:
    for given in (form, form.encode()):
        with refused(ExpressionError, words):
            Expression.from_json(given)


@pytest.mark.parametrize("form", [None, 3, {"and": []}, bytearray(b"true")])
def test_json_forms_of_another_type(form: Any) -> None:
    with refused(ExpressionError, "JSON form", "string", type(form).__name__):
        Expression.from_json(form)


# Depth

DEEP = {
    "parentheses": "(" * MANY + "a = 1" + ")" * MANY,
    "not": "not " * MANY + "a = 1",
    "not in parentheses": "not (" * MANY + "a = 1" + ")" * MANY,
    "and, or": "(a = 1 or (a = 2 and " * (MANY // 2) + "a = 3" + "))" * (MANY // 2),
    "xor to the right": "(a = 1 xor " * MANY + "true" + ")" * MANY,
    "xor to the left": " xor ".join(["a = 1"] * MANY),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_a_hundred_thousand_levels_are_a_limit(index: Any, text: str) -> None:
    with refused(LimitError, "nesting", "depth", "500"):
        parse(text, limits=Limits(nodes=2**40))
    with refused(LimitError, index=index):
        index.add("new", text)
    with refused(LimitError, "item 1", "'deep'", index=index):
        index.add_many([("fine", "true"), ("deep", text)])
    expression = parse(text, limits=GENEROUS)
    if "(" in str(expression) or "not" in str(expression) or "xor" in str(expression):
        with refused(LimitError, index=index):
            index.add("new", expression)
        with refused(LimitError, "item 1", "deep", index=index) as caught:
            index.add_many([("fine", "true"), ("deep", expression)])
        assert caught.value.item == 1
        with refused(LimitError):
            Expression.from_json(expression.to_json())


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_a_hundred_thousand_levels_work_with_raised_limits(text: str) -> None:
    expression = parse(text, limits=GENEROUS)
    printed = str(expression)
    assert parse(printed, limits=GENEROUS) == expression
    assert Expression.from_json(expression.to_json(), limits=GENEROUS) == expression
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert repr(expression) == f"<Expression {printed}>"
    assert hash(~~expression) == hash(~~expression)
    assert expression.attributes == ["a"]
    index = Index(limits=GENEROUS)
    index.add("text", text)
    index.add("built", expression)
    index.add("negated", ~expression)
    for event in ({"a": 1}, {}):
        explanation = index.explain("built", event)
        matched = ["text", "built"] if explanation.matched else []
        negated = ["negated"] if explanation.truth == "false" else []
        assert index.match(event) == matched + negated
        assert str(explanation).startswith(explanation.truth)
        node = explanation.to_dict()
        while "children" in node:
            node = node["children"][-1]
        assert node["truth"] in ("true", "false", "unknown")
    index.remove("built")
    assert list(index) == ["text", "negated"]


# Sets


def test_a_million_values_in_a_set(index: Any) -> None:
    text = f"a in ({', '.join(map(str, range(1_000_000)))})"
    with refused(LimitError, index=index) as caught:
        index.add("new", text)
    check_limit(caught.value, "text", len(text), Limits().text)
    with refused(LimitError) as caught:
        parse(text, limits=Limits(text=2**40))
    check_limit(caught.value, "set", Limits().set + 1, Limits().set)
    expression = parse(text, limits=GENEROUS)
    with refused(LimitError, index=index) as caught:
        index.add("new", expression)
    check_limit(caught.value, "set", 1_000_000, Limits().set)
    with refused(LimitError, index=index):
        index.add("new", attr.a.isin(range(1_000_000)))
    with refused(LimitError) as caught:
        Expression.from_json(expression.to_json(), limits=Limits(text=2**40))
    check_limit(caught.value, "set", Limits().set + 1, Limits().set)

    assert attr.a.isin(range(1_000_000)) == expression
    assert str(expression) == text
    assert Expression.from_json(expression.to_json(), limits=GENEROUS) == expression
    generous = Index(limits=GENEROUS)
    generous.add("set", expression)
    generous.add("none of the set", attr.a.not_in(range(1_000_000)))
    assert generous.match({"a": 999_999}) == ["set"]
    assert generous.match({"a": 1_000_000}) == ["none of the set"]
    assert generous.explain("set", {"a": 3}).matched


# Lone surrogates


def test_a_lone_surrogate_in_text(index: Any) -> None:
    for text in (f"a = '{LONE}'", f'"{LONE}" = 1', LONE, f"a = 1 -- {LONE}"):
        with refused(ExpressionError, "lone surrogate", index=index):
            index.add("new", text)
        with refused(ExpressionError, "lone surrogate"):
            parse(text)


def test_a_lone_surrogate_in_the_builder() -> None:
    with refused(ExpressionError, "name", "lone surrogate"):
        attr[LONE] == 1  # noqa: B015
    with refused(ExpressionError, "name", "lone surrogate"):
        attr.user[LONE] == 1  # noqa: B015
    with refused(ExpressionError, "`a =`", "lone surrogate"):
        attr.a == LONE  # noqa: B015
    with refused(ExpressionError, "lone surrogate"):
        attr.a.isin(["fine", LONE])


def test_a_lone_surrogate_in_an_id(index: Any) -> None:
    with refused(SubscriptionError, "Unicode", r"\ud800", index=index):
        index.add(LONE, "true")
    with refused(SubscriptionError, "item 1", r"\ud800", index=index):
        index.add_many([("fine", "true"), (LONE, "true")])
    assert LONE not in index


def test_a_lone_surrogate_in_an_event(index: Any) -> None:
    event: Any
    for event in ({LONE: 1}, {"b": {LONE: 1}}, {"a": 1, f"x{LONE}": 1}):
        with refused(EventError, "name", "lone surrogate", index=index):
            index.match(event)
    for event in ({"a": LONE}, {"a": ["fine", f"x{LONE}"]}):
        with refused(EventError, "`a`", "lone surrogate", index=index):
            index.match(event)


def test_a_lone_surrogate_in_json(index: Any) -> None:
    for event in (f'{{"a": "{LONE}"}}', f'{{"{LONE}": 1}}', LONE):
        with refused(EventError, "lone surrogate", index=index):
            index.match(event)
        with refused(EventError, "lone surrogate", index=index):
            index.match_batch(event)
    for event in (r'{"a": "\ud800"}', r'{"\ud800": 1}', r'{"a": "\udc00\ud800"}'):
        with refused(EventError, "line 1", index=index):
            index.match(event)
    with refused(EventError, "UTF-8", "0xed", index=index):
        index.match(b'{"a": "\xed\xa0\x80"}')
    for form in (f'{{"attribute": "{LONE}", "operator": "exists"}}', LONE):
        with refused(ExpressionError, "lone surrogate"):
            Expression.from_json(form)
    with refused(ExpressionError, "line 1"):
        Expression.from_json(r'{"attribute": "\ud800", "operator": "exists"}')


def test_a_pair_of_surrogates_is_a_character(index: Any) -> None:
    index.add("face", attr.a == "\U0001f600")
    assert index.match(r'{"a": "\ud83d\ude00"}')[-1] == "face"


# Options


def test_options_that_do_not_exist() -> None:
    with refused(ValueError, "matcher", '"auto"', "fastest"):
        untyped_tamis.Index(matcher="fastest")
    with refused(ValueError, "missing", '"unknown"', "maybe"):
        untyped_tamis.Index(missing="maybe")
    with pytest.raises(TypeError):
        untyped_tamis.Index(limits={"text": 3})
    with pytest.raises(TypeError):
        untyped_tamis.Limits(txet=3)
    with pytest.raises((ValueError, OverflowError)):
        Limits(text=-1)
    with pytest.raises(TypeError):
        untyped_tamis.Limits(text="3")


def test_errors_are_pickled() -> None:
    """Errors keep all their attributes when pickled."""
    index = Index(limits=Limits(nodes=3))
    index.add("x", "a = 1")
    attempts: list[Callable[[], object]] = [
        lambda: parse("age betwen 3 and 4"),
        lambda: parse("a < true"),
        lambda: index.add("y", "a or b or c or d"),
        lambda: index.add_many([("y", "a <")]),
        lambda: index.match("{"),
        lambda: index.match_batch(["{}", "{"]),
        lambda: index["nobody"],
        lambda: index.add("y", "true", metadata=object()),
    ]
    for attempt in attempts:
        with pytest.raises(TamisError) as caught:
            attempt()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is caught.type
        assert str(again) == str(caught.value)
        assert vars(again) == vars(caught.value)


def test_every_error_is_a_tamis_error() -> None:
    for error in (
        EventError,
        ExpressionError,
        LimitError,
        SubscriptionError,
        ExpressionSyntaxError,
    ):
        assert issubclass(error, TamisError)
        assert issubclass(error, ValueError)
    assert issubclass(ExpressionSyntaxError, ExpressionError)
    assert issubclass(UnknownIdError, TamisError)
    assert issubclass(UnknownIdError, KeyError)


def test_messages_of_the_builder() -> None:
    attr: Any = tamis.attr
    parentheses = r"binds more tightly .*\(attr\.a > 1\) [&|] "
    with pytest.raises(TypeError, match=parentheses):
        attr.a > 1 & attr.b  # noqa: B015
    with pytest.raises(TypeError, match=parentheses):
        attr.a > 1 | (attr.b == 2)  # noqa: B015
    with pytest.raises(TypeError, match="unsupported operand"):
        [] & (attr.b == 2)
    with pytest.raises(tamis.ExpressionError, match=r"no function `lenght`.*mean `length`"):
        attr.name.lenght()


def test_numbers_have_no_separators_and_times_have_a_form() -> None:
    for text in ("amount > 1,000", "amount > 10_000"):
        with pytest.raises(tamis.ExpressionError, match="have no separators"):
            tamis.parse(text)
    with pytest.raises(tamis.SubscriptionError, match="`2026-12-31` or `2026-12-31T08:00Z`"):
        tamis.Index().add("a", "x = 1", active_until="31.12.2026")
