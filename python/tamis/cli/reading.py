"""Reads lines from files and standard input, whatever their content."""

import csv
import gzip
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self, TypeVar, cast

from tamis.cli.output import INVALID, CommandError

_BLOCK = (
    1 << 16
)  # some hundred events: enough for full speed, and few enough for the memory of their matches
_LONGEST_LINE = 1 << 26  # far beyond the default limits of a line
_BLANKS = b" \t\r\n\f"  # the engine also treats these as blank
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"

T = TypeVar("T")


class _Stream(Protocol):
    """The common interface of buffered files and gzip files."""

    def peek(self, size: int, /) -> bytes: ...
    def read(self, size: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...


class Rows:
    """The rows of a CSV file, each with the number of its first line.

    Attributes:
        is_last: Whether reading further would have to wait, as at the end of a pipe's data.
    """

    def __init__(self, source: "Source") -> None:
        self._source = source
        self.is_last = False

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, including the header, without blank lines.

        Raises:
            CommandError: The text is not CSV.
        """
        reader = csv.reader(self._lines(), strict=True)
        while True:
            number = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                where = f"{self._source.name}:{reader.line_num}"
                raise CommandError(f"{where}: not CSV: {error}", INVALID) from error
            if cells is None:
                return
            if cells:
                yield number, cells

    def _lines(self) -> Iterator[str]:
        for first, chunk in self._source.chunks():
            lines = _split(chunk)
            for number, line in enumerate(lines, first):
                self.is_last = number == first + len(lines) - 1
                yield self._source.decode(number, line)


class Source:
    """A file, compressed with gzip or not, or `-` for standard input.

    Attributes:
        name: Its name in messages.
        size: Its bytes on disk; None if unknown.
    """

    def __init__(self, path: Path) -> None:
        self.name = "<stdin>" if is_standard_input(path) else str(path)
        self._path = path

    def __enter__(self) -> Self:
        self._file = self._attempt(self._open)
        self.size = _size(self._file)
        try:
            self._stream = self._attempt(self._look_inside)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    @property
    def position(self) -> int:
        """The bytes on disk that have been read; only if `size` is known."""
        return self._file.tell()

    def read(self) -> bytes:
        """Read everything."""
        text = self._attempt(lambda: self._stream.read(_LONGEST_LINE))
        if len(text) == _LONGEST_LINE:
            raise CommandError(f"{self.name}: longer than {_LONGEST_LINE >> 20} MiB")
        return text

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """The text in chunks of whole lines, each with the number of its first line.

        A chunk is the data that one read returns, so lines of a pipe are available immediately.
        """
        number, parts, held = 1, list[bytes](), 0
        while block := self._attempt(lambda: self._stream.read1(_BLOCK)):
            end = block.rfind(b"\n") + 1
            if end:
                chunk = b"".join([*parts, block[:end]])
                yield number, chunk
                number += chunk.count(b"\n")
                parts, held = [], 0
            parts.append(block[end:])
            held += len(block) - end
            if held > _LONGEST_LINE:
                where = f"{self.name}:{number}"
                raise CommandError(f"{where}: the line is longer than {_LONGEST_LINE >> 20} MiB")
        if held:
            yield number, b"".join(parts)

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, with their numbers and without line ends."""
        for first, chunk in self.chunks():
            for number, line in enumerate_lines(first, chunk):
                yield number, self.decode(number, line.rstrip(_BLANKS))

    def decode(self, number: int, line: bytes) -> str:
        """The text of a line.

        Raises:
            CommandError: It is not UTF-8.
        """
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            where, byte = f"{self.name}:{number}", f"byte 0x{line[error.start]:02x}"
            raise CommandError(
                f"{where}: not UTF-8 text: invalid {byte} at offset {error.start}"
            ) from error

    def _open(self) -> BinaryIO:
        if not is_standard_input(self._path):
            return self._path.open("rb")
        return _standard_input()

    def _close(self) -> None:
        if not is_standard_input(self._path):
            self._file.close()

    def _look_inside(self) -> _Stream:
        stream = cast("_Stream", self._file)
        if stream.peek(2).startswith(_GZIP):
            stream = cast("_Stream", gzip.GzipFile(fileobj=self._file))
        beginning = stream.peek(1024)
        if b"\0" in beginning:
            raise CommandError(f"cannot read {self.name}: it is not text")
        if beginning.startswith(_BYTE_ORDER_MARK):
            stream.read(len(_BYTE_ORDER_MARK))
        return stream

    def _attempt(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (OSError, EOFError, ValueError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise CommandError(f"cannot read {self.name}: {reason}") from error


def is_standard_input(path: Path) -> bool:
    """Whether a path means standard input."""
    return str(path) == "-"


def read_standard_input() -> bytes:
    """All bytes of standard input."""
    text = _standard_input().read(_LONGEST_LINE)
    if len(text) == _LONGEST_LINE:
        raise CommandError(f"<stdin>: longer than {_LONGEST_LINE >> 20} MiB")
    return text


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise CommandError("standard input is closed")
    return sys.stdin.buffer


def enumerate_lines(first: int, chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a chunk that are not blank, with their numbers."""
    for number, line in enumerate(chunk.split(b"\n"), first):
        if line.strip(_BLANKS):
            yield number, line


def _split(chunk: bytes) -> list[bytes]:
    """The lines of a chunk, with line ends."""
    lines = [line + b"\n" for line in chunk.split(b"\n")]
    last = lines.pop()
    return [*lines, last[:-1]] if len(last) > 1 else lines


def _size(file: BinaryIO) -> int | None:
    try:
        status = os.fstat(file.fileno())
    except OSError:  # a file in memory
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
