"""Input designed to exhaust time or memory takes linear work, or is refused with both numbers."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from tamis import Index, LimitError, Limits, attr, lab


def limit(caught: pytest.ExceptionInfo[LimitError]) -> tuple[str, int]:
    """The name of the limit and its value, after checking the rest."""
    assert caught.value.found > caught.value.allowed
    return caught.value.limit, caught.value.allowed


@pytest.mark.parametrize("matcher", lab.MATCHERS)
def test_a_list_counts_once_however_often_it_repeats_a_value(matcher: Any) -> None:
    index = Index(matcher=matcher)
    index.add_many([(number, f"price < {number}") for number in range(1000)])
    expected = list(range(1, 1000))
    assert index.match({"price": [0] * 100_000}) == expected
    assert index.match({"price": list(range(100))}) == expected
    assert index.match(json.dumps({"price": [0] * 100_000})) == expected
    batch = pa.table({"price": [[0] * 100_000, [998] * 50]})
    found = index.match_batch(batch)
    assert found.column(1).to_pylist() == [*expected, 999]


def test_long_lists_are_refused() -> None:
    index = Index(limits=Limits(list=10))
    index.add("a", "a = 1")
    assert index.match({"a": [1] * 10, "b": [1] * 11}) == ["a"]
    for event in ({"a": [1] * 11}, json.dumps({"a": [1] * 11})):
        with pytest.raises(LimitError) as caught:
            index.match(event)
        assert limit(caught) == ("list", 10)


def test_long_names_are_refused() -> None:
    index = Index()
    for name in ("." * 100_000, "n" * 1025):
        with pytest.raises(LimitError) as caught:
            index.add("a", f'"{name}" = 1')
        assert limit(caught) == ("name", 1024)
        with pytest.raises(LimitError) as caught:
            index.add("a", attr[name] == 1)
        assert limit(caught) == ("name", 1024)
    with pytest.raises(LimitError) as caught:
        index.add("a", '"' + "." * 100 + '" = 1')
    assert limit(caught) == ("name_depth", 100)
    index.add("a", "x = 1 or x.y.z = 1")
    nested: dict[str, object] = {"y": {"z": 1}, "." * 100_000: 1}
    assert index.match({"." * 100_000: {"." * 100_000: 1}, "x": nested}) == ["a"]
    assert index.match(json.dumps({"." * 100_000: {"." * 100_000: 1}, "x": nested})) == ["a"]
    found = index.match_batch(pa.table({"." * 100_000: [1], "x.y.z": [1]}))
    assert found.column(1).to_pylist() == ["a"]


def test_names_are_forgotten() -> None:
    index = Index()
    index.add("kept", "kept = 1")
    for number in range(2000):
        index.add("a", f"name{number} = 1")
    index.remove("a")
    index.settle()
    assert index.stats()["attributes"] < 20
    assert index.match({"kept": 1, "name7": 1}) == ["kept"]


def test_hierarchies_are_linear() -> None:
    index = Index()
    index.hierarchy("geo", {"US": {"CA": ["LA"]}})
    index.add("us", "geo = 'US'")
    assert index.match({"geo": ["LA"] * 40_000}) == ["us"]


def patterns() -> Iterator[str]:
    """Short regular expressions with a large compiled form."""
    return (rf"a matches '\w{{14}}{number}'" for number in range(600))


def test_regular_expressions_are_bounded_together() -> None:
    index = Index()
    with pytest.raises(LimitError) as caught:
        index.add("a", " or ".join(patterns()))
    assert limit(caught) == ("patterns", 8 << 20)
    with pytest.raises(LimitError) as caught:
        index.add_many(list(enumerate(patterns())))
    assert limit(caught) == ("index_patterns", 128 << 20)
    assert len(index) == 0
    index.add("a", next(patterns()))
    assert index.match({"a": "x" * 14 + "0"}) == ["a"]


@pytest.mark.parametrize("matcher", ["auto", "scan", "atree"])
def test_like_is_linear(matcher: Any) -> None:
    index = Index(matcher=matcher)
    index.add("no", "a like '%_" + "a" * 16_000 + "b%'")
    index.add("yes", "a like '%_" + "a" * 2_000 + "_" + "a" * 2_000 + "%'")
    assert index.match({"a": "a" * 320_000}) == ["yes"]
    with pytest.raises(LimitError) as caught:
        index.add("long", "a like '%a_" + "a" * 5_000 + "%'")
    assert limit(caught) == ("like", 4096)
