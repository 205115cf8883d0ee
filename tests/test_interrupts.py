"""Ctrl-C while filters, nodes and edges are added, in a separate process."""

import pytest

from support.interrupting import interrupt, interrupts

pytestmark = interrupts

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


@pytest.mark.parametrize("id", ["n", "'kept'"])
def test_endless_filters(id: str) -> None:
    items = f"(({id}, f'//a[@b = {{n}}]') for n in itertools.count())"
    interrupt(FILTERS, f"it.add_many({items})")


def test_few_long_filters() -> None:
    items = "((n, ' or '.join(f'//a{n}[@b]' for n in range(5000))) for n in itertools.count())"
    interrupt(FILTERS, f"it.add_many({items})")


def test_filters_that_are_compiled() -> None:
    items = "items = [(n, f'//a{n % 999}/b{n}[@c = {n}]//d') for n in range(200_000)]"
    # The calls add to other filters, so this one stays the same; one of them is interrupted.
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
