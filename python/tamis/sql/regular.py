r"""Translates regular expressions that mean the same in every database.

Java's, RE2's and PostgreSQL's regular expressions agree with ours on literals, groups,
alternatives, repetition and plain character classes. Everything that differs is refused: flags,
classes such as `\d`, word boundaries, sets of classes.
"""

import re

from tamis.errors import ExpressionError

_REPETITION = re.compile(r"\*|\+|\?|\{(\d{1,3})(?:,(\d{0,3}))?\}")
_MOST = 255
_PUNCTUATION = frozenset("\\.+*?()|[]{}^$#&-~/ !\"%',:;<=>@_`")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}


def translate(pattern: str, *, end: str) -> str:
    """The pattern, using only syntax that all databases interpret in the same way.

    Args:
        pattern: A regular expression of the language.
        end: The spelling of the end of the text.

    Raises:
        ExpressionError: It contains something that databases interpret differently.
    """
    return _Translation(pattern, end).alternatives(0)


class _Translation:
    def __init__(self, pattern: str, end: str) -> None:
        self.pattern = pattern
        self.end = end
        self.place = 0

    def refuse(self, what: str) -> ExpressionError:
        return ExpressionError(
            f"the regular expression {self.pattern!r} has {what}, on which databases differ"
        )

    def peek(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def take(self) -> str:
        character = self.peek()
        self.place += 1
        return character

    def alternatives(self, depth: int) -> str:
        if depth > 50:
            raise self.refuse("groups nested deeper than 50 levels")
        branches = [self.branch(depth)]
        while self.peek() == "|":
            self.take()
            branches.append(self.branch(depth))
        if depth == 0 and self.place < len(self.pattern):
            raise self.refuse("a closing parenthesis without an opening one")
        if len(branches) > 1 and "" in branches:
            raise self.refuse("an empty alternative")
        return "|".join(branches)

    def branch(self, depth: int) -> str:
        parts = []
        while self.peek() not in ("", "|", ")"):
            part, repeatable = self.atom(depth)
            found = _REPETITION.match(self.pattern, self.place)
            if found:
                if not repeatable:
                    raise self.refuse("a repeated anchor")
                if any(int(count) > _MOST for count in found.groups() if count):
                    raise self.refuse(f"more than {_MOST} repetitions")
                self.place = found.end()
                if self.peek() == "?":  # laziness does not change whether the pattern matches
                    self.take()
                if _REPETITION.match(self.pattern, self.place):
                    raise self.refuse("a repetition of a repetition")
                part += found[0]
            parts.append(part)
        return "".join(parts)

    def atom(self, depth: int) -> tuple[str, bool]:
        character = self.take()
        if character == "(":
            if self.peek() == "?" and not self.pattern.startswith("?:", self.place):
                raise self.refuse("a flag or a named group")
            self.place += 2 if self.peek() == "?" else 0
            inner = self.alternatives(depth + 1)
            if self.take() != ")":
                raise self.refuse("a group that is not closed")
            if not inner:
                raise self.refuse("an empty group")
            return f"(?:{inner})", True
        if character == "[":
            return self.character_class(), True
        if character == ".":
            return "[^\\n]", True
        if character == "^":
            return "^", False
        if character == "$":
            return self.end, False
        if character == "\\":
            return escaped(self.escape()), True
        if character in "{}]*+?":
            raise self.refuse(f"`{character}` where nothing can be repeated")
        return escaped(character), True

    def escape(self) -> str:
        character = self.take()
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character not in _PUNCTUATION:
            raise self.refuse(f"`\\{character}`")
        return character

    def character_class(self) -> str:
        negated = self.peek() == "^"
        self.place += negated
        members: list[str] = []
        while True:
            if not self.peek():
                raise self.refuse("a class that is not closed")
            if self.peek() == "]" and members:
                self.take()
                return f"[{'^' if negated else ''}{''.join(members)}]"
            low = self.member()
            if self.peek() != "-" or self.pattern.startswith("-]", self.place):
                members.append(escaped(low))
                continue
            self.take()
            high = self.member()
            if low > high:
                raise self.refuse("a range that goes backwards")
            members.append(f"{escaped(low)}-{escaped(high)}")

    def member(self) -> str:
        character = self.take()
        if character == "\\":
            return self.escape()
        if character in ("[", "]", "&", "~", "") or self.pattern.startswith("--", self.place - 1):
            raise self.refuse(f"`{character}` in a class")
        return character


def escaped(character: str) -> str:
    """A literal character, inside or outside a class."""
    if character in ("\n", "\t", "\r"):
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[character]
    if character.isascii() and not character.isalnum() and character.isprintable():
        return character if character in " _\"'%,:;<=>@`!" else "\\" + character
    return character
