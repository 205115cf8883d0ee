"""Which matcher is the fastest on these subscriptions and events?"""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from tamis.errors import EventError, SubscriptionError
from tamis.lab.measurement import Comparison, Measurement
from tamis.lab.worker import Answer, Data, Job

MATCHERS = ("auto", "compiled", "atree", "kindex", "cnf", "dewey", "interval", "scan")

_WORKER = [sys.executable, "-P", "-c", "from tamis.lab.worker import main; main()"]
_SHARE = 0.25  # of the time limit for each of checking and timing; the rest is for building


def compare(
    subscriptions: Iterable[tuple[str | int, str]],
    events: Iterable[bytes],
    *,
    matchers: Sequence[str] = MATCHERS,
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
        subscriptions: Ids and the texts of expressions.
        events: JSON objects.
        matchers: What to compare: names that `Index` knows, or `module:factory` for another: what
            `factory(missing=...)` returns has `add_many(pairs)` and `match(event)`.
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
    """
    data = Data(list(subscriptions), list(events))
    _check(data, matchers, time_limit, sample)
    memory_limit = memory_limit or _half_of_memory()
    chosen = random.Random(seed).sample(range(len(data.events)), min(sample, len(data.events)))
    packed = pickle.dumps(data)

    def run(matcher: str, expected: Sequence[Answer] | None) -> dict[str, Any]:
        show(matcher)
        job = Job(matcher, missing, chosen, expected, time_limit * _SHARE, memory_limit)
        outcome = _run(pickle.dumps(job) + packed, time_limit)
        if outcome["status"] == "invalid":
            raise EventError(outcome["reason"]).at_item(outcome["item"], "event")
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
        "missing": missing,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "seed": seed,
    }
    return Comparison(found, settings)


def _check(data: Data, matchers: Sequence[str], time_limit: float, sample: int) -> None:
    if not data.subscriptions or not data.events:
        raise ValueError("comparing needs a subscription and an event at least")
    if not time_limit > 0 or sample < 1:
        raise ValueError("the time limit and the sample are above 0")
    for matcher in matchers:
        if matcher not in MATCHERS and not all(matcher.partition(":")):
            names = ", ".join(MATCHERS)
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


def _run(job: bytes, time_limit: float) -> dict[str, Any]:
    try:
        done = subprocess.run(
            _WORKER, input=job, capture_output=True, timeout=time_limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"status": "late", "reason": f"not done within {time_limit:g} s"}
    try:
        outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        ended = f"ended with code {done.returncode}"
        if done.returncode < 0:
            ended = f"ended by {signal.Signals(-done.returncode).name}"
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return {"status": "failed", "reason": ": ".join([ended, *last])}
    return outcome


def _half_of_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # not told on this system
        return None
