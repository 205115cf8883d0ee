"""`tamis spark top`: which subscriptions does each event of many files match best?"""

from typing import Any

from tamis.cli.spark.options import DEFAULTS, Options, run

USAGE = "Usage: tamis spark top EVENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark top events.jsonl campaigns best.parquet --n 5
"""


def top(
    events: str, index: str, result: str, /, *, n: int = 10, options: Options = DEFAULTS
) -> int:
    """Write, for every event, the subscriptions it matches best, with their scores and ranks.

    Args:
        events: Events, as `tamis spark match` reads them.
        index: The folder of the index.
        result: The folder to write, in the format of its suffix, or Parquet.
        n: The maximum number per event.
        options: How events are matched.
    """

    def find(frame: Any, column: str | None) -> Any:
        from tamis.spark import top

        return top(frame, index, n, **options.given(column))

    return run("top", events, result, find)
