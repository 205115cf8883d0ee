"""PyPI's `rule-engine`: a loop over compiled rules."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rule_engine import Context, Rule

from benchmarks.peers.normal import Group, Node, normal_form, refuse


class Engine:
    """Attributes without a value are null."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._rules = list[tuple[str | int, Any]]()
        self._context = Context(default_value=None)

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Compile all."""
        for id, text in items:
            rule = Rule(_write(normal_form(text, self._missing)), context=self._context)
            self._rules.append((id, rule))

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids that an event matches."""
        given = json.loads(event)
        for name, value in given.items():
            if isinstance(value, list | dict):
                raise refuse(f"the {type(value).__name__} of {name!r}")
        return [id for id, rule in self._rules if rule.matches(given)]


def _write(node: Node) -> str:
    if isinstance(node, Group):
        if not node.members:
            return "true" if node.every else "false"
        return "(" + (" and " if node.every else " or ").join(map(_write, node.members)) + ")"
    name = node.attribute
    if not name.isidentifier():
        raise refuse(f"the attribute {name!r}")
    values = [json.dumps(value, ensure_ascii=False) for value in node.values]
    if node.operator == "in":
        text = f"({name} in [{', '.join(values)}])" if values else "false"
    else:
        text = f"({name} {node.operator} {values[0]})"
    if node.negated:
        text = f"(not {text})"
    return f"({name} == null or {text})" if node.absent else f"({name} != null and {text})"
