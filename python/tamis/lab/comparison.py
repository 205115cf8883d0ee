"""Which matcher is fastest on these subscriptions and events?"""

import pickle
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tamis import _tamis
from tamis.errors import DocumentError, EventError, SubscriptionError
from tamis.lab.timing import Answer, Data, Job, half_of_memory, run_alone
from tamis.xml import Engine

_AS_FAST = 1.1  # recommend the default if it takes at most this much longer than the fastest


@dataclass(frozen=True)
class Measurement:
    """One matcher on the data. Only a `measured` one has figures.

    Attributes:
        matcher: Its name.
        status: `measured`; `differs`: other matches than `scan`; `refused`: the matcher does not
            support the data; `late`: over the time limit; `failed`: other errors, such as
            exceeding the memory limit.
        reason: Why there are no figures.
        uses: The algorithm that `"auto"` chose.
        build_seconds: The time to parse and compile the expressions.
        bytes: The memory that matching needs, if the matcher reports it.
        peak_bytes: The peak growth of the process while building and matching; Linux only.
        best_us: Mean microseconds per event in the fastest repetition.
        median_us: The median over the events of that repetition.
        p99_us: The 99th percentile over these events.
        events_per_second: Computed from `best_us`.
        matches_per_event: The mean number of matches.
        timed: The number of events per repetition.
        repetitions: The number of repetitions.
    """

    matcher: str
    status: Literal["measured", "differs", "refused", "late", "failed"]
    reason: str | None = None
    uses: str | None = None
    build_seconds: float | None = None
    bytes: int | None = None
    peak_bytes: int | None = None
    best_us: float | None = None
    median_us: float | None = None
    p99_us: float | None = None
    events_per_second: float | None = None
    matches_per_event: float | None = None
    timed: int | None = None
    repetitions: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Every matcher on the same data.

    Attributes:
        measurements: In the order of the matchers.
        settings: The numbers of subscriptions and events, the limits and the seed.
    """

    measurements: Sequence[Measurement]
    settings: dict[str, Any]

    @property
    def ranking(self) -> list[Measurement]:
        """The measured matchers, fastest first."""
        measured = [each for each in self.measurements if each.best_us is not None]
        return sorted(measured, key=lambda each: each.best_us or 0.0)

    @property
    def recommended(self) -> str | None:
        """The fastest matcher, or `"auto"` if it is almost as fast; None if none was measured."""
        if not self.ranking:
            return None
        fastest = self.ranking[0]
        for each in self.ranking:
            if each.matcher == "auto" and _times(each, fastest) <= _AS_FAST:
                return "auto"
        return fastest.matcher

    @property
    def recommendation(self) -> str:
        """The recommendation as a sentence with numbers."""
        ranking = self.ranking
        if not ranking:
            return "no matcher could be measured"
        chosen = next(each for each in ranking if each.matcher == self.recommended)
        text = f"use {chosen.matcher}: {chosen.best_us:,.1f} us per event"
        if chosen is not ranking[0]:
            return f"{text}, {_times(chosen, ranking[0]):.2f}x as long as {ranking[0].matcher}"
        others = [each for each in ranking[1:] if each.uses != chosen.uses]
        if others:
            factor = _times(others[0], chosen)
            text += f"; the next fastest, {others[0].matcher}, takes {factor:.2f}x as long"
        return text


def _times(one: Measurement, other: Measurement) -> float:
    return (one.best_us or 0.0) / (other.best_us or 1.0)


MATCHERS: tuple[str, ...] = _tamis.MATCHERS
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
    """Measure matchers on the same data, each in its own process.

    First, `scan` matches a sample of the events. A matcher with other results on the sample, or
    with another number of matches in all events, is reported without any time.

    Args:
        subscriptions: Ids and the texts of expressions, or XPath.
        events: JSON objects, or documents.
        family: `xml` if they are XPath and documents.
        matchers: The matchers to compare; all by default. Names that `Index` or `xml.Filter`
            accepts, or `module:factory` for an external one: `factory(missing=...)`, or for XML
            `factory()`, returns an object with `add_many(pairs)` and `match(event)`.
        missing: The truth of a predicate on an attribute without a value.
        time_limit: Seconds for each matcher, including building.
        memory_limit: Bytes for each matcher; half of the machine's memory by default. Not
            enforced on Windows.
        sample: The number of events whose matches are compared; fewer if `scan` is too slow.
        seed: The seed for choosing the sample.
        show: Called with the name of each matcher before it runs.

    Raises:
        ValueError: There is nothing to compare, a matcher is unknown, or `scan` exceeds a limit.
        SubscriptionError: A subscription is invalid; the error says which.
        EventError: An event is invalid; `item` is its position.
        DocumentError: A document is invalid; `item` is its position.
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
        outcome = run_alone("tamis.lab.timing", pickle.dumps(job) + packed, time_limit)
        if outcome["status"] == "invalid":
            error = DocumentError if family == "xml" else EventError
            raise error(outcome["reason"]).at_item(outcome["item"], "event")
        return outcome

    reference = run("scan", None)
    if reference["status"] == "refused":
        raise SubscriptionError(reference["reason"])
    if "answers" not in reference:
        raise ValueError(
            f"scan, the reference for the others, gave no results: {reference['reason']}"
        )
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
        raise ValueError("a comparison needs at least one subscription and one event")
    if not time_limit > 0 or sample < 1:
        raise ValueError("the time limit and the sample must be above 0")
    for matcher in matchers:
        if matcher not in known and not all(matcher.partition(":")):
            names = ", ".join(known)
            raise ValueError(f"unknown matcher {matcher!r}; known: {names}, or module:factory")


def _judge(matcher: str, outcome: dict[str, Any], reference: dict[str, Any]) -> Measurement:
    """The figures, unless `scan` found another number of matches on the same events."""
    outcome.pop("answers", None)
    events, matches = outcome.get("timed"), outcome.get("matches_per_event")
    if events == reference["timed"] and matches != reference["matches_per_event"]:
        wanted = reference["matches_per_event"]
        reason = f"{matches:g} matches per event over {events} events, but scan finds {wanted:g}"
        return Measurement(matcher, "differs", reason)
    return Measurement(matcher, **outcome)
