"""Sends functions to the workers."""

import functools
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tamis.spark import metrics, worker
from tamis.spark.metrics import Counters, Watch
from tamis.spark.session import use_this_python
from tamis.spark.shapes import Batches


def on_worker(
    function: Callable[..., Iterator[pa.RecordBatch]], **arguments: Any
) -> Callable[[Any], Any]:
    """A function for `mapInArrow`, which takes the batches of a partition.

    Args:
        function: A function of a module, which the workers import.
        arguments: Its arguments besides the batches.
    """
    return shipped(functools.partial(_run, function, arguments, metrics.current()))


def shipped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that workers load when they call it.

    Spark pickles the result by value, so a worker without Tamis can report that. It has no
    annotations, since Spark would derive from them what kind of function it is.

    Args:
        function: A function of a module, perhaps with some arguments.
    """
    use_this_python()
    pickled = pickle.dumps(function)

    def call(*arguments, **named):  # type: ignore[no-untyped-def]
        import pickle

        try:
            loaded = pickle.loads(pickled)
        except ModuleNotFoundError as error:
            import sys

            raise RuntimeError(
                f"a Spark worker cannot import {error.name}: its Python, {sys.executable}, needs "
                "the wheel of Tamis with the extra `spark`, installed or shipped with --archives"
            ) from error
        return loaded(*arguments, **named)

    return call


def _run(
    function: Callable[..., Iterator[pa.RecordBatch]],
    arguments: Mapping[str, Any],
    counters: Counters | None,
    batches: Batches,
) -> Batches:
    """Run a function in a task.

    Args:
        function: What to run.
        arguments: Its arguments besides the batches.
        counters: Counters of what the task reads, writes and costs.
        batches: The rows of the task's partition.
    """
    worker.ignore_metadata_warnings()
    if counters is None:
        yield from function(batches, **arguments)
    else:
        watch = Watch(counters)
        yield from watch.write(function(watch.read(batches), **arguments))
    worker.freeze()
