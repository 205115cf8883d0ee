"""`tamis spark count`: how many events of many files does each subscription match?"""

from typing import Any, Literal

from tamis.cli.arguments import Where
from tamis.cli.spark.options import Placement, run

USAGE = "Usage: tamis spark count EVENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark count events.jsonl campaigns counts.parquet
"""


def count(
    events: str,
    index: str,
    result: str,
    /,
    *,
    event: str | None = None,
    where: Where = None,
    placement: Placement = "auto",
    version: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> int:
    """Write, for every subscription that matches, how many events it matches.

    Args:
        events: Events, as `tamis spark match` reads them.
        index: The folder of the index.
        result: The folder to write, in the format of its suffix, or Parquet.
        event: The column that holds the events.
        where: A condition on the metadata of subscriptions: only subscriptions that satisfy it are
            counted.
        placement: Whether every worker has the whole index, or one shard of it.
        version: The version of the index; the current one by default.
        on_error: What to do with an event that cannot be read: `raise` fails, `skip` leaves it
            out.
    """

    def find(frame: Any, column: str | None) -> Any:
        from tamis.spark import count

        return count(
            frame,
            index,
            event=event or column,
            where=where,
            placement=placement,
            version=version,
            on_error=on_error,
        )

    return run("count", events, result, find)
