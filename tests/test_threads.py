"""Threads: atomic changes, no interpreter's lock, and reentrant calls."""

import json
import os
import subprocess
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
    """Make threads switch much more often than usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@contextmanager
def meanwhile(*works: Callable[[], object], rounds: int = 20) -> Iterator[Iterator[int]]:
    """Repeat functions in separate threads; yields until each has run this many times."""
    done = threading.Event()
    counts = [0] * len(works)

    def repeat(position: int) -> None:
        while not done.is_set():
            works[position]()
            counts[position] += 1

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(repeat, position) for position in range(len(works))]

        def turns() -> Iterator[int]:
            turn = 0
            while min(counts) < rounds and not any(future.done() for future in futures):
                yield turn
                turn += 1

        try:
            yield turns()
        finally:
            done.set()
        for future in futures:
            future.result()


def test_a_match_sees_all_or_nothing_of_a_batch() -> None:
    """Each batch replaces all subscriptions; no reader sees some of the old and some of the new."""
    index = Index()
    everything = list(range(40))
    generations = [{"generation": generation} for generation in range(30)]
    any_generation = {"generation": list(range(30))}
    lines = "\n".join(json.dumps(event) for event in generations)

    def write(turn: int) -> None:
        index.add_many((id, f"generation = {turn % 30}") for id in everything)

    def one_match() -> None:
        assert index.match(any_generation) == everything

    def one_generation() -> None:
        for event in generations:
            assert index.match(event) in ([], everything)

    def one_batch() -> None:
        for matches in (index.match_batch(generations), index.match_batch(lines)):
            assert sorted(map(len, matches)) == [0] * 29 + [40]

    def one_look() -> None:
        assert list(index) == everything
        assert len(index) == 40
        assert index.stats()["subscriptions"] == 40
        assert 39 in index
        assert index.explain(3, any_generation).matched

    write(0)
    with meanwhile(one_match, one_generation, one_batch, one_look) as turns:
        for turn in turns:
            write(turn)
    write(7)
    assert index.match({"generation": 7}) == everything


def test_additions_and_removals_while_matching() -> None:
    """Unchanged subscriptions always match; changing ones match once or not at all."""
    index = Index()
    steady = list(range(0, 100, 2))
    index.add_many((id, "x = 1") for id in steady)

    def match() -> None:
        found = index.match({"x": 1})
        assert len(set(found)) == len(found)
        assert [id for id in found if id % 2 == 0] == steady

    with meanwhile(match, match, rounds=200) as turns:
        for _ in turns:
            for id in range(1, 100, 2):
                index.add(id, "x = 1")
            for id in range(1, 100, 2):
                index.remove(id)
    assert index.match({"x": 1}) == steady


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


def check_others_run(call: Callable[[], object]) -> None:
    """Another Python thread runs many times during one call."""
    ticks = 0
    started, done = threading.Event(), threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            started.set()
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
    assert after - before >= 10, f"{after - before} ticks in {seconds:.3f} s"


@pytest.fixture(scope="module")
def slow() -> Index:
    """An index that needs tenths of a second for an event."""
    index = Index()
    patterns = ["%" + "abc" * length + "_x%" for length in range(10, 60)]
    index.add_many((pattern, attr.text.like(pattern)) for pattern in patterns)
    return index


EVENT = {"text": "abc" * 50_000}
CALLS: dict[str, Callable[[Index], object]] = {
    "a mapping": lambda index: index.match(EVENT),
    "JSON": lambda index: index.match(json.dumps(EVENT)),
    "a batch of mappings": lambda index: index.match_batch([EVENT] * 2),
    "a batch of lines": lambda index: index.match_batch((json.dumps(EVENT) + "\n") * 2),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_other_threads_run_while_one_matches(slow: Index, call: Callable[[Index], object]) -> None:
    check_others_run(lambda: call(slow))


def big() -> tuple[Index, list[tuple[int, tamis.Expression]]]:
    """An index, and a batch that is quick to pass but slow to compile."""
    limits = Limits(text=2**40, nodes=2**40)
    text = " or ".join(f"a = {number}" for number in range(200_000))
    expression = tamis.parse(text, limits=limits)
    index = Index(limits=limits)
    index.add("x", "a = 1")
    return index, [(id, expression) for id in range(8)]


def test_other_threads_run_while_one_adds() -> None:
    index, batch = big()
    check_others_run(lambda: index.add_many(batch))


def test_reading_does_not_wait_for_writing() -> None:
    """While a large batch is compiled, all reading methods return at once."""
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


# Reentrant calls


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
    """The match continues with the snapshot with which it began."""
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
    """All events of a batch are matched against one snapshot."""
    index = Index()
    index.add("first", "true")

    def events() -> Iterator[dict[str, int]]:
        for number in range(600):
            index.add(number, "true")
            yield {"x": number}

    assert index.match_batch(events()) == [["first"]] * 600
    assert len(index) == 601


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_merges_on_its_own() -> None:
    """A process forked during a merge has no thread to finish it."""
    script = """
import os, signal, sys, tamis
index = tamis.Index()
for start in range(0, 40_000, 5_000):
    index.add_many((n, f"a = {n} and b in ({n % 5}, {n % 7})") for n in range(start, start + 5_000))
child = os.fork()
if child == 0:
    signal.alarm(30)
    index.settle()
    index.add("late", "a = 3")
    os._exit(0 if index.match({"a": 3, "b": 3}) == [3, "late"] else 1)
index.settle()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run = subprocess.run([sys.executable, "-c", script], timeout=120, check=False)
    assert run.returncode == 0


def test_replacing_for_long_stays_compact() -> None:
    index = Index()
    index.add_many((n, f"a = {n}") for n in range(5_000))
    for round in range(4):
        for n in range(5_000):
            index.add(n, f"a = {n + round}")
    index.settle()
    stats = index.stats()
    assert stats["subscriptions"] == 5_000
    assert stats["removed"] <= 2 * 5_000 + 2_048
    assert index.match({"a": 100}) == [97]


def test_a_thread_that_ends_last_lets_an_index_go() -> None:
    """Scratch memory keeps no index alive: a thread drops it too late to drop an index."""
    code = """
import threading, tamis
made = [tamis.Index()]
made[0].add("a", "any(items, price > 3 and colour = 'red') or y = 1")
item = {"price": 5, "colour": "red"}
def use(event, error):
    try:
        made[0].match(event)
    except tamis.EventError:
        assert error
    made.clear()
for event, error in [
    ({"items": [item]}, False),
    ({"items": [item], "y": [[1]]}, True),
    ('{"items": [{"price": 5}], "y": [[1]]}', True),
    ({"items": [item, {"price": [[1]]}]}, True),
]:
    if not made:
        made.append(tamis.Index())
        made[0].add("a", "any(items, price > 3 and colour = 'red') or y = 1")
    thread = threading.Thread(target=use, args=(event, error))
    thread.start()
    thread.join()
print("done")
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr[-2000:]
