"""`tamis spark first`: which subscriptions of the highest priorities does each event match?"""

import time
from typing import Literal

from tamis.batches import OnError
from tamis.cli.arguments import Where
from tamis.cli.output import VALID
from tamis.cli.output import write as write_text
from tamis.cli.spark.match import Keep
from tamis.cli.spark.session import read_events, session, write

USAGE = "Usage: tamis spark first EVENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark first events.jsonl campaigns decisions.parquet
"""


def first(
    events: str,
    index: str,
    result: str,
    /,
    *,
    n: int = 1,
    event: str | None = None,
    keep: Keep = None,
    where: Where = None,
    placement: Literal["auto", "replicated", "sharded"] = "auto",
    version: int | None = None,
    on_error: OnError = "raise",
) -> int:
    """Write, for every event, the matching subscriptions of the highest priorities.

    Args:
        events: JSON lines (`.jsonl`, `.json`), each an event, or what Spark reads (`.parquet`,
            `.orc` ...), each column an attribute.
        index: The folder of the index.
        result: The folder to write, in the format that its name ends with, or Parquet.
        n: How many at most for each event.
        event: The column that holds the events.
        keep: The columns of the events to write beside.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it are looked for.
        placement: Whether every worker has the whole index, or one shard of it.
        version: The version of the index; the current one by default.
        on_error: What to do about an event that cannot be read: `raise` fails, `skip` leaves it
            out, `collect` writes it once, with the reason in the column `event_error`.
    """
    with session("first") as spark:
        from tamis.spark import first as find_first

        started = time.perf_counter()
        frame, column = read_events(spark, events)
        found = find_first(
            frame,
            index,
            n,
            event=event or column,
            keep=keep,
            where=where,
            placement=placement,
            version=version,
            on_error=on_error,
        )
        write(found, result)
        write_text(f"{result}: written in {time.perf_counter() - started:.1f} s")
    return VALID
