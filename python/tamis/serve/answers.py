"""Runs a query for events, one at a time or many.

Nothing here knows of HTTP: the input is a `Query` with events as bytes, the output objects for
JSON.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from tamis._tamis import Expression, Filter, Hits, Index
from tamis.errors import EventError, MatchTimeoutError, TamisError
from tamis.graph import Graph
from tamis.serve.encoding import decode, encode
from tamis.serve.held import Held, not_for
from tamis.serve.problem import RequestError, bad_request
from tamis.serve.settings import Bounds

if TYPE_CHECKING:
    from tamis.batches import Collected, Refused

Answer: TypeAlias = dict[str, Any]

_RANKED = 10  # default length of a ranking
_FIRST_SLICE = 16
_LARGEST_SLICE = 4096
_SLICE_SECONDS = 0.05
_TURN_SECONDS = 0.25  # time slice of a stream, before other streams continue
_RESULTS = 100_000  # ranked results per slice
_SEEN = 100  # values of a list shown in an explanation


@dataclass(frozen=True)
class Query:
    """The query for each event.

    Attributes:
        now: The value of `now()`.
        document: The attribute that holds an event's XML document.
        where: A condition on the metadata of subscriptions.
        n: The number of results of a ranking, or of the highest priorities.
        weights: The events' weights in a ranking.
        ids: The ids to explain, as written by the client.
        source: In a graph, the node that events start from.
        target: In a graph, the node to explain.
        sinks_only: In a graph, whether to return only nodes without outgoing edges.
        explanations: The number of matches to explain if no ids are given.
        hits: Where matches are counted.
    """

    now: str | None = None
    document: str | None = None
    where: Expression | None = None
    n: int | None = None
    weights: dict[str, Any] | None = None
    ids: tuple[str, ...] = ()
    source: str | None = None
    target: str | None = None
    sinks_only: bool = False
    explanations: int = 10
    hits: Hits | None = None


@dataclass(frozen=True)
class Operation:
    """A kind of query.

    Attributes:
        name: The name of the route.
        one: The answer for an event, within some seconds.
        many: The answers for a slice of events, each an answer or an error, within some seconds.
            Only for the first of them, if all would take more than the given bytes.
    """

    name: str
    one: Callable[[Held, bytes, Query, float], Answer]
    many: Callable[[Held, Sequence[bytes], Query, float, int], list[Answer]]


def answer_all(
    operation: Operation, held: Held, events: Sequence[bytes], query: Query, bounds: Bounds
) -> list[Answer]:
    """The answers for the events of a list.

    Raises:
        MatchTimeoutError: They exceeded their time limit.
        RequestError: The answers together are too long.
    """
    answers: list[Answer] = []
    begin, seconds = time.monotonic(), bounds.batch_seconds
    pace, room = Pace(), Room(bounds.answer)
    while len(answers) < len(events):
        left = begin + seconds - time.monotonic()
        if left <= 0:
            message = f"answering took longer than {seconds} seconds, for {len(answers)} of "
            message += f"{len(events)} events"
            raise MatchTimeoutError(message, seconds=seconds)
        if room.is_full:
            message = f"the answers for {len(answers)} of {len(events)} events take more than "
            message += f"{bounds.answer} bytes; send fewer at a time, or stream lines"
            raise RequestError(413, "TooLarge", message, allowed=bounds.answer)
        chunk = events[len(answers) : len(answers) + pace.size]
        answers += _answer_slice(operation, held, chunk, query, left, pace, room)
    return answers


def answer_some(
    operation: Operation, held: Held, events: Sequence[bytes], query: Query, bounds: Bounds
) -> list[Answer]:
    """The answers for the first of some events, as many as fit into one time slice.

    There is at least one. An event that takes too long gets an error at its position.
    """
    answers: list[Answer] = []
    end = time.monotonic() + _TURN_SECONDS
    pace, room = Pace(), Room(bounds.answer)
    while len(answers) < len(events) and not room.is_full:
        if answers and time.monotonic() > end:
            break
        chunk = events[len(answers) : len(answers) + pace.size]
        try:
            answers += _answer_slice(operation, held, chunk, query, bounds.seconds, pace, room)
        except MatchTimeoutError as error:
            if len(chunk) > 1:
                pace.size = 1
                continue
            answers.append(refusal(error))
    return answers


@dataclass(slots=True)
class Pace:
    """How many events are matched at a time: more while that is fast."""

    size: int = _FIRST_SLICE

    def learn(self, seconds: float) -> None:
        """Adapt to the time that a slice took."""
        if seconds < _SLICE_SECONDS / 2:
            self.size = min(self.size * 2, _LARGEST_SLICE)
        elif seconds > _SLICE_SECONDS:
            self.size = max(self.size // 2, 1)


@dataclass(slots=True)
class Room:
    """The number of bytes left for answers."""

    left: int

    @property
    def is_full(self) -> bool:
        """Whether no bytes are left."""
        return self.left <= 0

    def take(self, answers: list[Answer]) -> None:
        """Subtract the bytes of answers."""
        for answer in answers:
            (found, *_) = answer.values()
            self.left -= len(found)


def _answer_slice(
    operation: Operation,
    held: Held,
    events: Sequence[bytes],
    query: Query,
    seconds: float,
    pace: Pace,
    room: Room,
) -> list[Answer]:
    """The answers for the first events of a slice; all, unless there is no more room."""
    begin = time.monotonic()
    # Limit the number of ranked results in memory before they are written.
    events = events[: max(_RESULTS // (query.n or _RANKED), 1)]
    answers = operation.many(held, events, query, seconds, room.left)
    room.take(answers)
    pace.learn(time.monotonic() - begin)
    return answers


def _match_one(held: Held, event: bytes, query: Query, seconds: float) -> Answer:
    engine = held.engine
    if isinstance(engine, Index):
        document = None if query.document is None else document_of(event, query.document)
        found = engine.match_json(
            event,
            where=query.where,
            document=document,
            now=query.now,
            timeout=seconds,
            hits=query.hits,
        )
        return {"matches": msgspec.Raw(found)}
    return {"matches": _written(_ids_of_one(held, event, query, seconds), query)}


def _ids_of_one(held: Held, event: bytes, query: Query, seconds: float) -> list[Any]:
    """The ids that an event matches."""
    engine = held.engine
    if isinstance(engine, Index):
        document = None if query.document is None else document_of(event, query.document)
        where, now = query.where, query.now
        return engine.match(event, where=where, document=document, now=now, timeout=seconds)
    _without_metadata(held, query)
    if isinstance(engine, Filter):
        return engine.match(event, timeout=seconds)
    source, sinks_only = source_of(held, query), query.sinks_only
    found = engine.match(event, source, sinks_only=sinks_only, now=query.now, timeout=seconds)
    return list(found)


def _written(ids: list[Any], query: Query) -> msgspec.Raw:
    """Count matches, and encode them as JSON."""
    if query.hits is not None:
        query.hits.add(ids)
    return _raw(ids)


def _raw(found: list[Any]) -> msgspec.Raw:
    """The results as JSON, encoded here so that the event loop is not blocked."""
    return msgspec.Raw(encode(found))


def _match_many(
    held: Held, events: Sequence[bytes], query: Query, seconds: float, room: int
) -> list[Answer]:
    engine = held.engine
    answers: list[Answer]
    refused: list[Refused]
    if isinstance(engine, Index):
        if query.document is not None:
            return _one_by_one(_match_one, held, events, query, seconds, room)
        written = engine.match_batch_json(
            events,
            where=query.where,
            now=query.now,
            timeout=seconds,
            room=room,
            hits=query.hits,
        )
        answers = [{"matches": msgspec.Raw(ids)} for ids in written.matches]
        refused = written.refused
    else:
        found = _ids_of_many(held, events, query, seconds)
        answers = [{"matches": _written(ids, query)} for ids in found.matches]
        refused = found.refused
    for one in refused:
        if one.row < len(answers):
            answers[one.row] = refusal(one.error)
    return answers


def _ids_of_many(
    held: Held, events: Sequence[bytes], query: Query, seconds: float
) -> "Collected[list[list[Any]]]":
    """The ids that events match in a filter or a graph."""
    engine = held.engine
    _without_metadata(held, query)
    if isinstance(engine, Filter):
        return engine.match_batch(events, on_error="collect", timeout=seconds)
    assert isinstance(engine, Graph)
    return engine.match_batch(
        events,
        source_of(held, query),
        sinks_only=query.sinks_only,
        on_error="collect",
        now=query.now,
        timeout=seconds,
    )


def _top_one(held: Held, event: bytes, query: Query, seconds: float) -> Answer:
    engine = held.engine
    if isinstance(engine, Index):
        document = None if query.document is None else document_of(event, query.document)
        ranking = engine.top(
            event,
            query.n or _RANKED,
            where=query.where,
            weights=query.weights,
            document=document,
            now=query.now,
            timeout=seconds,
        )
        return {"top": _raw([match._asdict() for match in ranking])}
    if isinstance(engine, Graph):
        deliveries = engine.top(
            event,
            source_of(held, query),
            query.n or _RANKED,
            sinks_only=query.sinks_only,
            weights=query.weights,
            now=query.now,
            timeout=seconds,
        )
        names = ("id", "value", "score", "cost", "path")
        return {"top": _raw([{name: getattr(one, name) for name in names} for one in deliveries])}
    raise not_for(held.kind)


def _top_many(
    held: Held, events: Sequence[bytes], query: Query, seconds: float, room: int
) -> list[Answer]:
    engine = held.engine
    if not isinstance(engine, Index) or query.document is not None:
        return _one_by_one(_top_one, held, events, query, seconds, room)
    found = engine.top_batch(
        events,
        query.n or _RANKED,
        where=query.where,
        weights=query.weights,
        on_error="collect",
        now=query.now,
        timeout=seconds,
    )
    answers: list[Answer] = [
        {"top": _raw([match._asdict() for match in ranking])} for ranking in found.matches
    ]
    for refused in found.refused:
        answers[refused.row] = refusal(refused.error)
    return answers


def _first_one(held: Held, event: bytes, query: Query, seconds: float) -> Answer:
    document = None if query.document is None else document_of(event, query.document)
    found = held.index.first(
        event,
        query.n or 1,
        where=query.where,
        document=document,
        now=query.now,
        timeout=seconds,
    )
    return {"first": _raw(found)}


def _first_many(
    held: Held, events: Sequence[bytes], query: Query, seconds: float, room: int
) -> list[Answer]:
    if query.document is not None:
        return _one_by_one(_first_one, held, events, query, seconds, room)
    found = held.index.first_batch(
        events,
        query.n or 1,
        where=query.where,
        on_error="collect",
        now=query.now,
        timeout=seconds,
    )
    answers: list[Answer] = [{"first": _raw(ids)} for ids in found.matches]
    for refused in found.refused:
        answers[refused.row] = refusal(refused.error)
    return answers


def _without_metadata(held: Held, query: Query) -> None:
    if query.where is not None:
        raise bad_request(f"a {held.kind} has no metadata")


def _explain_one(held: Held, event: bytes, query: Query, seconds: float) -> Answer:
    engine, end = held.engine, time.monotonic() + seconds
    if isinstance(engine, Graph):
        source = source_of(held, query)
        if query.target is None:
            raise bad_request("a graph needs `target`, the node to explain")
        target = held.find(query.target)
        why = engine.explain(event, source, target, now=query.now, timeout=seconds)
        cut = [{"at": at, **reason.to_dict(most=_SEEN)} for at, reason in why.cut]
        explanation = {"id": target, "reached": why.reached, "path": why.path, "cut": cut}
        return {"explanations": _raw([explanation])}
    if query.ids:
        ids = [held.find(name) for name in query.ids]
    else:
        ids = _ids_of_one(held, event, query, seconds)[: query.explanations]
    explanations: list[Answer] = []
    for id in ids:
        left = max(end - time.monotonic(), 0.0)
        if isinstance(engine, Filter):
            parts = engine.explain(id, event, timeout=left)
            explanations.append({"id": id, "matched": parts.matched, "parts": parts.to_list()})
            continue
        document = None if query.document is None else document_of(event, query.document)
        tree = engine.explain(id, event, document=document, now=query.now, timeout=left)
        shown = tree.to_dict(most=_SEEN)
        explanations.append({"id": id, "matched": tree.matched, "tree": shown})
    return {"explanations": _raw(explanations)}


def _explain_many(
    held: Held, events: Sequence[bytes], query: Query, seconds: float, room: int
) -> list[Answer]:
    return _one_by_one(_explain_one, held, events, query, seconds, room)


def _one_by_one(
    one: Callable[[Held, bytes, Query, float], Answer],
    held: Held,
    events: Sequence[bytes],
    query: Query,
    seconds: float,
    room: int,
) -> list[Answer]:
    answers: list[Answer] = []
    left = Room(room)
    end = time.monotonic() + seconds
    for event in events:
        try:
            answers.append(one(held, event, query, max(end - time.monotonic(), 0.0)))
        except MatchTimeoutError:  # the timeout is that of the batch
            raise
        except TamisError as error:
            answers.append(refusal(error))
        left.take(answers[-1:])
        if left.is_full:
            break
    return answers


def refusal(error: Exception) -> Answer:
    """The answer for an event that cannot be read."""
    if isinstance(error, TamisError):
        return {"error": error.to_dict()}
    return {"error": {"kind": type(error).__name__, "message": str(error)}}


def document_of(event: bytes, attribute: str) -> str | None:
    """The document that an event holds as text.

    Raises:
        EventError: The attribute holds something else.
    """
    try:
        decoded = decode(event, dict[str, msgspec.Raw])
    except ValueError as error:
        raise EventError(f"the event is not a JSON object: {error}") from None
    held = bytes(decoded.get(attribute, b"null"))
    if held == b"null":
        return None
    try:
        return decode(held, str)
    except ValueError:
        raise EventError(f"the document in {attribute!r} is not text") from None


def source_of(held: Held, query: Query) -> str | int:
    """The node of a graph that events start from."""
    if query.source is None:
        raise bad_request("a graph needs `source`, the node that events start from")
    return held.find(query.source)


MATCH = Operation("match", _match_one, _match_many)
TOP = Operation("top", _top_one, _top_many)
FIRST = Operation("first", _first_one, _first_many)
EXPLAIN = Operation("explain", _explain_one, _explain_many)
