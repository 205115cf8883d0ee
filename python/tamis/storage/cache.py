"""How does a process come by an index, or a graph?

From a local disk it is mapped in place. From elsewhere its files are copied to a local folder
first, where a file's name says its content: all processes of a machine, all versions and all
indexes share it, and map the same pages. A process keeps the indexes it used last, by the content
of their manifests: another index under the same name is another index.

Every file is verified when a process opens it. The local folder belongs to one user, and nobody
else can write to it.
"""

import contextlib
import functools
import getpass
import hashlib
import os
import stat
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tamis._tamis import Filter, Index, read_manifest
from tamis.errors import StorageError
from tamis.graph import Graph
from tamis.storage.folder import Folder
from tamis.storage.manifest import entries, read_key

T = TypeVar("T")

FILTER = "filter.json"  # what `Filter.save` writes
_KEPT = 8  # indexes that a process keeps open; a stream sees version after version
_LARGEST = 20 << 30  # bytes of the local folder, unless TAMIS_CACHE_BYTES says otherwise


@functools.lru_cache(maxsize=_KEPT)
def open_index(uri: str, key: str, shard: int | None) -> Index:
    """An index, or one shard of it, opened once per process; see `load_index`."""
    return load_index(Folder(uri), key, shard)


def load_index(folder: Folder, key: str, shard: int | None = None, *, copy: bool = False) -> Index:
    """An index, or one shard of it, that the caller alone keeps open.

    Args:
        folder: The folder of the index.
        key: The key of its manifest.
        shard: The shard; None for all.
        copy: Whether to copy its files into memory, as in `Index.open`.

    Raises:
        StorageError: A file is missing or damaged, or there is another index now.
    """
    name = key.partition("@")[0]
    text = read_key(folder, key)
    if folder.local is not None:
        index = Index.open(folder.local / name, shard=shard, copy=copy)
        read_key(folder, key)  # the same as before, so it is what was opened
        return index
    content = read_manifest("index", folder.path(name), text)
    listed = [entry for entry in entries(content) if shard is None or entry.get("shard") == shard]
    return _open_copy(folder, text, listed, functools.partial(Index.open, shard=shard, copy=copy))


@functools.lru_cache(maxsize=_KEPT)
def open_graph(uri: str, key: str) -> Graph:
    """A saved graph, opened once per process; see `load_graph`."""
    return load_graph(Folder(uri), key)


def load_graph(folder: Folder, key: str) -> Graph:
    """The graph whose manifest has this key.

    Raises:
        StorageError: It cannot be opened, or another graph took its place.
    """
    name = key.partition("@")[0]
    text = read_key(folder, key)
    if folder.local is not None:
        graph = Graph.open(folder.local / name)
        read_key(folder, key)  # the same as before, so it is what was opened
        return graph
    content = read_manifest("graph", folder.path(name), text)
    return _open_copy(folder, text, content["segments"], Graph.open)


def load_filter(folder: Folder, text: bytes) -> Filter:
    """The saved XML filters whose manifest says this.

    Raises:
        StorageError: They cannot be opened, or others were saved there meanwhile.
    """
    if folder.local is None:
        content = read_manifest("filter", folder.path(FILTER), text)
        return _open_copy(folder, text, content["filters"], Filter.open)
    filters = Filter.open(folder.local)
    if folder.read(FILTER) != text:
        message = f"{folder}: the filters were saved again meanwhile; start again"
        raise StorageError(message, path=str(folder))
    return filters


def ids_of(graph: Graph) -> str:
    """The type of a graph's ids, as Spark calls it."""
    found = graph.match_batch(pa.table({"source": pa.nulls(0)}), sources="source")
    return "string" if pa.types.is_string(found.schema.field("node").type) else "bigint"


def _open_copy(
    folder: Folder, text: bytes, listed: list[dict[str, Any]], open: Callable[[Path], T]
) -> T:
    """Open what a manifest names from copies of its files.

    Args:
        folder: The folder of the index.
        text: The manifest.
        listed: The entries of the files that are needed.
        open: Opens and verifies what a manifest names.
    """
    here = own_folder()
    manifest = here / f"{hashlib.sha256(text).hexdigest()}.json"
    files = {entry["file"]: entry.get("bytes") for entry in listed}
    new = [name for name, size in files.items() if not _is_copy(here / name, size)]
    while True:
        _write(manifest, text)
        for file in new:
            folder.fetch(file, here / file)
        try:
            opened = open(manifest)
        except StorageError:
            # Another version of Tamis may have left a copy of another format under this name.
            again = len(new) < len(files)
            for file in files if again else new:
                (here / file).unlink(missing_ok=True)
            if not again:
                raise
            new = list(files)
        else:
            if new:
                _make_room(here)
            return opened


def _write(path: Path, content: bytes) -> None:
    """Make a file appear whole, in the place of what may be there."""
    temporary = path.with_name(f".{uuid.uuid4().hex}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_copy(path: Path, size: int | None) -> bool:
    """Whether a copy is there; it counts as used now."""
    try:
        os.utime(path, follow_symlinks=False)
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and size in (None, status.st_size)


def cache_folder() -> Path:
    """The folder for copies of files: `TAMIS_CACHE`, or one among the temporary files."""
    chosen = os.environ.get("TAMIS_CACHE")
    if chosen:
        return Path(chosen).resolve()
    return Path(tempfile.gettempdir()) / f"tamis-cache-{_user()}"


def _user() -> int | str:
    """The user of this process; Windows knows no number, but a name."""
    return os.getuid() if hasattr(os, "getuid") else getpass.getuser()


def own_folder() -> Path:
    """The folder of copies, which only this user can write to.

    Raises:
        StorageError: Somebody else could have put files there.
    """
    folder = cache_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = os.lstat(folder)
    if not hasattr(os, "getuid") and stat.S_ISDIR(status.st_mode):
        return folder  # Windows: a user's temporary files are closed to others, modes say nothing
    others = stat.S_IMODE(status.st_mode) & 0o077
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != _user() or others & 0o022:
        message = (
            f"{folder}: the cache must be a folder that belongs to you and that nobody else can "
            "write to; remove it, or set TAMIS_CACHE to another"
        )
        raise StorageError(message, path=str(folder))
    if others and not os.environ.get("TAMIS_CACHE"):
        folder.chmod(0o700)
    return folder


def _make_room(folder: Path) -> None:
    """Delete the copies used least recently; one that is mapped stays readable."""
    room = int(os.environ.get("TAMIS_CACHE_BYTES") or _LARGEST)
    copies = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process makes room as well
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                copies.append((status.st_mtime, status.st_size, path))
    for _, size, path in sorted(copies, reverse=True):
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)
