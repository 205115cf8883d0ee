"""How long does matching a log event with detections take, from JSON bytes to ids?

Measures the workload *sigma-like* with 3,500 and 100,000 rules. If `SIGMA` names a folder with
`rules/` and `events.jsonl` (one object per line with the key `event`), also measures public Sigma
rules. The time includes folding text to lower case. Reports CPU time per event, the best of several
passes; matches are compared with those of a scan first. Run by `make bench`. `make peers` also runs
rsigma on the public rules (`RSIGMA` names its program) and reports where its matches differ.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import tamis
from tamis import rules
from tamis._tamis import Workload

SIZES = (3_500, 100_000)
EVENTS = 500
JUDGED = 20
LEARNED = 256
PASSES = 15
WARMING = 6

Items = list[tuple[int | str, str]]


def best(run: Callable[[], object], passes: int = PASSES) -> float:
    """The CPU seconds of the fastest of several runs."""
    gc.collect()
    times = []
    for _ in range(passes):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def measure(name: str, items: Items, events: list[bytes], like: list[bytes]) -> float:
    """Print the times of building and matching; returns the microseconds per event."""
    begun, wall = time.process_time(), time.perf_counter()
    index = tamis.Index(missing="false")
    index.add_many(items)
    index.settle()
    built, waited = time.process_time() - begun, time.perf_counter() - wall
    # An index observes events for a while, and then compiles again.
    for number in range(LEARNED):
        index.match(like[number % len(like)])
    index.match(like[0])
    index.settle()
    scan = tamis.Index(matcher="scan", missing="false")
    scan.add_many(items)
    for event in events[:JUDGED]:
        found, wanted = sorted(map(str, index.match(event))), sorted(map(str, scan.match(event)))
        if found != wanted:
            raise SystemExit(f"{name}: {found} match, not {wanted}: {event!r}")

    def run() -> int:
        return sum(len(index.match(event)) for event in events)

    matches = run() / len(events)
    # It may compile again more than once, which is CPU time of the process, but not of matching.
    for _ in range(WARMING):
        run()
        index.settle()
    each = best(run) / len(events) * 1e6
    table = pa.table({"event": pa.array(events, pa.binary()).cast(pa.string())})
    batch = best(lambda: index.match_batch(table, column="event", threads=1)) / len(events) * 1e6
    stats = index.stats()
    size = stats["matching_bytes"] / stats["predicates"]
    length = sum(map(len, events)) / len(events)
    print(
        f"{name:20} {len(items):>8,} {stats['predicates']:>10,} {length:>6.0f} {matches:>8.2f}"
        f" {each:>9.1f} {batch:>9.1f} {size:>8.0f} {built:>8.2f} {waited:>7.2f}",
        flush=True,
    )
    return each


def sigma_like(size: int) -> float:
    """Measure the workload with this number of rules."""
    workload = Workload("sigma-like", size=size)
    batch = pa.record_batch(workload.expressions(0, size))
    items: Items = list(zip(batch[0].to_pylist(), batch[1].to_pylist(), strict=True))

    def texts(start: int, count: int) -> list[bytes]:
        column = pa.record_batch(workload.events(start, count))[1]
        return [str(text).encode() for text in column.to_pylist()]

    return measure("sigma-like", items, texts(0, EVENTS), texts(1 << 30, LEARNED))


def public(folder: Path) -> None:
    """Measure public rules and events."""
    read = rules.sigma.read(str(folder / "rules"))
    items: Items = [(each.id, str(each.expression)) for each in read.subscriptions]
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.dumps(json.loads(line)["event"]).encode() for line in lines]
    measure("public Sigma rules", items, events, events)
    if program := os.environ.get("RSIGMA"):
        beside_rsigma(program, folder, items, events)


def beside_rsigma(program: str, folder: Path, items: Items, events: list[bytes]) -> None:
    """Measure rsigma on the same rules and events, and count the matches that differ."""
    index = tamis.Index(missing="false")
    index.add_many(items)
    ours = [set(map(str, index.match(event))) for event in events]
    answer = subprocess.run([program, folder], check=True, capture_output=True, text=True)
    for line in answer.stdout.splitlines():
        told = json.loads(line)
        pairs = list(zip(ours, map(set, told["found"]), strict=True))
        lost = sum(len(mine - theirs) for mine, theirs in pairs)
        more = sum(len(theirs - mine) for mine, theirs in pairs)
        name = "rsigma, automaton" if told["automaton"] else "rsigma"
        print(
            f"{name:20} {told['rules']:>8,} {'':>10} {'':>6} {'':>8} {told['us_per_event']:>9.1f}"
            f"   matches that only Tamis finds: {lost}, that only rsigma finds: {more}"
        )


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or SIZES
    print(
        f"{'':29} {'predicates':>10} {'bytes':>6} {'matches':>8} {'us/event':>9} {'batch us':>8}"
        f" {'B/pred.':>8} {'build s':>8} {'waited':>7}"
    )
    each = [sigma_like(size) for size in sizes]
    print(f"{'':20} {each[-1] / each[0]:.2f}x from {sizes[0]:,} to {sizes[-1]:,} rules")
    if folder := os.environ.get("SIGMA"):
        public(Path(folder))
    else:
        print("-- no SIGMA=FOLDER: public rules are not measured")


if __name__ == "__main__":
    main()
