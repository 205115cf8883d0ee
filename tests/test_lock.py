"""Long calls release the interpreter's lock, and can be interrupted."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis import Expression, Index, Limits

TEXT = " or ".join(f"a{n} = {n}" for n in range(20_000))
LIMITS = Limits(text=1 << 24, nodes=1 << 20)
EVENT = json.dumps({f"a{n}": n for n in range(20_000)})


def gives_way(work: Callable[[], Any]) -> bool:
    """Whether another thread runs at the same time.

    A waiting thread only gets the lock if the call releases it: the switch interval is longer than
    this test.
    """
    ran = list[bool]()
    interval, gate = sys.getswitchinterval(), threading.Lock()

    def wait() -> None:
        with gate:
            ran.append(True)

    gate.acquire()
    other = threading.Thread(target=wait)
    other.start()
    try:
        sys.setswitchinterval(1_000)
        gate.release()
        work()
        return bool(ran)
    finally:
        sys.setswitchinterval(interval)
        other.join()


def test_the_measure() -> None:
    assert not gives_way(lambda: sum(range(1_000_000)))


WORK: dict[str, Callable[[Index], Any]] = {
    "parse": lambda _: Expression.parse(TEXT, limits=LIMITS),
    "add": lambda index: index.add("other", TEXT),
    "match": lambda index: index.match(EVENT),
    "match bytes": lambda index: index.match(EVENT.encode()),
    "top": lambda index: index.top(EVENT),
    "explain": lambda index: index.explain("one", EVENT),
    "lines": lambda index: index.match_batch(EVENT),
    "list": lambda index: index.match_batch([EVENT]),
    "arrow": lambda index: index.match_batch(pa.table({"e": [EVENT]}), column="e"),
}


@pytest.mark.parametrize("name", WORK)
def test_the_lock_is_given_back(name: str) -> None:
    index = Index(limits=LIMITS)
    index.add("one", TEXT)
    # A busy machine may not run the other thread in time.
    assert any(gives_way(lambda: WORK[name](index)) for _ in range(20))


def test_json_forms_are_read_without_the_lock() -> None:
    form = tamis.parse(TEXT, limits=LIMITS).to_json()
    assert gives_way(lambda: Expression.from_json(form, limits=LIMITS))
    assert gives_way(lambda: Expression.from_json(form.encode(), limits=LIMITS))


# Interrupts: a call that finished before would have changed the matches.

SCRIPT = """
import os, signal, threading, time, tamis
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt(seconds):
    def later():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=later).start()
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


interrupts = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent there")


@interrupts
@pytest.mark.parametrize("kind", ["f'a = {n} and b > {n}'", "tamis.attr.a == n", "text(n)"])
def test_an_interrupted_add_many_adds_nothing(kind: str) -> None:
    run(
        f"""
def text(n): return f"a = {{n}} or xpath('//x{{n % 9}}')"
index = tamis.Index()
index.add("kept", "a = 1 or xpath('//x1')")
def items():
    for n in range(400_000): yield n, {kind}
    interrupt(0.05)
try:
    index.add_many(items())
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("was not interrupted")
assert list(index) == ["kept"], len(index)
assert index.match({{}}, document="<x1/>") == ["kept"]
assert index.match({{"a": 1}}) == ["kept"]
index.remove("kept")
index.add("other", "a = 1")
assert index.match({{"a": 1}}, document="<x1/>") == ["other"]
"""
    )


@interrupts
def test_an_interrupted_settle_leaves_the_rest_to_the_background() -> None:
    run(
        """
index = tamis.Index()
for part in range(9):
    index.add_many((n, f"a = {n} and b > {n}") for n in range(part * 30_000, (part + 1) * 30_000))
interrupt(0.01)
try:
    index.settle()
    time.sleep(1)
except KeyboardInterrupt:
    pass
assert len(index) == 270_000
index.settle()
assert index.match({"a": 7, "b": 8}) == [7]
"""
    )
