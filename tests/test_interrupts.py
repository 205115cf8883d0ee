"""Ctrl-C while filters, nodes and edges are added, in a process of its own."""

import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent there")

FILTERS = """
from tamis import xml
it = xml.Filter()
it.add("kept", "//a")

def answers():
    return list(it), it.match("<a/>")
"""
GRAPH = """
it = tamis.Graph()
it.add_many([("kept", "a = 1")], [("source", "kept")])

def answers():
    return len(it), list(it.match({"a": 1}, "source"))
"""


def interrupt(setup: str, call: str) -> None:
    """Start a long call, interrupt it, and see that it ends soon and changes nothing."""
    script = f"""
import itertools, signal, tamis

signal.signal(signal.SIGINT, signal.default_int_handler)
{setup}
before = answers()
print("ready", flush=True)
try:
    {call}
    print("not interrupted")
except KeyboardInterrupt:
    print("as before" if answers() == before else "changed")
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (output, process.returncode) == ("as before\n", 0)


@pytest.mark.parametrize("id", ["n", "'kept'"])
def test_endless_filters(id: str) -> None:
    items = f"(({id}, f'//a[@b = {{n}}]') for n in itertools.count())"
    interrupt(FILTERS, f"it.add_many({items})")


def test_few_long_filters() -> None:
    items = "((n, ' or '.join(f'//a{n}[@b]' for n in range(5000))) for n in itertools.count())"
    interrupt(FILTERS, f"it.add_many({items})")


def test_filters_that_are_compiled() -> None:
    items = "items = [(n, f'//a{n % 999}/b{n}[@c = {n}]//d') for n in range(200_000)]"
    # What is added to another filter leaves this one alone; one of the calls is interrupted.
    interrupt(f"{FILTERS}\n{items}", "for _ in itertools.count(): xml.Filter().add_many(items)")


def test_endless_nodes() -> None:
    interrupt(GRAPH, "it.add_many((n, f'a = {n} and b > {n}') for n in itertools.count())")


def test_endless_edges() -> None:
    interrupt(GRAPH, "it.add_many(edges=((n, n + 1, 'a = 2') for n in itertools.count()))")


def test_nodes_that_are_compiled() -> None:
    setup = """
nodes = [(n, f'a = {n} and b > {n}') for n in range(50_000)]
edges = [('source', n) for n in range(50_000)]
"""
    interrupt(GRAPH + setup, "for _ in itertools.count(): tamis.Graph().add_many(nodes, edges)")
