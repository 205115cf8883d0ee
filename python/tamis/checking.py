"""What does `Index.check` find?

>>> import tamis
>>> index = tamis.Index()
>>> index.add_many({"a": "Country = 'FR'", "b": "age > '18'", "c": "age > 30 and not age > 20"})
>>> for finding in index.check([{"country": "FR", "age": 21}]):
...     print(finding.kind, finding.subscriptions, finding.message)
unseen-attribute ('a',) none of 1 events has `Country`; did you mean `country`?
unseen-type ('b',) `age` is compared with a string, but is a number in all 1 events that have it
text-order ('b',) `age` is compared with '18', which is a number in quotes, and texts are \
compared letter by letter ('9' is after '10'): write it without quotes, and \
`cast(... as decimal)` where events have text...
never ('c',) no event can satisfy this expression
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "event",
    "unseen-attribute",
    "unseen-type",
    "text-order",
    "text-network",
    "quoted-name",
    "text-case",
    "never",
    "always",
    "equal",
    "subsumed",
    "bound",
]
"""What a finding is about."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A probable mistake in subscriptions, or in an event of the sample.

    Attributes:
        kind: What it is about; `Index.check` lists the kinds.
        message: A description.
        subscriptions: The ids that it concerns, up to 100. For `"subsumed"`, the others match every
            event that the first one matches.
        count: How many subscriptions it concerns.
        attribute: The attribute or term that it is about, as it is written.
        position: Its position in the first of the subscriptions: the index of a character in
            `str(index[id].expression)`. For `"event"`, the row.
    """

    kind: Kind
    message: str
    subscriptions: tuple[str | int, ...] = ()
    count: int = 0
    attribute: str | None = None
    position: int | None = None
