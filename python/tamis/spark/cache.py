"""How does a worker process come by an index, or a graph?

From a local disk it is mapped where it lies. From elsewhere its files are copied to a local folder
first, where a file's name says its content: all processes of a machine, all versions and all
indexes share it, and map the same pages. A process keeps the indexes it used last.
"""

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tamis._tamis import Index
from tamis.errors import StorageError
from tamis.graph import Graph
from tamis.spark.manifest import entries
from tamis.spark.storage import Folder

T = TypeVar("T")

_GRAPH = "graph.json"  # what `Graph.save` writes
_KEPT = 8  # indexes that a process keeps open; a stream sees version after version
_LARGEST = 20 << 30  # bytes of the local folder, unless TAMIS_CACHE_BYTES says otherwise


@functools.lru_cache(maxsize=_KEPT)
def open_index(uri: str, name: str, shard: int | None) -> Index:
    """An index, or one shard of it, opened once per process.

    Args:
        uri: Its folder.
        name: The manifest.
        shard: The shard; None for all.
    """
    folder = Folder(uri)
    if folder.local is not None:
        index = Index.open(folder.local / name, shard=shard, verify=False)
    else:

        def of_shard(content: dict[str, Any]) -> list[dict[str, Any]]:
            listed = entries(content)
            return [entry for entry in listed if shard is None or entry.get("shard") == shard]

        index = _open_copy(folder, name, of_shard, functools.partial(Index.open, shard=shard))
    return index


@functools.lru_cache(maxsize=_KEPT)
def open_graph(uri: str, file: str) -> Graph:
    """A saved graph, opened once per process.

    Args:
        uri: Its folder.
        file: The file that it is.
    """
    return load_graph(Folder(uri), file)


def load_graph(folder: Folder, file: str) -> Graph:
    """The graph that was saved as a file.

    Raises:
        StorageError: It cannot be opened, or another graph was saved there meanwhile.
    """
    if folder.local is not None:
        graph = Graph.open(folder.local, verify=False)
    else:
        graph = _open_copy(folder, _GRAPH, lambda content: [content], Graph.open)
    if graph_file(folder) != file:
        message = f"{folder}: the graph was saved anew meanwhile; start again"
        raise StorageError(message, path=str(folder))
    return graph


def graph_file(folder: Folder) -> str:
    """The file of the graph that a folder has now.

    Raises:
        StorageError: It has none.
    """
    if _GRAPH not in {file.name for file in folder.files()}:
        message = f"{folder}: this is no graph: it has no {_GRAPH}"
        raise StorageError(message, path=str(folder))
    try:
        file: str = json.loads(folder.read(_GRAPH))["file"]
    except (ValueError, KeyError, TypeError) as error:
        path = folder.path(_GRAPH)
        message = f"{path}: this is no manifest of a graph, or it is damaged"
        raise StorageError(message, path=path) from error
    return file


def ids_of(graph: Graph) -> str:
    """The type of a graph's ids, as Spark calls it."""
    found = graph.match_batch(pa.table({"source": pa.nulls(0)}), sources="source")
    return "string" if pa.types.is_string(found.schema.field("node").type) else "bigint"


def _open_copy(
    folder: Folder,
    name: str,
    listed: Callable[[dict[str, Any]], list[dict[str, Any]]],
    open: Callable[..., T],
) -> T:
    """Open what a manifest names from copies of its files.

    Args:
        folder: Where it lies.
        name: The manifest.
        listed: The entries of the files that are needed.
        open: Opens a manifest, and is told whether to verify.
    """
    content = folder.read(name)
    here = cache_folder()
    here.mkdir(parents=True, exist_ok=True)
    manifest = here / f"{hashlib.sha256(content).hexdigest()}.json"
    if not manifest.exists():
        folder.fetch(name, manifest)
    files = {entry["file"]: entry.get("bytes") for entry in listed(json.loads(content))}
    new = [name for name, size in files.items() if not _is_copy(here / name, size)]
    while True:
        for file in new:
            folder.fetch(file, here / file)
        try:
            # What was just copied is read once and checked; what was there has been.
            opened = open(manifest, verify=bool(new))
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


def _is_copy(path: Path, size: int | None) -> bool:
    """Whether a copy is there; it counts as used now."""
    try:
        os.utime(path)
        return size is None or path.stat().st_size == size
    except FileNotFoundError:
        return False


def cache_folder() -> Path:
    """Where copies of files lie: `TAMIS_CACHE`, or a folder among the temporary files."""
    default = Path(tempfile.gettempdir()) / f"tamis-cache-{os.getuid()}"
    return Path(os.environ.get("TAMIS_CACHE") or default)


def _make_room(folder: Path) -> None:
    """Delete the copies used least recently; one that is mapped stays readable."""
    room = int(os.environ.get("TAMIS_CACHE_BYTES") or _LARGEST)
    copies = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process makes room as well
            status = path.stat()
            copies.append((status.st_mtime, status.st_size, path))
    for _, size, path in sorted(copies, reverse=True):
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)
