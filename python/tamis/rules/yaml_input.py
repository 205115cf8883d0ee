"""Reads YAML: no Python tags, no duplicate keys, bounded depth; aliases are not expanded."""

from collections.abc import Hashable, Iterator
from typing import Any

from tamis.rules import json_input
from tamis.rules.result import RuleError, one_line

DEPTH = 50


def load(text: str) -> tuple[Any, Any]:
    """The single document of a YAML text, and its node, which has line numbers.

    Raises:
        RuleError: The text is not YAML, is too deep, or PyYAML is not installed.
    """
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise RuleError("reading YAML needs PyYAML: pip install 'tamis[cli]'") from error
    loader = _loader_type()(text)
    try:
        check_depth(text)
        node = loader.get_single_node()
        if node is None:
            raise RuleError("the file is empty")
        _check_keys(node, yaml)
        value = loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, RuleError):
            raise
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        reason = getattr(error, "problem", None) or one_line(str(error))
        raise RuleError(f"not valid YAML: {place}{reason}") from error
    finally:
        loader.dispose()
    json_input.check_depth(value)
    return value, node


def check_depth(text: str) -> None:
    """Refuse deep nesting before composing, which recurses on the C stack.

    Raises:
        ValueError: The text is nested too deeply.
    """
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_loader_type()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH:
                raise ValueError(f"nested deeper than {DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _loader_type() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_keys(node: Any, yaml: Any) -> None:
    """Refuse repeated keys; YAML would keep the last."""
    waiting, done = [node], set[int]()
    while waiting:
        current = waiting.pop()
        if id(current) in done:
            continue
        done.add(id(current))
        if isinstance(current, yaml.SequenceNode):
            waiting += current.value
        elif isinstance(current, yaml.MappingNode):
            seen = set[Hashable]()
            for key, value in current.value:
                if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                    if key.value in seen:
                        line = key.start_mark.line + 1
                        raise RuleError(f"line {line}: the key {key.value!r} occurs twice")
                    seen.add(key.value)
                waiting += [key, value]


def items(node: Any) -> Iterator[Any]:
    """The nodes of a sequence."""
    yield from node.value if isinstance(getattr(node, "value", None), list) else ()


def member(node: Any, name: str) -> Any:
    """The node of a mapping's member; None if there is none."""
    for pair in items(node):
        if isinstance(pair, tuple) and getattr(pair[0], "value", None) == name:
            return pair[1]
    return None


def line(node: Any) -> int | None:
    """The line where a node begins, from 1."""
    return None if node is None else node.start_mark.line + 1
