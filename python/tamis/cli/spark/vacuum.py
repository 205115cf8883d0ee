"""`tamis spark vacuum`: delete old versions and files of killed jobs."""

from datetime import timedelta

from tamis.cli.output import VALID, CommandError, write
from tamis.cli.spark.session import storage_errors

USAGE = "Usage: tamis spark vacuum INDEX [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark vacuum campaigns --keep 3
"""


def vacuum(index: str, /, *, keep: int = 1, hours: float = 24.0) -> int:
    """Delete old versions of an index or a graph, and files left behind by unfinished jobs.

    A job that reads a version while it is deleted fails, unless it has already mapped the files.

    Args:
        index: The folder of the index or the graph.
        keep: The number of versions to keep, including the current one.
        hours: The minimum age of an unreferenced file; running jobs have younger ones.
    """
    if keep < 1 or hours < 0:
        raise CommandError("--keep must be at least 1, and --hours at least 0")
    with storage_errors():
        from tamis.spark import vacuum as delete

        gone = delete(index, keep=keep, unfinished=timedelta(hours=hours))
    write(f"{index}: {len(gone)} files deleted")
    return VALID
