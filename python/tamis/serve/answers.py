"""What does an engine answer for events? One at a time, or many, each at its position.

Nothing here knows of HTTP: the input is a `Question` with events as bytes, the output objects for
JSON.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from tamis._tamis import Expression, Filter, Index
from tamis.errors import EventError, MatchTimeoutError, TamisError
from tamis.graph import Graph
from tamis.serve.encoding import decode
from tamis.serve.held import Held, not_for
from tamis.serve.problem import bad_request

if TYPE_CHECKING:
    from tamis.batches import Collected

Answer: TypeAlias = dict[str, Any]

_RANKED = 10  # of a ranking, by default
_FIRST_SLICE = 16
_LARGEST_SLICE = 4096
_SLICE_SECONDS = 0.05  # a slice cannot be stopped, so it is kept short


@dataclass(frozen=True)
class Question:
    """The question for each event.

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


PLAIN = Question()


@dataclass(frozen=True)
class Operation:
    """A kind of question.

    Attributes:
        name: The name of the route.
        one: The answer for an event, within some seconds.
        many: The answers for a slice of events, each an answer or an error.
    """

    name: str
    one: Callable[[Held, bytes, Question, float], Answer]
    many: Callable[[Held, Sequence[bytes], Question, float], list[Answer]]


def answer_all(
    operation: Operation, held: Held, events: Sequence[bytes], question: Question, seconds: float
) -> list[Answer]:
    """The answers for many events, in slices that grow as long as they are fast.

    Raises:
        MatchTimeoutError: They exceeded their time limit.
    """
    answers: list[Answer] = []
    size = _FIRST_SLICE
    begin = moment = time.monotonic()
    while len(answers) < len(events):
        left = begin + seconds - moment
        if left <= 0:
            message = f"answering took longer than {seconds} seconds, for {len(answers)} of "
            message += f"{len(events)} events"
            raise MatchTimeoutError(message, seconds=seconds)
        chunk = events[len(answers) : len(answers) + size]
        answers += operation.many(held, chunk, question, left)
        now = time.monotonic()
        if now - moment < _SLICE_SECONDS / 2:
            size = min(size * 2, _LARGEST_SLICE)
        elif now - moment > _SLICE_SECONDS:
            size = max(size // 2, 1)
        moment = now
    return answers


def _match_one(held: Held, event: bytes, question: Question, seconds: float) -> Answer:
    engine = held.engine
    if isinstance(engine, Index):
        document = None if question.document is None else document_of(event, question.document)
        where, now = question.where, question.now
        matches = engine.match(event, where=where, document=document, now=now, timeout=seconds)
        return {"matches": matches}
    _without_metadata(held, question)
    if isinstance(engine, Filter):
        return {"matches": engine.match(event, timeout=seconds)}
    source, sinks_only = source_of(held, question), question.sinks_only
    found = engine.match(event, source, sinks_only=sinks_only, now=question.now, timeout=seconds)
    return {"matches": list(found)}


def _match_many(
    held: Held, events: Sequence[bytes], question: Question, seconds: float
) -> list[Answer]:
    engine = held.engine
    found: Collected[list[list[Any]]]
    if isinstance(engine, Index):
        if question.document is not None:
            return _one_by_one(_match_one, held, events, question, seconds)
        where, now = question.where, question.now
        found = engine.match_batch(events, where=where, on_error="collect", now=now)
    elif question.where is not None:
        raise bad_request(f"a {held.kind} has no metadata to ask about")
    elif isinstance(engine, Filter):
        found = engine.match_batch(events, on_error="collect", timeout=seconds)
    else:
        source, sinks_only = source_of(held, question), question.sinks_only
        found = engine.match_batch(
            events, source, sinks_only=sinks_only, on_error="collect", now=question.now
        )
    answers: list[Answer] = [{"matches": ids} for ids in found.matches]
    for refused in found.refused:
        answers[refused.row] = refusal(refused.error)
    return answers


def _top_one(held: Held, event: bytes, question: Question, _: float) -> Answer:
    engine = held.engine
    if isinstance(engine, Index):
        document = None if question.document is None else document_of(event, question.document)
        ranking = engine.top(
            event,
            question.n or _RANKED,
            where=question.where,
            weights=question.weights,
            document=document,
            now=question.now,
        )
        return {"top": [match._asdict() for match in ranking]}
    if isinstance(engine, Graph):
        deliveries = engine.top(
            event,
            source_of(held, question),
            question.n or _RANKED,
            sinks_only=question.sinks_only,
            weights=question.weights,
            now=question.now,
        )
        names = ("id", "value", "score", "cost", "path")
        return {"top": [{name: getattr(one, name) for name in names} for one in deliveries]}
    raise not_for(held.kind)


def _top_many(
    held: Held, events: Sequence[bytes], question: Question, seconds: float
) -> list[Answer]:
    engine = held.engine
    if not isinstance(engine, Index) or question.document is not None:
        return _one_by_one(_top_one, held, events, question, seconds)
    found = engine.top_batch(
        events,
        question.n or _RANKED,
        where=question.where,
        weights=question.weights,
        on_error="collect",
        now=question.now,
    )
    answers: list[Answer] = [
        {"top": [match._asdict() for match in ranking]} for ranking in found.matches
    ]
    for refused in found.refused:
        answers[refused.row] = refusal(refused.error)
    return answers


def _first_one(held: Held, event: bytes, question: Question, _: float) -> Answer:
    index = held.index
    document = None if question.document is None else document_of(event, question.document)
    where, now = question.where, question.now
    return {"first": index.first(event, question.n or 1, where=where, document=document, now=now)}


def _first_many(
    held: Held, events: Sequence[bytes], question: Question, seconds: float
) -> list[Answer]:
    if question.document is not None:
        return _one_by_one(_first_one, held, events, question, seconds)
    where, now = question.where, question.now
    found = held.index.first_batch(
        events, question.n or 1, where=where, on_error="collect", now=now
    )
    answers: list[Answer] = [{"first": ids} for ids in found.matches]
    for refused in found.refused:
        answers[refused.row] = refusal(refused.error)
    return answers


def _without_metadata(held: Held, question: Question) -> None:
    if question.where is not None:
        raise bad_request(f"a {held.kind} has no metadata to ask about")


def _explain_one(held: Held, event: bytes, question: Question, seconds: float) -> Answer:
    engine = held.engine
    if isinstance(engine, Graph):
        source = source_of(held, question)
        if question.target is None:
            raise bad_request("a graph needs `target`, the node to explain")
        why = engine.explain(event, source, held.find(question.target), now=question.now)
        cut = [{"at": at, **reason.to_dict()} for at, reason in why.cut]
        explanation = {"reached": why.reached, "path": why.path, "cut": cut}
        return {"explanations": [{"id": held.find(question.target), **explanation}]}
    if question.ids:
        ids = [held.find(name) for name in question.ids]
    else:
        ids = _match_one(held, event, question, seconds)["matches"][: question.explanations]
    explanations: list[Answer] = []
    for id in ids:
        if isinstance(engine, Filter):
            parts = engine.explain(id, event)
            explanations.append({"id": id, "matched": parts.matched, "parts": parts.to_list()})
            continue
        document = None if question.document is None else document_of(event, question.document)
        tree = engine.explain(id, event, document=document, now=question.now)
        explanations.append({"id": id, "matched": tree.matched, "tree": tree.to_dict()})
    return {"explanations": explanations}


def _explain_many(
    held: Held, events: Sequence[bytes], question: Question, seconds: float
) -> list[Answer]:
    return _one_by_one(_explain_one, held, events, question, seconds)


def _one_by_one(
    one: Callable[[Held, bytes, Question, float], Answer],
    held: Held,
    events: Sequence[bytes],
    question: Question,
    seconds: float,
) -> list[Answer]:
    answers: list[Answer] = []
    for event in events:
        try:
            answers.append(one(held, event, question, seconds))
        except TamisError as error:
            answers.append(refusal(error))
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


def source_of(held: Held, question: Question) -> str | int:
    """The node of a graph that events start from."""
    if question.source is None:
        raise bad_request("a graph needs `source`, the node that events start from")
    return held.find(question.source)


MATCH = Operation("match", _match_one, _match_many)
TOP = Operation("top", _top_one, _top_many)
FIRST = Operation("first", _first_one, _first_many)
EXPLAIN = Operation("explain", _explain_one, _explain_many)
