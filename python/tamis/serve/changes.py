"""Changes subscriptions, one by its id or many at once.

Everything is validated before it is written to the log: an invalid expression, id or metadata is
reported to the client and changes nothing.
"""

from typing import Any

import msgspec

from tamis._tamis import Index
from tamis.errors import TamisError
from tamis.serve.app import Service
from tamis.serve.encoding import decode
from tamis.serve.held import as_integer
from tamis.serve.lists import items_of, lines_of
from tamis.serve.problem import RequestError, bad_request, of_error
from tamis.serve.request import Request, one
from tamis.serve.response import Response, json_response
from tamis.serve.source import Change

_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_JUDGED = 512  # subscriptions validated at once
_DEEPEST = 100  # levels of metadata; every process that opens the index must be able to read it


class Put(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A subscription as sent by a client; in a bulk change, it may be a removal."""

    id: str | int | None = None
    expression: str | None = None
    metadata: Any = None
    weights: dict[str, float | dict[str, float]] | None = None
    boost: float | None = None
    priority: int | None = None
    active_from: str | None = None
    active_until: str | None = None
    deleted: bool = False
    version: str | int | None = None  # part of a response that a client sends back; ignored

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Index.add`."""
        given = {"id": self.id, "expression": self.expression, "metadata": self.metadata}
        given |= {"weights": self.weights, "boost": self.boost, "priority": self.priority}
        given |= {"active_from": self.active_from, "active_until": self.active_until}
        return {name: value for name, value in given.items() if value is not None}


async def put_subscription(service: Service, request: Request) -> Response:
    """Add a subscription, or replace it."""
    kind = one(request.parameters("type"), "type")
    if kind not in (None, "string", "integer"):
        raise bad_request("the parameter 'type' must be string or integer")
    body = await request.body()
    try:
        put = decode(body, Put)
    except ValueError as error:
        raise bad_request(f"the subscription cannot be read: {error}") from None
    id: str | int = request.name
    if kind == "integer" or isinstance(put.id, int):
        number = as_integer(request.name)
        if number is None:
            raise bad_request(f"{request.name!r} is not a 64-bit integer")
        id = number
    if put.id not in (None, id):
        raise bad_request(f"the path names {id!r}, the subscription {put.id!r}")
    if put.expression is None or put.deleted:
        raise bad_request("a subscription needs `expression`")
    if _is_deep(put.metadata):
        raise _too_deep()
    put.id = id
    change = Change([put.arguments()], [])
    created = id not in service.held.engine
    _accepting(service)
    await service.work(_judge, service.held.index, change.puts)
    version = await service.source.change(change)
    _done(service, request, change)
    return json_response({"id": id, "version": version}, 201 if created else 200)


async def delete_subscription(service: Service, request: Request) -> Response:
    """Remove a subscription."""
    kind = one(request.parameters("type"), "type")
    _accepting(service)
    held = service.held
    id = held.find(request.name, kind)
    change = Change([], [id])
    version = await service.source.change(change)
    _done(service, request, change)
    return json_response({"id": id, "version": version})


async def post_subscriptions(service: Service, request: Request) -> Response:
    """Add, replace and remove many at once."""
    on_error = one(request.parameters("on_error"), "on_error") or "raise"
    if on_error not in ("raise", "collect"):
        raise bad_request("the parameter 'on_error' must be raise or collect")
    body = await request.body()
    _accepting(service)
    batch = service.settings.bounds.batch
    items = await service.work(_split, body, batch, lines=request.content_type in _LINES)
    change, refused = await service.work(
        _read, service.held.index, items, collect=on_error == "collect"
    )
    version = service.held.version
    if change.puts or change.removes:
        version = await service.source.change(change)
        _done(service, request, change)
    return json_response(
        {
            "put": len(change.puts),
            "removed": len(change.removes),
            "refused": refused,
            "version": version,
        }
    )


def _accepting(service: Service) -> None:
    if service.source.mode != "own":
        message = "this server follows a folder and accepts no changes; see --own"
        raise RequestError(405, "ReadOnly", message, headers=[(b"allow", b"GET")])
    if service.source.trouble is not None:
        raise RequestError(503, "NotReady", service.source.trouble)


def _done(service: Service, request: Request, change: Change) -> None:
    service.metrics.changes += len(change.puts) + len(change.removes)
    service.log.write(
        "info",
        "change",
        request=request.id.decode(),
        put=len(change.puts),
        removed=len(change.removes),
        version=service.held.version,
        **({"who": request.who} if request.who else {}),
    )


def _split(body: bytes, most: int, *, lines: bool) -> list[bytes]:
    what = "subscriptions of the request"
    if lines:
        return lines_of(body, most, what)
    return [bytes(item) for item in items_of(body, msgspec.Raw, most, what)]


def _read(
    index: Index, items: list[bytes], *, collect: bool
) -> tuple[Change, list[dict[str, Any]]]:
    """The change described by items, and the refused items.

    Raises:
        RequestError: An item is refused and `on_error` is `raise`.
    """
    puts: dict[int, dict[str, Any]] = {}
    removes: dict[int, str | int] = {}
    refused: dict[int, RequestError] = {}
    last: dict[str | int, int] = {}
    for number, item in enumerate(items):
        try:
            put = decode(item, Put)
            if put.id is None or (put.expression is None) != put.deleted:
                message = "an item must have `id` and `expression`, or `id` and `deleted`"
                refused[number] = bad_request(message)
                continue
            if _is_deep(put.metadata):
                refused[number] = _too_deep()
                continue
        except ValueError as error:
            refused[number] = bad_request(f"the subscription cannot be read: {error}")
            continue
        earlier = last.get(put.id)
        if earlier is not None:  # if an id is repeated, the last counts
            puts.pop(earlier, None)
            removes.pop(earlier, None)
        last[put.id] = number
        if put.deleted:
            removes[number] = put.id
        else:
            puts[number] = put.arguments()
    _refuse_invalid(index, puts, refused)
    if refused and not collect:
        number, problem = min(refused.items())
        message = f"item {number}: {problem.message}"
        raise RequestError(422, problem.kind, message, item=number, **problem.details)
    there = [id for id in removes.values() if id in index]
    told = [{"item": number, "error": one.to_dict()} for number, one in sorted(refused.items())]
    return Change(list(puts.values()), there), told


def _refuse_invalid(
    index: Index, puts: dict[int, dict[str, Any]], refused: dict[int, RequestError]
) -> None:
    """Remove the items that an index would not accept."""
    numbers = list(puts)
    for begin in range(0, len(numbers), _JUDGED):
        left = numbers[begin : begin + _JUDGED]
        while left:
            try:
                _judge(index, [puts[number] for number in left])
                break
            except TamisError as error:
                at = error.item or 0
                del puts[left[at]]
                error.item = None
                refused[left[at]] = of_error(error)
                left = left[at + 1 :]  # those before it are valid


def _judge(index: Index, puts: list[dict[str, Any]]) -> None:
    """Fail if an index would not accept these.

    Raises:
        TamisError: The error says which, and why.
    """
    scratch = Index(missing=index.missing, time_zone=index.time_zone, limits=index.limits)
    if len(puts) == 1:
        scratch.add(**puts[0])
    else:
        scratch.add_many(puts)


def _is_deep(metadata: Any) -> bool:
    """Whether metadata is nested too deeply."""
    level = [metadata]
    for _ in range(_DEEPEST + 1):
        level = [
            part
            for whole in level
            if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not level:
            return False
    return True


def _too_deep() -> RequestError:
    message = f"metadata is nested deeper than {_DEEPEST} levels"
    return RequestError(422, "SubscriptionError", message)
