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
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from tamis.errors import TamisError

Matches = TypeVar("Matches")

OnError: TypeAlias = Literal["raise", "skip", "collect"]
"""What becomes of an event that cannot be read: the batch fails, and the error names the event; the
event is passed over and counted; or it is passed over and comes back with the error. The same holds
for subscriptions that cannot be added."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An event of a batch that could not be read, or a subscription that could not be added.

    Attributes:
        row: Its position among the events or items, from 0; the matches at that position are none.
        error: What was wrong with it; documents that are files can fail with an `OSError`.
        line: In JSON lines and CSV files, the number of its line, from 1.
        id: Of a subscription, what stands in the place of its id.
    """

    row: int
    error: Exception
    line: int | None = None
    id: Any = None

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


class Loaded(NamedTuple):
    """What `add_many` and `add_table` give where subscriptions are passed over.

    Attributes:
        added: How many were added.
        skipped: How many were not.
        refused: With `on_error="collect"`, those, in their order.
    """

    added: int
    skipped: int
    refused: list[Refused]


class Validity(NamedTuple):
    """When a subscription can match.

    Attributes:
        id: Its id.
        active_from: The first moment at which it can, in UTC; None for one that always could.
        active_until: The first moment at which it no longer can, in UTC; None for one that goes on.
    """

    id: Any
    active_from: datetime | None
    active_until: datetime | None
