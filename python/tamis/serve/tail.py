"""Streams matches to readers of `/stream` as server-sent events.

Every reader filters matches with an expression. The expressions are subscriptions of a separate
index, so one match finds the readers of an event. A reader that is too slow misses matches and is
told how many.
"""

import asyncio
from collections import deque
from itertools import count
from time import monotonic, time

import msgspec

from tamis._tamis import Expression, Index
from tamis.errors import TamisError
from tamis.serve.encoding import encode

_WAITING = 1_000  # queued events per reader
_WAITING_BYTES = 1 << 20
_SECONDS = 0.02  # the longest that publishing may block the event loop
_NOTHING = msgspec.Raw(b"[]")


class Reader:
    """A reader of the stream."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.missed = 0
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()

    def put(self, happening: bytes) -> None:
        """Queue an event for the reader; if there are too many, the oldest are dropped."""
        self._waiting.append(happening)
        self._bytes += len(happening)
        while len(self._waiting) > _WAITING or self._bytes > _WAITING_BYTES:
            self._bytes -= len(self._waiting.popleft())
            self.missed += 1
        self._news.set()

    def miss(self) -> None:
        """Count an event that the reader does not get."""
        self.missed += 1
        self._news.set()

    async def take(self, seconds: float) -> list[bytes]:
        """The queued events; none if nothing happens for some seconds."""
        if not self._waiting:
            self._news.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                return []
        taken = list(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return taken


class Tail:
    """The stream of a server's events, and its readers."""

    def __init__(self) -> None:
        self.readers: dict[int, Reader] = {}
        self._wanted = Index()
        self._numbers = count()

    def join(self, where: str | None) -> Reader:
        """Add a reader. Can run on any thread, because compiling an expression may take a while.

        Args:
            where: An expression such as `matches = 'a' and event.age > 20`.

        Raises:
            TamisError: The expression is invalid.
        """
        expression = Expression.constant(True) if where is None else Expression.parse(where)
        reader = Reader(next(self._numbers))
        # In this order, so that a concurrent publish finds the reader.
        self.readers[reader.number] = reader
        try:
            self._wanted.add(reader.number, expression)
        except BaseException:
            del self.readers[reader.number]
            raise
        return reader

    def leave(self, reader: Reader) -> None:
        """Remove a reader."""
        del self.readers[reader.number]
        self._wanted.remove(reader.number)

    def publish(self, version: str, happened: list[tuple[bytes, msgspec.Raw]]) -> None:
        """Send events and their matches to the readers.

        This blocks the event loop, so it has a time limit. All readers miss the events after that.

        Args:
            version: The version that matched them.
            happened: Events, as JSON or XML documents, with their matches as JSON.
        """
        end = monotonic() + _SECONDS
        for event, ids in happened:
            if ids == _NOTHING:
                continue
            left = end - monotonic()
            if left > 0:
                self._publish(version, event, ids, left)
                continue
            for reader in list(self.readers.values()):
                reader.miss()

    def _publish(self, version: str, event: bytes, ids: msgspec.Raw, seconds: float) -> None:
        head = {"time": round(time(), 3), "version": version, "matches": ids}
        shown = event if event.lstrip()[:1] == b"{" else encode(event.decode(errors="replace"))
        happening = encode(head)[:-1] + b',"event":' + b" ".join(shown.splitlines()) + b"}"
        try:
            wanted = self._wanted.match(happening, timeout=seconds)
        except TamisError:  # such as an event that exceeds a limit of the readers' index
            for reader in list(self.readers.values()):
                reader.miss()
            return
        for number in wanted:
            self.readers[number].put(happening)

    def close(self) -> None:
        """Wake every reader a last time."""
        for reader in list(self.readers.values()):
            reader.put(b"")
