"""Searching a graph for many events at once: lists, JSON lines and Arrow data."""

import json
from typing import Any

import pyarrow
import pytest

import tamis
from graphs import EVENT, exchange
from tamis import EventError, GraphError, UnknownIdError

ARROW = [("topic", pyarrow.string()), ("age", pyarrow.int32()), ("adsize", pyarrow.string())]


def arrow_pairs(table: Any) -> list[tuple[int, Any]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_batches() -> None:
    graph = exchange()
    events = [EVENT, {"topic": "finance", "age": 50}, {}]
    expected = [list(graph.match(event, "pub1")) for event in events]
    assert graph.match_batch(events, "pub1") == expected
    assert graph.match_batch((event for event in events), "pub1") == expected
    lines = "\n".join(map(json.dumps, events)) + "\n\n"
    assert graph.match_batch(lines, "pub1") == expected
    assert graph.match_batch(lines.encode(), "pub1") == expected
    assert graph.match_batch(events[:2], ["net3", "net2"]) == [["adv3"], ["net1"]]
    assert graph.match_batch([EVENT] * 200, "pub1", sinks_only=True) == [["adv1"]] * 200
    assert graph.match_batch([], "pub1") == []
    with pytest.raises(GraphError, match="2 sources and 1 events"):
        graph.match_batch([EVENT], ["net3", "net2"])
    with pytest.raises(GraphError, match=r"more events than sources \(1\)"):
        graph.match_batch([EVENT, EVENT], ["net3"])
    with pytest.raises(tamis.EventError, match="not one event"):
        graph.match_batch(EVENT, "pub1")
    with pytest.raises(tamis.EventError, match=r"item 1 \(event\)"):
        graph.match_batch([{}, {"age": [[1]]}], "pub1")


def test_batches_of_arrow_data() -> None:
    graph = exchange()
    events: list[dict[str, Any]] = [EVENT, {"topic": "travel"}, {**EVENT, "adsize": "728x90"}, {}]
    table = pyarrow.Table.from_pylist(events, schema=pyarrow.schema(ARROW))
    lists = graph.match_batch(events, "pub1")
    expected = [(row, node) for row, nodes in enumerate(lists) for node in nodes]
    found = graph.match_batch(table, "pub1")
    assert found.column_names == ["event", "node"]
    assert arrow_pairs(found) == expected
    texts = pyarrow.table({"e": [json.dumps(event) for event in events]})
    assert arrow_pairs(graph.match_batch(texts, "pub1", column="e")) == expected
    sources = ["pub1", "net1", "net2", "adv1"]
    each = table.append_column("from", [sources])
    expected = [
        (row, node)
        for row, nodes in enumerate(graph.match_batch(events, sources, sinks_only=True))
        for node in nodes
    ]
    assert arrow_pairs(graph.match_batch(each, sources="from", sinks_only=True)) == expected
    assert graph.match_batch(table.slice(0, 0), "pub1").num_rows == 0
    assert sorted(graph.attributes) == ["adsize", "age", "topic"]


def test_arrow_data_that_cannot_be_searched() -> None:
    graph = exchange()
    table = pyarrow.table({"age": [1, 2], "from": ["pub1", "x"], "none": ["pub1", None]})
    both: dict[str, Any] = {"source": "pub1", "sources": "from"}
    for arguments in ({}, both):
        with pytest.raises(ValueError, match="pass `source`, a node, or `sources`"):
            graph.match_batch(table, **arguments)
    with pytest.raises(UnknownIdError):
        graph.match_batch(table, "pub7")
    with pytest.raises(EventError, match="no column `start`"):
        graph.match_batch(table, sources="start")
    with pytest.raises(
        GraphError, match=r'item 1 \(event\): the source is "x", an id that no node'
    ):
        graph.match_batch(table, sources="from")
    with pytest.raises(GraphError, match=r"item 1 \(event\): the source is null"):
        graph.match_batch(table, sources="none")
    with pytest.raises(ValueError, match="with Arrow data only"):
        graph.match_batch([{}], "pub1", column="e")
    graph.add_edge("pub1", 7)
    with pytest.raises(GraphError, match="an Arrow column holds ids of one type"):
        graph.match_batch(table, "pub1")
