"""How is a function sent to the workers?"""

from collections.abc import Callable
from typing import Any

from tamis.spark import metrics
from tamis.spark.session import use_this_python


def on_worker(function: str, **arguments: Any) -> Callable[[Any], Any]:
    """What `mapInArrow` runs: a function of `worker`, found by its name over there.

    It is pickled by value, so a worker without Tamis can report that.

    Args:
        function: The function's name.
        arguments: Its arguments besides the batches.
    """
    use_this_python()
    counters = metrics.current()

    def run(batches: Any) -> Any:
        try:
            from tamis.spark import worker
        except ModuleNotFoundError as error:
            import sys

            raise RuntimeError(
                f"a Spark worker cannot import {error.name}: its Python, {sys.executable}, needs "
                "the wheel of Tamis with the extra `spark`, installed or shipped with --archives"
            ) from error
        return worker.run(function, batches, arguments, counters)

    return run
