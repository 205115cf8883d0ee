"""How fast is one matcher? Runs in a process of its own, with nothing else in its memory.

The job and the data come pickled on standard input; the outcome leaves as `process.answer` has it.
"""

import gc
import hashlib
import importlib
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any, Protocol

from tamis._tamis import Filter, Index
from tamis.errors import DocumentError, EventError, TamisError
from tamis.lab.process import answer, limit_memory

MOST_REPETITIONS = 10

Answer = tuple[int, str]  # how many ids, and what they are


class Matcher(Protocol):
    """What can be compared: an `Index`, a `Filter`, or whatever else takes the same calls."""

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Take all subscriptions: ids and the texts of expressions, or XPath."""

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids of those that an event, in JSON, or a document matches."""
        ...


@dataclass(frozen=True)
class Data:
    """What all matchers are given."""

    subscriptions: Sequence[tuple[str | int, str]]
    events: Sequence[bytes]


@dataclass(frozen=True)
class Job:
    """What one matcher has to do.

    Attributes:
        matcher: A name that `Index` or `Filter` knows, or `module:factory`.
        family: `expressions`, or `xml` for XPath and documents.
        missing: As for `Index`.
        sample: The events on which answers are compared.
        expected: The answers to the first of them; None for the matcher that gives them.
        seconds: After how many no further repetition begins.
        memory_limit: Bytes of address space; None for no limit.
    """

    matcher: str
    family: str
    missing: str
    sample: Sequence[int]
    expected: Sequence[Answer] | None
    seconds: float
    memory_limit: int | None


def main() -> None:
    """Do the job on standard input."""
    job: Job = pickle.load(sys.stdin.buffer)
    if job.memory_limit is not None:
        limit_memory(job.memory_limit)
    try:
        data: Data = pickle.load(sys.stdin.buffer)
        outcome = _measure(job, data)
    except (EventError, DocumentError) as error:
        outcome = {"status": "invalid", "reason": error.message, "item": error.item}
    except TamisError as error:
        outcome = {"status": "refused", "reason": str(error)}
    except MemoryError:
        outcome = {"status": "failed", "reason": "out of memory"}
    except Exception as error:  # of a matcher that is not ours
        outcome = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    answer(outcome)


def _measure(job: Job, data: Data) -> dict[str, Any]:
    index = make(job.matcher, job.family, job.missing)
    before = resident()
    started = perf_counter()
    index.add_many(data.subscriptions)
    getattr(index, "settle", lambda: None)()
    built = perf_counter() - started

    answers = _answers(index, job, data.events)
    for number, found, wanted in zip(job.sample, answers, job.expected or answers, strict=False):
        if found != wanted:
            what = f"{found[0]} matches, {wanted[0]} by scan"
            if found[0] == wanted[0]:
                what = f"{found[0]} matches as by scan, but others"
            return {"status": "differs", "reason": f"event {number + 1}: {what}"}

    stats: dict[str, Any] = getattr(index, "stats", dict)()
    times = time(lambda at: _match(index, data.events, at), len(data.events), job.seconds)
    return {
        "status": "measured",
        "uses": stats.get("matcher", stats.get("engine", job.matcher)),
        "build_seconds": built,
        "bytes": stats.get("matching_bytes"),
        "peak_bytes": grown(before),
        **times,
        "answers": answers,
    }


def make(name: str, family: str, missing: str, **options: Any) -> Matcher:
    """The matcher of a name, or of `module:factory`."""
    factory: Callable[..., Any]
    if ":" in name:
        factory = find(name)
    elif family == "xml":
        factory, options = Filter, {"engine": name}
    else:
        factory, options = Index, {"matcher": name}
    if family != "xml":
        options["missing"] = missing
    matcher: Matcher = factory(**options)
    return matcher


def find(name: str) -> Callable[..., Any]:
    """What `module:factory` names."""
    module, _, factory = name.partition(":")
    sys.path.append(str(Path.cwd()))  # last: files there must not stand in for installed modules
    found: Callable[..., Any] = getattr(importlib.import_module(module), factory)
    return found


def _answers(index: Matcher, job: Job, events: Sequence[bytes]) -> list[Answer]:
    """The answers to the sample; the reference gives as many as it has time for, at least one."""
    answers = list[Answer]()
    until = perf_counter() + job.seconds
    sample = job.sample if job.expected is None else job.sample[: len(job.expected)]
    for number in sample:
        if job.expected is None and answers and perf_counter() > until:
            break
        ids = _match(index, events, number)
        digest = hashlib.blake2b("\n".join(sorted(map(repr, ids))).encode(), digest_size=16)
        answers.append((len(ids), digest.hexdigest()))
    return answers


def _match(index: Matcher, events: Sequence[bytes], number: int) -> Sequence[Any]:
    try:
        return index.match(events[number])
    except (EventError, DocumentError) as error:
        raise error.at_item(number, "event") from None


def time(
    match: Callable[[int], Sequence[Any]],
    events: int,
    seconds: float,
    most: int = MOST_REPETITIONS,
) -> dict[str, Any]:
    """Repetitions over the events, of which the fastest counts; the first may end early."""
    gc.collect()
    gc.disable()
    try:
        return _time(match, events, seconds, most)
    finally:
        gc.enable()


def _time(
    match: Callable[[int], Sequence[Any]], events: int, seconds: float, most: int
) -> dict[str, Any]:
    until = perf_counter_ns() + int(seconds * 1e9)
    best, matches, repetitions = list[int](), 0, 0
    while repetitions < most and (not repetitions or perf_counter_ns() < until):
        times, found = list[int](), 0
        for number in range(len(best) or events):
            before = perf_counter_ns()
            ids = match(number)
            after = perf_counter_ns()
            times.append(after - before)
            found += len(ids)
            if not repetitions and after > until:
                break
        if not best or sum(times) < sum(best):
            best = times
        matches, repetitions = found, repetitions + 1
    mean = sum(best) / len(best) / 1000
    return {
        "best_us": mean,
        "median_us": median(best) / 1000,
        "p99_us": sorted(best)[len(best) * 99 // 100] / 1000,
        "events_per_second": 1e6 / mean,
        "matches_per_event": matches / len(best),
        "timed": len(best),
        "repetitions": repetitions,
    }


def resident() -> int | None:
    """The bytes of the process, whose peak is forgotten; None where the system does not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not Linux, or not allowed
        return None
    return _status("VmRSS")


def grown(before: int | None) -> int | None:
    """By how many bytes the process grew at most since `resident`."""
    after = _status("VmHWM")
    return None if before is None or after is None else after - before


def _status(which: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(which)), None)
