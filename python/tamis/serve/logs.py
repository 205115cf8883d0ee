"""Writes the server's log: JSON lines on standard error, one per event."""

import itertools
import logging
import os
import re
import sys
import time
import traceback
from typing import Any, TextIO

from tamis.serve.encoding import encode

_GIVEN = re.compile(rb"[A-Za-z0-9._:-]{1,64}")


class Log:
    """Writes log events as JSON lines.

    Args:
        stream: The stream to write to; standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(self, level: str, happening: str, **members: Any) -> None:
        """Write a line.

        Args:
            level: `info`, `warning` or `error`.
            happening: What happened.
            members: Further members; never secrets.
        """
        stream = self._stream or sys.stderr
        if stream is None:
            return
        moment = time.time()
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
        stamp = f"{seconds}.{int(moment * 1000) % 1000:03}Z"
        line = encode({"time": stamp, "level": level, "happening": happening, **members})
        try:
            stream.write(line.decode() + "\n")
            stream.flush()
        except (OSError, ValueError):  # if the log has no reader, keep serving
            return

    def fault(self, happening: str, error: BaseException, **members: Any) -> None:
        """Write a line about an error that should not be possible."""
        trace = "".join(traceback.format_exception(error))
        self.write("error", happening, **members, trace=trace)


class Forward(logging.Handler):
    """Forwards the HTTP library's log records to our log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self._log.write("error", "http", message=record.getMessage())


class RequestIds:
    """Assigns request ids: the client's `X-Request-Id`, or a unique number."""

    def __init__(self) -> None:
        self._prefix = os.urandom(4).hex().encode()
        self._numbers = itertools.count(1)

    def take(self, given: bytes | None) -> bytes:
        """The id of a request.

        Args:
            given: The id from the client.
        """
        if given is not None and _GIVEN.fullmatch(given):
            return given
        return b"%s-%x" % (self._prefix, next(self._numbers))
