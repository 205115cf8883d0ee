"""A request: its query, its headers, and its body within limits."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from tamis.serve.problem import ClientGoneError, RequestError, bad_request, busy, too_large
from tamis.serve.protocol import CONNECTION
from tamis.serve.settings import Bounds

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MOST_PARAMETERS = 256


class Bodies:
    """Counts the bytes of all bodies in memory.

    Args:
        allowed: The maximum number of bytes.
    """

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self.held = 0

    def take(self, size: int) -> None:
        """Count bytes that arrived.

        Raises:
            RequestError: There are too many, together with those of other requests.
        """
        if self.held + size > self.allowed:
            raise busy("too many bytes of request bodies are being received")
        self.held += size


class Request:
    """A request, as routes see it.

    Attributes:
        id: Its id in logs and in the response.
        headers: Its headers by lower-case name.
        name: The id in its path, for routes that have one.
        who: The owner of its token.
    """

    __slots__ = (
        "_bodies",
        "_bounds",
        "_held",
        "_parameters",
        "_receive",
        "_scope",
        "headers",
        "id",
        "name",
        "send",
        "who",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: dict[bytes, bytes],
        id: bytes,
        bounds: Bounds,
        bodies: Bodies,
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._bounds = bounds
        self._bodies = bodies
        self._held = 0
        self._parameters: dict[str, list[str]] | None = None
        self.send = send
        self.headers = headers
        self.id = id
        self.name = ""
        self.who = ""

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        given = self.headers.get(b"content-type", b"")
        if given == b"application/json":
            return "application/json"
        return given.partition(b";")[0].strip().lower().decode("latin-1")

    @property
    def has_query(self) -> bool:
        """Whether there are parameters."""
        return bool(self._scope["query_string"])

    def parameters(self, *known: str) -> dict[str, list[str]]:
        """The parameters of the query.

        Args:
            known: Their names.

        Raises:
            RequestError: A parameter is unknown, or the query is invalid.
        """
        if self._parameters is None:
            try:
                text = self._scope["query_string"].decode("ascii")
                pairs = parse_qsl(
                    text,
                    keep_blank_values=True,
                    errors="strict",
                    max_num_fields=_MOST_PARAMETERS,
                )
            except ValueError:
                raise bad_request("the query cannot be read") from None
            self._parameters = {}
            for name, value in pairs:
                self._parameters.setdefault(name, []).append(value)
        for name in self._parameters:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise bad_request(f"unknown parameter {name!r}; known: {listed}")
        return self._parameters

    async def body(self) -> bytes:
        """The whole body.

        Raises:
            RequestError: It exceeds the limit of a body, or of all bodies together.
            ClientGoneError: The client disconnected.
        """
        allowed = self._bounds.body
        declared = self.headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > allowed:
            raise too_large("bytes of the body", int(declared[:20]), allowed)
        first, more = await self._next()
        if not more and len(first) <= allowed:
            return first
        body = bytearray(first)
        while more and len(body) <= allowed:
            piece, more = await self._next()
            body += piece
        if len(body) > allowed:
            raise too_large("bytes of the body", len(body), allowed)
        return bytes(body)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces of a streamed body; each counts as in memory while it is processed."""
        connection = self._scope.get(CONNECTION)
        if connection is not None:
            connection.streaming = True
        more = True
        while more:
            piece, more = await self._next()
            yield piece
            self.release()

    async def _next(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        piece: bytes = message.get("body", b"")
        self._bodies.take(len(piece))
        self._held += len(piece)
        return piece, message.get("more_body", False)

    async def disconnected(self) -> None:
        """Wait until the client disconnects."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def release(self) -> None:
        """Release the bytes of the body."""
        self._bodies.held -= self._held
        self._held = 0


def one(parameters: dict[str, list[str]], name: str) -> str | None:
    """The value of a parameter that is given at most once."""
    values = parameters.get(name)
    if values is None:
        return None
    if len(values) > 1:
        raise bad_request(f"the parameter {name!r} occurs more than once")
    return values[0]


def number(parameters: dict[str, list[str]], name: str, default: int, least: int, most: int) -> int:
    """The value of a parameter that is a number within bounds."""
    text = one(parameters, name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or not least <= int(text) <= most:
        raise bad_request(f"the parameter {name!r} must be a number from {least} to {most}")
    return int(text)


def flag(parameters: dict[str, list[str]], name: str) -> bool:
    """The value of a parameter that is `true` or `false`."""
    text = one(parameters, name)
    if text not in (None, "true", "false"):
        raise bad_request(f"the parameter {name!r} must be true or false")
    return text == "true"


class Gate:
    """Limits the number of concurrent operations, and refuses others.

    Args:
        most: The maximum number.
        message: The error message for the others.
    """

    def __init__(self, most: int, message: str) -> None:
        self.most = most
        self.inside = 0
        self._message = message

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Count as one of them inside the block.

        Raises:
            RequestError: There are too many.
        """
        if self.inside >= self.most:
            raise busy(f"{self._message}: {self.inside} of {self.most}")
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1


@functools.cache
def only(*methods: str) -> RequestError:
    """The error for a method that a path does not support."""
    allowed = (b"allow", ", ".join(methods).encode())
    message = f"this path supports {', '.join(methods)}"
    return RequestError(405, "MethodNotAllowed", message, headers=[allowed])
