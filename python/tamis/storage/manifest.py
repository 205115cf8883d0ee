"""What is an index that Spark compiled, and a graph with versions?

A folder of segment files, each named after its content, and of manifests `index-1.json`,
`index-2.json` and so on, one per version: the highest is the current one. A manifest is what
`tamis.open` reads, with more beside: which segment belongs to which shard, and what was refused.
Writing the next manifest is the commit; everything before it changes nothing that is read. Graphs
have versions in the same way, `graph-1.json` and so on.

The engine reads and writes manifests, here too: it checks their checksum, and refuses names of
files that no save gives and whatever two readers could understand differently.
"""

import hashlib
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal

from tamis._tamis import read_manifest, write_manifest
from tamis.errors import StorageError
from tamis.storage.folder import Folder

PIPELINE = 1  # the format of what this module adds to a manifest

Missing = Literal["unknown", "false"]

LISTS = ("segments", "xpaths")  # what a manifest lists files under

Kind = Literal["index", "graph"]

_NAME = re.compile(r"^(index|graph)-([0-9]+)\.json$")


class CommitConflictError(StorageError):
    """Another job has committed the version that this one wanted to."""


@dataclass(frozen=True)
class Manifest:
    """One version of an index, or of a graph.

    Attributes:
        folder: The folder of the index.
        name: The manifest's file.
        version: Its number, from 1; 0 for what `Index.save` or `Graph.save` wrote.
        content: What the file says.
        key: The manifest's file and its content: what processes keep an index open by.
    """

    folder: Folder
    name: str
    version: int
    content: dict[str, Any] = field(repr=False)
    key: str

    @property
    def segments(self) -> list[dict[str, Any]]:
        """The entries of the segment files."""
        segments: list[dict[str, Any]] = self.content["segments"]
        return segments

    @property
    def shards(self) -> int | None:
        """How many shards there are; None for an index without."""
        return self.content.get("shards")

    @property
    def missing(self) -> Missing:
        """The truth of a predicate on an attribute without a value."""
        missing: Missing = self.content["missing"]
        return missing

    @property
    def time_zone(self) -> str:
        """The zone of times without an offset."""
        return str(self.content["time_zone"])

    @property
    def subscriptions(self) -> int:
        """How many subscriptions there are."""
        return sum(segment.get("subscriptions", 0) for segment in self.segments)

    @property
    def bytes(self) -> int:
        """The bytes of the files."""
        return sum(entry.get("bytes", 0) for entry in entries(self.content))

    @property
    def ids(self) -> str | None:
        """The type of the ids: `string` or `bigint`; None if it is unknown."""
        return self.content.get("ids")

    @property
    def attributes(self) -> set[str] | None:
        """The attributes that subscriptions mention; None if they are unknown."""
        lists = [segment.get("attributes") for segment in self.segments]
        if any(attributes is None for attributes in lists):
            return None
        return {attribute for attributes in lists for attribute in attributes or ()}

    @property
    def asks_now(self) -> bool:
        """Whether matches may depend on `now()`; true where nothing says it."""
        return any(segment.get("now") is not False for segment in self.segments)

    @property
    def files(self) -> set[str]:
        """All files that belong to the version."""
        return {
            self.name,
            *(entry["file"] for entry in entries(self.content)),
            *self.content.get("errors", {}).get("files", ()),
        }

    def check_files(self) -> None:
        """Fail where a file is not there, or not of its size.

        Raises:
            StorageError: It names the file.
        """
        there = {file.name: file.size for file in self.folder.files()}
        for entry in entries(self.content):
            path = self.folder.path(entry["file"])
            size = there.get(entry["file"])
            if size is None:
                message = f"{path}: the file is missing, which version {self.version} names"
                raise StorageError(message, path=path)
            if size != entry.get("bytes", size):
                message = f"{path}: the file has {size} bytes instead of {entry['bytes']}"
                raise StorageError(message, path=path)


def entries(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of all files that a manifest lists."""
    return [entry for key in LISTS for entry in content.get(key, ())]


def name_of(version: int, kind: Kind = "index") -> str:
    """The name of a version's manifest."""
    return f"{kind}-{version}.json"


def version_of(key: str) -> int:
    """The version of a manifest, by its key; 0 for one without."""
    match = _NAME.match(key.partition("@")[0])
    return int(match[2]) if match else 0


def key_of(name: str, text: bytes) -> str:
    """The key of a manifest that says this."""
    return f"{name}@{hashlib.sha256(text).hexdigest()}"


def read_key(folder: Folder, key: str) -> bytes:
    """The text of the manifest with a key.

    Raises:
        StorageError: The folder has another manifest of that name now.
    """
    name = key.partition("@")[0]
    text = folder.read(name)
    if key_of(name, text) != key:
        path = folder.path(name)
        kind = "graph" if name.startswith("graph") else "index"
        message = f"{path}: the {kind} was replaced since this job began; start it again"
        raise StorageError(message, path=path)
    return text


def versions(folder: Folder, kind: Kind = "index") -> list[int]:
    """The versions that can be read, ascending."""
    names = (_NAME.match(file.name) for file in folder.files())
    return sorted(int(name[2]) for name in names if name and name[1] == kind)


def read(folder: Folder, version: int | None = None, kind: Kind = "index") -> Manifest:
    """A version of an index or a graph, the current one by default.

    Raises:
        StorageError: There is none, no such version, or it is of a newer format.
    """
    there = versions(folder, kind)
    if version is None and not there:
        saved = f"{kind}.json"  # what `Index.save` and `Graph.save` write, without versions
        if saved not in {file.name for file in folder.files()}:
            article = "an" if kind == "index" else "a"
            message = (
                f"{folder}: not {article} {kind}: it has neither versions nor {article} {saved}"
            )
            raise StorageError(message, path=str(folder))
        return _load(folder, saved, 0, kind)
    version = there[-1] if version is None else version
    if version not in there:
        known = f"versions {there[0]} to {there[-1]}" if there else "no versions"
        raise StorageError(
            f"{folder}: there is no version {version}, but {known}", path=str(folder)
        )
    return _load(folder, name_of(version, kind), version, kind)


def _load(folder: Folder, name: str, version: int, kind: Kind) -> Manifest:
    path = folder.path(name)
    text = folder.read(name)
    content = read_manifest(kind, path, text)
    pipeline = content.get("pipeline", PIPELINE)
    if pipeline != PIPELINE:
        message = (
            f"{path}: the pipeline's format is {pipeline}, this version of Tamis reads {PIPELINE}"
        )
        raise StorageError(message, path=path)
    if content.get("version", version) != version:
        message = f"{path}: this is the manifest of version {content['version']}"
        raise StorageError(message, path=path)
    return Manifest(folder, name, version, content, key_of(name, text))


def commit(folder: Folder, version: int, content: dict[str, Any], kind: Kind = "index") -> Manifest:
    """Make a new version the current one.

    Raises:
        CommitConflictError: Another job was faster.
    """
    # No two commits write the same manifest, so a job can recognise its own.
    content = {**content, "pipeline": PIPELINE, "version": version, "commit": uuid.uuid4().hex}
    content.pop("checksum", None)
    name = name_of(version, kind)
    members = json.dumps(content, ensure_ascii=False)
    text = write_manifest(kind, folder.path(name), members)
    if not folder.publish(name, text):
        message = (
            f"{folder}: another job has committed version {version} meanwhile; run this one again"
        )
        raise CommitConflictError(message, path=folder.path(name))
    return Manifest(folder, name, version, content, key_of(name, text))
