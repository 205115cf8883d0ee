"""`tamis spark update`: apply changes of subscriptions to an index."""

import time

from tamis.cli.arguments import Json
from tamis.cli.spark.committing import tell
from tamis.cli.spark.session import read_subscriptions, session

USAGE = "Usage: tamis spark update INDEX CHANGES [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark update campaigns changes.jsonl
    tamis spark update s3://bucket/campaigns changes.parquet --strict
"""


def update(index: str, changes: str, /, *, strict: bool = False, as_json: Json = False) -> int:
    """Apply a change feed to an index; only shards with changes are rebuilt.

    Invalid changes are reported and leave the subscription as it is; the exit code is 1 if there
    are any.

    Args:
        index: The folder of the index.
        changes: Subscriptions as `tamis spark compile` reads them, with `operation`, which is
            `upsert` or `delete`, and optionally `sequence`: the highest of an id counts.
        strict: Commit nothing if a change is invalid.
        as_json: Write the result as a JSON object.
    """
    with session("update") as spark:
        from tamis.spark import update as update_index

        started = time.perf_counter()
        rows = read_subscriptions(spark, changes)
        return tell(update_index(index, rows, strict=strict), started, as_json)
