"""Responses."""

from dataclasses import dataclass, field
from typing import Any

from tamis.serve.encoding import encode
from tamis.serve.request import Request

JSON = b"application/json"
NDJSON = b"application/x-ndjson"

# Browsers must not sniff, frame or cache responses.
_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


@dataclass(slots=True)
class Response:
    """A complete response."""

    status: int
    body: bytes
    type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON object; the version it names is in the headers, too."""
    response = Response(status, encode(value))
    version = value.get("version") if isinstance(value, dict) else None
    if version is not None:
        response.headers.append((b"tamis-version", version.encode()))
    return response


async def start(
    request: Request, status: int, type: bytes, headers: list[tuple[bytes, bytes]]
) -> None:
    """Begin a response whose body follows in pieces."""
    headers = [(b"content-type", type), (b"x-request-id", request.id), *_ALWAYS, *headers]
    await request.send({"type": "http.response.start", "status": status, "headers": headers})


async def respond(request: Request, response: Response) -> None:
    """Send a response."""
    body = response.body
    await request.send(
        {
            "type": "http.response.start",
            "status": response.status,
            "headers": [
                (b"content-type", response.type),
                (b"content-length", b"%d" % len(body)),
                (b"x-request-id", request.id),
                *_ALWAYS,
                *response.headers,
            ],
        }
    )
    await request.send({"type": "http.response.body", "body": body})
