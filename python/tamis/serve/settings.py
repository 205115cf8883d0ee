"""The limits of requests, and the settings of the server."""

import os
from dataclasses import dataclass, field

MIB = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """Limits of requests; exceeding one is an error with both numbers.

    Attributes:
        body: Bytes of a request's body; a stream of lines may be longer.
        bodies: Bytes of all bodies that are being received or answered.
        line: Bytes of one line of a stream.
        batch: Events, or subscriptions, of one request that is not a stream.
        answer: Bytes of the answers to one request that is not a stream, or to a piece of one.
        matches: The maximum results of `top` and of a page of subscriptions.
        explanations: Explanations of one request.
        seconds: Seconds to answer one event.
        batch_seconds: Seconds to answer all events of a list.
        requests: Requests that wait for a thread; others are refused with `Retry-After`.
        streams: Streams of lines at one time.
        tails: Readers of `/stream` at one time.
        connections: Open connections.
        header_bytes: Bytes of a request's line and headers.
        header_seconds: Seconds for headers to arrive.
        body_seconds: Seconds for a body that is not a stream to arrive.
        write_seconds: Seconds that a client may leave a response unread.
        idle_seconds: Seconds that a connection is kept between requests.
    """

    body: int = 16 * MIB
    bodies: int = 256 * MIB
    line: int = MIB
    batch: int = 10_000
    answer: int = 64 * MIB
    matches: int = 1_000
    explanations: int = 100
    seconds: float = 1.0
    batch_seconds: float = 10.0
    requests: int = 1_024
    streams: int = 64
    tails: int = 32
    connections: int = 16_384
    header_bytes: int = 1 << 16
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    write_seconds: float = 60.0
    idle_seconds: float = 75.0


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Attributes:
        own: Whether changes are accepted; otherwise the folder is followed.
        host: The address to listen on.
        port: The port; 0 for any free port.
        tokens: Lines of `SCOPE NAME TOKEN`; None if no token is required.
        poll: Seconds between checks for a new version.
        fold: The number of changes after which an owned index is saved and a new log begins.
        threads: Threads for long requests.
        log_requests: Whether to log every request, not only changes, failures and slow requests.
        copy: Whether files are copied into memory instead of mapped.
        grace: Seconds that requests have to finish when the server stops.
        bounds: The limits of requests.
    """

    own: bool = False
    host: str = "127.0.0.1"
    port: int = 8080
    tokens: str | None = field(default=None, repr=False)
    poll: float = 1.0
    fold: int = 100_000
    threads: int = max(2, os.cpu_count() or 1)
    log_requests: bool = False
    copy: bool = False
    grace: float = 10.0
    bounds: Bounds = field(default_factory=Bounds)
