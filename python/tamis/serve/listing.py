"""Lists subscriptions.

A page at a time, filtered by metadata and text. Iterating over millions takes a while, so a page
also ends at a time limit: it is then shorter than requested, and says where the next one begins.
"""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tamis._tamis import Expression, Filter, Index
from tamis.serve.encoding import decode, encode
from tamis.serve.held import Held
from tamis.serve.problem import bad_request

_STEP = 256  # subscriptions examined between checks of the time
_SECONDS = 0.25
_REMEMBERED = 8
_FARTHEST = 2**62


@dataclass(frozen=True)
class Wanted:
    """The parameters of a page.

    Attributes:
        limit: The maximum number of results.
        after: Where it starts: `next` of the previous page.
        where: An expression over their metadata.
        text: Text that ids or expressions must contain, ignoring case.
    """

    limit: int = 100
    after: str | None = None
    where: str | None = None
    text: str | None = None


def page(held: Held, wanted: Wanted) -> dict[str, Any]:
    """A page of subscriptions.

    Raises:
        RequestError: The cursor is invalid.
        TamisError: `where` is not a valid expression.
    """
    index = _condition(held, wanted.where)
    cursor = _read_cursor(wanted.after)
    ids = _from(held, cursor)
    seen = deque[Any](cursor.seen, maxlen=_REMEMBERED)
    text = wanted.text.casefold() if wanted.text else None
    found: list[dict[str, Any]] = []
    looked, begin = cursor.position, time.monotonic()
    while len(found) < wanted.limit and time.monotonic() - begin < _SECONDS:
        step = list(islice(ids, _STEP))
        if not step:
            return {"subscriptions": found, "next": None, "total": len(held.engine)}
        end = len(step)
        for at, described in _chosen(held, step, index, text):
            found.append(described)
            if len(found) == wanted.limit:
                end = at + 1
                break
        looked += end
        seen.extend(step[:end])
    following = encode([looked, *seen]).decode()
    return {"subscriptions": found, "next": following, "total": len(held.engine)}


def _chosen(
    held: Held, ids: list[Any], index: Index | None, text: str | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The selected ones, with their positions."""
    for at, id in enumerate(ids):
        try:
            described = held.describe(id)
        except KeyError:  # removed meanwhile
            continue
        if index is not None:
            metadata = described.get("metadata")
            event = metadata if isinstance(metadata, dict) else {}
            if not index.match(encode(event), timeout=_SECONDS):
                continue
        asked = described.get("expression") or described.get("xpath") or ""
        if text is not None and text not in f"{id}\n{asked}".casefold():
            continue
        yield at, described


def _condition(held: Held, where: str | None) -> Index | None:
    if where is None:
        return None
    if isinstance(held.engine, Filter):
        raise bad_request("XML filters have no metadata")
    index = Index()
    index.add("where", Expression.parse(where))
    return index


@dataclass(frozen=True)
class Cursor:
    """The end of a page.

    Attributes:
        position: The number of ids up to the end.
        seen: The last of these ids, in order; some may be removed before the next page is read.
    """

    position: int = 0
    seen: tuple[str | int, ...] = ()


def _read_cursor(text: str | None) -> Cursor:
    if text is None:
        return Cursor()
    try:
        position, *seen = decode(text, list[str | int])
    except ValueError:
        position, seen = -1, []
    known = isinstance(position, int) and 1 <= position <= _FARTHEST
    if not known or not 1 <= len(seen) <= _REMEMBERED:
        raise bad_request("`after` must be `next` of the previous page")
    return Cursor(int(position), tuple(seen))


def _from(held: Held, cursor: Cursor) -> Iterator[Any]:
    """The ids after the end of a page."""
    ids = iter(held.engine)
    if not cursor.seen:
        return ids
    if next(islice(ids, cursor.position - 1, cursor.position), None) == cursor.seen[-1]:
        return ids
    # Some were removed: continue after the last that still exists, at its current position.
    rank = {id: at for at, id in enumerate(cursor.seen)}
    best, position = -1, cursor.position
    for at, id in enumerate(held.engine, 1):
        if rank.get(id, -1) > best:
            best, position = rank[id], at
    return islice(iter(held.engine), position, None)
