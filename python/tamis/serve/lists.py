"""Reads the items of a list, unless there are too many.

A body of a few megabytes may contain millions of items, and each takes more memory than its text.
So they are counted before any of them is created.
"""

import io
import re
from typing import TypeVar

from tamis.serve.encoding import decode
from tamis.serve.problem import bad_request, too_large

Item = TypeVar("Item")

_COMMAS = 100_000  # with fewer there is no need to count
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)


def items_of(body: bytes, type: type[Item], most: int, what: str) -> list[Item]:
    """The items of a JSON array.

    Args:
        body: The JSON.
        type: The type of the items.
        most: The maximum number of items.
        what: Their name in messages.

    Raises:
        RequestError: There are too many, or the body is not an array of such items.
    """
    if body.count(b",") > max(_COMMAS, most):
        _check_count(body, most, what)
    try:
        found = decode(body, list[type])  # type: ignore[valid-type]
    except ValueError as error:
        raise bad_request(f"the list cannot be read: {error}") from None
    if len(found) > most:
        raise too_large(what, len(found), most)
    return found


def lines_of(body: bytes, most: int, what: str) -> list[bytes]:
    """The lines of a body that are not blank.

    Raises:
        RequestError: There are too many.
    """
    found: list[bytes] = []
    for line in io.BytesIO(body):
        if not line.isspace():
            found.append(line.removesuffix(b"\n"))
            if len(found) > most:
                raise too_large(what, len(found), most)
    return found


def _check_count(body: bytes, most: int, what: str) -> None:
    """Fail if an array has too many items; whether it is one is not checked."""
    depth, count = 0, 1
    for token in _TOKEN.finditer(body):
        at = token[0]
        if at == b"," and depth == 1:
            count += 1
            if count > most:
                raise too_large(what, count, most)
        elif at in (b"[", b"{"):
            depth += 1
        elif at in (b"]", b"}"):
            depth -= 1
        elif at == b'"':  # an unterminated string
            return
