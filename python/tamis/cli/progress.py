"""Shows the progress of long commands on a terminal, but not in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tamis.cli.reading import Source


@contextmanager
def progress(source: Source, doing: str, *, writes: bool) -> Iterator[Callable[[], None]]:
    """Show on standard error how much of a source has been read.

    Args:
        source: What is read.
        doing: The text of the progress bar, such as "matching".
        writes: Whether results are written at the same time. On a terminal, they show progress.

    Yields:
        A function to call regularly.
    """
    if not _is_terminal(sys.stderr) or (writes and _is_terminal(sys.stdout)):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(f"{doing} {source.name}", total=source.size)

        def show() -> None:
            if source.size is not None:
                bar.update(task, completed=source.position)

        yield show


@contextmanager
def steps(doing: str, *, at_once: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """Show on standard error how many steps are done.

    Args:
        doing: The text of the progress bar.
        at_once: Whether to show anything before the first step is done. If not, something else may
            be shown until then.

    Yields:
        A function to call with the number of steps that are done and their total; None if standard
        error is not a terminal.
    """
    if not _is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(doing, total=None)

    def show(done: int, total: int) -> None:
        bar.start()  # no effect if it has started
        bar.update(task, completed=done, total=total)

    try:
        if at_once:
            bar.start()
        yield show
    finally:
        bar.stop()


@contextmanager
def counting(doing: str) -> Iterator[Callable[[int], None]]:
    """Show on standard error how many items have been read; the total is unknown."""
    if not _is_terminal(sys.stderr):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.status import Status

    with Status(doing, console=Console(stderr=True)) as status:
        yield lambda count: status.update(f"{doing}: {count}")


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and isatty()
