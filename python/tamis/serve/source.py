"""The source of the served index: the common interface of `follow` and `own`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tamis.serve.held import Held
from tamis.serve.problem import RequestError


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a request, applied atomically.

    Attributes:
        puts: Subscriptions to add, as arguments of `Index.add`.
        removes: Ids to remove after adding.
    """

    puts: list[dict[str, Any]]
    removes: list[str | int]


class Source(ABC):
    """Keeps the served version current.

    Attributes:
        mode: The name of the mode.
        held: The current version.
    """

    mode: Literal["follow", "own"]
    held: Held

    @abstractmethod
    def start(self, publish: Callable[[Held], None]) -> None:
        """Start keeping the version current, on the running event loop.

        Args:
            publish: Called on the loop's thread whenever the served version changes.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Stop; acknowledged changes are on disk."""

    async def change(self, change: Change) -> str:  # noqa: ARG002
        """Make a change and sync it to disk; returns the version that contains it.

        Raises:
            RequestError: Changes are not accepted.
        """
        raise RequestError(405, "ReadOnly", "this server follows a folder and accepts no changes")

    @property
    def trouble(self) -> str | None:
        """Why the server is not ready, if it is not."""
        return None

    def stats(self) -> dict[str, Any]:
        """Figures about the source."""
        return {"mode": self.mode}
