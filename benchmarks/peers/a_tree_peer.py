"""The crate `a-tree` as PyPI's `py_a_tree` (Python 3.13 and newer)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from a_tree import ATree, AttributeDefinition

from benchmarks.peers.normal import Group, Leaf, Node, leaves, normal_form, refuse

_KINDS = {str: "string", int: "integer", bool: "boolean"}


class Engine:
    """Attributes have one type each. Everything is in parentheses: `and` and `or` bind equally.

    Sets are written as equalities: its `in` over texts misses matches (118 of those of 60 events,
    on 1,000 expressions of *conjunctive*).
    """

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._kinds = dict[str, str]()
        self._ids = list[str | int]()
        self._tree: Any = None

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Insert all; the attributes must be declared first."""
        forms = list[Node]()
        for id, text in items:
            form = normal_form(text, self._missing)
            for leaf in leaves(form):
                self._note(leaf)
            forms.append(form)
            self._ids.append(id)
        make = [getattr(AttributeDefinition, kind)(name) for name, kind in self._kinds.items()]
        self._tree = ATree(make)
        for number, form in enumerate(forms):
            self._tree.insert(number, _write(form))

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids that an event matches."""
        builder = self._tree.make_event()
        for name, value in json.loads(event).items():
            kind = self._kinds.get(name)
            if kind is None or value is None:
                continue
            if _KINDS.get(type(value)) != kind:
                raise refuse(f"the {type(value).__name__} of {name!r}, which is of the type {kind}")
            getattr(builder, f"with_{kind}")(name, value)
        return [self._ids[number] for number in self._tree.search(builder.build()).matches]

    def _note(self, leaf: Leaf) -> None:
        for value in leaf.values:
            kind = _KINDS.get(type(value))
            if kind is None:
                raise refuse(f"the {type(value).__name__} {value!r}")
            if self._kinds.setdefault(leaf.attribute, kind) != kind:
                raise refuse(f"two types of values of {leaf.attribute!r}")


def _write(node: Node) -> str:
    if isinstance(node, Group):
        if not node.members:
            raise refuse("a constant")
        return "(" + (" and " if node.every else " or ").join(map(_write, node.members)) + ")"
    name, values = node.attribute, [json.dumps(value) for value in node.values]
    if not values:
        raise refuse("an empty set")
    if isinstance(node.values[0], bool):
        tests = [name if value else f"(not {name})" for value in node.values]
        text = "(" + " or ".join(tests) + ")"
        text = f"(not {text})" if node.negated else text
    elif node.operator != "in":
        opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
        text = f"({name} {opposite[node.operator] if node.negated else node.operator} {values[0]})"
    else:
        test, join = ("<>", " and ") if node.negated else ("=", " or ")
        text = "(" + join.join(f"({name} {test} {value})" for value in values) + ")"
    return f"(({name} is null) or {text})" if node.absent else text
