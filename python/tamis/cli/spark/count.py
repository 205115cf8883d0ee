"""`tamis spark count`: how many events of many files does each subscription match?"""

import time
from typing import Literal

from tamis.cli.arguments import Where
from tamis.cli.output import VALID
from tamis.cli.output import write as write_text
from tamis.cli.spark.session import read_events, session, write

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
    placement: Literal["auto", "replicated", "sharded"] = "auto",
    version: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> int:
    """Write, for every subscription that matches, how many events it matches.

    Args:
        events: JSON lines (`.jsonl`, `.json`), each an event, or what Spark reads (`.parquet`,
            `.orc` ...), each column an attribute.
        index: The folder of the index.
        result: The folder to write, in the format that its name ends with, or Parquet.
        event: The column that holds the events.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it are looked for.
        placement: Whether every worker has the whole index, or one shard of it.
        version: The version of the index; the current one by default.
        on_error: What to do about an event that cannot be read: `raise` fails, `skip` leaves it
            out.
    """
    with session("count") as spark:
        from tamis.spark import count as count_events

        started = time.perf_counter()
        frame, column = read_events(spark, events)
        counted = count_events(
            frame,
            index,
            event=event or column,
            where=where,
            placement=placement,
            version=version,
            on_error=on_error,
        )
        write(counted, result)
        write_text(f"{result}: written in {time.perf_counter() - started:.1f} s")
    return VALID
