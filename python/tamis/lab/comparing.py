"""Which matcher is the fastest on these subscriptions and events?"""

import pickle
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from tamis.errors import DocumentError, EventError, SubscriptionError
from tamis.lab.measurement import Comparison, Measurement
from tamis.lab.process import half_of_memory
from tamis.lab.process import run as run_alone
from tamis.lab.worker import Answer, Data, Job
from tamis.xml import Engine

MATCHERS = ("auto", "compiled", "atree", "kindex", "cnf", "dewey", "interval", "scan")
XML_MATCHERS: tuple[str, ...] = get_args(Engine)

_SHARE = 0.25  # of the time limit for each of checking and timing; the rest is for building


def compare(
    subscriptions: Iterable[tuple[str | int, str]],
    events: Iterable[bytes],
    *,
    family: Literal["expressions", "xml"] = "expressions",
    matchers: Sequence[str] | None = None,
    missing: Literal["unknown", "false"] = "unknown",
    time_limit: float = 60.0,
    memory_limit: int | None = None,
    sample: int = 100,
    seed: int = 0,
    show: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Measure matchers on the same data, each in a process of its own.

    First, `scan` answers a sample of the events. A matcher that gives another answer to one of
    them, or finds more or fewer matches in all events, is reported as such, without any time.

    Args:
        subscriptions: Ids and the texts of expressions, or XPath.
        events: JSON objects, or documents.
        family: `xml` where they are XPath and documents.
        matchers: What to compare, all by default: names that `Index`, or `xml.Filter`, knows, or
            `module:factory` for another: what `factory(missing=...)`, or for XML `factory()`,
            returns has `add_many(pairs)` and `match(event)`.
        missing: What a predicate is on an attribute without a value.
        time_limit: Seconds for each matcher, building included.
        memory_limit: Bytes for each matcher; half of the machine's memory by default. Not
            enforced on Windows.
        sample: On how many events the answers are compared; on fewer where `scan` is too slow.
        seed: Chooses the sample.
        show: Called with the name of each matcher before it runs.

    Raises:
        ValueError: There is nothing to compare, no such matcher, or `scan` exceeds a limit.
        SubscriptionError: A subscription is invalid; says which.
        EventError: An event is invalid; `item` is its position.
        DocumentError: Likewise a document.
    """
    data = Data(list(subscriptions), list(events))
    known = XML_MATCHERS if family == "xml" else MATCHERS
    matchers = known if matchers is None else matchers
    _check(data, matchers, known, time_limit, sample)
    memory_limit = memory_limit or half_of_memory()
    chosen = random.Random(seed).sample(range(len(data.events)), min(sample, len(data.events)))
    packed = pickle.dumps(data)

    def run(matcher: str, expected: Sequence[Answer] | None) -> dict[str, Any]:
        show(matcher)
        job = Job(matcher, family, missing, chosen, expected, time_limit * _SHARE, memory_limit)
        outcome = run_alone("tamis.lab.worker", pickle.dumps(job) + packed, time_limit)
        if outcome["status"] == "invalid":
            error = DocumentError if family == "xml" else EventError
            raise error(outcome["reason"]).at_item(outcome["item"], "event")
        return outcome

    reference = run("scan", None)
    if reference["status"] == "refused":
        raise SubscriptionError(reference["reason"])
    if "answers" not in reference:
        raise ValueError(f"scan, which judges the others, gave no answers: {reference['reason']}")
    expected = [(count, digest) for count, digest in reference["answers"]]
    found = []
    for matcher in dict.fromkeys(matchers):
        outcome = dict(reference if matcher == "scan" else run(matcher, expected))
        found.append(_judge(matcher, outcome, reference))
    settings = {
        "subscriptions": len(data.subscriptions),
        "events": len(data.events),
        "checked": len(expected),
        "family": family,
        "missing": missing,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "seed": seed,
    }
    return Comparison(found, settings)


def _check(
    data: Data, matchers: Sequence[str], known: Sequence[str], time_limit: float, sample: int
) -> None:
    if not data.subscriptions or not data.events:
        raise ValueError("comparing needs a subscription and an event at least")
    if not time_limit > 0 or sample < 1:
        raise ValueError("the time limit and the sample are above 0")
    for matcher in matchers:
        if matcher not in known and not all(matcher.partition(":")):
            names = ", ".join(known)
            raise ValueError(f"there is no matcher {matcher!r}, but {names}, or module:factory")


def _judge(matcher: str, outcome: dict[str, Any], reference: dict[str, Any]) -> Measurement:
    """The figures, unless `scan`, timed on as many events, found another number of matches."""
    outcome.pop("answers", None)
    events, matches = outcome.get("timed"), outcome.get("matches_per_event")
    if events == reference["timed"] and matches != reference["matches_per_event"]:
        wanted = reference["matches_per_event"]
        reason = f"{matches:g} matches per event over {events} events, {wanted:g} by scan"
        return Measurement(matcher, "differs", reason)
    return Measurement(matcher, **outcome)
