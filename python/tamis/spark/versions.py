"""Which versions does an index have, and which can go?"""

from datetime import UTC, datetime, timedelta
from os import PathLike

from tamis.storage import manifest as manifests
from tamis.storage.folder import File, Folder

_DAY = timedelta(days=1)


def versions(path: str | PathLike[str]) -> list[int]:
    """The versions of an index that can be read, ascending; the last is the current one."""
    return manifests.versions(Folder(path))


def vacuum(path: str | PathLike[str], *, keep: int = 1, unfinished: timedelta = _DAY) -> list[str]:
    """Delete old versions, and what jobs that did not finish have left behind.

    A job that reads a version which is deleted meanwhile fails, unless it has mapped it already.

    Args:
        path: The folder of the index.
        keep: How many versions are kept, the current one included.
        unfinished: How old a file must be that no version names; a running job has younger ones.

    Returns:
        The names of the files that were deleted.
    """
    if keep < 1:
        raise ValueError(f"keep is at least 1, not {keep}")
    folder = Folder(path)
    manifests.read(folder)  # an error where there is no index
    there = manifests.versions(folder)
    kept = [manifests.read(folder, version) for version in there[-keep:]]
    old = [manifests.read(folder, version) for version in there[:-keep]]
    named = {name for manifest in kept for name in manifest.files}
    gone = {name for manifest in old for name in manifest.files} - named
    limit = datetime.now(UTC) - unfinished
    gone |= {
        file.name for file in folder.files() if file.name not in named and _is_left(file, limit)
    }
    # Manifests first: what they name must be there as long as they are.
    ordered = sorted(gone, key=lambda name: (not name.endswith(".json"), name))
    for name in ordered:
        folder.delete(name)
    return ordered + folder.delete_workplaces(limit)


def _is_left(file: File, limit: datetime) -> bool:
    ours = file.name.startswith((".", "segment-", "xpaths-", "errors-"))
    return ours and file.modified is not None and file.modified < limit
