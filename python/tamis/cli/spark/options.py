"""The common options of the commands that match, and how they run."""

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tamis.batches import OnError
from tamis.cli.arguments import Where
from tamis.cli.output import VALID
from tamis.cli.output import write as write_text
from tamis.cli.spark.session import read_events, session, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

Keep = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]
Placement = Literal["auto", "replicated", "sharded"]


@dataclass(frozen=True, kw_only=True)
class Matching:
    """How events are matched.

    Attributes:
        event: The column that holds the events.
        keep: The columns of the events to include.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it can match.
        placement: Whether every worker has the whole index, or one shard of it.
        version: The version of the index; the current one by default.
        on_error: What to do with an event that cannot be read: `raise` fails, `skip` leaves it
            out, `collect` writes it once, with the reason in the column `event_error`.
    """

    event: str | None = None
    keep: Keep = None
    where: Where = None
    placement: Placement = "auto"
    version: int | None = None
    on_error: OnError = "raise"

    def given(self, column: str | None) -> dict[str, Any]:
        """The arguments for `tamis.spark`.

        Args:
            column: The column that holds the events, if the user named none.
        """
        return {**asdict(self), "event": self.event or column}


Options = Annotated[Matching, Parameter(name="*")]
DEFAULTS = Matching()


def run(
    name: str,
    events: str,
    result: str,
    find: "Callable[[DataFrame, str | None], DataFrame]",
    read: "Callable[[SparkSession, str], tuple[DataFrame, str | None]]" = read_events,
) -> int:
    """Read events, run a query on them, and write the result.

    Args:
        name: The name of the command.
        events: The files of the events.
        result: The folder to write.
        find: Returns the result, given the events and the column that holds them, if any.
        read: Reads the events.
    """
    with session(name) as spark:
        started = time.perf_counter()
        write(find(*read(spark, events)), result)
        write_text(f"{result}: written in {time.perf_counter() - started:.1f} s")
    return VALID
