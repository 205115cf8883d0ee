"""The output of the commands that commit a version of an index."""

import time
from typing import TYPE_CHECKING

from tamis.cli.output import INVALID, VALID, report, write_json
from tamis.cli.output import write as write_text

if TYPE_CHECKING:
    from tamis.spark import Compiled

_SHOWN = 20


def tell(done: "Compiled", started: float, as_json: bool) -> int:
    """Report the committed version and the refused rows; returns the exit code.

    Args:
        done: The committed version.
        started: The start of the command, from `time.perf_counter`.
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
