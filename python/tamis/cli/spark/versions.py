"""`tamis spark versions`: which versions does an index or a graph have?"""

from tamis.cli.arguments import Json
from tamis.cli.output import VALID, write, write_json
from tamis.cli.spark.session import storage_errors

USAGE = "Usage: tamis spark versions INDEX [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark versions campaigns
    tamis spark versions s3://bucket/campaigns --json
"""


def versions(index: str, /, *, as_json: Json = False) -> int:
    """List the versions of an index or a graph; the last is the current one.

    Args:
        index: The folder of the index or the graph.
        as_json: Write a JSON object per version.
    """
    with storage_errors():
        from tamis.spark.versions import describe

        for one in describe(index):
            if as_json:
                write_json(one)
            else:
                of = f", {one['subscriptions']:,} subscriptions" if "subscriptions" in one else ""
                write(f"{one['version']}: {one['created'] or '?'}{of}, {one['bytes']:,} bytes")
    return VALID
