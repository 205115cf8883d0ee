"""Rankings: which subscriptions does an event match best?"""

from typing import Any, get_args

import pytest

import tamis
from oracle import Matcher
from refusal import refused
from tamis import Index, Match, attr
from tamis.errors import EventError, ExpressionError, LimitError, SubscriptionError

MATCHERS = get_args(Matcher)


@pytest.fixture(params=MATCHERS)
def index(request: Any) -> Index:
    return Index(matcher=request.param)


def test_the_example_of_the_readme(index: Index) -> None:
    index.add_many([("a", "x > 3"), ("b", "tags in ('new'^2.5, 'sale')")])
    assert index.top({"tags": ["new"]}, n=5) == [Match(id="b", score=2.5)]
    assert index.top({"tags": ["new"]}, 5) == [("b", 2.5)]
    assert index.top({"tags": ["old"]}) == []
    assert index.top({"tags": ["sale", "new"], "x": 4}) == [("b", 2.5), ("a", 1.0)]


def test_scores(index: Index) -> None:
    index.add("and", "a = 1^2 and b = 1^3 and c != 1")
    index.add("or", "a = 1^2 or b = 1^3")
    index.add("any", "true")
    index.add("range", "a between 0 and 5^0.5")
    event = {"a": [1, 7], "b": 1, "c": 2}
    assert index.top(event) == [("and", 5.0), ("or", 3.0), ("range", 0.5), ("any", 0.0)]
    assert index.top(event, 2) == [("and", 5.0), ("or", 3.0)]
    assert index.top(event, 0) == []
    assert index.top('{"a": 1}', 1) == [("or", 2.0)]


def test_ties_go_to_the_first(index: Index) -> None:
    index.add_many((number, "a = 1 or b = 2") for number in range(100))
    index.add(3, "a = 1")
    assert [match.id for match in index.top({"a": 1}, 5)] == [0, 1, 2, 4, 5]
    assert index.top({"a": 1}, 200)[-1].id == 3


def test_boosts_and_weights_of_subscriptions(index: Index, tmp_path: Any) -> None:
    index.add("cheap", "a = 1", boost=0.5)
    index.add("dear", attr.a == 1, boost=3)
    index.add_many(
        [
            {"id": "weighted", "expression": "a in (1, 2) and b > 3", "weights": {"a": {1: 4}}},
            {"id": "both", "expression": "a = 1^7", "weights": {"a": 1}, "boost": 2.0},
        ]
    )
    expected = [("weighted", 5.0), ("dear", 3.0), ("both", 2.0), ("cheap", 0.5)]
    assert index.top({"a": 1, "b": 9}) == expected
    assert str(index["weighted"].expression) == "a in (1^4, 2) and b > 3"
    assert index["dear"].boost == 3.0
    index.save(tmp_path)
    assert tamis.open(tmp_path).top({"a": 1, "b": 9}) == expected


def test_weights_of_events(index: Index) -> None:
    index.add("x", "a = 'x' and b = 1")
    index.add("y", "a = 'y'")
    event = {"a": ["x", "y"], "b": 1}
    assert index.top(event) == [("x", 2.0), ("y", 1.0)]
    assert index.top(event, weights={"a": {"y": 4.5}}) == [("y", 4.5), ("x", 2.0)]
    assert index.top(event, weights={"a": {"y": 4}, "b": 3.5}) == [("x", 4.5), ("y", 4.0)]
    assert index.top(event, weights={"a": 0, "unknown": 9}) == [("x", 1.0), ("y", 0.0)]


def test_batches(index: Index) -> None:
    index.add("one", "a > 1^2")
    index.add("two", "a > 2^3")
    expected = [[("one", 2.0)], [], [("two", 3.0), ("one", 2.0)]]
    assert index.top_batch([{"a": 2}, {}, {"a": 3}]) == expected
    assert index.top_batch('{"a": 2}\n{}\n\n{"a": 3}\n') == expected
    assert index.top_batch([{"a": 3}], 1, weights={"a": 2.0}) == [[("two", 6.0)]]


def test_arrow_batches(index: Index) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    index.add("one", "a > 1^2")
    index.add("two", "a > 2^3")
    events = pyarrow.table({"a": [2, None, 3]})
    assert index.top_batch(events, 2).to_pydict() == {
        "event": [0, 2, 2],
        "subscription": ["one", "two", "one"],
        "score": [2.0, 3.0, 2.0],
        "rank": [1, 1, 2],
    }
    best = index.top_batch(events, 1, weights={"a": {3: 0.5}})
    assert best.column("score").to_pylist() == [2.0, 1.5]
    assert index.top_batch(events.slice(0, 0)).column_names == list(best.column_names)


def test_bad_weights() -> None:
    index: Any = Index()
    index.add("a", "a = 1")
    for weight in (-1, float("nan"), float("inf")):
        with refused(ExpressionError, "at least 0"):
            index.add("b", "a = 1", weights={"a": weight})
        with refused(ExpressionError, "boost", "at least 0"):
            index.add("b", "a = 1", boost=weight)
        with refused(ExpressionError, "`a`", "at least 0"):
            index.top({"a": 1}, weights={"a": weight})
    with refused(ExpressionError, "`b`", "no predicate on `b`"):
        index.add("b", "a = 1", weights={"b": 2})
    with refused(ExpressionError, "mapping of attributes"):
        index.top({"a": 1}, weights=[1])
    with refused(ExpressionError, "`a`", "number"):
        index.top({"a": 1}, weights={"a": "much"})
    with refused(ExpressionError, "`a` = 1", "number"):
        index.add("b", "a = 1", weights={"a": {1: True}})
    with refused(SubscriptionError, "weight", "boost"):
        index.add_many([{"id": "b", "expression": "a = 1", "wieghts": {}}])
    with refused(SubscriptionError, "`expression`"):
        index.add_many([{"id": "b"}])
    with refused(ValueError, "at least 0", "-1"):
        index.top({"a": 1}, -1)
    with refused(EventError, "call top"):
        index.top_batch({"a": 1})
    assert list(index) == ["a"]


@pytest.mark.parametrize("matcher", ["kindex", "cnf"])
def test_what_would_explode_is_refused(matcher: Any) -> None:
    index: Any = Index(matcher=matcher)
    inner, outer = ("or", "and") if matcher == "kindex" else ("and", "or")
    text = f" {outer} ".join(f"(a{i} = 1 {inner} b{i} = 1)" for i in range(30))
    with refused(LimitError, "normal form", "10000", str(30 << 30)) as caught:
        index.add("x", text)
    assert caught.value.limit == "normal_form"
    other: Any = "cnf" if matcher == "kindex" else "kindex"
    index = Index(matcher=other)
    index.add("x", text)
    assert index.match({f"a{i}": 1 for i in range(30)} | {"b0": 1}) == ["x"]


def test_hierarchies(index: Index, tmp_path: Any) -> None:
    index.add("us", "geo = 'US'")
    index.add("not-us", "geo != 'US'")
    index.add("la", "geo in ('LA', 'Paris')")
    index.add("february", "day = '2008-02'")
    assert index.match({"geo": "LA"}) == ["not-us", "la"]
    index.hierarchy("geo", {"US": {"California": ["LA", "SF"], "Oregon": []}, "France": ["Paris"]})
    index.hierarchy("day", "dates")

    def check(index: Index) -> None:
        assert index.match({"geo": "LA"}) == ["us", "la"]
        assert index.match({"geo": "Oregon"}) == ["us"]
        assert index.match({"geo": "Paris"}) == ["not-us", "la"]
        assert index.match({"geo": ["Paris", "SF"]}) == ["us", "la"]
        assert index.match('{"geo": "US", "day": "2008-02-14"}') == ["us", "february"]
        assert index.match({"day": "2008-03-14"}) == []
        assert index.explain("us", {"geo": "LA"}).matched

    check(index)
    index.save(tmp_path)
    check(tamis.open(tmp_path))
    index.hierarchy("geo", None)
    assert index.match({"geo": "LA"}) == ["not-us", "la"]


def test_bad_hierarchies() -> None:
    index: Any = Index()
    with refused(ExpressionError, "above itself"):
        index.hierarchy("geo", {"a": {"b": {"a": []}}})
    with refused(ExpressionError, '"dates"'):
        index.hierarchy("geo", "months")
    with refused(ExpressionError, "a mapping or a list"):
        index.hierarchy("geo", {"US": "California"})
    with refused(ExpressionError, "value"):
        index.hierarchy("geo", {"US": [None]})
    with refused(ExpressionError, "empty"):
        index.hierarchy("", {})
