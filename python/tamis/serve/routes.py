"""The handlers of all paths."""

from importlib.resources import files
from typing import Any

import msgspec

from tamis._tamis import Expression, Filter, Index, __version__
from tamis.errors import TamisError
from tamis.serve import auth
from tamis.serve.answers import EXPLAIN, FIRST, MATCH, TOP
from tamis.serve.app import Handler, Service
from tamis.serve.changes import delete_subscription, post_subscriptions, put_subscription
from tamis.serve.encoding import decode
from tamis.serve.events import answer
from tamis.serve.findings import find
from tamis.serve.listing import Wanted, page
from tamis.serve.openapi import document
from tamis.serve.problem import ClientGoneError, RequestError, bad_request
from tamis.serve.request import Request, number, one
from tamis.serve.response import Response, json_response, start

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEARTBEAT = 15.0  # seconds after which an idle stream sends a keep-alive


async def match(service: Service, request: Request) -> Response | None:
    """Match each event."""
    return await answer(service, request, MATCH)


async def top(service: Service, request: Request) -> Response | None:
    """Rank the matches of each event."""
    return await answer(service, request, TOP)


async def first(service: Service, request: Request) -> Response | None:
    """Find the matches of the highest priority for each event."""
    return await answer(service, request, FIRST)


async def explain(service: Service, request: Request) -> Response | None:
    """Explain why an event matches, or why not."""
    return await answer(service, request, EXPLAIN)


class CheckBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `/check`."""

    expression: str


async def check(service: Service, request: Request) -> Response:
    """Check an expression, and return its canonical form."""
    request.parameters()
    try:
        given = decode(await request.body(), CheckBody)
    except ValueError as error:
        raise bad_request(f'the body must be {{"expression": TEXT}}: {error}') from None
    return json_response(await service.work(_check, service, given.expression))


def _check(service: Service, text: str) -> dict[str, Any]:
    engine = service.held.engine
    try:
        if isinstance(engine, Filter):
            Filter(limits=engine.limits).add("checked", text)
            return {"valid": True, "xpath": text}
        expression = Expression.parse(text, limits=engine.limits)
        # A valid expression may still fail to compile, such as one with a huge regular expression.
        Index(limits=engine.limits, time_zone=engine.time_zone).add("checked", expression)
    except TamisError as error:
        return {"valid": False, "error": error.to_dict()}
    return {
        "valid": True,
        "expression": str(expression),
        "json": msgspec.Raw(expression.to_json().encode()),
        "attributes": expression.attributes,
    }


async def get_subscription(service: Service, request: Request) -> Response:
    """Get a subscription."""
    kind = one(request.parameters("type"), "type")
    held = service.held
    id = held.find(request.name, kind)
    # Writing a long expression takes a while.
    described = await service.work(held.describe, id)
    return json_response({**described, "version": held.version})


async def list_subscriptions(service: Service, request: Request) -> Response:
    """List subscriptions."""
    given = request.parameters("limit", "after", "where", "text")
    wanted = Wanted(
        limit=number(given, "limit", 100, 1, service.settings.bounds.matches),
        after=one(given, "after"),
        where=one(given, "where"),
        text=one(given, "text"),
    )
    held = service.held
    return json_response({**await service.work(page, held, wanted), "version": held.version})


async def stream(service: Service, request: Request) -> None:
    """Stream matches as they happen."""
    where = one(request.parameters("where"), "where")
    with service.tails.enter():
        reader = await service.work(service.tail.join, where)
        gone = service.loop.create_task(request.disconnected())
        try:
            await start(request, 200, b"text/event-stream", [])
            await _send(request, b": this is a stream of matches\n\n")
            while not service.stopping and not gone.done():
                taken = await reader.take(_HEARTBEAT)
                lines = [b"data: %s\n\n" % one for one in taken if one]
                if reader.missed:
                    lines.insert(0, b"event: missed\ndata: %d\n\n" % reader.missed)
                    reader.missed = 0
                await _send(request, b"".join(lines) or b": still here\n\n")
            if gone.done():
                raise ClientGoneError
            await request.send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            service.tail.leave(reader)


async def _send(request: Request, body: bytes) -> None:
    await request.send({"type": "http.response.body", "body": body, "more_body": True})


async def stats(service: Service, request: Request) -> Response:
    """What is served, and how busy is it?"""
    request.parameters()
    return json_response(await service.work(_stats, service))


def _stats(service: Service) -> dict[str, Any]:
    held, metrics = service.held, service.metrics
    return {
        "version": held.version,
        "kind": held.kind,
        "tamis": __version__,
        "subscriptions": len(held.engine),
        "engine": held.engine.stats(),
        "source": service.source.stats(),
        "events": metrics.events,
        "refused": metrics.refused,
        "matches": metrics.matches,
        "began": metrics.began,
        "series": list(metrics.series),
        "most": [{"id": id, "matches": count} for id, count in metrics.hits.most_common(20)],
        "never": _never(service, 20),
    }


def _never(service: Service, most: int) -> list[str | int]:
    """Some ids without a match since the server started."""
    found: list[str | int] = []
    if service.held.kind == "graph" or not service.metrics.events:
        return found
    hits = service.metrics.hits
    for id in service.held.engine:
        if not hits.get(id):
            found.append(id)
            if len(found) == most:
                break
    return found


async def findings(service: Service, request: Request) -> Response:
    """Find likely mistakes in the subscriptions."""
    request.parameters()
    seen = service.metrics
    return json_response(await service.work(find, service.held, seen.hits, seen.events))


async def metrics(service: Service, request: Request) -> Response:
    """The metrics for Prometheus."""
    request.parameters()
    held = service.held
    gauges: dict[str, float] = {
        "subscriptions": len(held.engine),
        "connections": len(service.metrics.connections),
        "streams": service.streams.inside,
        "stream_readers": service.tails.inside,
        "waiting_requests": service.waiting.inside,
        "body_bytes": service.bodies.held,
    }
    if isinstance(held.engine, Index):
        figures = await service.work(held.engine.stats)
        gauges["index_bytes"] = figures["matching_bytes"] + figures["subscription_bytes"]
        gauges["index_segments"] = figures["segments"]
    text = "\n".join(service.metrics.write(gauges, held.version)) + "\n"
    return Response(200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def healthz(_: Service, request: Request) -> Response:
    """Check that the process is alive."""
    request.parameters()
    return json_response({"alive": True})


async def readyz(service: Service, request: Request) -> Response:
    """Check whether the server accepts requests."""
    request.parameters()
    trouble = "the server is stopping" if service.stopping else service.source.trouble
    if trouble is not None:
        raise RequestError(503, "NotReady", trouble)
    return json_response({"ready": True, "version": service.held.version})


async def openapi(_: Service, request: Request) -> Response:
    """The OpenAPI document."""
    request.parameters()
    return json_response(document(__version__))


def _file(name: str, type: bytes) -> Handler:
    content = files("tamis.serve").joinpath("console", name).read_bytes()
    headers = [
        (b"content-security-policy", _POLICY),
        (b"referrer-policy", b"no-referrer"),
        (b"x-frame-options", b"DENY"),
    ]

    async def send_file(_: Service, request: Request) -> Response:
        request.parameters()
        return Response(200, content, type, headers)

    return send_file


def routes() -> dict[tuple[str, str], tuple[Handler, auth.Scope | None]]:
    """The handler of each method and path, and the scope that a token needs."""
    return {
        ("POST", "/match"): (match, "read"),
        ("POST", "/top"): (top, "read"),
        ("POST", "/first"): (first, "read"),
        ("POST", "/explain"): (explain, "read"),
        ("POST", "/check"): (check, "read"),
        ("GET", "/subscriptions"): (list_subscriptions, "read"),
        ("POST", "/subscriptions"): (post_subscriptions, "write"),
        ("GET", "/subscriptions/{id}"): (get_subscription, "read"),
        ("PUT", "/subscriptions/{id}"): (put_subscription, "write"),
        ("DELETE", "/subscriptions/{id}"): (delete_subscription, "write"),
        ("GET", "/stream"): (stream, "read"),
        ("GET", "/stats"): (stats, "read"),
        ("GET", "/findings"): (findings, "read"),
        ("GET", "/metrics"): (metrics, "read"),
        ("GET", "/healthz"): (healthz, None),
        ("GET", "/readyz"): (readyz, None),
        ("GET", "/openapi.json"): (openapi, None),
        ("GET", "/"): (_file("index.html", b"text/html; charset=utf-8"), None),
        ("GET", "/console.js"): (_file("console.js", b"text/javascript; charset=utf-8"), None),
        ("GET", "/console.css"): (_file("console.css", b"text/css; charset=utf-8"), None),
    }
