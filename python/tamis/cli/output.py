"""Writes results to standard output, and everything else to standard error."""

import json
import sys
from collections.abc import Iterable
from typing import Any

VALID = 0
INVALID = 1
FAILED = 2


class CommandError(Exception):
    """Ends a command with a message on standard error.

    Attributes:
        message: The message, starting with the file and line if there are any.
        code: The exit code.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)  # times and the like as text


def encode(value: Any) -> str:
    """The JSON of a value, on one line."""
    return _ENCODER.encode(value)


def write(text: str) -> None:
    """Write a line of text, or several, to standard output."""
    print(text)


def write_json(*values: Any) -> None:
    """Write values to standard output as JSON lines, in UTF-8 for any locale."""
    write_lines([encode(value) for value in values])


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of JSON to standard output."""
    text = "".join(line + "\n" for line in lines)
    sys.stdout.flush()
    # Lone surrogates were escaped in the input, and JSON has the same escapes.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()


def report(message: str) -> None:
    """Write a message to standard error, after flushing standard output."""
    if sys.stdout is not None:
        sys.stdout.flush()
    if sys.stderr is not None:
        print(message, file=sys.stderr)


def prepare() -> None:
    """Prepare the standard streams for any text.

    Raises:
        CommandError: There is no standard output.
    """
    if sys.stdout is None:
        raise CommandError("standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
