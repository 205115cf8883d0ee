"""Reads subscriptions from lines and rows.

A line is a JSON object with `id`, `expression` and, optionally, `metadata`, `boost`, `priority`,
`active_from` and `active_until`; a CSV or Parquet file has columns of these names. Only the object
itself is read here: the engine checks ids and expressions.
"""

import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Never, Self

from tamis._tamis import Expression
from tamis.batches import on_one_line
from tamis.cli.output import INVALID, CommandError, encode
from tamis.cli.reading import Source
from tamis.errors import SubscriptionError, TamisError

_BESIDE = ("boost", "priority", "active_from", "active_until")
_KEYS = {f'"{key}"': key for key in ("id", "expression", "metadata", *_BESIDE)}
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_OPEN = re.compile(r"[ \t]*\{[ \t]*(\}?)")
_KEY = re.compile(rf"[ \t]*({_STRING})[ \t]*:[ \t]*")
_AFTER = re.compile(r"[ \t]*([,}])")
_STRING_OR_BRACKET = re.compile(rf"{_STRING}|[\[{{\]}}]")
_NESTING = {"{": 1, "[": 1, "}": -1, "]": -1}


class WrittenSubscription:
    """A subscription as written in a file.

    Attributes:
        id: Its id.
        metadata: Its metadata, or None.
        beside: Its weights, boost, priority and validity, if given.
    """

    __slots__ = ("_expression", "_is_json", "beside", "id", "metadata")

    def __init__(self, line: str) -> None:
        members = _members(line)
        if missing := [key for key in ("id", "expression") if key not in members]:
            raise SubscriptionError(f"a subscription needs the key `{missing[0]}`")
        self.id = _load(members["id"])
        self.metadata = _load(members.get("metadata", "null"))
        beside = {key: _load(members[key]) for key in _BESIDE if key in members}
        self.beside = {key: value for key, value in beside.items() if value is not None}
        self._expression = members["expression"]
        self._is_json = not self._expression.startswith('"')
        if not self._is_json:
            self._expression = _load(self._expression)

    @classmethod
    def from_row(cls, arguments: dict[str, Any]) -> Self:
        """The subscription in a row of a table, given as arguments of `Index.add`."""
        subscription = cls.__new__(cls)
        subscription.beside = dict(arguments)
        subscription.id = subscription.beside.pop("id")
        subscription.metadata = subscription.beside.pop("metadata", None)
        subscription._expression = subscription.beside.pop("expression")
        subscription._is_json = subscription._expression.lstrip().startswith("{")
        return subscription

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Index.add` for it.

        Raises:
            TamisError: The expression is invalid.
        """
        expression = self.expression()
        return {"id": self.id, "expression": expression, "metadata": self.metadata, **self.beside}

    def explain(self, error: TamisError) -> str:
        """The error message; the position includes a line only if the expression has several."""
        return error.message if "\n" in self._expression else on_one_line(error)

    def expression(self) -> Expression:
        """Parse its expression from text or from the JSON form.

        Raises:
            TamisError: The expression is invalid.
        """
        if self._is_json:
            return Expression.from_json(self._expression)
        return Expression.parse(self._expression)


class WrittenSubscriptions:
    """The subscriptions of a file; ids must be unique."""

    def __init__(self) -> None:
        self._lines: dict[str | int, int] = {}

    def read(self, number: int, line: str) -> WrittenSubscription:
        """Read the subscription of a line.

        Raises:
            SubscriptionError: The line is not a subscription, or its id is on an earlier line.
        """
        return self.note(number, WrittenSubscription(line))

    def note(
        self, number: int, subscription: WrittenSubscription, place: str = "on line"
    ) -> WrittenSubscription:
        """Record a subscription that was read.

        Raises:
            SubscriptionError: Its id is on an earlier line.
        """
        if type(subscription.id) in (str, int):  # the engine rejects other types
            earlier = self._lines.setdefault(subscription.id, number)
            if earlier != number:
                message = f"the id {encode(subscription.id)} is already {place} {earlier}"
                raise SubscriptionError(message)
        return subscription


def read_written(
    source: Source, lines: Iterable[tuple[int, str]] | None = None
) -> Iterator[tuple[int, WrittenSubscription]]:
    """The subscriptions of a file, or of the given lines of it, with their lines.

    Raises:
        CommandError: A line is not a subscription.
    """
    subscriptions = WrittenSubscriptions()
    for number, line in source.lines() if lines is None else lines:
        try:
            subscription = subscriptions.read(number, line)
        except TamisError as error:
            raise CommandError(f"{source.name}:{number}: {error}", INVALID) from error
        yield number, subscription


def read_expression(text: str) -> Expression:
    """Read an expression given on the command line, as text or in the JSON form.

    Raises:
        TamisError: The expression is invalid.
    """
    if text.lstrip().startswith("{"):  # an expression's text never does
        return Expression.from_json(text)
    return Expression.parse(text)


def _members(line: str) -> dict[str, str]:
    """The members of an object: keys, and values as written.

    Nested values are skipped, not parsed: the engine gets an expression as written, and reports
    its errors at any depth.
    """
    members: dict[str, str] = {}
    found = _OPEN.match(line)
    if found is None:
        _refuse(line, 0, "a JSON object")
    position, closed = found.end(), found[1] == "}"
    while not closed:
        found = _KEY.match(line, position)
        if found is None:
            _refuse(line, position, "a key in double quotes and `:`")
        key = _KEYS.get(found[1]) or _unusual_key(found[1])
        if key in members:
            raise SubscriptionError(f"the key `{key}` occurs twice")
        end = _end_of_value(line, found.end())
        members[key] = line[found.end() : end]
        found = _AFTER.match(line, end)
        if found is None:
            _refuse(line, end, "`,` or `}`")
        position, closed = found.end(), found[1] == "}"
    if line[position:].strip():
        _refuse(line, position, "the end of the line")
    return members


def _unusual_key(text: str) -> str:
    key: str = _load(text)
    if key in _KEYS.values():
        return key
    close = get_close_matches(key, _KEYS.values(), 1)
    hint = f"did you mean `{close[0]}`?" if close else "put your own data in `metadata`"
    optional = ", ".join(f"`{name}`" for name in ("metadata", *_BESIDE))
    raise SubscriptionError(
        f"unknown key {encode(key)}: a subscription has `id`, `expression` and, optionally, "
        f"{optional}; {hint}"
    )


def _end_of_value(line: str, start: int) -> int:
    if not line.startswith(("{", "["), start):
        try:
            return _DECODER.raw_decode(line, start)[1]
        except json.JSONDecodeError as error:
            reason = f"column {error.pos + 1}: {error.msg.lower()}"
            raise SubscriptionError(f"the line is not valid JSON: {reason}") from error
        except ValueError as error:  # a constant such as NaN, or thousands of digits
            reason = f"column {start + 1}: {error}"
            raise SubscriptionError(f"the line is not valid JSON: {reason}") from error
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(line, start):
        depth += _NESTING.get(found[0], 0)
        if depth == 0:
            return found.end()
    return _refuse(line, len(line), "the bracket that closes a value")


def _load(text: str) -> Any:
    try:
        return _DECODER.raw_decode(text)[0]
    except ValueError as error:
        raise SubscriptionError(f"the line is not valid JSON: {error}") from error
    except RecursionError as error:
        raise SubscriptionError("the line is nested too deeply") from error


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _refuse(line: str, position: int, expected: str) -> Never:
    position += len(line[position:]) - len(line[position:].lstrip(" \t"))
    found = f"`{line[position]}`" if position < len(line) else "the end of the line"
    raise SubscriptionError(
        f"the line is not valid JSON: column {position + 1}: expected {expected}, found {found}"
    )
