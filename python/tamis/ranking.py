"""What does `Index.top` give back?"""

from typing import Any, NamedTuple


class Match(NamedTuple):
    """A subscription that an event matches, and how well."""

    id: Any
    """The id of the subscription."""
    score: float
    """How well it matches; see `Index.top`."""
