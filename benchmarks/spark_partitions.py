"""How much does one more partition cost in Spark itself, in Python workers, and in Tamis?

Matches the same events in few and in many partitions. Wall time depends on other load and on how
far the JVM has warmed up, so the CPU time of the JVM and of the Python workers is reported too,
and so are queries without Tamis: one without Python workers, and one whose workers do nothing.
Linux only. Part of `benchmarks/spark.py`.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tamis import spark as ts

FEW, MANY = 4, 204
EVENTS = 4_000
WARM, ROUNDS = 6, 7
TICKS = os.sysconf("SC_CLK_TCK")


def measure(spark: SparkSession, index: Path, cores: int) -> None:
    """Print the milliseconds of one core per partition, by component."""
    ts.register(spark, {"rules": index})

    # A nested function, which is pickled by value: workers cannot import this module.
    def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from ()

    few, many = (
        spark.range(0, EVENTS, 1, parts).selectExpr("id as a0", "id as a1") for parts in (FEW, MANY)
    )
    ways: dict[str, Callable[[DataFrame], Callable[[], Any]]] = {
        "Spark, no Python": lambda frame: frame.selectExpr("sum(hash(a0, a1))").first,
        "mapInArrow, nothing done": lambda frame: frame.mapInArrow(nothing, "a long").count,
        "match": lambda frame: ts.match(frame, index).count,
        "tamis_match": lambda frame: (
            frame.selectExpr("sum(size(tamis_match(struct(*), 'rules')))").first
        ),
    }
    asked = {name: (way(few), way(many)) for name, way in ways.items()}
    for _ in range(WARM):
        for ask_few, ask_many in asked.values():
            ask_few()
            ask_many()
    print(f"\nan extra partition, ms of one core{'wall':>12}{'CPU: JVM':>12}{'workers':>10}")
    for name, pair in asked.items():
        short, long = (_best(ask) for ask in pair)
        wall, jvm, workers = (
            (after - before) / (MANY - FEW) * 1000
            for before, after in zip(short, long, strict=True)
        )
        print(f"  {name:32}{wall * cores:12.1f}{jvm:12.1f}{workers:10.1f}", flush=True)


def _best(ask: Callable[[], Any]) -> tuple[float, float, float]:
    """The minimum wall time of several rounds, and the mean CPU times of JVM and workers."""
    least, before = float("inf"), _cpu()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        ask()
        least = min(least, time.perf_counter() - started)
    jvm, workers = ((new - old) / ROUNDS for old, new in zip(before, _cpu(), strict=True))
    return least, jvm, workers


def _cpu() -> tuple[float, float]:
    """The CPU seconds of the JVM below this process, and of its Python workers."""
    found = dict[int, tuple[int, float, bool]]()
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                name, _, rest = (path / "stat").read_text().rpartition(")")
            except OSError:  # it has ended
                continue
            parts = rest.split()
            # Includes the times of children that have ended.
            spent = sum(map(int, parts[11:15])) / TICKS
            found[int(path.name)] = (int(parts[1]), spent, "(java" in name)
    jvm = workers = 0.0
    family = [os.getpid()]
    for parent in family:
        for process, (above, spent, java) in found.items():
            if above == parent:
                family.append(process)
                jvm, workers = (jvm + spent, workers) if java else (jvm, workers + spent)
    return jvm, workers
