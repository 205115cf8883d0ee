"""Lists and deletes the versions of an index or a graph."""

from datetime import UTC, datetime, timedelta
from os import PathLike
from typing import Any

from tamis.storage import manifest as manifests
from tamis.storage.folder import File, Folder

_DAY = timedelta(days=1)
_LEFT: dict[manifests.Kind, tuple[str, ...]] = {  # prefixes of files that jobs may leave behind
    "index": (".", "segment-", "xpaths-", "errors-"),
    "graph": (".", "graph-"),
}


def versions(path: str | PathLike[str]) -> list[int]:
    """The versions of an index or a graph that can be read, ascending; the last is current."""
    folder = Folder(path)
    return manifests.versions(folder, _kind(folder))


def describe(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Information about each version: `version`, `created`, `bytes`; for an index, more.

    Raises:
        StorageError: There is no index or graph.
    """
    folder = Folder(path)
    kind = _kind(folder)
    numbers = manifests.versions(folder, kind)
    found = [manifests.read(folder, version, kind) for version in numbers]
    found = found or [manifests.read(folder, kind=kind)]  # saved without versions
    return [
        {"version": one.version, "created": one.content.get("created"), "bytes": one.bytes}
        | ({"subscriptions": one.subscriptions, "shards": one.shards} if kind == "index" else {})
        for one in found
    ]


def _kind(folder: Folder) -> manifests.Kind:
    return "graph" if manifests.versions(folder, "graph") else "index"


def vacuum(path: str | PathLike[str], *, keep: int = 1, unfinished: timedelta = _DAY) -> list[str]:
    """Delete old versions and files left behind by unfinished jobs.

    A job that reads a version while it is deleted fails, unless it has already mapped the files.

    Args:
        path: The folder of an index, or of a graph that `save_graph` wrote.
        keep: The number of versions to keep, including the current one.
        unfinished: The minimum age of an unreferenced file; running jobs have younger ones.

    Returns:
        The names of the files that were deleted.
    """
    if keep < 1:
        raise ValueError(f"keep must be at least 1, not {keep}")
    folder = Folder(path)
    kind = _kind(folder)
    manifests.read(folder, kind=kind)  # raises an error if there is nothing
    there = manifests.versions(folder, kind)
    kept = [manifests.read(folder, version, kind) for version in there[-keep:]]
    old = [manifests.read(folder, version, kind) for version in there[:-keep]]
    named = {name for manifest in kept for name in manifest.files}
    gone = {name for manifest in old for name in manifest.files} - named
    limit = datetime.now(UTC) - unfinished
    gone |= {
        file.name
        for file in folder.files()
        if file.name not in named and file.name.startswith(_LEFT[kind]) and _is_old(file, limit)
    }
    # Manifests first: the files they name must exist as long as they do.
    ordered = sorted(gone, key=lambda name: (not name.endswith(".json"), name))
    for name in ordered:
        folder.delete(name)
    return ordered + folder.delete_workplaces(limit)


def _is_old(file: File, limit: datetime) -> bool:
    return file.modified is not None and file.modified < limit
