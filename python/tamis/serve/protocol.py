"""Limits connections before a request is complete.

The HTTP library puts no bound on connections, headers, or how slowly they arrive. Here, one sweep
per second closes connections that take too long: for headers, for bodies, or to read a response.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tamis.serve.encoding import encode
from tamis.serve.metrics import Metrics
from tamis.serve.settings import Bounds

CONNECTION = "tamis.connection"  # the key of the connection in a request's scope
_FULL = (503, "Service Unavailable", "Busy", "too many connections")
_LARGE = (431, "Request Header Fields Too Large", "TooLarge", "the headers are too large")
_WRONG = (400, "Bad Request", "BadRequest", "this is not an HTTP request")


class Connection(HttpToolsProtocol):
    """A connection that is closed when it takes too long.

    Attributes:
        streaming: Whether the request may arrive without a time limit.
    """

    bounds: Bounds
    metrics: Metrics
    streaming = False
    _begun = 0  # requests of this connection
    _in_headers = False
    _deadline: float | None = None
    _write_deadline: float | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many."""
        super().connection_made(transport)
        self._deadline = self.loop.time() + self.bounds.header_seconds
        peer: socket.socket | None = transport.get_extra_info("socket")
        if peer is not None:
            with contextlib.suppress(OSError):  # not a TCP socket
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if len(self.connections) > self.bounds.connections:
            self.metrics.busy += 1
            self._refuse(*_FULL, b"retry-after: 1\r\n")

    def data_received(self, data: bytes) -> None:
        """Receive bytes, and refuse endless headers."""
        if self.transport.is_closing():
            return
        begun = self._begun
        super().data_received(data)
        # Do not count bytes that arrived with the end of an earlier request: they may be its body.
        if self._in_headers and (begun == self._begun or self._begun == 1):
            self._header_bytes += len(data)
            if self._header_bytes > self.bounds.header_bytes and self.parser is not None:
                self._refuse(*_LARGE)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[literal-required]
        self.streaming = False
        self._begun += 1
        self._in_headers = True
        self._header_bytes = 0
        self._deadline = self.loop.time() + self.bounds.header_seconds

    def on_header(self, name: bytes, value: bytes) -> None:
        """Receive a header or a trailer."""
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > self.bounds.header_bytes:
            raise ValueError("the headers are too large")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._in_headers = False
        if self._deadline is not None:
            self._deadline += self.bounds.body_seconds
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._deadline = None
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client does not read."""
        self._write_deadline = self.loop.time() + self.bounds.write_seconds
        super().pause_writing()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._write_deadline = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer invalid HTTP."""
        self.metrics.invalid_http += 1
        self._refuse(*(_LARGE if self._header_bytes > self.bounds.header_bytes else _WRONG))

    def sweep(self, now: float) -> None:
        """Close the connection if it took too long."""
        late = self._deadline is not None and now > self._deadline and not self.streaming
        if late or (self._write_deadline is not None and now > self._write_deadline):
            self.transport.abort()

    def _refuse(
        self, status: int, phrase: str, kind: str, message: str, headers: bytes = b""
    ) -> None:
        body = encode({"error": {"kind": kind, "message": message}})
        self.transport.write(
            b"HTTP/1.1 %d %s\r\n" % (status, phrase.encode())
            + b"content-type: application/json\r\nconnection: close\r\n"
            + b"content-length: %d\r\n%s\r\n%s" % (len(body), headers, body)
        )
        self.transport.close()


def protocol(bounds: Bounds, metrics: Metrics) -> Callable[..., Any]:
    """The protocol of a server with these bounds."""
    return type("BoundedConnection", (Connection,), {"bounds": bounds, "metrics": metrics})


async def sweep(connections: set[Any]) -> None:
    """Regularly close connections that take too long."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(1.0)
        now = loop.time()
        for connection in tuple(connections):
            connection.sweep(now)
