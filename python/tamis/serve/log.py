"""The log of changes, which survives a crash.

Every group of changes is a line: a checksum, a space, and a JSON array of them. A line is on disk
before the change is acknowledged, and only then is the next one written. So an incomplete line is
the last one and was never acknowledged; it is dropped. Any other invalid line is damage: an error
that says where.

A log is a folder of files named after the number of their first change. A new file begins before
the index is saved, and the older ones are deleted after that.
"""

import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tamis.errors import StorageError

_NAME = re.compile(r"changes-([0-9]{20})\.log")
_CHECKSUM = 8  # hexadecimal digits
_BLOCK = 1 << 20


class Entry(msgspec.Struct, array_like=True):
    """A change of one request.

    Attributes:
        number: Its number, from 1, without gaps.
        puts: Subscriptions that it adds, as arguments of `Index.add`.
        removes: Ids that it removes.
        voids: Numbers of changes in the previous group that could not be applied.
    """

    number: int
    puts: list[dict[str, Any]]
    removes: list[str | int]
    voids: list[int] = []


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[Entry])


@dataclass
class Read:
    """The result of reading a log.

    Attributes:
        last: The number of the last change, or one before the first of the first file.
        bytes: The number of bytes read.
        torn: The number of bytes dropped from an incomplete line.
    """

    last: int = 0
    bytes: int = 0
    torn: int = 0


class ChangeLog:
    """The log of an owned index.

    Args:
        folder: The folder of its files; created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self._size = 0
        self.changes = 0  # not folded yet

    def files(self) -> list[tuple[int, Path]]:
        """The files with the numbers of their first changes, ascending.

        Raises:
            StorageError: The folder is a link, whose target may belong to another index.
        """
        if self._folder.is_symlink():
            raise StorageError(f"{self._folder}: this is a link", path=str(self._folder))
        if not self._folder.exists():
            return []
        found = ((_NAME.fullmatch(path.name), path) for path in self._folder.iterdir())
        return sorted((int(name[1]), path) for name, path in found if name)

    def read(self, found: Read) -> Iterator[list[Entry]]:
        """The groups of all files, in their order.

        Args:
            found: Receives the result; complete when the groups are exhausted.

        Raises:
            StorageError: A line is damaged, or changes are missing.
        """
        files = self.files()
        for at, (first, path) in enumerate(files):
            if at == 0:
                found.last = first - 1
            elif first != found.last + 1:
                message = f"{path}: change {found.last + 1} is missing; this begins with {first}"
                raise StorageError(message, path=str(path))
            yield from _read_file(path, found, last=at == len(files) - 1)

    def begin(self, first: int) -> None:
        """Start a new file. A file of the same name must contain no changes.

        Args:
            first: The number of its first change.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"changes-{first:020}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        file = os.open(path, flags, 0o600)
        sync_folder(self._folder)
        sync_folder(self._folder.parent)
        self.close()
        self._file, self._size, self.changes = file, os.fstat(file).st_size, 0

    def resume(self, changes: int) -> None:
        """Continue writing to the last file, after cutting off an incomplete line.

        Args:
            changes: The number of changes in the log.
        """
        path = self.files()[-1][1]
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        size = os.fstat(file).st_size
        end = _end_of_lines(file, size)
        if end < size:
            os.ftruncate(file, end)
            os.fsync(file)
        self.close()
        self._file, self._size, self.changes = file, end, changes

    def append(self, entries: list[Entry]) -> None:
        """Write a group and sync it to disk.

        Raises:
            StorageError: It could not be written; the file is unchanged.
            OSError: The state of the file is unknown; nothing may be written any more.
        """
        assert self._file is not None
        try:
            payload = _encoder.encode(entries)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            message = f"{self._folder}: the change cannot be written: {error}"
            raise StorageError(message, path=str(self._folder)) from error
        line = b"%08x %s\n" % (zlib.crc32(payload), payload)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, self._size)
            message = f"{self._folder}: the change cannot be written: {error.strerror or error}"
            raise StorageError(message, path=str(self._folder)) from error
        os.fsync(self._file)  # if this fails, the content of the disk is unknown
        self._size += len(line)
        self.changes += len(entries)

    def forget(self, before: int) -> None:
        """Delete the files whose changes are all before a number."""
        files = self.files()
        for (_, path), (following, _) in pairwise(files):
            if following <= before:
                path.unlink(missing_ok=True)
        sync_folder(self._folder)

    def close(self) -> None:
        """Close the log."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _read_file(path: Path, found: Read, *, last: bool) -> Iterator[list[Entry]]:
    at = 0
    with _open_file(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                if not last:
                    raise _damage(path, number, at, "the line has no end")
                found.torn = len(line)
                return
            yield _read_line(path, number, at, line, found)
            at += len(line)
            found.bytes += len(line)


def _open_file(path: Path) -> BinaryIO:
    """Open a file of the log; refuse links, and devices and pipes, which could block."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", path=str(path)) from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise StorageError(f"{path}: this is not a regular file", path=str(path))
    return os.fdopen(file, "rb")


def _read_line(path: Path, number: int, at: int, line: bytes, found: Read) -> list[Entry]:
    checksum, payload = line[:_CHECKSUM], line[_CHECKSUM + 1 : -1]
    if checksum != b"%08x" % zlib.crc32(payload):
        raise _damage(path, number, at, "the checksum does not match")
    try:
        entries = _decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damage(path, number, at, f"not a group of changes: {error}") from None
    for entry in entries:
        if entry.number != found.last + 1:
            reason = f"it has change {entry.number} instead of {found.last + 1}"
            raise _damage(path, number, at, reason)
        found.last += 1
    return entries


def _damage(path: Path, number: int, at: int, reason: str) -> StorageError:
    message = (
        f"{path}: line {number}, at byte {at}, is damaged: {reason}. Changes from there on cannot "
        f"be trusted; restore the file, or give them up with: truncate -s {at} {path}"
    )
    return StorageError(message, path=str(path))


def _end_of_lines(file: int, size: int) -> int:
    """The end of the last complete line."""
    end = size
    while end > 0:
        begin = max(0, end - _BLOCK)
        found = os.pread(file, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
