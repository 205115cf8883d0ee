"""What does `Index.top` return?"""

from typing import Generic, NamedTuple, TypeVar

Id = TypeVar("Id")


class Match(NamedTuple, Generic[Id]):
    """A subscription that an event matches, and how well."""

    id: Id
    """The id of the subscription."""
    score: float
    """How well it matches; see `Index.top`."""

    def _repr_html_(self) -> str:
        from tamis.display import show_match

        return show_match(self)
