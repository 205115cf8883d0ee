"""What do tasks of Tamis read, write and cost? Counted by Spark's accumulators.

    metrics = spark.Metrics(session)
    with metrics:
        found = spark.match(events, path)
    found.write.parquet("out")
    metrics.events, metrics.bytes, metrics.rows, metrics.seconds

Whatever is asked for inside the block is counted when it runs, also long after the block.
"""

import time
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from pyspark.sql import SparkSession


class Counters(NamedTuple):
    """Where a task adds what it did: accumulators, as they reach the workers."""

    events: Any
    bytes: Any
    rows: Any
    seconds: Any


_current: ContextVar[Counters | None] = ContextVar("tamis_spark_metrics", default=None)


class Metrics:
    """Counts what tasks of Tamis do, as long as the session lives.

    Spark counts a task again that it runs again, so take the figures for what was done, not for
    what came out.

    Args:
        spark: The session; Spark Connect has no accumulators.

    Raises:
        ValueError: It is a session of Spark Connect.
    """

    def __init__(self, spark: SparkSession) -> None:
        try:
            context = spark.sparkContext
        except Exception as error:
            raise ValueError("Spark Connect has no accumulators, so nothing is counted") from error
        self._counters = Counters(*(context.accumulator(start) for start in (0, 0, 0, 0.0)))
        self._tokens = list[Token[Counters | None]]()

    @property
    def events(self) -> int:
        """The rows that tasks have read: events, or subscriptions where an index is compiled."""
        return int(self._counters.events.value)

    @property
    def bytes(self) -> int:
        """The bytes of these, in Arrow's format."""
        return int(self._counters.bytes.value)

    @property
    def rows(self) -> int:
        """The rows that tasks have written, such as matches."""
        return int(self._counters.rows.value)

    @property
    def seconds(self) -> float:
        """The time that tasks spent in Tamis, without that in which they waited for Spark."""
        return float(self._counters.seconds.value)

    def __enter__(self) -> Self:
        self._tokens.append(_current.set(self._counters))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.reset(self._tokens.pop())


def current() -> Counters | None:
    """What the block counts with that the caller is in, if there is one."""
    return _current.get()


class Watch:
    """Counts the batches that go into and come out of a task, and the time between.

    Args:
        counters: Where to add.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._waited = 0.0

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches that go in."""
        while True:
            started = time.perf_counter()
            batch = next(batches, None)
            self._waited += time.perf_counter() - started
            if batch is None:
                return
            self._counters.events.add(batch.num_rows)
            self._counters.bytes.add(batch.nbytes)
            yield batch

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches that come out."""
        while True:
            started, before = time.perf_counter(), self._waited
            batch = next(batches, None)
            spent = time.perf_counter() - started - (self._waited - before)
            self._counters.seconds.add(spent)
            if batch is None:
                return
            self._counters.rows.add(batch.num_rows)
            yield batch
