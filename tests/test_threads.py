"""Many threads: all or nothing of a change, no interpreter's lock, and calls within calls."""

import json
import sys
import threading
import time
from collections import UserDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import tamis
from tamis import Index, Limits, attr


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    """Let threads take turns much more often than usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@contextmanager
def meanwhile(*works: Callable[[], object]) -> Iterator[None]:
    """Repeat the works, each in a thread of its own, until the block ends; raise their errors."""
    done = threading.Event()

    def repeat(work: Callable[[], object]) -> int:
        rounds = 0
        while not done.is_set() or rounds == 0:
            work()
            rounds += 1
        return rounds

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(repeat, work) for work in works]
        try:
            yield
        finally:
            done.set()
        for future in futures:
            assert future.result(timeout=60) > 0


SIZE = 40
GENERATIONS = 150


def test_a_match_sees_all_or_nothing_of_a_batch() -> None:
    """Each batch replaces all subscriptions; no reader sees some of the old and some of the new."""
    index = Index()

    def write(generation: int) -> None:
        index.add_many((id, f"generation = {generation}") for id in range(SIZE))

    write(0)
    everything = list(range(SIZE))
    any_generation = {"generation": list(range(GENERATIONS + 1))}
    generations = [{"generation": generation} for generation in range(GENERATIONS + 1)]
    lines = "\n".join(json.dumps(event) for event in generations)

    def one_match() -> None:
        assert index.match(any_generation) == everything

    def one_generation() -> None:
        for found in (index.match(event) for event in generations):
            assert found in ([], everything)

    def one_batch() -> None:
        for matches in (index.match_batch(generations), index.match_batch(lines)):
            assert sorted(map(len, matches)) == [0] * GENERATIONS + [SIZE]

    def one_look() -> None:
        assert list(index) == everything
        assert len(index) == SIZE
        assert index.stats()["subscriptions"] == SIZE
        assert SIZE - 1 in index
        assert index.explain(3, any_generation).matched

    with meanwhile(one_match, one_generation, one_batch, one_look):
        for generation in range(1, GENERATIONS + 1):
            write(generation)
    assert index.match({"generation": GENERATIONS}) == everything


def test_additions_and_removals_while_matching() -> None:
    """What is never touched always matches; what comes and goes is seen in order or not at all."""
    index = Index()
    index.add_many((id, "x = 1") for id in range(0, 100, 2))
    steady = set(range(0, 100, 2))

    def match() -> None:
        found = index.match({"x": 1})
        assert steady <= set(found)
        assert len(set(found)) == len(found)
        assert [id for id in found if id in steady] == sorted(steady)

    with meanwhile(match, match):
        for _ in range(30):
            for id in range(1, 100, 2):
                index.add(id, "x = 1")
            for id in range(1, 100, 2):
                index.remove(id)
    assert index.match({"x": 1}) == sorted(steady)


def test_many_writers() -> None:
    index = Index()

    def write(worker: int) -> None:
        for number in range(200):
            index.add(worker * 1000 + number, f"worker = {worker}")
        index.add_many((worker * 1000 + number, "true") for number in range(0, 200, 2))
        for number in range(1, 200, 2):
            index.remove(worker * 1000 + number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    expected = {worker * 1000 + number for worker in range(4) for number in range(0, 200, 2)}
    assert set(index) == set(index.match({})) == expected
    assert len(index) == len(expected)


def test_writers_of_one_id() -> None:
    index = Index()

    def write(worker: int) -> None:
        for _ in range(300):
            index.add("x", f"a = {worker}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert list(index) == ["x"]
    assert index.match({"a": [0, 1, 2, 3]}) == ["x"]


# Without the interpreter's lock


def ticks_during(call: Callable[[], object]) -> tuple[int, float]:
    """How often another Python thread came round while the call ran, and for how long it ran."""
    ticks = 0
    done = threading.Event()
    started = threading.Event()

    def tick() -> None:
        nonlocal ticks
        started.set()
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started.wait()
    try:
        before, clock = ticks, time.perf_counter()
        call()
        after, seconds = ticks, time.perf_counter() - clock
    finally:
        done.set()
        thread.join()
    return after - before, seconds


@pytest.fixture(scope="module")
def slow() -> Index:
    """An index that needs tens of milliseconds for an event."""
    index = Index()
    patterns = ["%" + "abc" * length + "_x%" for length in range(10, 30)]
    index.add_many((pattern, attr.text.like(pattern)) for pattern in patterns)
    return index


TEXT = "abc" * 50_000


@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.match({"text": TEXT}),
        lambda index: index.match(json.dumps({"text": TEXT})),
        lambda index: index.match_batch([{"text": TEXT}] * 4),
        lambda index: index.match_batch((json.dumps({"text": TEXT}) + "\n") * 4),
    ],
    ids=["match a mapping", "match JSON", "a batch of mappings", "a batch of lines"],
)
def test_other_threads_run_while_one_matches(slow: Index, call: Callable[[Index], object]) -> None:
    ticks, seconds = ticks_during(lambda: [call(slow) for _ in range(3)])
    assert ticks > seconds * 100, f"{ticks} ticks in {seconds:.3f} s"


def big() -> tuple[Index, list[tuple[int, tamis.Expression]]]:
    """An index, and a batch that takes it long to compile though it is quickly handed over."""
    limits = Limits(text=2**40, nodes=2**40)
    text = " or ".join(f"a = {number}" for number in range(200_000))
    expression = tamis.parse(text, limits=limits)
    index = Index(limits=limits)
    index.add("x", "a = 1")
    return index, [(id, expression) for id in range(8)]


def test_other_threads_run_while_one_adds() -> None:
    index, batch = big()
    ticks, seconds = ticks_during(lambda: index.add_many(batch))
    assert ticks > seconds * 50, f"{ticks} ticks in {seconds:.3f} s"


def test_reading_does_not_wait_for_writing() -> None:
    """While a large batch is compiled, every kind of reading is answered at once."""
    index, batch = big()
    reads: dict[str, Callable[[], object]] = {
        "match": lambda: index.match({"a": 1}),
        "match_batch": lambda: index.match_batch(['{"a": 1}']),
        "len": lambda: len(index),
        "iteration": lambda: list(index),
        "stats": index.stats,
        "in": lambda: "x" in index,
        "[]": lambda: index["x"],
        "explain": lambda: index.explain("x", {"a": 1}),
    }
    waits = dict.fromkeys(reads, 0.0)
    clock = time.perf_counter()
    thread = threading.Thread(target=lambda: index.add_many(batch))
    thread.start()
    while thread.is_alive() and len(index) == 1:
        for name, read in reads.items():
            before = time.perf_counter()
            read()
            waits[name] = max(waits[name], time.perf_counter() - before)
    seconds = time.perf_counter() - clock
    thread.join()
    slow = {
        name: f"{wait:.3f} of {seconds:.3f} s" for name, wait in waits.items() if wait > seconds / 2
    }
    assert not slow


# Calls within calls


class Calling(UserDict[str, Any]):
    """An event that makes a call whenever it is read."""

    def __init__(self, event: dict[str, Any], call: Callable[[], object]) -> None:
        super().__init__(event)
        self.call = call
        self.results: list[object] = []

    def items(self) -> Any:
        self.results.append(self.call())
        return super().items()


@pytest.mark.parametrize("method", ["match", "match_batch", "explain"])
def test_an_event_may_call_the_index(method: str) -> None:
    index = Index()
    index.add_many([("one", "a = 1"), ("two", "a = 2"), ("deep", "b.c = 3")])
    calls: dict[str, Callable[[], object]] = {
        "match": lambda: index.match({"a": 2}),
        "match JSON": lambda: index.match('{"a": 2}'),
        "match_batch": lambda: index.match_batch([{"a": 2}] * 600 + [{"b": {"c": 3}}])[-1],
        "match lines": lambda: index.match_batch('{"a": 2}\n' * 600),
        "explain": lambda: index.explain("two", {"a": 2}).truth,
        "nested": lambda: index.match(Calling({"a": 2}, lambda: index.match({"b": {"c": 3}}))),
    }
    for call in calls.values():
        alone = call()
        for event in (Calling({"a": 1}, call), {"b": Calling({"c": 3}, call), "a": 1}):
            if method == "match":
                found = index.match(event)
            elif method == "match_batch":
                (_, found, _) = index.match_batch([{"a": 2}, event, {"b": {"c": 3}}])
            else:
                found = [id for id in index if index.explain(id, event).matched]
            assert found == (["one"] if isinstance(event, Calling) else ["one", "deep"])
            calling = event if isinstance(event, Calling) else event["b"]
            assert isinstance(calling, Calling)
            assert calling.results[0] == alone


def test_an_event_may_change_the_index() -> None:
    """The match goes on with the index as it was when it began."""
    index = Index()
    index.add_many([("one", "a = 1"), ("two", "a = 1")])

    def change() -> None:
        index.remove("one")
        index.add("two", "a = 2")
        index.add_many((id, "a = 1 and b = 2") for id in range(3))

    assert index.match(Calling({"a": 1, "b": 2}, change)) == ["one", "two"]
    assert index.match({"a": 1, "b": 2}) == [0, 1, 2]
    assert list(index) == ["two", 0, 1, 2]


def test_a_batch_of_subscriptions_may_use_the_index() -> None:
    index = Index()

    def items() -> Iterator[tuple[str, str]]:
        yield "a", "x = 1"
        index.add("between", "x = 1")
        assert index.match({"x": 1}) == ["between"]
        yield "b", "x = 1"
        index.remove("between")

    index.add_many(items())
    assert index.match({"x": 1}) == ["a", "b"]


def test_a_batch_of_events_may_change_the_index() -> None:
    """All events of a batch meet the index of one moment."""
    index = Index()
    index.add("first", "true")

    def events() -> Iterator[dict[str, int]]:
        for number in range(600):
            index.add(number, "true")
            yield {"x": number}

    assert index.match_batch(events()) == [["first"]] * 600
    assert len(index) == 601
