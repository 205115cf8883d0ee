"""What batch methods give back where events are passed over instead of ending the batch.

>>> import tamis
>>> index = tamis.Index()
>>> index.add("adult", "age >= 18")
>>> events = ['{"age": 21}', '{"age": ', '{"age": 90}']
>>> matches, refused = index.match_batch(events, on_error="collect")
>>> matches
[['adult'], [], ['adult']]
>>> [(event.row, event.message) for event in refused]
[(1, 'the event is no JSON: line 1, column 8: EOF while parsing a value')]
>>> index.match_batch(events, on_error="skip").skipped
1
"""

from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from tamis.errors import TamisError

Matches = TypeVar("Matches")

OnError: TypeAlias = Literal["raise", "skip", "collect"]
"""What becomes of an event that cannot be read: the batch fails, and the error names the event; the
event is passed over and counted; or it is passed over and comes back with the error."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An event of a batch that could not be read.

    Attributes:
        row: Its position among the events, from 0; the matches at that position are none.
        error: What was wrong with it; documents that are files can fail with an `OSError`.
        line: In JSON lines, the number of its line, from 1.
    """

    row: int
    error: Exception
    line: int | None = None

    @property
    def message(self) -> str:
        """What was wrong, without the position."""
        error = self.error
        return error.message if isinstance(error, TamisError) else str(error)


class Skipped(NamedTuple, Generic[Matches]):
    """What `on_error="skip"` gives.

    Attributes:
        matches: What the method gives otherwise; events that could not be read match nothing.
        skipped: How many those are.
    """

    matches: Matches
    skipped: int


class Collected(NamedTuple, Generic[Matches]):
    """What `on_error="collect"` gives.

    Attributes:
        matches: What the method gives otherwise; events that could not be read match nothing.
        refused: Those events, in their order.
    """

    matches: Matches
    refused: list[Refused]
