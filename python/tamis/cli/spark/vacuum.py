"""`tamis spark vacuum`: old versions are deleted, and what jobs that were killed have left."""

from datetime import timedelta

from tamis.cli.output import VALID, CommandError, write
from tamis.cli.spark.session import storage_errors

USAGE = "Usage: tamis spark vacuum INDEX [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark vacuum campaigns --keep 3
"""


def vacuum(index: str, /, *, keep: int = 1, hours: float = 24.0) -> int:
    """Delete old versions of an index or a graph, and what jobs that did not finish have left.

    A job that reads a version which is deleted meanwhile fails, unless it has mapped it already.

    Args:
        index: The folder of the index or the graph.
        keep: How many versions are kept, the current one included.
        hours: How old a file must be that no version names; a running job has younger ones.
    """
    if keep < 1 or hours < 0:
        raise CommandError("--keep is at least 1, and --hours at least 0")
    with storage_errors():
        from tamis.spark import vacuum as delete

        gone = delete(index, keep=keep, unfinished=timedelta(hours=hours))
    write(f"{index}: {len(gone)} files deleted")
    return VALID
