"""`tamis spark first`: which subscriptions of the highest priorities does each event match?"""

from typing import Any

from tamis.cli.spark.options import DEFAULTS, Options, run

USAGE = "Usage: tamis spark first EVENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark first events.jsonl campaigns first.parquet
"""


def first(
    events: str, index: str, result: str, /, *, n: int = 1, options: Options = DEFAULTS
) -> int:
    """Write, for every event, the matching subscriptions of the highest priorities.

    Args:
        events: Events, as `tamis spark match` reads them.
        index: The folder of the index.
        result: The folder to write, in the format of its suffix, or Parquet.
        n: The maximum number per event.
        options: How events are matched.
    """

    def find(frame: Any, column: str | None) -> Any:
        from tamis.spark import first

        return first(frame, index, n, **options.given(column))

    return run("first", events, result, find)
