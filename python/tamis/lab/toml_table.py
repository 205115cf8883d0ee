"""Does a table of a TOML file say what it should? Its entries are taken, and none may be left."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T")

_KINDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
_MISSING: Any = object()


class ExperimentError(ValueError):
    """An experiment's file is wrong: says which, where, and what would be right."""


class Table:
    """The entries of a table that are yet to be taken.

    Args:
        file: The name to use in messages.
        entries: What the file has there.
        path: The keys that lead there.
    """

    def __init__(self, file: str, entries: dict[str, Any], path: str = "") -> None:
        self.file = file
        self.path = path
        self._entries = dict(entries)
        self._known = list[str]()

    def take(self, key: str, kind: type[T], default: T = _MISSING) -> T:
        """The value of a key, which is of that kind; without a default it must be there."""
        self._known.append(key)
        value = self._entries.pop(key, default)
        if value is _MISSING:
            raise self.error(key, f"is missing: {_KINDS[kind]}")
        if kind is float and type(value) is int:
            value = float(value)
        if value is not default and kind is not object and type(value) is not kind:
            raise self.error(key, f"is {_KINDS[kind]}, not {value!r}")
        return value  # type: ignore[no-any-return]

    def choose(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of several words."""
        value = self.take(key, str, default)
        if value not in choices:
            raise self.error(key, f"is {' or '.join(map(repr, choices))}, not {value!r}")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where there is none."""
        values = self.take(key, list, [])
        for value in values:
            if type(value) is not str:
                raise self.error(key, f"is a list of texts, not of {value!r}")
        return tuple(values)

    def above(self, key: str, kind: type[T], default: T) -> T:
        """A number above 0."""
        value = self.take(key, kind, default)
        if not value > 0:  # type: ignore[operator]
            raise self.error(key, f"is above 0, not {value!r}")
        return value

    def table(self, key: str) -> "Table":
        """A table within, empty where there is none."""
        return Table(self.file, self.take(key, dict, {}), self._path(key))

    def tables(self, key: str) -> list["Table"]:
        """A list of tables within."""
        found = []
        for number, entries in enumerate(self.take(key, list, []), 1):
            if type(entries) is not dict:
                raise self.error(key, f"is a list of tables, not of {entries!r}")
            found.append(Table(self.file, entries, f"{self._path(key)}[{number}]"))
        return found

    def rest(self) -> dict[str, Any]:
        """Whatever was not taken."""
        rest, self._entries = self._entries, {}
        return rest

    def done(self) -> None:
        """Nothing may be left."""
        for key in self._entries:
            near = get_close_matches(key, self._known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"but {', '.join(self._known)}"
            raise self.error(key, f"is no key here; {hint}")

    def error(self, key: str, text: str) -> ExperimentError:
        """What is wrong with a key."""
        return ExperimentError(f"{self.file}: `{self._path(key)}` {text}")

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key
