"""Ids, metadata and batches that are refused, and batches that are interrupted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refusal import LONE, MANY, refused, short
from support.interrupting import INDEX, interrupt, interrupts
from tamis import (
    EventError,
    ExpressionError,
    ExpressionSyntaxError,
    LimitError,
    SubscriptionError,
    TamisError,
    UnknownIdError,
)

# Ids


@pytest.mark.parametrize("id", ["nobody", "", "ONE", "2", 1, -(2**63), 2**63, None, 2.0, LONE])
def test_unknown_ids(index: Any, id: Any) -> None:
    with refused(UnknownIdError, "no subscription has the id", repr(id), index=index):
        index.remove(id)
    with refused(UnknownIdError, repr(id), index=index):
        index[id]
    with refused(UnknownIdError, repr(id), index=index):
        index.explain(id, {"a": 1})
    with refused(UnknownIdError, repr(id), index=index):
        index.explain(id, "no event either")
    assert id not in index


def test_an_unknown_id_is_a_key_error(index: Any) -> None:
    with pytest.raises(KeyError):
        index["nobody"]
    with pytest.raises(TamisError):
        index["nobody"]


def test_a_removed_id_is_unknown(index: Any) -> None:
    with refused(UnknownIdError, "'gone'", index=index):
        index.remove("gone")
    assert "gone" not in index


WRONG_IDS = [None, 1.0, 2.5, True, False, (1, 2), ("one",), b"one", [], {}, object(), 2**63, LONE]


@pytest.mark.parametrize("id", WRONG_IDS, ids=short)
def test_ids_of_another_type(index: Any, id: Any) -> None:
    with refused(SubscriptionError, "an id must be a string", "64-bit integer", index=index):
        index.add(id, "true")
    with refused(SubscriptionError, "item 1", "an id must be a string", index=index) as caught:
        index.add_many([("fine", "true"), (id, "true")])
    assert caught.value.item == 1


def test_the_limits_of_integers_are_ids(index: Any) -> None:
    index.add_many({2**63 - 1: "true", -(2**63): "true"})
    assert index.match({})[-2:] == [2**63 - 1, -(2**63)]


def test_an_id_whose_repr_fails(index: Any) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with refused(SubscriptionError, "an id must be a string", index=index):
        index.add(Hostile(), "true")
    with refused(SubscriptionError, "item 0", index=index):
        index.add_many([(Hostile(), "true")])
    with refused(UnknownIdError, index=index):
        index.remove(Hostile())


# Metadata


@pytest.mark.parametrize(
    "metadata", [object(), {1, 2}, b"x", float("nan"), [float("inf")], {("a",): 1}, 1j], ids=short
)
def test_metadata_that_json_cannot_hold(index: Any, metadata: Any) -> None:
    with refused(SubscriptionError, "metadata must be a JSON value", index=index):
        index.add("new", "true", metadata=metadata)
    with refused(SubscriptionError, "item 1", "'new'", "metadata", index=index) as caught:
        index.add_many([("fine", "true"), ("new", "true", metadata)])
    assert caught.value.item == 1


def test_metadata_that_holds_itself(index: Any) -> None:
    metadata: list[Any] = []
    metadata.append(metadata)
    with refused(SubscriptionError, "metadata", index=index):
        index.add("new", "true", metadata=metadata)


def test_metadata_nested_deeply(index: Any) -> None:
    metadata: list[Any] = []
    for _ in range(MANY):
        metadata = [metadata]
    with refused(SubscriptionError, "metadata", index=index):
        index.add("new", "true", metadata=metadata)


# Batches


@pytest.mark.parametrize(
    "item", [None, 3, "ab", "abc", (), ("new",), ("new", "true", None, 4), {"new": "true"}, b"ab"]
)
def test_items_of_the_wrong_shape(index: Any, item: Any) -> None:
    with refused(SubscriptionError, "item 1", "(id, expression)", index=index) as caught:
        index.add_many([("fine", "true"), item])
    assert caught.value.item == 1


@pytest.mark.parametrize("items", [None, 3, "ab", b"ab", object()])
def test_batches_of_another_type(index: Any, items: Any) -> None:
    with refused(SubscriptionError, "add_many takes an iterable", index=index):
        index.add_many(items)


@pytest.mark.parametrize("events", [None, 3, object()])
def test_batches_of_events_of_another_type(index: Any, events: Any) -> None:
    with refused(EventError, "match_batch takes an iterable", index=index):
        index.match_batch(events)


@pytest.mark.parametrize("method", ["match_batch", "first_batch"])
def test_the_name_of_a_file_is_no_batch(index: Any, method: str) -> None:
    ask = getattr(index, method)
    for name in ("events.jsonl", "/data/events", Path("events.ndjson")):
        with refused(EventError, f"{method} takes", "pathlib.Path(...).read_bytes()", index=index):
            ask(name)
    with refused(EventError, "pass its table: pyarrow.parquet.read_table(...)", index=index):
        ask("events.PARQUET")
    with refused(EventError, "pass its table: pyarrow.csv.read_csv(...)", index=index):
        ask(Path("events.csv"))
    with refused(EventError, "(line 1)", "JSON object", index=index):
        ask("no file")
    # Texts are still refused one by one.
    found = ask("events.jsonl", on_error="collect")
    assert [event.row for event in found.refused] == [0]


def test_one_event_is_no_batch(index: Any) -> None:
    with pytest.raises((EventError, SubscriptionError)):
        index.match_batch({"a": 1})


BAD_ITEMS: list[tuple[Any, type[TamisError], str]] = [
    (("bad", "a <"), ExpressionSyntaxError, "line 1, column 4"),
    (("bad", "a < true"), ExpressionError, "no order"),
    (("bad", "not " * 1000 + "a"), LimitError, "depth"),
    (("bad", 3), ExpressionError, "not int"),
    (("bad", "true", object()), SubscriptionError, "metadata"),
]


@pytest.mark.parametrize(("item", "error", "words"), BAD_ITEMS)
@pytest.mark.parametrize("position", [0, 2500, 4999])
def test_add_many_adds_all_or_nothing(
    index: Any, item: Any, error: type[TamisError], words: str, position: int
) -> None:
    """For new and for replaced ids."""
    items: list[Any] = [(id, "true") for id in range(5000)]
    items[1] = ("one", "false")
    items[position] = item
    for given in (items, iter(items), [list(item) for item in items]):
        with refused(error, f"item {position}", "'bad'", words, index=index) as caught:
            index.add_many(given)
        assert caught.value.item == position


def test_a_mapping_of_subscriptions_fails_alike(index: Any) -> None:
    with refused(ExpressionSyntaxError, "item 1", "'bad'", index=index):
        index.add_many({"one": "false", "bad": "a <"})


def test_a_generator_that_fails_while_adding(index: Any) -> None:
    def items() -> Iterator[tuple[int, str]]:
        yield from ((id, "true") for id in range(5000))
        raise OSError("the source is gone")

    with refused(OSError, "the source is gone", index=index):
        index.add_many(items())


def test_a_generator_that_fails_while_matching(index: Any) -> None:
    def events() -> Iterator[dict[str, int]]:
        yield from ({"a": number} for number in range(1000))
        raise OSError("the source is gone")

    with refused(OSError, "the source is gone", index=index):
        index.match_batch(events())


@pytest.mark.parametrize("position", [0, 255, 256, 700])
def test_the_failing_event_of_a_batch_is_named(index: Any, position: int) -> None:
    events: list[Any] = [{"a": 1}] * 800
    events[position] = {"a": object()}
    with refused(EventError, f"item {position}", "`a`", index=index) as caught:
        index.match_batch(events)
    assert caught.value.item == position
    events[position] = '{"a": '
    with refused(EventError, f"item {position}", "invalid JSON", index=index) as caught:
        index.match_batch(events)
    assert caught.value.item == position
    lines = "\n".join(['{"a": 1}'] * position + ['{"a": ']) + '\n{"a": 1}'
    with refused(EventError, f"line {position + 1}", "invalid JSON", index=index) as caught:
        index.match_batch(lines)
    assert caught.value.item == position


# Ctrl-C, in a separate process


SUBSCRIPTIONS = INDEX + "index.add_many((n, f'a = {n % 9} and b > {n}') for n in range(10_000))"


@interrupts
def test_an_interrupted_batch_of_mappings() -> None:
    interrupt(SUBSCRIPTIONS, "index.match_batch(itertools.repeat({'a': 3, 'b': 1000}))")


@interrupts
def test_an_interrupted_batch_of_json_lines() -> None:
    lines = """'{"a": 3, "b": 1000}\\n' * 1_000_000"""
    interrupt(SUBSCRIPTIONS, f"index.match_batch({lines})")


@interrupts
@pytest.mark.parametrize(
    "events", ["[event] * 300", "'\\n'.join([event] * 300)"], ids=["list", "lines"]
)
def test_an_interrupted_batch_of_costly_events(events: str) -> None:
    """The current event may finish; all of them would take minutes."""
    setup = """
patterns = ["%" + "abc" * length + "_x%" for length in range(10, 60)]
index.add_many((pattern, tamis.attr.text.like(pattern)) for pattern in patterns)
event = json.dumps({"text": "abc" * 50_000})
"""
    interrupt(INDEX + setup, f"index.match_batch({events})")


@interrupts
def test_an_interrupted_addition() -> None:
    interrupt(INDEX, "index.add_many(itertools.repeat(('new', 'a = 1 and b = 2')))")


@interrupts
def test_an_interrupted_addition_of_replacements() -> None:
    items = "(('kept' if n % 2 else n, 'a = 2') for n in itertools.count())"
    interrupt(INDEX, f"index.add_many({items})")
