"""What can go wrong: every error of Tamis is a `TamisError`."""

from typing import Any, Self

_PLACE = ("item", "subject")


class TamisError(Exception):
    """Base of every error that Tamis raises on purpose.

    Attributes:
        message: What is wrong, where, and what would be right.
        item: The position, from 0, of the item of a batch that failed; None outside a batch.
        subject: A name of that item for readers, such as its id.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.item: int | None = None
        self.subject = ""

    def __str__(self) -> str:
        if self.item is None:
            return self.message
        return f"item {self.item} ({self.subject}): {self.message}"

    def at_item(self, item: int, subject: str) -> Self:
        """Attach the position of an item of a batch, and return the error.

        Args:
            item: The position of the item, from 0.
            subject: A name of the item for readers, such as its id.
        """
        self.item = item
        self.subject = subject
        return self

    def to_dict(self) -> dict[str, Any]:
        """The error as a dict for programs: its `kind`, its `message` and its other attributes."""
        parts = {name: part for name, part in vars(self).items() if name not in _PLACE}
        return {"kind": type(self).__name__, **parts}


class ExpressionError(TamisError, ValueError):
    """An expression without a meaning, such as `a < true`, or of the wrong type."""


class ExpressionSyntaxError(ExpressionError):
    """Text that is not an expression.

    Attributes:
        line: The line of the offending text, from 1.
        column: Its column in characters, from 1.
        found: The text that was found.
        expected: What was expected instead.
        suggestion: A keyword that may have been meant.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int = 1,
        column: int = 1,
        found: str = "",
        expected: str = "",
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.suggestion = suggestion


class LimitError(TamisError, ValueError):
    """Input beyond one of the `Limits`.

    Attributes:
        limit: The name of the limit.
        found: The size of the input, as far as it was counted.
        allowed: How much is allowed.
        filter: The id of the XML filter that exceeded the limit; None if it was not a filter.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: str = "",
        found: int = 0,
        allowed: int = 0,
        filter: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.limit = limit
        self.found = found
        self.allowed = allowed
        self.filter = filter


class MatchTimeoutError(TamisError, TimeoutError):
    """A match that exceeded its `timeout`.

    Attributes:
        seconds: The timeout.
    """

    def __init__(self, message: str, *, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class EventError(TamisError, ValueError):
    """An event that cannot be decoded."""


class DocumentError(TamisError, ValueError):
    """An XML document that is not well formed, or cannot be decoded.

    Attributes:
        line: The line of the offending text, from 1.
        column: Its column in characters, from 1.
    """

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class GraphError(TamisError, ValueError):
    """A node or edge that cannot be used, such as one with a negative cost."""


class SubscriptionError(TamisError, ValueError):
    """An id or metadata that cannot be used, or a batch of the wrong shape."""


class UnknownIdError(TamisError, KeyError):
    """An id that no subscription, node or edge has."""


class StorageError(TamisError, OSError):
    """A file of an index that cannot be written, read or trusted.

    Attributes:
        path: The file or folder.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class MetadataWarning(UserWarning):
    """A condition on metadata (`where`) compares a name that no subscription's metadata has."""
