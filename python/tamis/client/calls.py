"""Which request does each method send, and what does its response say?

The two clients differ only in who waits; everything else is here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from tamis.client.answers import (
    Answer,
    Changed,
    Checked,
    Explained,
    Failed,
    Id,
    Page,
    Ranked,
    ServerError,
)
from tamis.ranking import Match

T = TypeVar("T")

NDJSON = "application/x-ndjson"
BATCH = 1_000  # events of one request


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how to read its response."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    body: bytes | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    type: str = "application/json"

    def request(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request of a client."""
        headers = {} if self.body is None else {"content-type": self.type}
        params = {name: value for name, value in self.params.items() if value is not None}
        return client.build_request(
            self.method, self.path, content=self.body, params=params, headers=headers
        )

    def answer(self, response: httpx.Response) -> T:
        """What a response says.

        Raises:
            ServerError: It says what went wrong.
        """
        if response.is_success:
            return self.read(response)
        try:
            told = response.json()
            error = dict(told["error"])
        except (ValueError, KeyError, TypeError):  # a proxy's page
            told, error = {}, {"kind": "HTTP", "message": response.reason_phrase}
        kind, message = error.pop("kind"), error.pop("message")
        raise ServerError(response.status_code, kind, message, error, told.get("request", ""))


def encode(value: object) -> bytes:
    """The JSON of a value; an event may be JSON already."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, separators=(",", ":")).encode()


def match(event: object, where: str | None, now: str | None) -> Call[Answer]:
    """What an event matches."""

    def read(response: httpx.Response) -> Answer:
        told = response.json()
        return Answer(told["matches"], told["version"])

    return Call("POST", "/match", read, encode(event), {"where": where, "now": now})


def first(event: object, n: int, where: str | None, now: str | None) -> Call[list[Id]]:
    """What an event matches of the highest priorities."""

    def read(response: httpx.Response) -> list[Id]:
        ids: list[Id] = response.json()["first"]
        return ids

    params = {"n": n, "where": where, "now": now}
    return Call("POST", "/first", read, encode(event), params)


def match_batch(events: Sequence[object], now: str | None) -> Call[list[list[Id] | Failed]]:
    """What each of some events matches."""

    def read(response: httpx.Response) -> list[list[Id] | Failed]:
        return [_ids(json.loads(line)) for line in response.text.splitlines()]

    body = b"\n".join(encode(event).replace(b"\n", b" ") for event in events)
    return Call("POST", "/match", read, body, {"now": now}, NDJSON)


def _ids(told: dict[str, Any]) -> list[Id] | Failed:
    if "error" in told:
        return Failed(told["error"]["kind"], told["error"]["message"])
    ids: list[Id] = told["matches"]
    return ids


def top(event: object, n: int, weights: Mapping[str, Any] | None, now: str | None) -> Call[Ranked]:
    """What an event matches best."""

    def read(response: httpx.Response) -> Ranked:
        told = response.json()
        return Ranked([Match(one["id"], one["score"]) for one in told["top"]], told["version"])

    given = None if weights is None else json.dumps(weights)
    return Call("POST", "/top", read, encode(event), {"n": n, "weights": given, "now": now})


def explain(event: object, ids: Sequence[Id], now: str | None) -> Call[list[Explained]]:
    """Why subscriptions match an event, or not."""

    def read(response: httpx.Response) -> list[Explained]:
        told = response.json()["explanations"]
        return [Explained(one["id"], one["matched"], one["tree"]) for one in told]

    params = {"id": [str(id) for id in ids] or None, "now": now}
    return Call("POST", "/explain", read, encode(event), params)


def check(expression: str) -> Call[Checked]:
    """Whether an expression is valid."""

    def read(response: httpx.Response) -> Checked:
        told = response.json()
        return Checked(told["valid"], told.get("expression"), told.get("error", {}))

    return Call("POST", "/check", read, encode({"expression": expression}))


def _path(id: Id) -> str:
    return f"/subscriptions/{quote(str(id), safe='')}"


def _type(id: Id) -> dict[str, str]:
    return {"type": "integer" if isinstance(id, int) else "string"}


def get(id: Id) -> Call[dict[str, Any]]:
    """A subscription."""

    def read(response: httpx.Response) -> dict[str, Any]:
        told: dict[str, Any] = response.json()
        return told

    return Call("GET", _path(id), read, None, _type(id))


def put(
    id: Id,
    expression: str,
    metadata: object,
    weights: Mapping[str, Any] | None,
    boost: float | None,
) -> Call[str]:
    """Add a subscription, or replace it."""
    given = {"expression": expression, "metadata": metadata, "weights": weights, "boost": boost}
    body = {name: value for name, value in given.items() if value is not None}
    return Call("PUT", _path(id), _version, encode(body), _type(id))


def remove(id: Id) -> Call[str]:
    """Remove a subscription."""
    return Call("DELETE", _path(id), _version, None, _type(id))


def _version(response: httpx.Response) -> str:
    return str(response.json()["version"])


def change(items: Sequence[Mapping[str, Any]], on_error: str) -> Call[Changed]:
    """Add, replace and remove many at once."""

    def read(response: httpx.Response) -> Changed:
        told = response.json()
        return Changed(told["put"], told["removed"], told["refused"], told["version"])

    params = {"on_error": on_error}
    return Call("POST", "/subscriptions", read, encode(list(items)), params)


def page(limit: int, after: str | None, where: str | None, text: str | None) -> Call[Page]:
    """Some of the subscriptions."""

    def read(response: httpx.Response) -> Page:
        told = response.json()
        return Page(told["subscriptions"], told["next"], told["total"])

    params = {"limit": limit, "after": after, "where": where, "text": text}
    return Call("GET", "/subscriptions", read, None, params)


def stats() -> Call[dict[str, Any]]:
    """Statistics about the served index and the server."""

    def read(response: httpx.Response) -> dict[str, Any]:
        told: dict[str, Any] = response.json()
        return told

    return Call("GET", "/stats", read)


def batches(events: Iterable[T]) -> Iterator[list[T]]:
    """Events in lists of what one request takes."""
    rest = iter(events)
    while batch := list(islice(rest, BATCH)):
        yield batch


def happening(line: str) -> dict[str, Any] | None:
    """What a line of the stream says; None if it says nothing."""
    if not line.startswith("data: {"):
        return None
    told: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return told


def headers(token: str | None) -> dict[str, str]:
    """The headers of every request."""
    return {} if token is None else {"authorization": f"Bearer {token}"}
