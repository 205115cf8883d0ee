"""Follows versions that other processes commit.

It polls the folder. A new version is opened and verified while the old one is served, and replaces
it between two requests. If it cannot be opened, the old version stays, and the log says why.
"""

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import Any

from tamis._tamis import Filter, Index
from tamis.errors import StorageError, TamisError
from tamis.graph import Graph
from tamis.serve.background import give_way
from tamis.serve.held import Held, Kind
from tamis.serve.logs import Log
from tamis.serve.metrics import Metrics
from tamis.serve.settings import Settings
from tamis.serve.source import Source
from tamis.storage import manifest as manifests
from tamis.storage.cache import FILTER, load_filter, load_graph, load_index
from tamis.storage.folder import Folder


@dataclass(frozen=True)
class Current:
    """The current version in a folder.

    Attributes:
        kind: What it is.
        version: Its name in responses.
        key: Its unique key.
    """

    kind: Kind
    version: str
    key: str


def look(folder: Folder) -> Current:
    """The current version in a folder.

    Raises:
        StorageError: It has nothing to serve.
    """
    names = {file.name for file in folder.files()}
    if FILTER in names and "index.json" not in names:
        digest = hashlib.sha256(folder.read(FILTER)).hexdigest()
        return Current("filter", digest[:12], digest)
    is_graph = "graph.json" in names or manifests.versions(folder, "graph")
    kind: manifests.Kind = "graph" if is_graph and "index.json" not in names else "index"
    manifest = manifests.read(folder, kind=kind)
    digest = manifest.key.partition("@")[2]
    version = str(manifest.version) if manifest.version else digest[:12]
    return Current(kind, version, manifest.key)


def load(folder: Folder, current: Current, *, copy: bool = False) -> Index | Graph | Filter:
    """Open the current version in a folder, through a verified copy if the folder is remote.

    Raises:
        StorageError: A file is missing or damaged, or the version has changed.
    """
    if current.kind == "index":
        return load_index(folder, current.key, copy=copy)
    if current.kind == "graph":
        return load_graph(folder, current.key)
    return load_filter(folder, folder.read(FILTER))


class Follow(Source):
    """Serves a folder, read-only, and follows what is committed to it.

    Args:
        uri: The folder.
        settings: The server's settings.
        log: The log.
        metrics: The metrics.

    Raises:
        StorageError: There is nothing to serve.
    """

    mode = "follow"

    def __init__(
        self, uri: str | PathLike[str], settings: Settings, log: Log, metrics: Metrics
    ) -> None:
        self._folder = Folder(uri)
        self._settings = settings
        self._log = log
        self._metrics = metrics
        self._opener = ThreadPoolExecutor(1, "tamis-opener", initializer=give_way)
        self._task: asyncio.Task[None] | None = None
        self._complaint: str | None = None
        self._current = look(self._folder)
        self.held = self._open(self._current)

    def _open(self, current: Current) -> Held:
        engine = load(self._folder, current, copy=self._settings.copy)
        if look(self._folder).key != current.key:
            # Only a version that is identified by its key may be named by its number.
            path = str(self._folder)
            raise StorageError(f"{path}: replaced while it was being opened", path=path)
        _warm(engine)
        return Held(engine, current.version)

    def start(self, publish: Callable[[Held], None]) -> None:
        """Start polling for other versions."""
        self._task = asyncio.get_running_loop().create_task(self._watch(publish))

    async def stop(self) -> None:
        """Stop polling."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._opener.shutdown(wait=False, cancel_futures=True)

    async def _watch(self, publish: Callable[[Held], None]) -> None:
        while True:
            await asyncio.sleep(self._settings.poll)
            try:
                await self._follow(publish)
            except TamisError as error:
                self._complain(str(error))
            except (
                Exception
            ) as error:  # a filesystem library may raise anything; keep the old version
                self._log.fault("follow", error)
                self._complain(repr(error))

    async def _follow(self, publish: Callable[[Held], None]) -> None:
        current = await asyncio.to_thread(look, self._folder)
        if current.key == self._current.key:
            self._complaint = None
            return
        loop = asyncio.get_running_loop()
        held = await loop.run_in_executor(self._opener, self._open, current)
        old, self.held, self._current = self.held, held, current
        publish(held)
        self._complaint = None
        self._metrics.swaps += 1
        self._log.write("info", "swap", version=held.version, before=old.version)
        await loop.run_in_executor(self._opener, _drop, [old])
        del old

    def _complain(self, complaint: str) -> None:
        self._metrics.swap_failures += 1
        if complaint != self._complaint:
            self._log.write("error", "follow", message=complaint, served=self.held.version)
        self._complaint = complaint

    def stats(self) -> dict[str, Any]:
        """Figures about the source."""
        return {"mode": self.mode, "folder": str(self._folder), "complaint": self._complaint}


def _warm(engine: Index | Graph | Filter) -> None:
    """Do the one-time work of the first match in advance."""
    if isinstance(engine, Index):
        engine.match({})


def _drop(last: list[Held]) -> None:
    """Free memory here instead of during a request."""
    last.clear()
