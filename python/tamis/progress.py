"""The progress bar that `progress=True` draws.

It draws on a terminal and in a notebook, but not in a script whose standard error is a file or a
pipe. `progress` may also be a function of two numbers, the number done and the total, such as one
that updates a `tqdm` bar.
"""

import sys
from collections.abc import Callable
from time import monotonic
from typing import TextIO

_WIDTH = 30
_SECONDS = 0.1  # between two drawings


def bar(stream: TextIO | None = None) -> Callable[[int, int], None] | None:
    """A function that draws a progress bar, or None if it would not be seen.

    Args:
        stream: Where to draw; standard error by default.
    """
    stream = stream or sys.stderr
    if stream is None or not (stream.isatty() or _in_notebook()):
        return None
    started = drawn = monotonic()

    def show(done: int, total: int) -> None:
        nonlocal drawn
        now = monotonic()
        if done < total and now - drawn < _SECONDS:
            return
        drawn = now
        share = done / total if total else 1.0
        filled = int(share * _WIDTH)
        end = "\n" if done >= total else ""
        stream.write(
            f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%}  "
            f"{done:,} of {total:,}  {now - started:.1f} s{end}"
        )
        stream.flush()

    return show


def _in_notebook() -> bool:
    """Whether the kernel of a notebook runs this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")
