"""`tamis spark compile`: compile subscriptions into a version of an index."""

import time
from typing import Annotated

from cyclopts import Parameter

from tamis.cli.arguments import Json, Missing
from tamis.cli.output import INVALID, CommandError
from tamis.cli.progress import steps
from tamis.cli.rules.languages import From
from tamis.cli.spark.committing import tell
from tamis.cli.spark.session import read_foreign_rules, read_subscriptions, session

USAGE = "Usage: tamis spark compile SUBSCRIPTIONS INDEX [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark compile subscriptions.jsonl campaigns
    tamis spark compile rules.parquet s3://bucket/campaigns --shards 16 --strict
    tamis spark compile rules/windows detections --from sigma --missing false
"""


def compile(
    subscriptions: str,
    index: str,
    /,
    *,
    shards: int | None = None,
    strict: bool = False,
    missing: Missing = "unknown",
    metadata_columns: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    language: From = None,
    as_json: Json = False,
) -> int:
    """Compile subscriptions into a new version of an index.

    Invalid rows are reported and left out; the exit code is 1 if there are any.

    Args:
        subscriptions: JSON lines (`.jsonl`, `.json`), or another format of Spark (`.parquet` ...).
        index: The folder of the index: a path, or a URI such as `s3://bucket/index`.
        shards: The number of shards; by default one per 500,000 subscriptions.
        strict: Commit nothing if a row is invalid.
        missing: The truth of a predicate on an attribute without a value.
        metadata_columns: The members of metadata to index, which makes `--where` fast.
        language: The language of the rules that `subscriptions` names, a file or a folder on this
            machine, if they are not subscriptions.
        as_json: Write the result as a JSON object.
    """
    with session("compile") as spark:
        from tamis.spark import compile as compile_index

        started, refused = time.perf_counter(), 0
        if language is None:
            rows = read_subscriptions(spark, subscriptions)
        else:
            rows, refused = read_foreign_rules(spark, subscriptions, language)
            if refused and strict:
                raise CommandError(f"{refused} rules refused, nothing was committed", INVALID)
        with steps(f"building the shards of {index}") as show:
            done = compile_index(
                rows,
                index,
                shards=shards,
                strict=strict,
                missing=missing,
                metadata_columns=metadata_columns or (),
                progress=show,
            )
        code = tell(done, started, as_json)
    return INVALID if refused else code
