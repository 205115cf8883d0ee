"""`tamis spark compile`: subscriptions become a version of an index."""

import time
from typing import Annotated

from cyclopts import Parameter

from tamis.cli.arguments import Json, Missing
from tamis.cli.output import INVALID, VALID, report, write_json
from tamis.cli.output import write as write_text
from tamis.cli.spark.session import read_subscriptions, session

USAGE = "Usage: tamis spark compile SUBSCRIPTIONS INDEX [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark compile subscriptions.jsonl campaigns
    tamis spark compile rules.parquet s3://bucket/campaigns --shards 16 --strict
"""
_SHOWN = 20


def compile(
    subscriptions: str,
    index: str,
    /,
    *,
    shards: int | None = None,
    strict: bool = False,
    missing: Missing = "unknown",
    metadata_columns: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    as_json: Json = False,
) -> int:
    """Compile subscriptions into a new version of an index.

    Rows that cannot be used are reported and left out; the exit code is 1 when there are any.

    Args:
        subscriptions: JSON lines (`.jsonl`, `.json`), or what Spark reads (`.parquet`, `.orc` ...).
        index: The folder of the index: a path, or a URI such as `s3://bucket/index`.
        shards: How many shards there are; by default one for 500,000 subscriptions.
        strict: Commit nothing when a row cannot be used.
        missing: What a predicate is on an attribute without a value.
        metadata_columns: The members of metadata that get an index, so that `--where` is fast.
        as_json: Write what was done as a JSON object.
    """
    with session("compile") as spark:
        from tamis.spark import compile as compile_index

        started = time.perf_counter()
        rows = read_subscriptions(spark, subscriptions)
        done = compile_index(
            rows,
            index,
            shards=shards,
            strict=strict,
            missing=missing,
            metadata_columns=metadata_columns or (),
        )
        seconds = time.perf_counter() - started
        if done.error_count:
            for row in done.errors.limit(_SHOWN).collect():
                report(f"id {row['id']!r}: {row['message']}")
            more = done.error_count - _SHOWN
            report(f"{done.error_count} rows refused" + (f", {more} not shown" if more > 0 else ""))
        if as_json:
            names = ("path", "version", "subscriptions", "shards", "error_count")
            write_json({name: getattr(done, name) for name in names} | {"seconds": seconds})
        else:
            write_text(
                f"{done.path}: version {done.version}, {done.subscriptions:,} subscriptions in "
                f"{done.shards} shards, {seconds:.1f} s"
            )
    return INVALID if done.error_count else VALID
