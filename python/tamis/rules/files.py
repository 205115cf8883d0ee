"""Reads rule files: regular files only, of bounded size, as UTF-8."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tamis.rules.result import RuleError

SIZE = 16 << 20


def read_text(source: str | Path) -> tuple[str, str | None]:
    """The text of a file and its name, or the given text and None.

    A `str` is taken as a path if it names an existing file, otherwise as the text of the rules.

    Raises:
        RuleError: The file cannot be read, is not a regular file, or is too large.
    """
    path = as_path(source)
    if path is None:
        return str(source), None
    return read_file(path), str(path)


def as_path(source: str | Path) -> Path | None:
    """The path that a source names; None if it is the text itself."""
    if isinstance(source, Path):
        return source
    if "\n" in source or len(source) > 4096 or "\0" in source:
        return None
    path = Path(source)
    return path if path.exists() else None


def read_file(path: Path) -> str:
    """The text of a rule file.

    Raises:
        RuleError: It cannot be read, is not a regular file, or is too large.
    """
    try:
        # Opening a pipe for reading would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RuleError(f"{path} is not a regular file")
            content = file.read(SIZE + 1)
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror or error}") from error
    if len(content) > SIZE:
        raise RuleError(f"{path} has more than {SIZE} bytes, the limit of a rule file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RuleError(f"{path} is not UTF-8: byte {error.start}") from error


def walk(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The files of a folder and its subfolders, in the order of their names.

    Symbolic links are skipped, so that nothing outside the folder is read.
    """
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if name.endswith(suffixes) and not path.is_symlink():
                yield path
