"""Reads JSON rules: no duplicate keys, no NaN, exact numbers, bounded depth."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Never

from tamis._tamis import Expression
from tamis.rules import files
from tamis.rules.result import ReadRules, RuleError

DEPTH = 100
SIZE = 4 << 20


def load(text: str | bytes) -> Any:
    """Read a JSON rule.

    Raises:
        RuleError: The text is not JSON, has a key twice, or is too large or too deep.
    """
    if len(text) > SIZE:
        raise RuleError(f"the rule has {len(text)} bytes; at most {SIZE} are allowed")
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=Decimal,
        )
    except RecursionError:
        raise RuleError(f"the rule is nested deeper than {DEPTH} levels") from None
    except json.JSONDecodeError as error:
        # In JSON lines, the line is known.
        line = f"line {error.lineno}, " if error.doc.count("\n") else ""
        reason = f"{line}column {error.colno}: {error.msg.lower()}"
        raise RuleError(f"the rule is not valid JSON: {reason}") from error
    except ValueError as error:
        raise RuleError(f"the rule is not valid JSON: {error}") from error


def check_depth(value: Any) -> None:
    """Refuse a value that is nested too deeply or contains itself.

    Raises:
        RuleError: It is nested too deeply.
    """
    level = [value]
    for _ in range(DEPTH + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list | tuple)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
        if len(level) > SIZE:
            raise RuleError(f"the rule has more than {SIZE} parts")
    raise RuleError(f"the rule is nested deeper than {DEPTH} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise RuleError(f"the key {json.dumps(key)} occurs twice in one object")
            seen.add(key)
    return result


def _refuse_constant(constant: str) -> Never:
    raise ValueError(f"{constant} is not a JSON value")


def read_many(
    source: str | Path | Mapping[str, Any],
    key: str,
    parse: Callable[[Any], Expression],
    progress: Callable[[int], None] | None = None,
    is_part: Callable[[str, Any], bool] | None = None,
) -> ReadRules:
    """Read many JSON rules from a file, from text, or from a mapping of rules by id.

    The text is one JSON object of rules by id, or JSON lines with the members `id` and `key`.

    Args:
        source: The path, text or mapping.
        key: The member of a line that holds the rule.
        parse: Reads one rule.
        progress: Called with the number of rules so far.
        is_part: Whether a member of the object can only be a part of a rule. If there is one, the
            object is a single rule, and nothing is read from it.

    Raises:
        RuleError: The file cannot be read.
        TypeError: The source is not one of these.
    """
    read = ReadRules(progress=progress)
    if isinstance(source, Mapping):
        by_id: Mapping[Any, Any] = source  # keys that are not strings are refused
        if not _is_single(by_id, key, is_part, read, None):
            for identifier, rule in by_id.items():
                if isinstance(identifier, str):
                    read.take(identifier, partial(parse, rule), None, file=None, line=1)
                else:
                    read.refuse(None, f"the id {identifier!r} is not a string", file=None, line=1)
        return read
    if not isinstance(source, str | Path):
        raise TypeError(
            f"read takes the path of a file, JSON text, or a mapping of {key}s by id, "
            f"not {type(source).__name__}"
        )
    text, file = files.read_text(source)
    try:
        rules = load(text)
    except RuleError as error:
        if "\n" not in text.strip():
            read.refuse(None, str(error), file=file, line=1)
            return read
        return _read_lines(text, file, key, parse, read)
    if isinstance(rules, dict) and set(rules) == {"id", key}:
        return _read_lines(text, file, key, parse, read)
    if not isinstance(rules, dict):
        read.refuse(None, "rules must be one JSON object by id, or JSON lines", file=file, line=1)
        return read
    if _is_single(rules, key, is_part, read, file):
        return read
    position, line = 0, 1
    for identifier, rule in rules.items():
        found = text.find(json.dumps(identifier, ensure_ascii=False), position)
        if found >= 0:  # keys come in the order of the text
            line += text.count("\n", position, found)
            position = found
        read.take(identifier, partial(parse, rule), None, file=file, line=line)
    return read


def _is_single(
    rules: Mapping[Any, Any],
    key: str,
    is_part: Callable[[str, Any], bool] | None,
    read: ReadRules,
    file: str | None,
) -> bool:
    """Whether an object is a single rule instead of rules by id; if so, refuse it."""
    for name, value in rules.items():
        if is_part is not None and isinstance(name, str) and is_part(name, value):
            reason = (
                f"this is one {key}, not {key}s by id, because {json.dumps(name)} holds only a "
                f"part of one; read one {key} with `parse`"
            )
            read.refuse(None, reason, file=file, line=1)
            return True
    return False


def _read_lines(
    text: str, file: str | None, key: str, parse: Callable[[Any], Expression], read: ReadRules
) -> ReadRules:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rule = load(line)
            if not isinstance(rule, dict) or set(rule) != {"id", key}:
                raise RuleError(f"a line must be an object with the members `id` and `{key}`")
            if not isinstance(rule["id"], str):
                raise RuleError("the id must be a string")
        except RuleError as error:
            read.refuse(None, str(error), file=file, line=number)
            continue
        read.take(rule["id"], partial(parse, rule[key]), None, file=file, line=number)
    return read
