"""Batches as Arrow data give the matches that single events give."""

import json
from datetime import time
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
import tamis
import writers
from tamis import EventError, Index

SUBSCRIPTIONS = {
    "adult": "age >= 18",
    "west": "user.state in ('CA', 'OR') and tags = 'new'",
    "member": "member and not score < 2.5",
    "unknown": "age is null",
    "mapped": "more.color = 'red'",
}
EVENTS: list[dict[str, Any]] = [
    {"age": 21, "user": {"state": "CA"}, "tags": ["new", None], "member": True, "score": 2.5},
    {"age": None, "user": {"state": None}, "tags": [], "member": False, "score": 9.0},
    {"age": 3, "user": None, "tags": None, "member": None, "score": None},
    {"age": 90, "user": {"state": "OR"}, "tags": ["old", "new"], "member": True, "score": 1.0},
]


@pytest.fixture
def index() -> Index:
    index = Index()
    index.add_many(SUBSCRIPTIONS)
    return index


def pairs(table: Any) -> list[tuple[int, Any]]:
    assert table.schema.names == ["event", "subscription"]
    return [(row["event"], row["subscription"]) for row in table.to_pylist()]


def expected(index: Index, events: list[Any]) -> list[tuple[int, Any]]:
    return [(row, id) for row, event in enumerate(events) for id in index.match(event)]


def test_columns_are_attributes(index: Index) -> None:
    table = pa.Table.from_pylist(EVENTS)
    found = index.match_batch(table)
    assert isinstance(found, pa.Table)
    assert pairs(found) == expected(index, EVENTS)
    assert pairs(index.match_batch(table.to_batches()[0])) == expected(index, EVENTS)
    assert pairs(index.match_batch(table.to_reader())) == expected(index, EVENTS)


@given(
    st.lists(strategies.expressions, min_size=1, max_size=12),
    st.lists(strategies.unambiguous_events, min_size=1, max_size=6),
    st.lists(st.integers(0, 5), min_size=1, max_size=100),
    strategies.missing,
    strategies.randoms,
)
def test_blocks_of_events_match_what_single_events_match(
    nodes: list[Any], events: list[Any], picks: list[int], missing: Any, random: Random
) -> None:
    index = Index(matcher="compiled", missing=missing)
    items = [(number, writers.build(node, random)) for number, node in enumerate(nodes)]
    # Two segments, with removals.
    index.add_many(items[::2])
    index.add_many(items[1::2])
    for number in range(0, len(items), 5):
        index.remove(number)
    lines = [json.dumps(events[pick % len(events)]) for pick in picks]
    table = pa.table({"event": lines})
    wanted = expected(index, lines)
    for evaluation in ("auto", "events", "blocks"):
        found = index.match_batch(table, column="event", evaluation=evaluation, threads=2)
        assert pairs(found) == wanted, evaluation


def test_evaluations_have_names(index: Index) -> None:
    with pytest.raises(
        ValueError, match='evaluation must be "auto", "events" or "blocks", not "fast"'
    ):
        index.match_batch(pa.table({"age": [1]}), evaluation="fast")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="`evaluation` with Arrow data only"):
        index.match_batch([{"age": 1}], evaluation="blocks")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_types_of_text(index: Index, kind: pa.DataType) -> None:
    table = pa.table({"tags": pa.array(["new", None], kind), "age": pa.array([1, 20])})
    table = table.append_column("user", pa.array([{"state": "CA"}, {"state": "CA"}]))
    assert pairs(index.match_batch(table)) == [(0, "west"), (1, "adult")]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64()], ids=str
)
def test_types_of_numbers(index: Index, kind: pa.DataType) -> None:
    assert pairs(index.match_batch(pa.table({"age": pa.array([17, 18, None], kind)}))) == [
        (1, "adult"),
        (2, "unknown"),
    ]


def test_dictionaries_and_lists(index: Index) -> None:
    tags = pa.array([["a", "new"], [], None], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    states = pa.array(["CA", "CA", "CA"]).dictionary_encode()
    for kind in (tags.type, pa.large_list(pa.string())):
        user = pa.StructArray.from_arrays([states], ["state"])
        table = pa.table({"tags": tags.cast(kind), "user": user, "age": [1, 1, 1]})
        assert pairs(index.match_batch(table)) == [(0, "west")]


def test_one_column_holds_the_events(index: Index) -> None:
    texts = [json.dumps(event) for event in EVENTS]
    columns = {
        "text": pa.array(texts),
        "bytes": pa.array([text.encode() for text in texts]),
        "struct": pa.array(EVENTS),
    }
    for name, column in columns.items():
        table = pa.table({"other": [1] * 4, name: column})
        assert pairs(index.match_batch(table, column=name)) == expected(index, EVENTS)
    maps = pa.array([[("age", 20)], [("age", None)], []], pa.map_(pa.string(), pa.int64()))
    found = index.match_batch(pa.table({"event": maps}), column="event")
    assert pairs(found) == [(0, "adult"), (1, "unknown"), (2, "unknown")]
    more = pa.array([[("color", "red")], None], pa.map_(pa.string(), pa.string()))
    found = index.match_batch(pa.table({"more": more, "age": [1, 1]}))
    assert pairs(found) == [(0, "mapped")]


def test_a_null_struct_is_a_null() -> None:
    index = Index()
    index.add_many({"exists": "exists(user)", "missing": "missing(user)", "old": "user.age > 3"})
    events: list[dict[str, Any]] = [{"user": None}, {"user": {"age": 5}}, {"user": {"age": None}}]
    table = pa.Table.from_pylist(events)
    assert pairs(index.match_batch(table)) == expected(index, events)
    column = pa.table({"event": pa.array([None], table.schema.field("user").type)})
    with pytest.raises(EventError, match="the event is null"):
        index.match_batch(column, column="event")


def test_slices_and_many_chunks(index: Index) -> None:
    events = [{"age": number % 40} for number in range(5000)]
    table = pa.Table.from_pylist(events)
    chunked = pa.concat_tables([table.slice(0, 7), table.slice(7, 3000), table.slice(3007)])
    for threads in (1, 2, 5):
        assert pairs(index.match_batch(chunked, threads=threads)) == expected(index, events)


def test_slices_of_nested_columns() -> None:
    index = Index()
    index.add_many(
        [(1, "a.b.c = 2"), (2, "a.d.e = 2"), (3, "a.f contains 'x2'"), (4, "a.b is null")]
    )
    rows = [
        {"a": {"b": {"c": k} if k else None, "d": [{"e": k}, {"e": -k}], "f": [f"x{k}"]}}
        for k in range(6)
    ]
    inner = pa.struct([("c", pa.int64())])
    lists = (pa.list_(pa.struct([("e", pa.int64())]), 2), pa.list_(pa.struct([("e", pa.int64())])))
    for kind in lists:
        fields = [("b", inner), ("d", kind), ("f", pa.list_(pa.string(), 1))]
        table = pa.table({"a": pa.array([row["a"] for row in rows], pa.struct(fields))})
        for first in range(6):
            expected = [(at, id) for at, row in enumerate(rows[first:]) for id in index.match(row)]
            for part in (table.slice(first), pa.table({"a": table["a"].slice(first)})):
                found = index.match_batch(part)
                assert [
                    (row["event"], row["subscription"]) for row in found.to_pylist()
                ] == expected


def test_integers_as_ids_and_no_events() -> None:
    index = Index()
    index.add(7, "true")
    found = index.match_batch(pa.table({"x": [1, 2]}))
    assert found.schema.field("subscription").type == pa.int64()
    assert pairs(found) == [(0, 7), (1, 7)]
    assert index.match_batch(pa.table({"x": pa.array([], pa.int64())})).num_rows == 0
    assert index.match_batch(pa.schema([("x", pa.int64())]).empty_table()).num_rows == 0
    index.add("seven", "true")
    with pytest.raises(EventError, match="ids of one type"):
        index.match_batch(pa.table({"x": [1]}))


def test_bad_columns(index: Index) -> None:
    with pytest.raises(EventError, match="no column `event`"):
        index.match_batch(pa.table({"x": [1]}), column="event")
    with pytest.raises(EventError, match="`x` holds"):
        index.match_batch(pa.table({"x": [1]}), column="x")
    times = pa.array([time(12, 30)])
    with pytest.raises(EventError, match=r"types without a meaning here: `age` .*, `score` "):
        index.match_batch(pa.table({"age": times, "other": times, "score": times}))
    numbers = pa.array([Decimal(1), Decimal("1." + "1" * 60)], pa.decimal256(76, 60))
    with pytest.raises(
        EventError, match=r"item 1 .*`score`: the decimal has more than 38"
    ) as caught:
        index.match_batch(pa.table({"score": numbers}))
    assert caught.value.item == 1
    with pytest.raises(EventError, match="item 2"):
        index.match_batch(pa.table({"event": ["{}", "{}", "{"]}), column="event")
    with pytest.raises(EventError, match="null"):
        index.match_batch(pa.table({"event": pa.array([None], pa.string())}), column="event")
    with pytest.raises(EventError, match="list inside a list"):
        index.match_batch(pa.table({"tags": [[["new"]]]}))
    # Columns that no expression mentions are ignored.
    other = {"other": [time(12, 30)], "age": [20]}
    assert pairs(index.match_batch(pa.table(other))) == [(0, "adult")]


def test_a_mapping_is_no_batch(index: Index) -> None:
    with pytest.raises(EventError, match="call match"):
        index.match_batch({"age": 3})


@given(
    st.lists(strategies.expressions, min_size=1, max_size=12),
    st.lists(strategies.unambiguous_events, min_size=1, max_size=8),
    strategies.randoms,
)
def test_json_columns_equal_single_events(
    nodes: list[Any], events: list[Any], random: Random
) -> None:
    index = Index(matcher="compiled")
    index.add_many((number, writers.build(node, random)) for number, node in enumerate(nodes))
    table = pa.table({"event": [json.dumps(event) for event in events]})
    assert pairs(index.match_batch(table, column="event")) == expected(index, events)


def test_threads_need_arrow(index: Index) -> None:
    with pytest.raises(ValueError, match="Arrow"):
        index.match_batch([{}], threads=2)
    assert tamis.Index().match_batch([{}]) == [[]]
