"""Measures one cell. Runs in a process of its own; the cell comes as JSON on standard input."""

import json
import sys
from time import perf_counter
from typing import Any

from tamis import _tamis
from tamis.lab.measurable import is_foreign
from tamis.lab.process import answer, limit_memory
from tamis.lab.worker import make, time


def main() -> None:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    limit_memory(job["memory_limit"])
    try:
        outcome = {"status": "measured", **measure(job["spec"])}
    except MemoryError:
        outcome = {"status": "failed", "reason": "out of memory"}
    except ValueError as error:
        outcome = {"status": "refused", "reason": str(error)}
    except Exception as error:  # of a matcher that is not ours
        outcome = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    answer(outcome)


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """The figures of one matcher on one workload."""
    if is_foreign(spec["matcher"]):
        return _measure_foreign(spec)
    found: dict[str, Any] = json.loads(_tamis.measure(json.dumps(spec)))
    return found


def _measure_foreign(spec: dict[str, Any]) -> dict[str, Any]:
    """Likewise of a matcher from elsewhere, through Python: it gets texts and JSON."""
    parameters = dict(spec["parameters"])
    size, seed = parameters.pop("size", 100_000), parameters.pop("seed", 0)
    source = _tamis.Workload(
        spec["workload"], size=size, seed=seed, parameters=json.dumps(parameters)
    )
    subscriptions = list(enumerate(source.expressions(0, size)["text"].to_pylist()))
    texts = source.events(0, max(spec["events"], spec["sample"]))["text"].to_pylist()
    events = [text.encode() for text in texts]
    matcher = make(spec["matcher"], source.missing)
    begun = perf_counter()
    matcher.add_many(subscriptions)
    built = perf_counter() - begun
    answers = [sorted(matcher.match(event)) for event in events[: spec["sample"]]]
    times = time(matcher, events[: spec["events"]], spec["seconds"], spec["repetitions"])
    return {
        "build_seconds": built,
        "counts": [len(numbers) for numbers in answers],
        "digest": _digest(answers),
        "matches": times.pop("matches_per_event"),
        "events": times.pop("timed"),
        "best_us": times["best_us"],
        "median_us": times["median_us"],
        "p99_us": times["p99_us"],
    }


def _digest(answers: list[list[int]]) -> str:
    """FNV-1a over the numbers, as the native module has it."""
    hash = 0xCBF2_9CE4_8422_2325
    for numbers in answers:
        for byte in ("".join(f"{number}," for number in numbers) + "\n").encode():
            hash = (hash ^ byte) * 0x0100_0000_01B3 & 0xFFFF_FFFF_FFFF_FFFF
    return f"{hash:016x}"
