"""`tamis spark match`: which subscriptions does each event of many files satisfy?"""

import time
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis.batches import OnError
from tamis.cli.arguments import Where
from tamis.cli.output import VALID
from tamis.cli.output import write as write_text
from tamis.cli.spark.session import read_events, session, write

USAGE = "Usage: tamis spark match EVENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark match events.jsonl campaigns matches.parquet
    tamis spark match events.parquet s3://bucket/campaigns matches.jsonl --keep user --lists
"""

Keep = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]


def match(
    events: str,
    index: str,
    result: str,
    /,
    *,
    event: str | None = None,
    keep: Keep = None,
    lists: bool = False,
    metadata: bool = False,
    where: Where = None,
    placement: Literal["auto", "replicated", "sharded"] = "auto",
    version: int | None = None,
    on_error: OnError = "raise",
) -> int:
    """Write, for every event, the subscriptions it matches.

    Args:
        events: JSON lines (`.jsonl`, `.json`), each an event, or what Spark reads (`.parquet`,
            `.orc` ...), each column an attribute.
        index: The folder of the index.
        result: The folder to write, in the format that its name ends with, or Parquet.
        event: The column that holds the events.
        keep: The columns of the events to write beside.
        lists: Write one row per event instead of one per match.
        metadata: Add the subscriptions' metadata.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it are looked for.
        placement: Whether every worker has the whole index, or one shard of it.
        version: The version of the index; the current one by default.
        on_error: What to do about an event that cannot be read: `raise` fails, `skip` leaves it
            out, `collect` writes it once, with the reason in the column `event_error`.
    """
    with session("match") as spark:
        from tamis.spark import match as match_events

        started = time.perf_counter()
        frame, column = read_events(spark, events)
        found = match_events(
            frame,
            index,
            event=event or column,
            keep=keep,
            output="lists" if lists else "pairs",
            metadata=metadata,
            where=where,
            placement=placement,
            version=version,
            on_error=on_error,
        )
        write(found, result)
        write_text(f"{result}: written in {time.perf_counter() - started:.1f} s")
    return VALID
