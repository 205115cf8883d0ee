"""PyPI's `cel-python`: a loop over compiled programs."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import celpy
from celpy.adapter import json_to_cel

from benchmarks.peers.normal import Group, Node, normal_form, refuse


class Engine:
    """Attributes are members of a map `e`, tested for presence before their value."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._environment = celpy.Environment()
        self._programs = list[tuple[str | int, Any]]()

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Compile all."""
        for id, text in items:
            tree = self._environment.compile(_write(normal_form(text, self._missing)))
            self._programs.append((id, self._environment.program(tree)))

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids that an event matches."""
        given = {"e": json_to_cel(json.loads(event))}
        return [id for id, program in self._programs if program.evaluate(given)]


def _write(node: Node) -> str:
    if isinstance(node, Group):
        if not node.members:
            return "true" if node.every else "false"
        return "(" + (" && " if node.every else " || ").join(map(_write, node.members)) + ")"
    if not node.attribute.isidentifier():
        raise refuse(f"the attribute {node.attribute!r}")
    name = f"e.{node.attribute}"
    values = [json.dumps(value, ensure_ascii=False) for value in node.values]
    if node.operator == "in":
        test = f"({name} in [{', '.join(values)}])"
    else:
        test = f"({name} {node.operator} {values[0]})"
    if node.negated:
        test = f"!{test}"
    return f"(!has({name}) || {test})" if node.absent else f"(has({name}) && {test})"
