"""`tamis spark match`: which subscriptions does each event of many files satisfy?"""

from typing import Any

from tamis.cli.spark.options import DEFAULTS, Options, run

USAGE = "Usage: tamis spark match EVENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark match events.jsonl campaigns matches.parquet
    tamis spark match events.parquet s3://bucket/campaigns matches.jsonl --keep user --lists
"""


def match(
    events: str,
    index: str,
    result: str,
    /,
    *,
    lists: bool = False,
    metadata: bool = False,
    options: Options = DEFAULTS,
) -> int:
    """Write, for every event, the subscriptions it matches.

    Args:
        events: JSON lines (`.jsonl`, `.json`), each an event, or another format of Spark
            (`.parquet`, `.orc` ...), each column an attribute.
        index: The folder of the index.
        result: The folder to write, in the format of its suffix, or Parquet.
        lists: Write one row per event instead of one per match.
        metadata: Add the subscriptions' metadata.
        options: How events are matched.
    """

    def find(frame: Any, column: str | None) -> Any:
        from tamis.spark import match

        output: Any = "lists" if lists else "pairs"
        return match(frame, index, output=output, metadata=metadata, **options.given(column))

    return run("match", events, result, find)
