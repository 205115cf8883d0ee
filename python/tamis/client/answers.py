"""The server's responses, as typed objects."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tamis.ranking import Match

Id: TypeAlias = str | int


class ServerError(Exception):
    """An error response of the server.

    Attributes:
        status: The status of the response.
        kind: The name of the error, such as `ExpressionSyntaxError`.
        message: What was wrong.
        details: More about it, such as `line` and `column`.
        request: The request's id in the server's log.
    """

    def __init__(
        self, status: int, kind: str, message: str, details: dict[str, Any], request: str
    ) -> None:
        super().__init__(f"{status} {kind}: {message}")
        self.status = status
        self.kind = kind
        self.message = message
        self.details = details
        self.request = request


@dataclass(frozen=True)
class Failed:
    """An event of a batch that could not be answered."""

    kind: str
    message: str


@dataclass(frozen=True)
class Answer:
    """What an event matches.

    Attributes:
        matches: The ids, in insertion order.
        version: The version that answered.
    """

    matches: list[Id]
    version: str


@dataclass(frozen=True)
class Ranked:
    """What an event matches best."""

    top: list[Match[Id]]
    version: str


@dataclass(frozen=True)
class Explained:
    """Why a subscription matches, or not.

    Attributes:
        id: The subscription.
        matched: Whether it does.
        tree: The explanation, as `tamis.Explanation.to_dict` has it.
    """

    id: Id
    matched: bool
    tree: dict[str, Any]


@dataclass(frozen=True)
class Checked:
    """Whether an expression is valid.

    Attributes:
        valid: Whether it is.
        expression: Its canonical form.
        error: What is wrong, with `line` and `column`.
    """

    valid: bool
    expression: str | None = None
    error: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """Some of the subscriptions.

    Attributes:
        subscriptions: Each with `id`, `expression` and, if there are any, `metadata` and `boost`.
        next: The value of `after` for the next page; None after the last.
        total: The total number.
    """

    subscriptions: list[dict[str, Any]]
    next: str | None
    total: int


@dataclass(frozen=True)
class Changed:
    """The result of a bulk change.

    Attributes:
        put: The number of added or replaced subscriptions.
        removed: The number of removed subscriptions.
        refused: The refused items, each with `item` and `error`.
        version: The version with the change.
    """

    put: int
    removed: int
    refused: list[dict[str, Any]]
    version: str
