"""Handles events: one, a list, or lines that stream both ways."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from tamis._tamis import Expression, Filter, Index
from tamis.errors import EventError, MatchTimeoutError, TamisError
from tamis.serve.answers import (
    MATCH,
    Answer,
    Operation,
    Query,
    answer_all,
    answer_some,
    refusal,
)
from tamis.serve.encoding import decode, encode_lines
from tamis.serve.held import Held
from tamis.serve.lists import items_of
from tamis.serve.problem import ClientGoneError, RequestError, bad_request, too_large
from tamis.serve.request import Request, flag, number, one
from tamis.serve.response import NDJSON, Response, json_response, start
from tamis.serve.settings import Bounds

if TYPE_CHECKING:
    from tamis.serve.app import Service

INLINE_BYTES = 1 << 14  # largest event that is matched on the event loop's thread
INLINE_SECONDS = 0.02  # after this time it is matched again, on another thread

_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_OBJECTS = frozenset({"", "application/json", "application/x-www-form-urlencoded"})
_XML = frozenset({"application/xml", "text/xml"})
_SLICE_BYTES = 1 << 18
_CLOCK = Index()  # checks whether a text is a valid time
_PARAMETERS = {
    "match": ("now", "document", "source", "sinks_only", "where"),
    "top": ("now", "document", "source", "sinks_only", "where", "n", "weights"),
    "first": ("now", "document", "where", "n"),
    "explain": ("now", "document", "source", "target", "id", "limit"),
}


async def answer(service: "Service", request: Request, operation: Operation) -> Response | None:
    """Answer a request about events."""
    query = _query(service, request, operation) if request.has_query else service.plain
    kind = request.content_type
    if kind in _LINES:
        with service.streams.enter():
            await _answer_stream(service, request, operation, query)
        return None
    body = await request.body()
    held = service.held
    if kind in _XML:
        return await _answer_document(service, held, operation, query, body)
    if kind not in _OBJECTS:
        known = ", ".join(sorted((_LINES | _OBJECTS | _XML) - {""}))
        message = f"the content type {kind!r} is not supported; known: {known}"
        raise RequestError(415, "UnsupportedMediaType", message)
    if isinstance(held.engine, Filter):
        return await _answer_texts(service, held, operation, query, body)
    if body[:1] == b"[" or body.lstrip(b" \t\r\n")[:1] == b"[":
        events = await service.work(_events, body, service.settings.bounds.batch)
        return await _answer_list(service, held, operation, query, events)
    return await _answer_one(service, held, operation, query, body)


async def _answer_one(
    service: "Service", held: Held, operation: Operation, query: Query, event: bytes
) -> Response:
    seconds = service.settings.bounds.seconds
    found: Answer | None = None
    if operation is MATCH and len(event) <= INLINE_BYTES and isinstance(held.engine, Index):
        try:
            found = operation.one(held, event, query, min(INLINE_SECONDS, seconds))
        except MatchTimeoutError:
            found = None
    if found is None:
        found = await service.work(operation.one, held, event, query, seconds)
    if operation is MATCH:
        if service.tail.readers:
            service.tail.publish(held.version, [(event, found["matches"])])
    elif operation.name in ("top", "first"):
        service.metrics.ranked += 1
    found["version"] = held.version
    return json_response(found)


async def _answer_list(
    service: "Service", held: Held, operation: Operation, query: Query, events: list[bytes]
) -> Response:
    bounds = service.settings.bounds
    answers = await service.work(answer_all, operation, held, events, query, bounds)
    _count(service, held, operation, events, answers)
    return json_response({"results": answers, "version": held.version})


async def _answer_document(
    service: "Service", held: Held, operation: Operation, query: Query, document: bytes
) -> Response:
    if isinstance(held.engine, Filter):
        return await _answer_one(service, held, operation, query, document)
    try:
        event = msgspec.json.encode({"document": document.decode()})
    except UnicodeDecodeError:
        message = "a document for an index is UTF-8; others go into an event with `document=`"
        raise bad_request(message) from None
    query = replace(query, document="document")
    return await _answer_one(service, held, operation, query, event)


async def _answer_texts(
    service: "Service", held: Held, operation: Operation, query: Query, body: bytes
) -> Response:
    """Documents for XML filters, as JSON: a text, or a list of texts."""
    if body.lstrip(b" \t\r\n")[:1] == b"[":
        documents = await service.work(_documents, body, service.settings.bounds.batch)
        return await _answer_list(service, held, operation, query, documents)
    try:
        document = decode(body, str)
    except ValueError as error:
        raise bad_request(f"a document must be XML, or a JSON string: {error}") from None
    return await _answer_one(service, held, operation, query, document.encode())


def _count(
    service: "Service",
    held: Held,
    operation: Operation,
    events: list[bytes],
    answers: list[Answer],
) -> None:
    refused = sum("error" in answer for answer in answers)
    service.metrics.refused += refused
    if operation is not MATCH:
        service.metrics.ranked += len(answers) - refused
    elif service.tail.readers:
        happened = zip(events, answers, strict=True)
        service.tail.publish(
            held.version,
            [(event, answer["matches"]) for event, answer in happened if "matches" in answer],
        )


async def _answer_stream(
    service: "Service", request: Request, operation: Operation, query: Query
) -> None:
    """Answer lines as they arrive, one line for each."""
    held = service.held
    await start(request, 200, NDJSON, [(b"tamis-version", held.version.encode())])
    rest = bytearray()
    number = 0
    async for piece in request.pieces():
        # Search only the new bytes: a line may arrive byte by byte.
        end = len(rest) + piece.rfind(b"\n") + 1 if b"\n" in piece else 0
        rest += piece
        if not end and len(rest) <= service.settings.bounds.line:
            continue
        lines = bytes(rest[:end])
        del rest[:end]
        number = await _answer_lines(service, request, operation, query, lines, number)
        if len(rest) > service.settings.bounds.line:
            allowed = service.settings.bounds.line
            problem = too_large("bytes of a line", len(rest), allowed)
            await _send(request, [{"line": number + 1, "error": problem.to_dict()}], last=True)
            return
    await _answer_lines(service, request, operation, query, bytes(rest), number)
    await request.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _answer_lines(
    service: "Service",
    request: Request,
    operation: Operation,
    query: Query,
    lines: bytes,
    number: int,
) -> int:
    """Answer complete lines; returns the number of the last."""
    begin = 0
    while begin < len(lines):
        end = len(lines)
        if end - begin > _SLICE_BYTES:
            end = lines.find(b"\n", begin + _SLICE_BYTES) + 1 or end
        chunk = Chunk(lines[begin:end], number)
        begin = end
        number += chunk.count
        while chunk.events:
            # One time slice per call, so that other streams can continue.
            answers = await service.run(chunk.answer, service, service.held, operation, query)
            await request.send({"type": "http.response.body", "body": answers, "more_body": True})
            if service.stopping:
                raise ClientGoneError
    return number


class Chunk:
    """Lines of a stream that are not answered yet.

    Args:
        lines: The lines.
        number: The number of lines before these.

    Attributes:
        count: The number of lines that end in it.
        events: The events that are not answered yet.
    """

    def __init__(self, lines: bytes, number: int) -> None:
        self.count = lines.count(b"\n")
        numbered = enumerate(lines.split(b"\n"), number + 1)
        found = [(at, line) for at, line in numbered if line and not line.isspace()]
        self._numbers = [at for at, _ in found]
        self.events = [line for _, line in found]

    def answer(self, service: "Service", held: Held, operation: Operation, query: Query) -> bytes:
        """The encoded answers for the first lines; runs on another thread."""
        answers: list[Answer]
        bounds = service.settings.bounds
        try:
            if isinstance(held.engine, Filter):
                answers = _answer_texts_of(operation, held, self.events, query, bounds)
            else:
                answers = answer_some(operation, held, self.events, query, bounds)
        except TamisError as error:  # applies to all of them, such as an unknown id
            answers = [refusal(error)] * len(self.events)
        except RequestError as error:
            answers = [{"error": error.to_dict()}] * len(self.events)
        count = len(answers)
        events, self.events = self.events[:count], self.events[count:]
        numbers, self._numbers = self._numbers[:count], self._numbers[count:]
        service.loop.call_soon_threadsafe(_count, service, held, operation, events, answers)
        return encode_lines(
            [{"line": line, **found} for line, found in zip(numbers, answers, strict=True)]
        )


def _answer_texts_of(
    operation: Operation, held: Held, lines: list[bytes], query: Query, bounds: Bounds
) -> list[Answer]:
    """The answers for the first of some documents that are JSON texts."""
    documents: list[bytes] = []
    refused: list[Answer] = []
    for line in lines:
        try:
            document = decode(line, str).encode()
        except ValueError as error:
            if documents:
                break
            refused.append(refusal(EventError(f"the line is not a JSON string: {error}")))
        else:
            if refused:
                break
            documents.append(document)
    return refused or answer_some(operation, held, documents, query, bounds)


def _events(body: bytes, most: int) -> list[bytes]:
    """The events of a list."""
    return [bytes(event) for event in items_of(body, msgspec.Raw, most, "events of the list")]


def _documents(body: bytes, most: int) -> list[bytes]:
    """The documents of a list of texts."""
    return [document.encode() for document in items_of(body, str, most, "documents of the list")]


async def _send(request: Request, answers: list[Answer], *, last: bool) -> None:
    body = encode_lines(answers)
    await request.send({"type": "http.response.body", "body": body, "more_body": not last})


def _query(service: "Service", request: Request, operation: Operation) -> Query:
    """The query described by the parameters of a request.

    Raises:
        RequestError: A parameter or its value is invalid.
    """
    bounds = service.settings.bounds
    given = request.parameters(*_PARAMETERS[operation.name])
    ids = tuple(given.get("id", ()))
    if len(ids) > bounds.explanations:
        raise too_large("ids to explain", len(ids), bounds.explanations)
    weights, where = one(given, "weights"), one(given, "where")
    return Query(
        now=_moment(one(given, "now")),
        document=one(given, "document"),
        where=None if where is None else Expression.parse(where),
        n=number(given, "n", 0, 1, bounds.matches) or None,
        weights=None if weights is None else _weights(weights),
        ids=ids,
        source=one(given, "source"),
        target=one(given, "target"),
        sinks_only=flag(given, "sinks_only"),
        explanations=number(given, "limit", 10, 1, bounds.explanations),
        hits=service.metrics.hits,
    )


def _moment(text: str | None) -> str | None:
    if text is not None:
        try:
            _CLOCK.match({}, now=text)
        except ValueError as error:
            raise bad_request(f"the parameter 'now' is not a time: {error}") from None
    return text


def _weights(text: str) -> dict[str, Any]:
    try:
        return decode(text, dict[str, float | dict[str, float]])
    except ValueError as error:
        raise bad_request(f"the parameter 'weights' cannot be read: {error}") from None
