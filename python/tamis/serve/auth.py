"""Tokens: who may read, and who may write.

Tokens come from lines of `SCOPE NAME TOKEN`. The scope is `read` or `write`, which includes
reading, and logs show the name. Only digests are kept, and all are compared each time, so
the time does not reveal how much of a token was right.
"""

import hashlib
import hmac
import ipaddress
import re
from dataclasses import dataclass
from typing import Literal

from tamis.serve.problem import RequestError

Scope = Literal["read", "write"]

_SHORTEST = 16  # minimum length of a token, so it cannot be guessed
_BEARER = re.compile(rb"(?i:bearer)[ ]+([A-Za-z0-9._~+/=-]+)[ ]*")


@dataclass(frozen=True)
class Holder:
    """The owner of a token."""

    name: str
    scope: Scope
    digest: bytes


class Tokens:
    """The tokens that a server accepts.

    Args:
        lines: One `SCOPE NAME TOKEN` per line, or between commas; `#` begins a comment.

    Raises:
        ValueError: A line is invalid; the error names the line, but not its content.
    """

    def __init__(self, lines: str) -> None:
        self._holders: list[Holder] = []
        for number, line in enumerate(lines.splitlines(), 1):
            # A comment goes to the end of its line, commas or not.
            for entry in line.partition("#")[0].split(","):
                if words := entry.split():
                    self._holders.append(_holder(words, number))
        if not self._holders:
            raise ValueError("tokens: there are none, so no request would be allowed")

    def check(self, header: bytes | None, scope: Scope) -> str:
        """The name of the owner of the token in an Authorization header.

        Raises:
            RequestError: The header is missing, its token is unknown, or its scope is too small.
        """
        found: Holder | None = None
        bearer = _BEARER.fullmatch(header) if header else None
        if bearer is not None:
            digest = hashlib.sha256(bearer[1]).digest()
            for holder in self._holders:
                if hmac.compare_digest(holder.digest, digest):
                    found = holder
        if found is None:
            asked = [(b"www-authenticate", b'Bearer realm="tamis"')]
            message = "a bearer token is needed" if header is None else "the token is not known"
            raise RequestError(401, "Unauthorized", message, headers=asked)
        if scope == "write" and found.scope != "write":
            raise RequestError(403, "Forbidden", "the token may read, not write")
        return found.name


def _holder(words: list[str], number: int) -> Holder:
    if len(words) != 3 or words[0] not in ("read", "write"):
        raise ValueError(f"tokens, line {number}: expected `read NAME TOKEN` or `write ...`")
    scope, name, token = words
    if len(token) < _SHORTEST:
        shortest = f"{len(token)} characters, at least {_SHORTEST} are needed"
        raise ValueError(f"tokens, line {number}: the token has {shortest}")
    if not _BEARER.fullmatch(b"Bearer " + token.encode()):
        raise ValueError(f"tokens, line {number}: the token has characters beyond base64")
    digest = hashlib.sha256(token.encode()).digest()
    return Holder(name, "write" if scope == "write" else "read", digest)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_origin(headers: dict[bytes, bytes], *, only_loopback: bool) -> None:
    """Refuse cross-site requests.

    Args:
        headers: The headers of the request.
        only_loopback: Whether the host must be this machine; without tokens, this prevents DNS
            rebinding.

    Raises:
        RequestError: The request comes from another site.
    """
    host = headers.get(b"host", b"")
    origin = headers.get(b"origin")
    if origin is not None and origin.partition(b"://")[2] != host:
        raise RequestError(403, "Forbidden", "requests of pages from other origins are refused")
    if only_loopback:
        name = host.decode("latin-1")
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        if host and not is_loopback(name):
            message = "without tokens, only requests to localhost are answered"
            raise RequestError(421, "MisdirectedRequest", message)
