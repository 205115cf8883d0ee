"""Times one matcher, alone in a separate process.

`run_alone` starts the process. For `comparison` it runs `main`, which reads the pickled job and
data from standard input and writes the outcome with `answer`. `measure_external` times an external
matcher on a workload, through the methods of `tamis.Index`, `tamis.xml.Filter` or `tamis.Graph`.
"""

import gc
import hashlib
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns, process_time_ns
from typing import Any, Protocol

from tamis._tamis import Filter, Index, Workload
from tamis.errors import DocumentError, EventError, TamisError


def run_alone(module: str, job: bytes, seconds: float) -> dict[str, Any]:
    """Call `main` of a module in a fresh process.

    Args:
        module: Its name.
        job: The standard input of the process.
        seconds: The time limit.

    Returns:
        The JSON on the last line of its standard output; or a `status` of `late` or `failed` with
        a `reason`.
    """
    command = [sys.executable, "-P", "-c", f"from {module} import main; main()"]
    try:
        done = subprocess.run(command, input=job, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "late", "reason": f"not done within {seconds:g} s"}
    try:
        outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"status": "failed", "reason": _end(done)}
    return outcome


def answer(outcome: dict[str, Any]) -> None:
    """Write the outcome that `run_alone` returns; called in the process."""
    print("\n" + json.dumps(outcome), flush=True)


def limit_memory(limit: int) -> None:
    """Limit the address space of this process; without effect on Windows."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def half_of_memory() -> int | None:
    """Bytes; None if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return None


def _end(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    # The message of Rust's allocator.
    if any(line.startswith("memory allocation of ") for line in lines):
        return "out of memory"
    ended = f"ended with code {done.returncode}"
    if done.returncode < 0:
        ended = f"ended by {signal.Signals(-done.returncode).name}"
    return ": ".join([ended, *lines[-1:]])


MOST_REPETITIONS = 10

Answer = tuple[int, str]  # the number of ids, and a digest of them


class Matcher(Protocol):
    """The interface of a matcher: that of `Index`, `Filter` and external matchers."""

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Add all subscriptions: ids with the texts of expressions, or XPath."""

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids of the subscriptions that a JSON event or a document matches."""
        ...


@dataclass(frozen=True)
class Data:
    """The input of all matchers."""

    subscriptions: Sequence[tuple[str | int, str]]
    events: Sequence[bytes]


@dataclass(frozen=True)
class Job:
    """The task of one matcher.

    Attributes:
        matcher: A name that `Index` or `Filter` accepts, or `module:factory`.
        family: `expressions`, or `xml` for XPath and documents.
        missing: As for `Index`.
        sample: The events whose results are compared.
        expected: The results of the first of them; None for the reference itself.
        seconds: No repetition starts after this time.
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
    """Run the job given on standard input."""
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
    except Exception as error:  # from an external matcher
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
            what = f"{found[0]} matches, but scan finds {wanted[0]}"
            if found[0] == wanted[0]:
                what = f"{found[0]} matches like scan, but different ones"
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
    """Create a matcher by name, or by `module:factory`."""
    factory: Callable[..., Any]
    if ":" in name:
        factory = find_factory(name)
    elif family == "xml":
        factory, options = Filter, {"engine": name}
    else:
        factory, options = Index, {"matcher": name}
    if family != "xml":
        options["missing"] = missing
    matcher: Matcher = factory(**options)
    return matcher


def find_factory(name: str) -> Callable[..., Any]:
    """The function that `module:factory` names."""
    module, _, factory = name.partition(":")
    sys.path.append(str(Path.cwd()))  # last, so that files there do not shadow installed modules
    found: Callable[..., Any] = getattr(importlib.import_module(module), factory)
    return found


def _answers(index: Matcher, job: Job, events: Sequence[bytes]) -> list[Answer]:
    """The results on the sample; the reference stops when its time is up, after at least one."""
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


Clock = Callable[[], int]


def time(
    match: Callable[[int], Sequence[Any]],
    events: int,
    seconds: float,
    most: int = MOST_REPETITIONS,
    clock: Clock = perf_counter_ns,
) -> dict[str, Any]:
    """Time repetitions over the events; the fastest counts. The first may end early."""
    gc.collect()
    gc.disable()
    try:
        return _time(match, events, seconds, most, clock)
    finally:
        gc.enable()


def _time(
    match: Callable[[int], Sequence[Any]], events: int, seconds: float, most: int, clock: Clock
) -> dict[str, Any]:
    until = clock() + int(seconds * 1e9)
    best, matches, repetitions = list[int](), 0, 0
    while repetitions < most and (not repetitions or clock() < until):
        times, found = list[int](), 0
        for number in range(len(best) or events):
            before = clock()
            ids = match(number)
            after = clock()
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
    """Reset the peak and return the resident bytes; None if the system does not report them."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not Linux, or not allowed
        return None
    return _status("VmRSS")


def grown(before: int | None) -> int | None:
    """The peak growth of the process in bytes since `resident` was called."""
    after = _status("VmHWM")
    return None if before is None or after is None else after - before


def _status(which: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(which)), None)


Add = Callable[[], None]
Match = Callable[[int], Sequence[int]]


def measure_external(spec: dict[str, Any]) -> dict[str, Any]:
    """The figures of a cell, in the format of the native module."""
    parameters = dict(spec["parameters"])
    size, seed = parameters.pop("size", 100_000), parameters.pop("seed", 0)
    source = Workload(spec["workload"], size=size, seed=seed, parameters=json.dumps(parameters))
    prepare = _graph if source.family == "graph" else _matcher
    engine, add, match = prepare(spec, source, size)
    before = resident()
    # CPU time, so that figures from a busy machine are comparable. An engine with a separate
    # process adds the time of that process.
    clock: Clock = getattr(engine, "cpu_ns", process_time_ns)
    begun = clock()
    add()
    built = (clock() - begun) / 1e9
    answers = [sorted(match(number)) for number in range(spec["sample"])]
    times = time(match, spec["events"], spec["seconds"], spec["repetitions"], clock)
    return {
        "build_seconds": built,
        # An engine with a separate process reports the size of that process.
        "bytes": getattr(engine, "peak_bytes", None) or grown(before),
        "counts": [len(numbers) for numbers in answers],
        "digest": _digest(answers),
        "matches": times.pop("matches_per_event"),
        "events": times.pop("timed"),
        "best_us": times["best_us"],
        "median_us": times["median_us"],
        "p99_us": times["p99_us"],
    }


def _matcher(spec: dict[str, Any], source: Workload, size: int) -> tuple[object, Add, Match]:
    """Functions that add all expressions or filters, and match an event or a document."""
    matcher = make(spec["matcher"], source.family, source.missing, **spec["options"])
    texts = list(enumerate(source.expression_texts(0, size)))
    events = _events(spec, source)

    def add() -> None:
        matcher.add_many(texts)
        getattr(matcher, "settle", lambda: None)()

    return matcher, add, lambda number: matcher.match(events[number])


def _graph(spec: dict[str, Any], source: Workload, _: int) -> tuple[object, Add, Match]:
    """Functions that add all nodes and edges, and match an event from its source."""
    graph = find_factory(spec["matcher"])(missing=source.missing, **spec["options"])
    named = source.nodes()
    numbers = {name: number for number, (name, _) in enumerate(named)}
    nodes = [(numbers[name], expression) for name, expression in named]
    edges = [(numbers[start], numbers[end]) for start, end in source.edges()]
    events = _events(spec, source)
    starts = [numbers[name] for name in source.sources(0, len(events))]

    def match(number: int) -> Sequence[int]:
        return list(graph.match(events[number], starts[number]))

    return graph, lambda: graph.add_many(nodes, edges), match


def _events(spec: dict[str, Any], source: Workload) -> list[bytes]:
    count = max(spec["events"], spec["sample"])
    return [text.encode() for text in source.event_texts(0, count)]


def _digest(answers: list[list[int]]) -> str:
    """FNV-1a over the numbers, as in the native module."""
    hash = 0xCBF2_9CE4_8422_2325
    for numbers in answers:
        for byte in ("".join(f"{number}," for number in numbers) + "\n").encode():
            hash = (hash ^ byte) * 0x0100_0000_01B3 & 0xFFFF_FFFF_FFFF_FFFF
    return f"{hash:016x}"
