"""What the commands that commit a version of an index say of it."""

import time
from typing import TYPE_CHECKING

from tamis.cli.output import INVALID, VALID, report, write_json
from tamis.cli.output import write as write_text

if TYPE_CHECKING:
    from tamis.spark import Compiled

_SHOWN = 20


def tell(done: "Compiled", started: float, as_json: bool) -> int:
    """Report what was committed and what was refused; returns the exit code.

    Args:
        done: What was committed.
        started: When the command began, as `time.perf_counter` tells it.
        as_json: Whether to write a JSON object.
    """
    seconds = time.perf_counter() - started
    if done.error_count:
        for row in done.errors.limit(_SHOWN).collect():
            report(f"id {row['id']!r}: {row['message']}")
        more = done.error_count - _SHOWN
        report(f"{done.error_count} rows refused" + (f", {more} not shown" if more > 0 else ""))
    if as_json:
        names = (
            "path",
            "version",
            "subscriptions",
            "shards",
            "built",
            "built_bytes",
            "error_count",
        )
        write_json({name: getattr(done, name) for name in names} | {"seconds": seconds})
    else:
        write_text(
            f"{done.path}: version {done.version}, {done.subscriptions:,} subscriptions in "
            f"{done.shards} shards, {done.built} of them built, {seconds:.1f} s"
        )
    return INVALID if done.error_count else VALID
