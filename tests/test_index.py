"""The everyday methods of an index."""

import json
import random
from types import MappingProxyType
from typing import Any, get_args

import pytest

import tamis
from oracle import Matcher
from tamis import EventError, Expression, Index, Limits, Subscription, attr


def test_the_example_of_the_first_page() -> None:
    index = tamis.Index()
    index.add("young-west", "age between 18 and 25 and state in ('CA', 'OR', 'WA')")
    index.add("no-espn", (attr.category == "sports") & ~attr.source.isin(["espn"]))
    index.add_many([("a", "x > 3"), ("b", "tags in ('new'^2.5, 'sale')")])

    assert index.match({"age": 21, "state": "CA"}) == ["young-west"]
    assert index.match({"category": "sports", "source": "bbc", "x": 4}) == ["no-espn", "a"]
    assert index.match({"category": "sports"}) == []
    assert index.match_batch([{"tags": ["new"]}, b'{"x": 5}', "{}"]) == [["b"], ["a"], []]
    assert str(index.explain("young-west", {"age": 30, "state": "CA"})).splitlines() == [
        "false    and",
        "false      age between 18 and 25    -- age is 30",
        "true       state in ('CA', 'OR', 'WA')    -- state is 'CA'",
    ]

    index.remove("a")
    assert "a" not in index
    assert "b" in index
    assert len(index) == 3
    assert list(index) == ["young-west", "no-espn", "b"]
    assert str(index["b"].expression) == "tags in ('new'^2.5, 'sale')"


def test_an_empty_index() -> None:
    index = Index()
    assert len(index) == 0
    assert list(index) == []
    assert index.match({"a": 1}) == []
    assert index.match_batch([{"a": 1}, {}]) == [[], []]
    assert index.match_batch([]) == index.match_batch("") == index.match_batch("\n \n") == []
    index.add_many([])
    index.add_many({})
    assert repr(index) == "<Index of 0 subscriptions>"
    assert index.stats()["subscriptions"] == 0


def test_options() -> None:
    index = Index()
    assert (index.missing, index.limits) == ("unknown", Limits())
    index = Index(matcher="scan", missing="false", limits=Limits(depth=7))
    assert (index.missing, index.limits.depth) == ("false", 7)
    assert index.limits == Limits(depth=7) != Limits()
    assert "depth=7" in repr(index.limits)


@pytest.mark.parametrize(
    ("mode", "matched"), [("unknown", ["known"]), ("false", ["known", "none of", "negated"])]
)
def test_missing(mode: str, matched: list[str]) -> None:
    index = Index(missing="false" if mode == "false" else "unknown")
    index.add("known", "age > 3")
    index.add("none of", "state not in ('CA')")
    index.add("negated", "not (state = 'CA')")
    assert index.match({"age": 5}) == matched


def test_ids_are_strings_and_integers() -> None:
    index = Index()
    ids: list[str | int] = ["1", 1, "", -5, 2**63 - 1, "é\U0001f600", "a\nb", 0]
    for id in ids:
        index.add(id, "true")
    assert list(index) == index.match({}) == ids
    assert [type(id) for id in index] == [type(id) for id in ids]
    index.remove("1")
    assert 1 in index
    assert "1" not in index
    assert 1.0 not in index
    assert True not in index
    assert None not in index


def test_adding_again_replaces_and_moves_to_the_end() -> None:
    index = Index()
    index.add_many([("a", "x = 1"), ("b", "x = 1"), ("c", "x = 1")])
    index.add("a", "x in (1, 2)", metadata=["new"])
    assert list(index) == ["b", "c", "a"]
    assert len(index) == 3
    assert index.match({"x": 1}) == ["b", "c", "a"]
    assert index.match({"x": 2}) == ["a"]
    assert index["a"].metadata == ["new"]
    index.add("a", "x = 1")
    assert index["a"].metadata is None


def test_of_equal_ids_in_a_batch_the_last_counts() -> None:
    index = Index()
    index.add_many([("a", "false"), ("b", "true"), ("a", "true", "the last")])
    assert list(index) == index.match({}) == ["b", "a"]
    assert index["a"].metadata == "the last"


def test_forms_of_add_many() -> None:
    index = Index()
    items: Any = [(1, "true"), [2, "true"], (3, attr.x == 1, {"k": "v"}), (4, "true", None)]
    mapping: dict[str | int, str | Expression] = {5: "true", "six": attr.x == 1}
    index.add_many(items)
    index.add_many(mapping)
    index.add_many(MappingProxyType({7: "true"}))
    index.add_many((id, "true") for id in range(8, 11))
    index.add_many(iter([(11, "true")]))
    assert list(index) == [1, 2, 3, 4, 5, "six", 7, 8, 9, 10, 11]
    assert index[3].metadata == {"k": "v"}
    assert index[4].metadata is None


def test_iteration_is_over_one_moment() -> None:
    index = Index()
    index.add_many((id, "true") for id in range(5))
    seen = []
    for id in index:
        seen.append(id)
        index.remove(id)
        index.add(id + 100, "true")
    assert seen == [0, 1, 2, 3, 4]
    assert list(index) == [100, 101, 102, 103, 104]


def test_a_subscription() -> None:
    index = Index()
    index.add("b", "x = 1 AND Y", metadata={"owner": "us"})
    subscription = index["b"]
    assert isinstance(subscription, Subscription)
    assert subscription.id == "b"
    assert subscription.expression == tamis.parse("x = 1 and Y")
    assert subscription.metadata == {"owner": "us"}
    assert repr(subscription) == '<Subscription "b": x = 1 and Y = true>'
    index.add(7, "true")
    assert repr(index[7]) == "<Subscription 7: true>"
    index.remove("b")
    assert subscription.id == "b", "what was taken out stays as it was"


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"owner": "us", "tags": ["a", None], "nested": {"x": 1.5, "y": True}},
        [],
        "text: é \U0001f600 \x00 '\"",
        0,
        -(2**70),
        0.1,
        False,
        {},
    ],
)
def test_metadata_comes_back(metadata: object) -> None:
    index = Index()
    index.add("one", "true", metadata=metadata)
    index.add_many([("two", "true", metadata)])
    for id in index:
        assert index[id].metadata == metadata
        assert type(index[id].metadata) is type(metadata)


def test_metadata_is_a_copy() -> None:
    index = Index()
    metadata = {"k": [1]}
    index.add("x", "true", metadata=metadata)
    metadata["k"].append(2)
    index["x"].metadata["k"].append(3)
    assert index["x"].metadata == {"k": [1]}


def test_stats() -> None:
    index = Index()
    index.add_many([("a", "x = 1 and y = 2"), ("b", "x = 1 or z.w = 3"), ("c", "true")])
    stats = index.stats()
    assert stats["subscriptions"] == 3
    assert stats["attributes"] == 3
    assert stats["predicates"] == 3, "equal predicates are one"
    assert stats["attribute_predicates"] == {"x": 1, "y": 1, "z.w": 1}
    assert stats["subexpressions"] == 6, (
        "three predicates, a conjunction, a disjunction and a constant"
    )
    assert stats["edges"] == 4
    assert stats["sharing"] == pytest.approx(7 / 6)
    assert stats["matcher"] == "scan"
    assert stats["matchers"] == {"scan": 1}
    assert stats["removed"] == 0
    index.remove("c")
    stats = index.stats()
    assert (stats["subscriptions"], stats["removed"]) == (2, 1)
    assert json.loads(json.dumps(stats)) == stats


@pytest.mark.parametrize("matcher", get_args(Matcher))
def test_what_expressions_consist_of_does_not_depend_on_the_matcher(matcher: Matcher) -> None:
    index = Index(matcher=matcher)
    index.add_many((n, f"a = {n % 5} and (b > {n % 3} or exists(c))") for n in range(100))
    stats = index.stats()
    assert stats["attribute_predicates"] == {"a": 5, "b": 3, "c": 1}
    assert (stats["predicates"], stats["subexpressions"], stats["edges"]) == (9, 9 + 3 + 15, 6 + 30)
    assert stats["sharing"] == pytest.approx((100 + 36) / 27)
    assert sum(stats["matchers"].values()) == stats["segments"]


def test_what_no_predicate_leads_to_is_counted() -> None:
    index = Index()
    index.add_many((n, f"k = {n} and not t contains 'x{n}' and t like '%a%b%'") for n in range(40))
    stats = index.stats()
    assert (stats["unselective"], stats["unfiltered_patterns"]) == (0, 0)
    index.add_many((f"not {n}", f"not t contains 'x{n}'") for n in range(40))
    index.add_many((f"any {n}", f"t matches '.{{{n}}}'") for n in range(40))
    stats = index.stats()
    assert (stats["unselective"], stats["unfiltered_patterns"]) == (80, 40)


def test_stats_say_how_batches_are_matched_and_by_what_triggers_were_chosen() -> None:
    index = Index()
    index.add_many((n, f"a > {n % 50} or b = {n}") for n in range(2_000))
    stats = index.stats()
    assert stats["batches"] == {"evaluation": None, "events_us": None, "blocks_us": None}
    assert stats["sampled_events"] == 0
    for _ in range(10):
        index.match_batch([{"a": n} for n in range(512)])
    index.settle()
    index.match_batch([{"a": n} for n in range(512)])
    stats = index.stats()
    assert stats["sampled_events"] > 0
    batches = stats["batches"]
    assert batches["evaluation"] in ("events", "blocks")
    times = [batches["events_us"], batches["blocks_us"]]
    assert any(time is not None and time > 0 for time in times)


def test_every_index_of_a_thread_learns_from_its_events() -> None:
    for _ in range(2):
        index = Index()
        index.add_many((n, f"a = {n} and b = {n % 7}") for n in range(2_000))
        for n in range(300):
            index.match({"a": n, "b": 1})
        index.settle()
        assert index.stats()["sampled_events"] > 0


def test_few_but_large_expressions_are_compiled() -> None:
    index = Index()
    index.add(1, " or ".join(f"a = {n} and b = {n}" for n in range(1_000)))
    assert index.stats()["matchers"] == {"compiled": 1}
    index.add(2, "a = 7")
    assert index.stats()["matchers"] == {"compiled": 1, "scan": 1}
    assert index.match({"a": 7, "b": 7}) == [1, 2]


def test_texts_are_kept_without_what_surrounds_them() -> None:
    index = Index()
    index.add_many([(1, "  a   =  1 \n"), (2, "a = 1")])
    assert str(index[1].expression) == str(index[2].expression) == "a = 1"


def test_many_additions_and_removals_stay_compact() -> None:
    index = Index()
    for id in range(3000):
        index.add(id, f"x = {id % 7}")
    index.settle()
    assert index.stats()["segments"] < 100
    for id in range(0, 3000, 2):
        index.remove(id)
    assert len(index) == 1500
    assert index.match({"x": 3}) == [id for id in range(3000) if id % 7 == 3 and id % 2]
    for id in range(1, 3000, 2):
        index.remove(id)
    assert len(index) == 0
    index.settle()
    assert index.stats()["removed"] < 2000


def test_strings_are_ordered_by_code_points() -> None:
    index = Index()
    index.add("below", attr.a < "\U0001f600")
    assert index.match({"a": "\uffff"}) == index.match({"a": "\ud7ff"}) == ["below"]


# Explanations


def test_an_explanation_as_a_dict() -> None:
    index = Index()
    index.add("x", "not (a = 1 or b in ('x')) xor exists(c) and true")
    explanation = index.explain("x", {"a": [2, 3], "b": None})
    assert explanation.truth == "unknown"
    assert explanation.matched is False
    assert repr(explanation) == "<Explanation: unknown>"
    negation = {
        "text": "not",
        "truth": "unknown",
        "children": [
            {
                "text": "or",
                "truth": "unknown",
                "children": [
                    {"text": "a = 1", "truth": "false", "attribute": "a", "seen": [2, 3]},
                    {"text": "b in ('x')", "truth": "unknown", "attribute": "b", "seen": None},
                ],
            }
        ],
    }
    presence = {
        "text": "and",
        "truth": "false",
        "children": [
            {"text": "exists(c)", "truth": "false", "attribute": "c", "seen": "missing"},
            {"text": "true", "truth": "true"},
        ],
    }
    assert explanation.to_dict() == {
        "text": "xor",
        "truth": "unknown",
        "children": [negation, presence],
    }
    assert str(explanation).splitlines() == [
        "unknown  xor",
        "unknown    not",
        "unknown      or",
        "false          a = 1    -- a is [2, 3]",
        "unknown        b in ('x')    -- b is null",
        "false      and",
        "false        exists(c)    -- c is missing",
        "true         true",
    ]


def test_an_explanation_keeps_the_types_of_values() -> None:
    index = Index()
    index.add("x", "a = 1")
    seen = index.explain("x", {"a": [True, 1, 1.5, "1", 2.0, 1e300]}).to_dict()["seen"]
    assert seen == [True, 1, 1.5, "1", 2, 1e300]
    assert [type(value) for value in seen] == [bool, int, float, str, int, float]


def test_an_explanation_shows_the_elements_that_decided() -> None:
    index = Index()
    index.add("x", "any(items, price > 3 and colour = 'red') or not all(tags, it = 'a')")
    event = {
        "items": [{"price": 9}, {"price": 5, "colour": "red"}, {"price": 1, "colour": "red"}],
        "tags": ["a", "a", "a", "a"],
    }
    explanation = index.explain("x", event)
    anything, negation = explanation.to_dict()["children"]
    assert anything == {
        "text": "any(items, price > 3 and colour = 'red')",
        "truth": "true",
        "size": 3,
        "satisfied": 1,
        "elements": [
            {
                "text": "and",
                "truth": "true",
                "element": 1,
                "children": [
                    {"text": "price > 3", "truth": "true", "attribute": "price", "seen": [5]},
                    {
                        "text": "colour = 'red'",
                        "truth": "true",
                        "attribute": "colour",
                        "seen": ["red"],
                    },
                ],
            }
        ],
    }
    (everything,) = negation["children"]
    assert (everything["size"], everything["satisfied"]) == (4, 4)
    assert [part["element"] for part in everything["elements"]] == [0, 1, 2]
    lines = [
        "true     or",
        "true       any(items, price > 3 and colour = 'red')    -- 1 of 3 elements satisfies it",
        "true         items[1]: and",
        "true           price > 3    -- price is 5",
        "true           colour = 'red'    -- colour is 'red'",
        "false      not",
        "true         all(tags, it = 'a')    -- 4 of 4 elements satisfy it, 3 shown",
        "true           tags[0]: it = 'a'    -- it is 'a'",
        "true           tags[1]: it = 'a'    -- it is 'a'",
        "true           tags[2]: it = 'a'    -- it is 'a'",
    ]
    assert str(explanation).splitlines() == lines
    assert str(index.explain("x", json.dumps(event))) == str(explanation)
    assert "items[1]: and" in explanation._repr_html_()
    assert index.explain("x", {"items": []}).to_dict()["children"][0] == {
        "text": "any(items, price > 3 and colour = 'red')",
        "truth": "false",
        "size": 0,
        "satisfied": 0,
    }


def test_an_explanation_shortens_long_lists() -> None:
    index = Index()
    index.add("x", "a = 1")
    explanation = index.explain("x", {"a": list(range(1000))})
    assert len(str(explanation)) < 100
    assert "1000 in all" in str(explanation)
    assert len(explanation.to_dict()["seen"]) == 1000


# Expressions


def test_expressions_are_values() -> None:
    one, same, other = tamis.parse("a=1 AND b"), tamis.parse("a = 1 and b = true"), attr.a == 1
    assert one == same != other
    assert hash(one) == hash(same)
    assert {one: "x"}[same] == "x"
    assert one != "a = 1 and b = true"
    assert repr(other) == "<Expression a = 1>"
    assert one.attributes == ["a", "b"]
    assert tamis.all_of([]) == Expression.constant(True) == tamis.parse("TRUE")
    assert tamis.any_of([]) == Expression.constant(False)
    assert tamis.all_of([other]) == other
    assert tamis.all_of(iter([one, other])) == tamis.parse("a = 1 and b and a = 1")


def test_the_builder() -> None:
    built = {
        attr.age == 3: "age = 3",
        attr.age != 3: "age != 3",
        attr.age < 3: "age < 3",
        attr.age <= 3: "age <= 3",
        attr.age > 3: "age > 3",
        attr.age >= 3: "age >= 3",
        3 < attr.age: "age > 3",  # noqa: SIM300
        3 >= attr.age: "age <= 3",  # noqa: SIM300
        attr.state.isin(["OR", "CA", "CA"]): "state in ('CA', 'OR')",
        attr.state.isin(iter(())): "state in ()",
        attr.state.not_in({"CA"}): "state not in ('CA')",
        attr.age.between(18, 25.5): "age between 18 and 25.5",
        attr.age.not_between("a", "b"): "age not between 'a' and 'b'",
        attr.source.like("espn%"): "source like 'espn%'",
        attr.source.not_like("espn%"): "source not like 'espn%'",
        attr.source.startswith("x"): "source starts with 'x'",
        attr.source.endswith("x"): "source ends with 'x'",
        attr.source.contains("it's"): "source contains 'it''s'",
        attr.source.matches("^[a-z]+$"): "source matches '^[a-z]+$'",
        attr.age.exists(): "exists(age)",
        attr.age.missing(): "missing(age)",
        attr.age.is_null(): "age is null",
        attr.age.is_not_null(): "age is not null",
        attr.user.geo.state == "CA": "user.geo.state = 'CA'",
        attr["user.geo"]["state"] == "CA": "user.geo.state = 'CA'",
        attr["like"] == 1: '"like" = 1',
        attr.user["like"] == 1: "user.like = 1",
        attr.flag == True: "flag = true",  # noqa: E712
        ~(attr.a == 1) & (attr.b == 2) | (attr.c == 3): "not a = 1 and b = 2 or c = 3",
        (attr.a == 1) ^ (attr.b == 2): "a = 1 xor b = 2",
        (attr.a == 1).xnor(attr.b == 2): "a = 1 xnor b = 2",
        attr.a == tamis.weighted(1, 2.5): "a = 1^2.5",
        attr.a.between(1, tamis.weighted(2, 0.5)): "a between 1 and 2^0.5",
        attr.a.isin([tamis.weighted("new", 2.5), "sale"]): "a in ('new'^2.5, 'sale')",
    }
    for expression, text in built.items():
        assert str(expression) == text
        assert tamis.parse(text) == expression
    assert repr(attr) == "attr"
    assert repr(attr.user["age"]) == "attr['user.age']"
    assert repr(tamis.weighted(1, 2.5)) == "weighted(1, 2.5)"


@pytest.mark.parametrize("matcher", get_args(Matcher))
def test_what_normalising_drops_is_mentioned_all_the_same(matcher: Any, tmp_path: Any) -> None:
    index = Index(matcher=matcher)
    index.add("x", "a = 1 or true")
    index.save(tmp_path)
    for held in (index, Index.open(tmp_path, matcher=matcher)):
        (predicate, _) = held.explain("x", {"a": 1}).to_dict()["children"]
        assert (predicate["truth"], predicate["seen"]) == ("true", [1])
        with pytest.raises(EventError, match="twice"):
            held.match('{"a": 1, "a": 2}')


def test_a_profile_says_what_an_event_takes() -> None:
    index = tamis.Index()
    index.add_many((n, f"age > {n % 90} and state = 'S{n % 50}'") for n in range(2000))
    index.add("text", "name matches '^a.*z$' and owner = 'x'")
    index.settle()
    event = {"age": 45, "state": "S3", "name": "abz"}
    profile = index.profile(event)
    assert profile["matches"] == len(index.match(event)) > 0
    assert 0 < profile["candidates"] <= profile["entries"]
    assert 0 < profile["lists"] <= profile["entries"]
    assert profile["read_us"] > 0
    assert profile["match_us"] > 0
    assert profile["segments"] == index.stats()["segments"]
    again = index.profile(json.dumps(event))
    assert [again[key] for key in ("matches", "entries", "lists")] == [
        profile[key] for key in ("matches", "entries", "lists")
    ]
    with pytest.raises(tamis.EventError):
        index.profile("{")


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u0085", "/**/\u3000", "--\n\u00a0"])
def test_elements_are_asked_for_after_any_white_space(space: str) -> None:
    index = Index()
    index.add(1, "any(l, it > 3)")
    index.add_many([(2, f"any{space}(l, it > 3)"), (3, "a = 1")])
    assert index.match({"l": [5]}) == [1, 2]
    index.remove(2)
    assert index.match({"l": [5]}) == [1]


def test_the_limit_of_a_list_is_not_one_of_element_conditions() -> None:
    index = Index(limits=Limits(list=2))
    for least in range(4):
        index.add(least, f"any(l, it > {least})")
    assert index.match({"l": [5]}) == [0, 1, 2, 3]


def test_numbers_around_the_least_integer_are_ordered() -> None:
    expressions = [
        "x > -9223372036854776000",
        "x > -9223372036854775900",
        "x < -9223372036854775900",
    ]
    for matcher in ("compiled", "scan"):
        index = Index(matcher=matcher)
        index.add_many(enumerate(expressions))
        assert index.match({"x": -(2**63)}) == [0, 1]
        assert index.match({"x": -(2.0**63)}) == [2]
    numbers = [-9223372036854775999 + 7 * number for number in range(28)] + [-(2**63)]
    random.Random(2).shuffle(numbers)
    printed = str(tamis.parse(f"x in ({', '.join(map(str, numbers))}, -9223372036854776000)"))
    inside = printed.removeprefix("x in (").removesuffix(")").split(", ")
    assert inside == sorted(inside, key=int)
