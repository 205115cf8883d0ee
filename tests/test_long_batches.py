"""Long lists and JSON lines, matched on other threads, give the same results as a loop."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
import tamis.xml

# Around the ends of the first chunks, which have 32, 64, 96 and 192 events, and of longer ones.
LENGTHS = [0, 1, 31, 32, 33, 95, 96, 97, 193, 257, 513, 1500]

ID_KINDS: dict[str, Callable[[int], str | int]] = {
    "integers": lambda number: number - 3,
    "texts": lambda number: f"subscription é {number}" * (1 + number % 4),
    "both": lambda number: number if number % 2 else f"{number}",
}


def make_index(kind: str = "integers") -> tamis.Index[Any]:
    index = tamis.Index[Any]()
    write = ID_KINDS[kind]
    index.add_many((write(number), f"a > {number} and b != {number % 7}") for number in range(40))
    return index


def make_events(count: int) -> list[dict[str, Any]]:
    return [{"a": number * 13 % 41, "b": number % 9, "c": {"d": number}} for number in range(count)]


@pytest.mark.parametrize("kind", ID_KINDS)
@pytest.mark.parametrize("count", LENGTHS)
def test_a_batch_is_answered_as_a_loop(kind: str, count: int) -> None:
    index, events = make_index(kind), make_events(count)
    texts = [json.dumps(event) for event in events]
    wanted = [index.match(event) for event in events]
    assert index.match_batch(events) == wanted
    assert index.match_batch(tuple(events)) == wanted
    assert index.match_batch(event for event in events) == wanted
    assert index.match_batch(texts) == wanted
    assert index.match_batch("\n\n".join(texts)) == wanted
    assert index.match_batch(events, where="true") == wanted


@settings(max_examples=40, deadline=None)
@given(
    st.integers(250, 1200),
    st.sets(st.integers(0, 1199), max_size=8),
    st.booleans(),
)
def test_events_that_cannot_be_read(count: int, bad: set[int], lines: bool) -> None:
    index, events = make_index(), make_events(count)
    bad = {number for number in bad if number < count}
    texts = ["[]" if number in bad else json.dumps(event) for number, event in enumerate(events)]
    wanted = [[] if number in bad else index.match(event) for number, event in enumerate(events)]
    given: Any = "\n".join(texts) if lines else texts

    skipped = index.match_batch(given, on_error="skip")
    assert (skipped.matches, skipped.skipped) == (wanted, len(bad))
    collected = index.match_batch(given, on_error="collect")
    assert collected.matches == wanted
    assert [refused.row for refused in collected.refused] == sorted(bad)
    if lines:
        assert [refused.line for refused in collected.refused] == [row + 1 for row in sorted(bad)]
    if bad:
        with pytest.raises(tamis.EventError) as caught:
            index.match_batch(given)
        assert caught.value.item == min(bad)
    else:
        assert index.match_batch(given) == wanted


def test_events_that_come_from_code_that_fails() -> None:
    index = make_index()

    def fail_after(count: int) -> Iterator[dict[str, Any]]:
        yield from make_events(count)
        raise RuntimeError("no more")

    for count in (0, 256, 300, 1000):
        with pytest.raises(RuntimeError, match="no more"):
            index.match_batch(fail_after(count), on_error="skip")


def test_events_that_ask_the_index_themselves() -> None:
    index = make_index()

    def ask() -> Iterator[dict[str, Any]]:
        for number, event in enumerate(make_events(900)):
            if number % 300 == 299:
                index.match_batch(make_events(600))
                index.add(1000 + number, "true")
            yield event

    # All of them are matched against one snapshot.
    assert index.match_batch(ask()) == [make_index().match(event) for event in make_events(900)]


def test_texts_of_ids_are_shared() -> None:
    index = make_index("texts")
    first, *_, last = index.match_batch([{"a": 41, "b": 8}] * 600)
    assert first == last
    assert all(one is other for one, other in zip(first, last, strict=True))


@pytest.mark.parametrize("kind", ID_KINDS)
def test_a_batch_of_documents_is_answered_as_a_loop(kind: str) -> None:
    filters: Any = tamis.xml.Filter()
    write = ID_KINDS[kind]
    filters.add_many((write(number), f"//b{number % 5}") for number in range(40))
    documents = [f"<a><b{number % 7}/><b{number % 3}/></a>" for number in range(200)]
    assert filters.match_batch(documents) == [filters.match(document) for document in documents]
