"""Where are the files of an index?

In a folder of any filesystem that Arrow opens (local, HDFS, S3, GCS, Azure) or fsspec does. This
module knows files and nothing of what they hold.
"""

import contextlib
import errno
import functools
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import fs

from tamis.errors import StorageError
from tamis.storage import conditional

T = TypeVar("T")

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
_SPELLINGS = {"s3a": "s3", "s3n": "s3"}  # as Hadoop calls what Arrow opens
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")
_BLOCK = 1 << 22
_WORKPLACE = ".building-"
_WINDOWS = os.name == "nt"


@dataclass(frozen=True)
class File:
    """A file of a folder."""

    name: str
    size: int
    modified: datetime | None


class Folder:
    """A folder of files.

    Attributes:
        uri: Its path or URI, as a worker opens it.
        local: Its path on the local disk; None if it is elsewhere.
    """

    def __init__(self, uri: str | os.PathLike[str]) -> None:
        self.uri = os.fspath(uri)
        self.local: Path | None = None
        if _SCHEME.match(self.uri) is None:
            self.local = Path(self.uri).absolute()
            self.uri = str(self.local)
            self._files, self._root = fs.LocalFileSystem(), self.uri
        else:
            self._files, self._root = self._attempt(self.uri, lambda: _resolve(self.uri))
            if isinstance(self._files, fs.LocalFileSystem):
                self.local = Path(self._root)

    def __str__(self) -> str:
        return _CREDENTIALS.sub("", self.uri).partition("?")[0]

    def path(self, name: str) -> str:
        """What a message calls a file."""
        return f"{str(self).rstrip('/')}/{name}"

    def make(self) -> None:
        """Create the folder if it does not exist."""
        if self.local is not None:
            local = self.local
            self._attempt(str(self), lambda: _make_locally(local))
            return
        self._attempt(str(self), lambda: self._files.create_dir(self._root, recursive=True))

    def files(self) -> list[File]:
        """The regular files; none if there is no folder."""
        if self.local is not None:
            local = self.local
            return self._attempt(str(self), lambda: _list_locally(local))
        selector = fs.FileSelector(self._root, allow_not_found=True)
        found = self._attempt(str(self), lambda: self._files.get_file_info(selector))
        return [
            File(info.base_name, info.size, info.mtime)
            for info in found
            if info.type == fs.FileType.File
        ]

    def read(self, name: str) -> bytes:
        """All of a file; on a local disk, no link is followed, and no pipe or device read."""
        if self.local is not None:
            path = Path(self._inside(name))
            return self._attempt(self.path(name), lambda: _read_locally(path))

        def read() -> bytes:
            with self._files.open_input_stream(self._inside(name)) as stream:
                content: bytes = stream.read()
                return content

        return self._attempt(self.path(name), read)

    def publish(self, name: str, content: bytes) -> bool:
        """Create a file atomically; false if the name exists.

        Of two that publish one name at once, one succeeds: on a local disk, on HDFS, and in an
        object store if `obstore` is installed; see `conditional`.
        """
        if self.local is not None:
            return self._attempt(
                self.path(name), lambda: _publish_locally(self.local, name, content)
            )

        def publish() -> bool:
            created = conditional.create(_spelled(self.uri), self._files, name, content)
            if created is not None:
                if self._files.get_file_info(self._inside(name)).type == fs.FileType.NotFound:
                    raise OSError("it was written, but to another place than Arrow reads from")
                return created
            if self._files.get_file_info(self._inside(name)).type != fs.FileType.NotFound:
                return False
            temporary = f".{uuid.uuid4().hex}-{name}"
            with self._files.open_output_stream(self._inside(temporary)) as stream:
                stream.write(content)
            self._files.move(self._inside(temporary), self._inside(name))
            return True

        return self._attempt(self.path(name), publish)

    def delete_workplaces(self, before: datetime) -> list[str]:
        """Delete what tasks that were killed have left of their workplaces; returns their names."""
        if self.local is None:
            return []
        old = [
            place
            for place in self.local.glob(f"{_WORKPLACE}*")
            if not place.is_symlink() and place.stat().st_mtime < before.timestamp()
        ]
        for place in old:
            shutil.rmtree(place, ignore_errors=True)
        return [place.name for place in old]

    def workplace(self) -> "tempfile.TemporaryDirectory[str]":
        """A folder to prepare files in, on the same disk if possible."""
        return tempfile.TemporaryDirectory(
            dir=self.local, prefix=_WORKPLACE, ignore_cleanup_errors=True
        )

    def take(self, source: Path) -> None:
        """Move a finished local file into the folder, under the name it has.

        Names come from content: a file that is there already is the same file.
        """
        name = source.name
        if self.local is not None:
            target = self.local / name
            return self._attempt(self.path(name), lambda: _move(source, target))

        def upload() -> None:
            info = self._files.get_file_info(self._inside(name))
            if info.type == fs.FileType.File and info.size == source.stat().st_size:
                return
            temporary = f".{uuid.uuid4().hex}-{name}"
            with (
                source.open("rb") as read,
                self._files.open_output_stream(self._inside(temporary)) as write,
            ):
                while block := read.read(_BLOCK):
                    write.write(block)
            self._files.move(self._inside(temporary), self._inside(name))

        return self._attempt(self.path(name), upload)

    def fetch(self, name: str, target: Path) -> None:
        """Copy a file to the local disk, where it appears atomically."""

        def fetch() -> None:
            temporary = target.with_name(f".{uuid.uuid4().hex}-{target.name}")
            try:
                with (
                    self._files.open_input_stream(self._inside(name)) as read,
                    open(temporary, "xb", opener=_private) as write,
                ):
                    while block := read.read(_BLOCK):
                        write.write(block)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

        self._attempt(self.path(name), fetch)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""

        def delete() -> None:
            with contextlib.suppress(FileNotFoundError):
                self._files.delete_file(self._inside(name))

        self._attempt(self.path(name), delete)

    def _inside(self, name: str) -> str:
        if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
            message = f"{self}: {name!r} is not the name of a file in this folder"
            raise StorageError(message, path=str(self))
        return f"{self._root.rstrip('/')}/{name}"

    def _attempt(self, path: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except FileNotFoundError as error:
            raise StorageError(f"{path}: there is no such file", path=path) from error
        except StorageError:
            raise
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or _CREDENTIALS.sub("", str(error))
            raise StorageError(f"{path}: {reason}", path=path) from error


def _move(source: Path, target: Path) -> None:
    _sync(source)
    try:
        source.replace(target)
    except PermissionError:
        # Windows does not replace a file that is mapped. Its name says that it is the same.
        if not _WINDOWS or target.stat().st_size != source.stat().st_size:
            raise


def _sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk."""
    if _WINDOWS and path.is_dir():
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _private(path: str, flags: int) -> int:
    """An opener of files that only this user reads and writes."""
    return os.open(path, flags, 0o600)


def _make_locally(folder: Path) -> None:
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in reversed(new):
        _sync(path.parent)


def _list_locally(folder: Path) -> list[File]:
    try:
        with os.scandir(folder) as found:
            there = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]
    except FileNotFoundError:
        return []
    return [
        File(name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
        for name, status in there
        if stat.S_ISREG(status.st_mode)
    ]


def _read_locally(path: Path) -> bytes:
    # Without blocking, so that a pipe is refused instead of waited for. Windows has neither flag.
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        raise OSError(errno.ELOOP, "this is a link")
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, os.O_RDONLY | flags)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "this is not a regular file")
        return file.read()


def _spelled(uri: str) -> str:
    """A URI as Arrow spells it."""
    scheme = _SCHEME.match(uri)
    assert scheme is not None
    name = scheme[1].lower()
    return _SPELLINGS.get(name, name) + uri[scheme.end(1) :]


@functools.lru_cache(maxsize=64)
def _resolve(uri: str) -> tuple[Any, str]:
    try:
        files, root = fs.FileSystem.from_uri(_spelled(uri))
    except pa.ArrowInvalid as unknown:
        try:
            import fsspec

            files, root = fsspec.core.url_to_fs(uri)
        except (ModuleNotFoundError, ValueError):  # not installed, or not known there either
            raise unknown from None
        files = fs.PyFileSystem(fs.FSSpecHandler(files))
    return files, root


def _publish_locally(folder: Path | None, name: str, content: bytes) -> bool:
    assert folder is not None
    temporary = folder / f".{uuid.uuid4().hex}-{name}"
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _sync(folder)  # what the file names must be there before it
        os.link(temporary, folder / name)  # fails where there is one, which a rename would replace
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    _sync(folder)
    return True
