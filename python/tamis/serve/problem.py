"""Errors for clients: a status and a JSON object `error`."""

from typing import Any

from tamis.errors import MatchTimeoutError, StorageError, TamisError, UnknownIdError


class RequestError(Exception):
    """Ends a request with a status.

    Attributes:
        status: The status of the response.
        kind: The name of the error, for programs.
        message: What was wrong, for people.
        details: More members of the `error` object.
        headers: More headers of the response.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        headers: list[tuple[bytes, bytes]] | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.details = details
        self.headers = headers or []

    def to_dict(self) -> dict[str, Any]:
        """The `error` object."""
        return {"kind": self.kind, "message": self.message, **self.details}


class ClientGoneError(Exception):
    """The client disconnected."""


def bad_request(message: str, **details: Any) -> RequestError:
    """The error for an invalid request."""
    return RequestError(400, "BadRequest", message, **details)


def too_large(what: str, found: int, allowed: int) -> RequestError:
    """The error for a request that exceeds a limit."""
    message = f"{what}: {found} is more than the {allowed} that are allowed"
    return RequestError(413, "TooLarge", message, found=found, allowed=allowed)


def busy(message: str, seconds: int = 1) -> RequestError:
    """The error for a busy server."""
    retry = (b"retry-after", str(seconds).encode())
    return RequestError(503, "Busy", message, headers=[retry])


def of_error(error: TamisError) -> RequestError:
    """The error response for an error of the engine."""
    if isinstance(error, UnknownIdError):
        status = 404
    elif isinstance(error, MatchTimeoutError):
        status = 504
    elif isinstance(error, StorageError):
        status = 500
    else:
        status = 422
    details = error.to_dict()
    if error.item is not None:
        details["item"] = error.item
    return RequestError(status, details.pop("kind"), details.pop("message"), **details)
