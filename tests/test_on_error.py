"""One unreadable event does not affect the others: `on_error` in every batch method."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis import (
    Collected,
    DocumentError,
    EventError,
    GraphError,
    Index,
    LimitError,
    Match,
    Refused,
    Skipped,
    UnknownIdError,
    xml,
)

SUBSCRIPTIONS: dict[str | int, str] = {
    "small": "a < 10",
    "not": "not a < 10",
    "none": "missing(a)",
    "text": "name like '%z_'",
    "always": "true",
    "document": "xpath('//x')",
}


@pytest.fixture
def index() -> Index:
    index = Index()
    index.add_many(SUBSCRIPTIONS)
    return index


# One event in a thousand cannot be read.

BAD: list[Any] = [
    {"a": object()},
    {"a": [[1]]},
    "{",
    "[1]",
    "7",
    b"\xff{}",
    '{"a": 1}{',
    {3: 4},
    None,
    7,
    {"name": "\ud800"},
]


def many(seed: int, count: int = 5_000) -> tuple[list[Any], list[int]]:
    """Events, and the rows of those that cannot be read."""
    random = Random(seed)
    events: list[Any] = [
        random.choice(
            [{"a": random.randrange(20)}, {}, {"name": random.choice(["zo", "oz"])}, '{"a": 3}']
        )
        for _ in range(count)
    ]
    rows = sorted({0, count - 1, *random.sample(range(count), count // 1000)})
    for row in rows:
        events[row] = random.choice(BAD)
    return events, rows


@pytest.mark.parametrize("seed", range(5))
def test_the_others_match_what_they_match_without_it(index: Index, seed: int) -> None:
    events, rows = many(seed)
    alone = [[] if row in rows else index.match(event) for row, event in enumerate(events)]
    collected = index.match_batch(events, on_error="collect")
    assert collected.matches == alone
    assert [event.row for event in collected.refused] == rows
    skipped = index.match_batch(iter(events), on_error="skip")
    assert skipped == (alone, len(rows))
    with pytest.raises(EventError) as caught:
        index.match_batch(events)
    assert caught.value.item == rows[0]
    best, refused = index.top_batch(events, 2, on_error="collect")
    assert best == [[] if n in rows else index.top(event, 2) for n, event in enumerate(events)]
    assert [event.row for event in refused] == rows
    assert index.top_batch(events, 2, on_error="skip").skipped == len(rows)


def test_what_is_given_back(index: Index) -> None:
    collected = index.match_batch([{"a": 1}, {"a": [[1]]}], on_error="collect")
    assert isinstance(collected, Collected)
    matches, refused = collected
    assert matches == [["small", "always"], []]
    (event,) = refused
    assert isinstance(event, Refused)
    assert isinstance(event.error, EventError)
    assert (event.row, event.line) == (1, None)
    assert "`a`" in event.message
    assert str(event.error) == f"item 1 (event): {event.message}"
    skipped = index.match_batch([{"a": 1}, {"a": [[1]]}], on_error="skip")
    assert isinstance(skipped, Skipped)
    assert skipped.matches == matches
    assert skipped.skipped == 1
    best = index.top_batch([{"a": 1}, "{"], 1, on_error="collect").matches
    assert best == [[Match("small", 1.0)], []]


def test_nothing_is_refused(index: Index) -> None:
    events: list[Any] = [{"a": 1}, {}]
    assert index.match_batch(events, on_error="skip") == (index.match_batch(events), 0)
    assert index.match_batch(events, on_error="collect") == (index.match_batch(events), [])
    assert index.match_batch([], on_error="collect") == ([], [])
    assert index.match_batch(events, on_error="raise") == index.match_batch(events)


@pytest.mark.parametrize("wrong", ["ignore", "", "RAISE", "fail"])
def test_other_words(index: Index, wrong: Any) -> None:
    calls: list[Any] = [
        lambda: index.match_batch([], on_error=wrong),
        lambda: index.top_batch([], on_error=wrong),
        lambda: tamis.Graph().match_batch([], "x", on_error=wrong),
        lambda: xml.Filter().match_batch([], on_error=wrong),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f'"skip" or "collect", not "{wrong}"'):
            call()


@pytest.mark.parametrize("kind", [str, bytes])
def test_json_lines(index: Index, kind: Any) -> None:
    lines = ['{"a": 1}', "", "{", "  ", '{"a": 12}', "null", '{"a": 1']
    text: Any = "\n".join(lines)
    matches, refused = index.match_batch(text if kind is str else text.encode(), on_error="collect")
    assert matches == [["small", "always"], [], ["not", "always"], [], []]
    assert [(event.row, event.line) for event in refused] == [(1, 3), (3, 6), (4, 7)]
    assert str(refused[0].error).startswith("item 2 (line 3): ")
    assert index.match_batch(text, on_error="skip").skipped == 3
    with pytest.raises(EventError, match=r"item 2 \(line 3\)"):
        index.match_batch(text)


def test_many_json_lines(index: Index) -> None:
    events, rows = many(7)
    lines = [
        event if isinstance(event, str) else json.dumps(event, default=str)
        for event in ("{" if row in rows else event for row, event in enumerate(events))
    ]
    matches, refused = index.match_batch("\n".join(lines), on_error="collect")
    assert matches == [[] if n in rows else index.match(line) for n, line in enumerate(lines)]
    assert [event.row for event in refused] == rows


def test_limits_are_about_events(index: Index) -> None:
    limited = Index(limits=tamis.Limits(event=10))
    limited.add("x", "a = 1")
    matches, refused = limited.match_batch('{"a": 1}\n{"a": 1, "b": 2}', on_error="collect")
    assert matches == [["x"], []]
    assert isinstance(refused[0].error, LimitError)
    assert refused[0].error.allowed == 10


def test_errors_of_code_that_events_run_are_raised(index: Index) -> None:
    class Hostile(dict[str, Any]):
        def __iter__(self) -> Any:
            raise RuntimeError("no")

    def events() -> Any:
        yield {"a": 1}
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        index.match_batch(events(), on_error="skip")


# Documents


def test_documents(index: Index, tmp_path: Path) -> None:
    whole = tmp_path / "whole.xml"
    whole.write_text("<x/>")
    documents: list[Any] = [
        b"<x/>",
        b"<x",
        whole,
        tmp_path / "nowhere.xml",
        7,
        None,
        "<y/>",
        "\ud800",
    ]
    events = [{"a": 1}] * 8
    matches, refused = index.match_batch(events, documents=documents, on_error="collect")
    held, plain = ["small", "always", "document"], ["small", "always"]
    assert matches == [held, [], held, [], [], plain, plain, []]
    assert [event.row for event in refused] == [1, 3, 4, 7]
    assert isinstance(refused[0].error, DocumentError)
    assert isinstance(refused[1].error, FileNotFoundError)
    assert isinstance(refused[2].error, TypeError)
    # An event is refused once, together with its document.
    documents = [b"<x", b"<x", b"<x/>"]
    mixed: list[Any] = ["{", {"a": 1}, {"a": 1}]
    matches, refused = index.match_batch(mixed, documents=documents, on_error="collect")
    assert matches == [[], [], held]
    assert [event.row for event in refused] == [0, 1]
    assert index.match_batch(mixed, documents=documents, on_error="skip").skipped == 2
    with pytest.raises(EventError, match="no document for event 2"):
        index.match_batch(mixed, documents=documents[:2], on_error="skip")


def test_documents_and_lines_are_refused_in_order(index: Index) -> None:
    lines = '{"a": 1}\n{\n{"a": 1}'
    matches, refused = index.match_batch(
        lines, documents=[b"<x", None, b"<x/>"], on_error="collect"
    )
    assert matches[2][-1] == "document"
    assert [(event.row, event.line) for event in refused] == [(0, 1), (1, 2)]


# Arrow


def unreadable(rows: list[int], count: int) -> Any:
    values = [b"\x80" if row in rows else b"azo" for row in range(count)]
    binary = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), count, binary.buffers())


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("evaluation", ["auto", "events", "blocks"])
def test_arrow(index: Index, threads: int, evaluation: Any) -> None:
    random, count = Random(3), 5_000
    rows = sorted({0, 511, 512, count - 1, *random.sample(range(count), 5)})
    numbers = [random.randrange(20) for _ in range(count)]
    table = pa.table({"a": numbers, "name": unreadable(rows, count)})
    good = pa.table({"a": numbers, "name": ["azo"] * count})
    options: dict[str, Any] = {"threads": threads, "evaluation": evaluation}
    alone = [
        row for row in index.match_batch(good, **options).to_pylist() if row["event"] not in rows
    ]
    for data in (table, table.to_reader(100), table.slice(0)):
        collected = index.match_batch(data, on_error="collect", **options)
        assert isinstance(collected, Collected)
        assert collected.matches.to_pylist() == alone
        assert [event.row for event in collected.refused] == rows
        assert {event.message for event in collected.refused} == {
            "the attribute `name`: the text is not valid UTF-8"
        }
        assert all(isinstance(event.error, EventError) for event in collected.refused)
    skipped = index.match_batch(table, on_error="skip", **options)
    assert (skipped.matches.to_pylist(), skipped.skipped) == (alone, len(rows))
    with pytest.raises(EventError) as caught:
        index.match_batch(table.slice(1), **options)
    assert caught.value.item is not None
    assert caught.value.item + 1 in rows
    best = index.top_batch(table, 1, threads=threads, on_error="collect")
    expected = index.top_batch(good, 1).to_pylist()
    assert best.matches.to_pylist() == [row for row in expected if row["event"] not in rows]
    assert [event.row for event in best.refused] == rows
    assert index.top_batch(table, 1, on_error="skip").skipped == len(rows)


def test_arrow_events_in_one_column(index: Index) -> None:
    lines = ['{"a": 1}', None, "{", '{"a": 12}']
    matches, refused = index.match_batch(pa.table({"e": lines}), column="e", on_error="collect")
    assert [row["event"] for row in matches.to_pylist()] == [0, 0, 3, 3]
    assert [event.row for event in refused] == [1, 2]
    assert refused[0].message == "the event is null"
    documents = pa.table({"a": [1, 1, 1], "d": ["<x/>", "<x", None]})
    matches, refused = index.match_batch(documents, documents="d", on_error="collect")
    assert sorted(set(matches["event"].to_pylist())) == [0, 2]
    assert [event.row for event in refused] == [1]
    assert isinstance(refused[0].error, DocumentError)


def test_arrow_that_is_wrong_as_a_whole_is_an_error(index: Index) -> None:
    with pytest.raises(EventError, match="there is no column `x`"):
        index.match_batch(pa.table({"a": [1]}), column="x", on_error="skip")


# Graphs


def test_graphs() -> None:
    graph = tamis.Graph()
    graph.add_node("b", "a = 1")
    graph.add_edge("s", "b")
    events: list[Any] = [{"a": 1}, "{", {"a": 2}, {"a": [[1]]}, {"a": 1}]
    expected = [["b"], [], [], [], ["b"]]
    matches, refused = graph.match_batch(events, "s", on_error="collect")
    assert matches == expected
    assert [event.row for event in refused] == [1, 3]
    assert graph.match_batch(events, "s", on_error="skip") == (expected, 2)
    with pytest.raises(EventError) as caught:
        graph.match_batch(events, "s")
    assert caught.value.item == 1
    lines = '{"a": 1}\n\n{\n{"a": 1}'
    matches, refused = graph.match_batch(lines, "s", on_error="collect")
    assert (matches, [(event.row, event.line) for event in refused]) == (
        [["b"], [], ["b"]],
        [(1, 3)],
    )
    sources = ["s", "s", "nobody", "s", "s"]
    with pytest.raises(UnknownIdError, match="nobody"):
        graph.match_batch([{"a": 1}] * 5, sources)
    matches, refused = graph.match_batch([{"a": 1}] * 5, sources, on_error="collect")
    assert matches == [["b"], ["b"], [], ["b"], ["b"]]
    assert isinstance(refused[0].error, UnknownIdError)
    with pytest.raises(UnknownIdError):
        graph.match_batch(events, "nobody", on_error="skip")
    with pytest.raises(GraphError):
        graph.match_batch(events, ["s"], on_error="skip")


def test_graphs_of_arrow() -> None:
    graph = tamis.Graph()
    graph.add_node("b", "a < 10 and name like '%z_'")
    graph.add_edge("s", "b")
    rows = [0, 700, 1999]
    table = pa.table({"a": [1] * 2000, "name": unreadable(rows, 2000)})
    matches, refused = graph.match_batch(table, "s", on_error="collect")
    assert matches["event"].to_pylist() == [row for row in range(2000) if row not in rows]
    assert [event.row for event in refused] == rows
    assert graph.match_batch(table, "s", on_error="skip").skipped == 3
    with pytest.raises(EventError) as caught:
        graph.match_batch(table, "s")
    assert caught.value.item == 0
    sources = pa.table({"a": [1, 1, 1], "name": ["zo"] * 3, "from": ["s", None, "nobody"]})
    matches, refused = graph.match_batch(sources, sources="from", on_error="collect")
    assert matches["event"].to_pylist() == [0]
    assert [(event.row, type(event.error)) for event in refused] == [
        (1, GraphError),
        (2, GraphError),
    ]


# XML filters


def test_xml_filters(tmp_path: Path) -> None:
    filters = xml.Filter()
    filters.add("x", "//x")
    documents: list[Any] = [b"<x/>", b"<x", None, tmp_path / "nowhere", "<y/>", "<x/>"] * 100
    expected: list[list[Any]] = [["x"], [], [], [], [], ["x"]] * 100
    matches, refused = filters.match_batch(documents, on_error="collect")
    assert matches == expected
    assert [event.row for event in refused] == [n for n in range(600) if n % 6 in (1, 2, 3)]
    assert [type(event.error) for event in refused[:3]] == [
        DocumentError,
        TypeError,
        FileNotFoundError,
    ]
    assert filters.match_batch(documents, on_error="skip") == (expected, 300)
    with pytest.raises(DocumentError) as caught:
        filters.match_batch([b"<x/>", b"<x", b"<x"])
    assert caught.value.item == 1


# The command line


def test_command_line(tmp_path: Path) -> None:
    events, rows = many(11, 3_000)
    lines = [
        "{" if row in rows else event if isinstance(event, str) else json.dumps(event)
        for row, event in enumerate(events)
    ]
    (tmp_path / "events").write_text("\n".join(lines))
    subscriptions = [{"id": id, "expression": text} for id, text in SUBSCRIPTIONS.items()]
    (tmp_path / "subscriptions").write_text("\n".join(map(json.dumps, subscriptions)))
    index = Index()
    index.add_many(SUBSCRIPTIONS)

    def run(command: str, on_error: str) -> tuple[int, list[dict[str, Any]], str]:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tamis",
                command,
                "subscriptions",
                "events",
                f"--on-error={on_error}",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, list(map(json.loads, done.stdout.splitlines())), done.stderr

    code, written, told = run("match", "collect")
    assert code == 1
    assert [line["line"] for line in written] == list(range(1, len(lines) + 1))
    assert [line["line"] - 1 for line in written if "error" in line] == rows
    for row, line in enumerate(written):
        if row not in rows:
            assert line["matches"] == index.match(lines[row])
    assert f"{len(rows)} invalid" in told
    code, skipped, told = run("match", "skip")
    assert (code, skipped) == (1, [line for line in written if "error" not in line])
    assert f"{len(rows)} invalid, skipped" in told
    code, until, told = run("match", "raise")
    assert (code, until) == (1, written[: rows[0]])
    assert told.startswith(f"events:{rows[0] + 1}: ")
    code, best, told = run("top", "collect")
    assert [line["line"] - 1 for line in best if "error" in line] == rows
