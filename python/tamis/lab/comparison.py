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

_AS_FAST = 1.1  # what the default matcher may take longer than the fastest, and still be advised


@dataclass(frozen=True)
class Measurement:
    """One matcher on the data. Only one that was `measured` has figures.

    Attributes:
        matcher: Its name.
        status: `measured`; `differs` from `scan`; `refused` the data; `late`: beyond the time
            limit; `failed` otherwise, such as beyond the memory limit.
        reason: Why there are no figures.
        uses: The algorithm at work, which `"auto"` chose.
        build_seconds: Reading the expressions and compiling them.
        bytes: The memory that matching needs, if the matcher reports it.
        peak_bytes: The most by which the process grew, in building and matching; on Linux only.
        best_us: Microseconds per event, on average over the fastest repetition.
        median_us: Of the single events of that repetition.
        p99_us: Likewise, the 99th percentile.
        events_per_second: By `best_us`.
        matches_per_event: On average.
        timed: How many events were matched per repetition.
        repetitions: How often.
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
        settings: What was compared: numbers of subscriptions and events, limits, the seed.
    """

    measurements: Sequence[Measurement]
    settings: dict[str, Any]

    @property
    def ranking(self) -> list[Measurement]:
        """Those measured, the fastest first."""
        measured = [each for each in self.measurements if each.best_us is not None]
        return sorted(measured, key=lambda each: each.best_us or 0.0)

    @property
    def recommended(self) -> str | None:
        """The fastest matcher, or `"auto"` if it is hardly slower; None if none was measured."""
        if not self.ranking:
            return None
        fastest = self.ranking[0]
        for each in self.ranking:
            if each.matcher == "auto" and _times(each, fastest) <= _AS_FAST:
                return "auto"
        return fastest.matcher

    @property
    def recommendation(self) -> str:
        """The advice as a sentence, with its numbers."""
        ranking = self.ranking
        if not ranking:
            return "no matcher could be measured"
        chosen = next(each for each in ranking if each.matcher == self.recommended)
        text = f"use {chosen.matcher}: {chosen.best_us:,.1f} us per event"
        if chosen is not ranking[0]:
            return (
                f"{text}, {_times(chosen, ranking[0]):.2f} times the {ranking[0].matcher} matcher's"
            )
        others = [each for each in ranking[1:] if each.uses != chosen.uses]
        if others:
            text += (
                f"; {others[0].matcher}, the next, takes {_times(others[0], chosen):.2f} times that"
            )
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

    First, `scan` answers a sample of the events. A matcher that gives another answer to one of
    them, or finds more or fewer matches in all events, is reported as such, without any time.

    Args:
        subscriptions: Ids and the texts of expressions, or XPath.
        events: JSON objects, or documents.
        family: `xml` if they are XPath and documents.
        matchers: What to compare, all by default: names that `Index`, or `xml.Filter`, knows, or
            `module:factory` for another: what `factory(missing=...)`, or for XML `factory()`,
            returns has `add_many(pairs)` and `match(event)`.
        missing: The truth of a predicate on an attribute without a value.
        time_limit: Seconds for each matcher, including building.
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
        outcome = run_alone("tamis.lab.timing", pickle.dumps(job) + packed, time_limit)
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
