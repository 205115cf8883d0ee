"""The results of batch methods that skip bad events instead of failing.

>>> import tamis
>>> index = tamis.Index()
>>> index.add("adult", "age >= 18")
>>> events = ['{"age": 21}', '{"age": ', '{"age": 90}']
>>> matches, refused = index.match_batch(events, on_error="collect")
>>> matches
[['adult'], [], ['adult']]
>>> [(event.row, event.message) for event in refused]
[(1, 'the event is invalid JSON: line 1, column 8: EOF while parsing a value')]
>>> index.match_batch(events, on_error="skip").skipped
1
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from tamis.errors import TamisError

Matches = TypeVar("Matches")

OnError: TypeAlias = Literal["raise", "skip", "collect"]
"""What to do with an event that cannot be read: fail the batch with an error that names the event;
skip the event and count it; or skip it and return it with its error. The same applies to
subscriptions that cannot be added."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An event of a batch that could not be read, or a subscription that could not be added.

    Attributes:
        row: Its position among the events or items, from 0; it has no matches.
        error: The error; a document that is a file can fail with an `OSError`.
        line: In JSON lines and CSV files, the number of its line, from 1.
        id: For a subscription, the value given as its id.
    """

    row: int
    error: Exception
    line: int | None = None
    id: Any = None

    @property
    def message(self) -> str:
        """The error message, without the position."""
        error = self.error
        return error.message if isinstance(error, TamisError) else str(error)


def on_one_line(error: TamisError | Refused) -> str:
    """The message of an error in a text of one line, without the number of that line."""
    return error.message.replace("line 1, column ", "column ", 1)


class Skipped(NamedTuple, Generic[Matches]):
    """The result of a call with `on_error="skip"`.

    Attributes:
        matches: The usual result; events that could not be read match nothing.
        skipped: The number of events that could not be read.
    """

    matches: Matches
    skipped: int


class Collected(NamedTuple, Generic[Matches]):
    """The result of a call with `on_error="collect"`.

    Attributes:
        matches: The usual result; events that could not be read match nothing.
        refused: The events that could not be read, in order.
    """

    matches: Matches
    refused: list[Refused]


class Loaded(NamedTuple):
    """The result of `add_many` and `add_table` with `on_error="skip"` or `"collect"`.

    Attributes:
        added: The number of added subscriptions.
        skipped: The number of skipped subscriptions.
        refused: With `on_error="collect"`, the skipped subscriptions, in order.
    """

    added: int
    skipped: int
    refused: list[Refused]


class Validity(NamedTuple):
    """When a subscription can match.

    Attributes:
        id: Its id.
        active_from: The first moment at which it can match, in UTC; None if there is no bound.
        active_until: The first moment at which it can no longer match, in UTC; None if there is no
            bound.
    """

    id: Any
    active_from: datetime | None
    active_until: datetime | None
