"""How fast is a matcher from elsewhere on a workload? Through Python, from texts to numbers.

It has the calls of `tamis.Index`, of `tamis.xml.Filter` or of `tamis.Graph`, whichever the workload
is for, so that these can be measured the same way beside it.
"""

import json
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from tamis._tamis import Workload
from tamis.lab.worker import find, grown, make, resident, time

Add = Callable[[], None]
Match = Callable[[int], Sequence[int]]


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """The figures of a cell, as the native module gives them of its own matchers."""
    parameters = dict(spec["parameters"])
    size, seed = parameters.pop("size", 100_000), parameters.pop("seed", 0)
    source = Workload(spec["workload"], size=size, seed=seed, parameters=json.dumps(parameters))
    prepare = _graph if source.family == "graph" else _matcher
    add, match = prepare(spec, source, size)
    before = resident()
    begun = perf_counter()
    add()
    built = perf_counter() - begun
    answers = [sorted(match(number)) for number in range(spec["sample"])]
    times = time(match, spec["events"], spec["seconds"], spec["repetitions"])
    return {
        "build_seconds": built,
        "bytes": grown(before),
        "counts": [len(numbers) for numbers in answers],
        "digest": _digest(answers),
        "matches": times.pop("matches_per_event"),
        "events": times.pop("timed"),
        "best_us": times["best_us"],
        "median_us": times["median_us"],
        "p99_us": times["p99_us"],
    }


def _matcher(spec: dict[str, Any], source: Workload, size: int) -> tuple[Add, Match]:
    """How to add all expressions or filters, and how to match an event or a document."""
    matcher = make(spec["matcher"], source.family, source.missing, **spec["options"])
    texts = list(enumerate(source.expression_texts(0, size)))
    events = _events(spec, source)

    def add() -> None:
        matcher.add_many(texts)
        getattr(matcher, "settle", lambda: None)()

    return add, lambda number: matcher.match(events[number])


def _graph(spec: dict[str, Any], source: Workload, _: int) -> tuple[Add, Match]:
    """How to add all nodes and edges, and how to match an event from where it starts."""
    graph = find(spec["matcher"])(missing=source.missing, **spec["options"])
    named = source.nodes()
    numbers = {name: number for number, (name, _) in enumerate(named)}
    nodes = [(numbers[name], expression) for name, expression in named]
    edges = [(numbers[start], numbers[end]) for start, end in source.edges()]
    events = _events(spec, source)
    starts = [numbers[name] for name in source.sources(0, len(events))]

    def match(number: int) -> Sequence[int]:
        return list(graph.match(events[number], starts[number]))

    return lambda: graph.add_many(nodes, edges), match


def _events(spec: dict[str, Any], source: Workload) -> list[bytes]:
    count = max(spec["events"], spec["sample"])
    return [text.encode() for text in source.event_texts(0, count)]


def _digest(answers: list[list[int]]) -> str:
    """FNV-1a over the numbers, as the native module has it."""
    hash = 0xCBF2_9CE4_8422_2325
    for numbers in answers:
        for byte in ("".join(f"{number}," for number in numbers) + "\n").encode():
            hash = (hash ^ byte) * 0x0100_0000_01B3 & 0xFFFF_FFFF_FFFF_FFFF
    return f"{hash:016x}"
