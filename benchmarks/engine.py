"""How fast is the index through Python, on disk, in batches, and while it changes?

Uses the workload *conjunctive*. Match counts must equal those of a scan before any time is
reported. Run by `make bench-full`; `TAMIS_BENCH_LARGE` is the size of the large
index, `TAMIS_BENCH_EVENTS` the number of events in the long run of batches.
"""

import gc
import json
import os
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import tamis
from tamis._tamis import Workload

SMALL = 100_000
LARGE = int(os.environ.get("TAMIS_BENCH_LARGE", "1000000"))
SAMPLE = 20
EVENTS = 2_000
BATCH = 20_000
MANY = int(os.environ.get("TAMIS_BENCH_EVENTS", "1000000"))

Items = list[tuple[int, str]]


def report(what: str, figure: str) -> None:
    """Print one row."""
    print(f"{what:64} {figure}", flush=True)


def best(run: Callable[[], object], repeat: int = 5) -> float:
    """The seconds of the fastest of several runs."""
    gc.collect()
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def subscriptions(workload: Workload, count: int) -> Items:
    """The first expressions of a workload, numbered."""
    batch = pa.record_batch(workload.expressions(0, count))
    return list(zip(batch[0].to_pylist(), batch[1].to_pylist(), strict=True))


def texts(workload: Workload, start: int, count: int) -> list[str]:
    """Events of a workload as JSON."""
    return [str(text) for text in pa.record_batch(workload.events(start, count))[1].to_pylist()]


def build(items: Any, workload: Workload, learn: bool = True) -> tamis.Index:
    """An index that has observed typical events."""
    index = tamis.Index(missing=workload.missing)
    index.add_many(items)
    if learn:
        for text in texts(workload, 1 << 30, 256):
            index.match(text)
        index.match(texts(workload, 1 << 30, 1)[0])
    index.settle()
    return index


def check(index: tamis.Index, items: Items, workload: Workload, sample: int = SAMPLE) -> None:
    """Fail if the index finds other matches than a scan, on a sample of events."""
    scan = tamis.Index(matcher="scan", missing=workload.missing)
    scan.add_many(items)
    for text in texts(workload, 0, sample):
        found, wanted = len(index.match(text)), len(scan.match(text))
        if found != wanted:
            raise SystemExit(f"{found} matches, not {wanted}: {text}")


def columns(events: list[dict[str, Any]]) -> pa.Table:
    """Events with one column per attribute."""
    names = sorted({name for event in events for name in event})
    return pa.table({name: [event.get(name) for event in events] for name in names})


def single_events(workload: Workload, index: tamis.Index) -> float:
    """One event at a time; returns the seconds per event as JSON."""
    lines = [text.encode() for text in texts(workload, 0, EVENTS)]
    dicts = [json.loads(line) for line in lines]
    # The same events with an index that mentions every attribute and matches nothing, to measure
    # the cost of the call and of decoding.
    names = sorted({name for event in dicts for name in event})
    empty = build([(0, " and ".join(f'"{name}" = -1' for name in names))], workload, learn=False)
    seconds = {}
    for kind, events in (("dict", dicts), ("JSON bytes", lines)):

        def run(into: tamis.Index, events: list[Any] = events) -> None:
            for event in events:
                into.match(event)

        whole, around = best(lambda: run(index)), best(lambda: run(empty))
        seconds[kind] = whole / EVENTS
        report(
            f"match, one event of 20 attributes as {kind}, {SMALL:,} subscriptions",
            f"{whole / EVENTS * 1e6:.1f} us, {around / EVENTS * 1e6:.1f} us of it without matching",
        )
    return seconds["JSON bytes"]


def forms(workload: Workload, index: tamis.Index, how: str) -> None:
    """A few thousand events at once, in each form that `match_batch` takes, against a loop."""
    lines = texts(workload, 0, EVENTS)
    dicts = [json.loads(line) for line in lines]
    text, table = "\n".join(lines).encode(), pa.table({"event": lines})

    def loop() -> list[list[int]]:
        return [index.match(event) for event in dicts]

    runs: dict[str, Callable[[], object]] = {
        "a list of dicts": lambda: index.match_batch(dicts),
        "JSON lines": lambda: index.match_batch(text),
        "a JSON column": lambda: index.match_batch(table, column="event"),
    }
    wanted = loop()
    if index.match_batch(dicts) != wanted or index.match_batch(text) != wanted:
        raise SystemExit("a batch has other matches than its events")
    if pa.table(index.match_batch(table, column="event")).num_rows != sum(map(len, wanted)):
        raise SystemExit("an Arrow batch has other match counts than its events")
    del wanted

    def alone() -> None:
        for event in dicts:
            index.match(event)

    # By turns, so that a change of the machine's speed changes all of them.
    times = dict.fromkeys(("alone", "kept", *runs), float("inf"))
    for _ in range(10):
        for name, run in (("alone", alone), ("kept", loop), *runs.items()):
            times[name] = min(times[name], best(run, 1) / EVENTS)
    size = f"{len(index):,} subscriptions, {how}"
    report(
        f"match, a loop over {EVENTS:,} dicts, {size}",
        f"{times['alone'] * 1e6:.1f} us per event, {times['kept'] * 1e6:.1f} if it keeps the lists",
    )
    for name in runs:
        report(
            f"match_batch, {name}, all threads",
            f"{times[name] * 1e6:.1f} us per event, {times['alone'] / times[name]:.2f}x the loop, "
            f"{times['kept'] / times[name]:.2f}x if it keeps the lists",
        )


def opened(workload: Workload, index: tamis.Index) -> None:
    """The same with an index that was saved and opened."""
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index.tamis")
        forms(workload, tamis.open(Path(folder) / "index.tamis"), "opened")


def batches(workload: Workload, index: tamis.Index, alone: float) -> None:
    """Many events at once, as Arrow, on one thread and on two."""
    lines = texts(workload, 0, BATCH)
    table = pa.table({"event": lines})
    wide = columns([json.loads(line) for line in lines])
    wanted = sum(len(index.match(line)) for line in lines[:SAMPLE])
    found = index.match_batch(table.slice(0, SAMPLE), column="event")
    if (
        pa.table(found).num_rows != wanted
        or pa.table(index.match_batch(wide.slice(0, SAMPLE))).num_rows != wanted
    ):
        raise SystemExit("a batch has other match counts than its events")
    one = best(lambda: index.match_batch(table, column="event", threads=1), 3) / BATCH
    two = best(lambda: index.match_batch(table, column="event", threads=2), 3) / BATCH
    flat = best(lambda: index.match_batch(wide, threads=1), 3) / BATCH
    report(
        "match_batch, a JSON column, one thread",
        f"{one * 1e6:.1f} us per event, {alone / one:.1f}x a loop",
    )
    report(
        "match_batch, a JSON column, two threads",
        f"{two * 1e6:.1f} us per event, {one / two:.2f}x one",
    )
    report("match_batch, a column per attribute, one thread", f"{flat * 1e6:.1f} us per event")


def many_events(workload: Workload, index: tamis.Index, alone: float) -> None:
    """Many events, one batch at a time, so that the matches need not be kept."""
    seconds, events, found = 0.0, 0, 0
    for start in range(0, MANY, BATCH):
        batch = pa.record_batch(workload.events(start, min(BATCH, MANY - start)))
        begun = time.perf_counter()
        matches = pa.table(index.match_batch(batch, column=batch.schema.names[1]))
        seconds += time.perf_counter() - begun
        sample = pc.sum(pc.less(matches["event"], SAMPLE)).as_py()
        if sample != sum(len(index.match(line)) for line in batch[1][:SAMPLE].to_pylist()):
            raise SystemExit(
                f"the batch from event {start} on has other match counts than its events"
            )
        events += batch.num_rows
        found += matches.num_rows
    report(
        f"match_batch, {events:,} events, all threads",
        f"{events / seconds:,.0f} events/s, {alone * events / seconds:.1f}x a loop, "
        f"{found:,} matches",
    )


def names_orders_ids(workload: Workload, items: Items) -> None:
    """Whether names, the order of insertion, or ids change the time per event."""
    lines = texts(workload, 0, EVENTS)
    shuffled = items.copy()
    random.Random(1).shuffle(shuffled)

    def longer(text: str) -> str:
        return re.sub(r"\b(a\d+)\b", r"a_rather_longer_name_of_\1", text)

    variants: dict[str, tuple[Any, list[str]]] = {
        "as generated": (items, lines),
        "in another order": (shuffled, lines),
        "with ids of text": (
            [(f"subscription-{n * 7919 % SMALL}", text) for n, text in items],
            lines,
        ),
        "with longer names": (
            [(n, longer(text)) for n, text in items],
            [longer(line) for line in lines],
        ),
    }
    times, found = {}, {}
    for name, (variant, events) in variants.items():
        index = tamis.Index(missing=workload.missing)
        index.add_many(variant)
        for line in [*events[:300], events[0]]:
            index.match(line)
        index.settle()
        table = pa.table({"event": events})
        found[name] = pa.table(index.match_batch(table, column="event")).num_rows
        times[name] = best(lambda: index.match_batch(table, column="event", threads=1)) / EVENTS  # noqa: B023
    if len(set(found.values())) > 1:
        raise SystemExit(f"the variants have different match counts: {found}")
    least = min(times.values())
    for name, seconds in times.items():
        report(
            f"match_batch, {name}",
            f"{seconds * 1e6:.1f} us per event, {seconds / least:.2f}x the least",
        )


def on_disk(index: tamis.Index, line: str) -> None:
    """Saving, opening, and the first match."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.tamis"
        report(f"save, {len(index):,} subscriptions", f"{best(lambda: index.save(path), 1):.2f} s")
        for verify in (True, False):
            tamis.open(path, verify=verify)
            opened = best(lambda: tamis.open(path, verify=verify))  # noqa: B023
            fresh = tamis.open(path, verify=verify)
            first = best(lambda: fresh.match(line), 1)  # noqa: B023
            report(
                f"open, verify={verify}, pages cached",
                f"{opened * 1e3:.1f} ms, first match {first * 1e3:.2f} ms",
            )
            if fresh.match(line) != index.match(line):
                raise SystemExit("the saved index has other matches")


def changes(index: tamis.Index, workload: Workload, present: int) -> None:
    """Single inserts into a large index, and matching during writes."""
    extra = subscriptions(workload, present + 3_000)[present:]
    times = []
    for number, text in extra:
        begun = time.perf_counter()
        index.add(number, text)
        times.append(time.perf_counter() - begun)
    report(
        f"add, {present:,} present",
        f"median {statistics.median(times) * 1e6:.1f} us, worst {max(times) * 1e3:.1f} ms",
    )
    index.settle()
    lines = [text.encode() for text in texts(workload, 0, EVENTS)]

    def throughput(seconds: float = 3.0) -> float:
        matched, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            for line in lines[:100]:
                index.match(line)
            matched += 100
        return matched / (time.perf_counter() - begun)

    quiet = max(throughput(), throughput())
    stop = threading.Event()
    written = [0]

    def write() -> None:
        due = time.perf_counter()
        for number, text in _forever(extra):
            if stop.is_set():
                return
            index.add(number, text)
            index.remove(number)
            written[0] += 2
            due += 2 / 10_000
            time.sleep(max(0.0, due - time.perf_counter()))

    writer = threading.Thread(target=write)
    begun = time.perf_counter()
    writer.start()
    busy = throughput()
    stop.set()
    writer.join()
    rate = written[0] / (time.perf_counter() - begun)
    report(
        f"matching while a writer makes {rate:,.0f} changes/s",
        f"{busy:,.0f} events/s, {busy / quiet:.0%} of {quiet:,.0f} without",
    )


def _forever(items: Items) -> Iterator[tuple[int, str]]:
    while True:
        yield from items


def main() -> None:
    """Measure everything."""
    workload = Workload("conjunctive", size=SMALL)
    items = subscriptions(workload, SMALL)
    seconds = best(lambda: tamis.Index(missing=workload.missing).add_many(items), 3)
    report(f"add_many, {SMALL:,} texts", f"{SMALL / seconds:,.0f} subscriptions/s")
    index = build(items, workload)
    check(index, items, workload)
    alone = single_events(workload, index)
    forms(workload, index, "built")
    opened(workload, index)
    batches(workload, index, alone)
    many_events(workload, index, alone)
    names_orders_ids(workload, items)
    del index
    large = Workload("conjunctive", size=LARGE)
    items = subscriptions(large, LARGE)
    begun = time.perf_counter()
    index = tamis.Index(missing=large.missing)
    index.add_many(items)
    report(
        f"add_many, {LARGE:,} texts",
        f"{LARGE / (time.perf_counter() - begun):,.0f} subscriptions/s",
    )
    check(index, items, large, 5)
    forms(large, index, "built")
    on_disk(index, texts(large, 0, 1)[0])
    changes(index, large, LARGE)


if __name__ == "__main__":
    main()
