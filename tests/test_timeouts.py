"""Every call ends soon after its `timeout`, however slow the input is."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from tamis import Graph, Index, MatchTimeoutError, xml

GIVEN = 0.05
LATE = 1.5  # seconds of CPU time, which other processes do not affect

CALLS: dict[str, Callable[[Index[Any], Any, float], object]] = {
    "match": lambda index, event, given: index.match(event, timeout=given),
    "match_json": lambda index, event, given: index.match_json(event, timeout=given),
    "top": lambda index, event, given: index.top(event, timeout=given),
    "first": lambda index, event, given: index.first(event, timeout=given),
    "batch": lambda index, event, given: index.match_batch([event] * 3, timeout=given),
    "skip": lambda index, event, given: index.match_batch(
        [event] * 3, on_error="skip", timeout=given
    ),
    "count": lambda index, event, given: index.match_batch(
        [event] * 3,
        count=True,
        timeout=given,
    ),
    "lines": lambda index, event, given: index.match_batch(json.dumps(event), timeout=given),
    "batch_json": lambda index, event, given: index.match_batch_json([event] * 3, timeout=given),
    "top_batch": lambda index, event, given: index.top_batch([event] * 3, timeout=given),
    "first_batch": lambda index, event, given: index.first_batch([event] * 3, timeout=given),
    "arrow": lambda index, event, given: index.match_batch(
        _table(event), column="event", timeout=given
    ),
    "arrow blocks": lambda index, event, given: index.match_batch(
        _table(event), column="event", evaluation="blocks", on_error="collect", timeout=given
    ),
    "arrow top": lambda index, event, given: index.top_batch(
        _table(event), column="event", timeout=given
    ),
    "arrow first": lambda index, event, given: index.first_batch(
        _table(event), column="event", timeout=given
    ),
}


def _table(event: Any) -> pa.Table:
    return pa.table({"event": [json.dumps(event)] * 3})


def stopped(call: Callable[[], object], given: float = GIVEN) -> None:
    """A call fails soon after its time is over."""
    began = time.process_time()
    with pytest.raises(MatchTimeoutError) as caught:
        call()
    taken = time.process_time() - began
    assert caught.value.seconds == given
    assert taken < given + LATE, taken


def unfiltered(number: int) -> str:
    """A regular expression that requires no literal."""
    first, second = divmod(number, 50)
    return f"[a-m]{{{first + 1}}}[n-z]{{{second + 1}}}\\d"


@pytest.fixture(scope="module")
def patterns() -> Index[int]:
    """Regular expressions without a required literal, so that each is tried."""
    index: Index[int] = Index()
    index.add_many((n, f"text matches '{unfiltered(n)}'") for n in range(2_000))
    return index


@pytest.mark.parametrize("name", CALLS)
def test_many_patterns_on_a_long_text(patterns: Index[int], name: str) -> None:
    event = {"text": "abcnopqrstuvwxyz " * 60_000}
    stopped(lambda: CALLS[name](patterns, event, GIVEN))
    assert patterns.match({"text": "an1"}, timeout=60) == [0]  # the scratch is clean
    assert patterns.match_batch([{"text": "ann1"}] * 3) == [[1]] * 3


@pytest.fixture(scope="module")
def sets() -> Index[int]:
    """Sets that are looked up for every value of a list; each contains 50 of its values."""
    index: Index[int] = Index()
    index.add_many(
        (
            n,
            f"go = 1 and x not in ({', '.join(str(200_000 + n + 2 * m) for m in range(40_000))})",
        )
        for n in range(300)
    )
    index.top({})  # prepares rankings, which cannot be interrupted
    return index


@pytest.mark.parametrize("name", ["match", "top", "first", "batch", "count", "arrow"])
def test_long_lists_and_large_sets(sets: Index[int], name: str) -> None:
    event = {"go": 1, "x": list(range(100_000))}
    assert len(sets.match(event)) == 300
    began = time.process_time()
    with pytest.raises(MatchTimeoutError):
        CALLS[name](sets, event, 0.001)
    assert time.process_time() - began < LATE


@pytest.fixture(scope="module")
def pairs() -> Index[int]:
    """Terms over all pairs of the values of two lists, computed when an event is read.

    A number times a text has no value, so the limit on values is not reached.
    """
    index: Index[int] = Index()
    index.add_many((n, f"(a + {n}) * b = -1") for n in range(4_900))
    return index


PAIRS = {"a": list(range(100)), "b": ["text"] * 100}


@pytest.mark.parametrize("name", CALLS)
def test_terms_of_all_pairs(pairs: Index[int], name: str) -> None:
    stopped(lambda: CALLS[name](pairs, PAIRS, GIVEN))


def test_elements_that_are_asked_one_by_one() -> None:
    index: Index[int] = Index()
    index.add_many((n, f"any(items, a matches '{unfiltered(n)}')") for n in range(400))
    event = {"items": [{"a": "abcabcabcxyz" * 20} for _ in range(5_000)]}
    for name in ("match", "top", "first", "batch", "explain"):
        call = CALLS.get(name, lambda index, event, given: index.explain(0, event, timeout=given))
        stopped(lambda call=call: call(index, event, GIVEN))  # type: ignore[misc]


def test_conditions_on_metadata() -> None:
    given = 0.002
    items = [(n, "x = 1", {"text": f"tenant {n} " * 20}) for n in range(60_000)]
    index: Index[int] = Index()
    index.add_many(items)
    where = "text matches '[a-z]+ [0-9]+ q'"
    asked: dict[str, Any] = {"where": where, "timeout": given}
    index.top({})
    for call in (index.match, index.top, index.first):
        stopped(lambda call=call: call({"x": 1}, **asked), given)  # type: ignore[misc]
    stopped(lambda: index.match_batch([{"x": 1}] * 3, **asked), given)
    columns: Index[int] = Index(metadata_columns=["text"])
    columns.add_many(items)
    stopped(lambda: columns.match({"x": 1}, **asked), given)
    assert columns.match({"x": 1}, where="text = 'none'", timeout=60) == []


def test_explanations() -> None:
    index: Index[str] = Index()
    parts = " or ".join(f"x matches '{unfiltered(n)}'" for n in range(500))
    index.add("long", parts)
    event = {"x": "abcnopqrstuvwxyz " * 60_000}
    stopped(lambda: index.explain("long", event, timeout=GIVEN))
    assert not index.explain("long", {"x": "a"}, timeout=60).matched


@pytest.fixture(scope="module")
def deep() -> Graph:
    """A chain of 300,000 nodes that all accept the event."""
    graph = Graph()
    nodes = ((n, f"x > -{n % 1_000 + 1}") for n in range(300_000))
    edges = ((n, n + 1) for n in range(300_000 - 1))
    graph.add_many(nodes, edges)
    graph.add_node("apart", "y = 1")
    graph.add_edge(299_999, "apart")
    return graph


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, given: graph.top({"x": 1}, 0, 250_000, timeout=given),
        lambda graph, given: graph.explain({"x": 1}, 0, 299_999, timeout=given),
        lambda graph, given: graph.explain({"x": 1}, 0, "apart", timeout=given),
        lambda graph, given: graph.match_batch([{"x": 1}], 0, timeout=given),
        lambda graph, given: graph.match_batch(
            pa.table({"x": [1]}), 0, on_error="collect", timeout=given
        ),
        lambda graph, given: list(graph.match({"x": 1}, 0, timeout=given)),
    ],
    ids=["top", "explain", "explain a cut", "match_batch", "arrow", "match"],
)
def test_deep_graphs(deep: Graph, call: Callable[[Graph, float], object]) -> None:
    for given in (0.0, 0.005):
        began = time.process_time()
        with pytest.raises(MatchTimeoutError):
            call(deep, given)
        assert time.process_time() - began < LATE
    assert deep.explain({"x": 1}, 0, 5, timeout=60).reached


def test_explanations_of_xml() -> None:
    filters: xml.Filter[str] = xml.Filter()
    filters.add("slow", "count(//a[count(following-sibling::a) > 3]) > 0")
    document = "<r>" + "<a/>" * 4_000 + "</r>"
    stopped(lambda: filters.explain("slow", document, timeout=GIVEN))
    with pytest.raises(ValueError, match="timeout must be a number"):
        filters.explain("slow", document, timeout=-1)


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_wrong_timeouts(patterns: Index[int], wrong: float) -> None:
    for call in CALLS.values():
        with pytest.raises(ValueError, match="timeout must be a number"):
            call(patterns, {"text": "a"}, wrong)


def test_one_batch_has_one_deadline(patterns: Index[int]) -> None:
    """Events that are fast alone take too long together."""
    event = json.dumps({"text": "abcnopqrstuvwxyz " * 100}).encode()
    patterns.match(event, timeout=60)
    stopped(lambda: patterns.match_batch([event] * 5_000, timeout=GIVEN))
    stopped(lambda: patterns.match_batch_json([event] * 5_000, timeout=GIVEN))


@pytest.mark.parametrize("on_error", ["raise", "skip", "collect"])
def test_batches_that_other_threads_match(
    patterns: Index[int], pairs: Index[int], on_error: Any
) -> None:
    """The first events are fast, so that other threads match the slow ones."""
    given = 0.3  # seconds
    few: list[Any] = [{"other": 1}] * 300
    slow_text = {"text": "abcnopqrstuvwxyz " * 10_000}
    for index, slow in ((patterns, slow_text), (pairs, PAIRS)):
        many = few + [slow] * 1_000
        texts = [json.dumps(event) for event in many]
        for events in (many, texts, "\n".join(texts)):
            call = partial(index.match_batch, events, on_error=on_error, timeout=given)
            stopped(call, given)
        answers = index.match_batch(few * 2, on_error="collect", timeout=60)
        assert len(answers.matches) == 600
        assert not answers.refused


def test_arrow_data_that_is_read_by_column(patterns: Index[int], pairs: Index[int]) -> None:
    text = "abcnopqrstuvwxyz " * 10_000
    table = pa.table({"text": [text] * 500})
    lists = pa.table({name: [values] * 500 for name, values in PAIRS.items()})
    for index, events in ((patterns, table), (pairs, lists)):
        for method in (index.match_batch, index.top_batch, index.first_batch):
            stopped(partial(method, events, timeout=GIVEN))
        stopped(partial(index.match_batch, events, on_error="collect", timeout=GIVEN))
