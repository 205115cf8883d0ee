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

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from tamis.errors import MetadataWarning

Kind: TypeAlias = Literal[
    "event",
    "unseen-attribute",
    "unseen-type",
    "text-order",
    "text-network",
    "quoted-name",
    "text-case",
    "empty-range",
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


def warn_of_metadata(
    unseen: Sequence[str], looked: int, metadata: Sequence[str], declared: Sequence[str]
) -> None:
    """Warn of names in a `where` that no metadata has: a misspelt one silently selects nothing.

    Args:
        unseen: The names.
        looked: The number of subscriptions whose metadata does not have them; 0 if none has any.
        metadata: Metadata of the index, as JSON, whose names may have been meant.
        declared: The declared columns, which may have been meant, too.
    """
    known = {name.lower(): name for text in metadata for name in _names_of(text)}
    known |= {name.lower(): name for name in declared}
    for name in unseen:
        close = get_close_matches(name.lower(), known, 1)
        hint = f"; did you mean `{known[close[0]]}`?" if close else ""
        subscriptions = "1 subscription" if looked == 1 else f"{looked:,} subscriptions"
        reason = f"which the metadata of {subscriptions} does not have{hint}"
        if not looked:
            reason = f"but no subscription has metadata{hint}"
        warnings.warn(
            f"`where` asks for `{name}`, {reason}",
            MetadataWarning,
            stacklevel=2,
        )


def _names_of(text: str) -> list[str]:
    """The names of the members of metadata, as expressions write them."""
    try:
        return list(member_names(json.loads(text)))
    except (ValueError, RecursionError):  # beyond what Python reads; there are others
        return []


def member_names(value: Any, prefix: str = "") -> Iterator[str]:
    """The names of the members of metadata and of objects in it, as expressions write them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield prefix + name
            yield from member_names(inner, f"{prefix}{name}.")
