"""Expressions as Python functions, as written without an engine."""

from collections.abc import Callable
from typing import Any

from benchmarks.peers.normal import Leaf, Node, normal_form, refuse

Event = dict[str, Any]


def function(text: str, missing: str) -> Callable[[Event], bool]:
    """Compile an expression to a function of an event."""
    found: Callable[[Event], bool] = eval(f"lambda e: {_write(normal_form(text, missing))}")
    return found


def _write(node: Node) -> str:
    if isinstance(node, Leaf):
        return _leaf(node)
    if not node.members:
        return str(node.every)
    return "(" + (" and " if node.every else " or ").join(map(_write, node.members)) + ")"


def _leaf(leaf: Leaf) -> str:
    value = f"e.get({leaf.attribute!r})"
    if any(isinstance(each, bool) for each in leaf.values):
        raise refuse("booleans, which are numbers to Python")
    if leaf.operator == "in":
        test = f"{value} in {{{', '.join(map(repr, leaf.values))}}}" if leaf.values else "False"
    else:
        test = f"{value} {leaf.operator} {leaf.values[0]!r}"
    test = f"not ({test})" if leaf.negated else test
    return f"({value} is {'None or' if leaf.absent else 'not None and'} {test})"
