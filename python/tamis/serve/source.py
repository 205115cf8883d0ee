"""Where does what is served come from? What `follow` and `own` have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tamis.serve.held import Held
from tamis.serve.problem import RequestError


@dataclass(frozen=True, slots=True)
class Change:
    """What a request changes, all of it or nothing.

    Attributes:
        puts: Subscriptions to add, as arguments of `Index.add`.
        removes: Ids to remove, once those are added.
    """

    puts: list[dict[str, Any]]
    removes: list[str | int]


class Source(ABC):
    """Keeps what is served current.

    Attributes:
        mode: What it is called.
        held: What is served now.
    """

    mode: Literal["follow", "own"]
    held: Held

    @abstractmethod
    def start(self, publish: Callable[[Held], None]) -> None:
        """Begin to keep it current, on the running event loop.

        Args:
            publish: Called on the loop's thread whenever something else is served.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Stop; what was acknowledged is on the disk."""

    async def change(self, change: Change) -> str:  # noqa: ARG002
        """Make a change, which is on the disk afterwards; returns the version that has it.

        Raises:
            RequestError: Changes are not accepted.
        """
        raise RequestError(405, "ReadOnly", "this server follows a folder and accepts no changes")

    @property
    def trouble(self) -> str | None:
        """Why requests should go elsewhere."""
        return None

    def stats(self) -> dict[str, Any]:
        """Figures about the source."""
        return {"mode": self.mode}
