"""Counts the input, output and time of Tamis tasks, with Spark's accumulators.

    metrics = spark.Metrics(session)
    with metrics:
        found = spark.match(events, path)
    found.write.parquet("out")
    metrics.events, metrics.bytes, metrics.rows, metrics.seconds

Queries created inside the block are counted when they run, even long after the block.
"""

import time
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from pyspark.sql import SparkSession


class Counters(NamedTuple):
    """The accumulators that tasks add to."""

    events: Any
    bytes: Any
    rows: Any
    seconds: Any


_current: ContextVar[Counters | None] = ContextVar("tamis_spark_metrics", default=None)


class Metrics:
    """Counts the work of Tamis tasks, as long as the session lives.

    If Spark runs a task again, it counts again: the figures measure the work done, not the results.

    Args:
        spark: The session; Spark Connect has no accumulators.

    Raises:
        ValueError: It is a session of Spark Connect.
    """

    def __init__(self, spark: SparkSession) -> None:
        try:
            context = spark.sparkContext
        except Exception as error:
            raise ValueError(
                "Spark Connect has no accumulators, so nothing can be counted"
            ) from error
        self._counters = Counters(*(context.accumulator(start) for start in (0, 0, 0, 0.0)))
        self._tokens = list[Token[Counters | None]]()

    @property
    def events(self) -> int:
        """The rows that tasks have read: events, or subscriptions when compiling."""
        return int(self._counters.events.value)

    @property
    def bytes(self) -> int:
        """The size of these rows in Arrow's format."""
        return int(self._counters.bytes.value)

    @property
    def rows(self) -> int:
        """The rows that tasks have written, such as matches."""
        return int(self._counters.rows.value)

    @property
    def seconds(self) -> float:
        """The time that tasks spent in Tamis, without waiting for Spark."""
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
    """The counters of the enclosing block, if there is one."""
    return _current.get()


class Watch:
    """Counts the input and output batches of a task, and the time in between.

    Args:
        counters: The counters to add to.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._waited = 0.0

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass on the input batches, and count them."""
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
        """Pass on the output batches, and count them."""
        while True:
            started, before = time.perf_counter(), self._waited
            batch = next(batches, None)
            spent = time.perf_counter() - started - (self._waited - before)
            self._counters.seconds.add(spent)
            if batch is None:
                return
            self._counters.rows.add(batch.num_rows)
            yield batch
