"""Accepts changes without losing any.

One thread writes. It takes all waiting changes, writes them to the log as one group, and syncs
once; then it applies them to the index and answers their clients. On start, the saved index is
opened and the log is replayed. Applying a change twice has no further effect, so a save may contain
changes that are also in the log.
"""

import asyncio
import fcntl
import gc
import os
import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

from tamis._tamis import Index
from tamis.errors import StorageError, TamisError
from tamis.serve.held import Held
from tamis.serve.log import ChangeLog, Entry, Read
from tamis.serve.logs import Log
from tamis.serve.problem import busy
from tamis.serve.settings import Settings
from tamis.serve.source import Change, Source

_GROUP = 1_000  # changes that are synced together
_REPLAYED = 1_000_000  # subscriptions that are added together on start


@dataclass(slots=True)
class Waiting:
    """A waiting change, and its client."""

    change: Change
    told: "asyncio.Future[str]"
    error: Exception | None = None


class Own(Source):
    """Serves an index that only this process changes.

    Args:
        folder: A local folder; created if it does not exist.
        settings: The server's settings.
        log: The log.

    Raises:
        StorageError: Another process owns it, or it cannot be read.
    """

    mode = "own"

    def __init__(self, folder: str | PathLike[str], settings: Settings, log: Log) -> None:
        self._folder = _local(folder)
        self._settings = settings
        self._log = log
        self._lock = _lock(self._folder)
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._pending = 0
        self._trouble: str | None = None
        self._folding: threading.Thread | None = None
        self._thread = threading.Thread(target=self._write, name="tamis-writer", daemon=True)
        self._publish: Callable[[Held], None]
        self._loop: asyncio.AbstractEventLoop
        began = perf_counter()
        self._changes = ChangeLog(self._folder / "changes")
        found = Read()
        collecting = gc.isenabled()
        try:
            self._index = _open(self._folder, copy=settings.copy)
            gc.disable()  # no change is garbage, and traversing a million of them takes seconds
            count = self._replay(found)
        except BaseException:
            self._changes.close()
            os.close(self._lock)
            raise
        finally:
            if collecting:
                gc.enable()
        self._number = found.last
        self.held = Held(self._index, str(self._number))
        self._log.write(
            "info",
            "replay",
            changes=count,
            bytes=found.bytes,
            torn=found.torn,
            subscriptions=len(self._index),
            seconds=round(perf_counter() - began, 3),
        )

    def _replay(self, found: Read) -> int:
        """Replay the log, and continue writing to it; returns the number of its changes."""
        if not self._changes.files():
            self._changes.begin(1)
            return 0
        count = 0
        pending = Pending()
        last: list[Entry] = []
        for group in self._changes.read(found):
            void = {number for entry in group for number in entry.voids}
            pending.take(entry for entry in last if entry.number not in void)
            if len(pending.puts) > _REPLAYED:
                self._apply(pending)
                pending = Pending()
            last = group
            count += len(group)
        self._apply(pending)
        # Changes in the last group that cannot be applied were never acknowledged.
        void = {entry.number for entry, _ in apply(self._index, last)}
        self._changes.resume(count)  # perhaps none of them is saved yet
        if void:
            found.last += 1
            self._changes.append([Entry(found.last, [], [], sorted(void))])
        return count

    def _apply(self, pending: "Pending") -> None:
        """Apply acknowledged changes, which must succeed."""
        try:
            pending.apply(self._index)
        except TamisError as error:
            number = pending.numbers[error.item or 0]
            message = (
                f"{self._folder}: change {number} of the log cannot be applied: {error.message}. "
                "Was it written by another version of Tamis?"
            )
            raise StorageError(message, path=str(self._folder)) from error

    def start(self, publish: Callable[[Held], None]) -> None:
        """Start accepting changes."""
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Finish the waiting changes, accept no more, and save the index if the log has any."""
        healthy = self._trouble is None
        self._trouble = "the server is stopping"
        if self._thread.is_alive():
            self._waiting.put(None)
            await asyncio.to_thread(self._thread.join)
        if self._folding is not None:
            await asyncio.to_thread(self._folding.join)
        if healthy and self._changes.changes:
            self._fold()
            if self._folding is not None:
                await asyncio.to_thread(self._folding.join)
        self._changes.close()
        os.close(self._lock)

    async def change(self, change: Change) -> str:
        """Make a change and sync it to disk; returns the version that contains it.

        Raises:
            TamisError: It cannot be applied.
            RequestError: Too many changes are waiting.
        """
        if self._pending >= self._settings.bounds.requests:
            raise busy(f"{self._pending} changes are waiting to be written")
        told: asyncio.Future[str] = self._loop.create_future()
        self._pending += 1
        self._waiting.put(Waiting(change, told))
        return await told

    @property
    def trouble(self) -> str | None:
        """Why no changes are accepted."""
        return self._trouble

    def stats(self) -> dict[str, Any]:
        """Figures about the source."""
        return {
            "mode": self.mode,
            "folder": str(self._folder),
            "changes": self._number,
            "unfolded": self._changes.changes,
            "complaint": self._trouble,
        }

    def _write(self) -> None:
        """The writer's thread."""
        ended = False
        while not ended:
            group: list[Waiting] = []
            waiting = self._waiting.get()
            while waiting is not None:
                group.append(waiting)
                if len(group) == _GROUP:
                    break
                try:
                    waiting = self._waiting.get_nowait()
                except queue.Empty:
                    break
            ended = waiting is None
            if group:
                try:
                    self._commit(group)
                except Exception as error:  # the state of the disk is unknown
                    self._give_up(group, error)
                held = Held(self._index, str(self._number))
                self._loop.call_soon_threadsafe(self._tell, group, held)
                if self._changes.changes >= self._settings.fold:
                    self._fold()

    def _commit(self, group: list[Waiting]) -> None:
        if self._trouble is not None and self._trouble != "the server is stopping":
            raise StorageError(self._trouble, path=str(self._folder))
        entries = [
            Entry(self._number + at, waiting.change.puts, waiting.change.removes)
            for at, waiting in enumerate(group, 1)
        ]
        try:
            self._changes.append(entries)
        except StorageError as error:  # such as a full disk; the log is unchanged
            for waiting in group:
                waiting.error = error
            self._log.write("error", "log", message=error.message)
            return
        self._number += len(entries)
        failed = apply(self._index, entries)
        if not failed:
            return
        errors = {entry.number: error for entry, error in failed}
        for entry, waiting in zip(entries, group, strict=True):
            waiting.error = errors.get(entry.number)
        self._number += 1
        self._changes.append([Entry(self._number, [], [], sorted(errors))])

    def _give_up(self, group: list[Waiting], error: Exception) -> None:
        self._trouble = f"the log cannot be written any more: {error}"
        self._log.fault("log", error)
        for waiting in group:
            waiting.error = StorageError(self._trouble, path=str(self._folder))

    def _tell(self, group: list[Waiting], held: Held) -> None:
        """Answer clients, on the loop's thread."""
        self.held = held
        self._publish(held)
        self._pending -= len(group)
        for waiting in group:
            if waiting.told.done():  # its client disconnected
                continue
            if waiting.error is not None:
                waiting.told.set_exception(waiting.error)
            else:
                waiting.told.set_result(held.version)

    def _fold(self) -> None:
        """Start a new log file, save the index, and delete obsolete files."""
        if self._folding is not None and self._folding.is_alive():
            return
        first = self._number + 1
        try:
            self._changes.begin(first)
        except OSError as error:
            self._log.write("error", "fold", message=str(error))
            return
        self._folding = threading.Thread(target=self._save, args=(first,), name="tamis-folder")
        self._folding.start()

    def _save(self, first: int) -> None:
        began = perf_counter()
        try:
            self._index.save(self._folder)
            self._changes.forget(first)
        except OSError as error:  # the log contains everything, so nothing is lost
            self._log.write("error", "fold", message=str(error))
            return
        seconds = round(perf_counter() - began, 3)
        self._log.write("info", "fold", changes=first - 1, seconds=seconds)


class Pending:
    """The net effect of changes: later ones replace earlier ones."""

    def __init__(self) -> None:
        self.puts: dict[str | int, tuple[int, dict[str, Any]]] = {}
        self._removes: dict[str | int, None] = {}

    @property
    def numbers(self) -> list[int]:
        """The numbers of the changes that add subscriptions, in the order of addition."""
        return [number for number, _ in self.puts.values()]

    def take(self, entries: Iterable[Entry]) -> None:
        """Add changes, in order."""
        puts, removes = self.puts, self._removes
        for entry in entries:
            for put in entry.puts:
                id = put["id"]
                puts.pop(id, None)  # ordered by the last addition
                puts[id] = entry.number, put
                removes.pop(id, None)
            for id in entry.removes:
                puts.pop(id, None)
                removes[id] = None

    def apply(self, index: Index) -> None:
        """Apply the changes.

        Raises:
            TamisError: One is invalid, and nothing is added.
        """
        _change(index, [put for _, put in self.puts.values()], self._removes)


def apply(index: Index, entries: list[Entry]) -> list[tuple[Entry, TamisError]]:
    """Apply changes to an index; returns those that cannot be applied and have no effect."""
    pending = Pending()
    pending.take(entries)
    try:
        pending.apply(index)
    except TamisError as error:
        if len(entries) == 1:
            return [(entries[0], error)]
        return [failed for entry in entries for failed in apply(index, [entry])]
    return []


def _change(index: Index, puts: list[dict[str, Any]], removes: Iterable[str | int]) -> None:
    if len(puts) == 1:
        index.add(**puts[0])
    elif puts:
        index.add_many(puts)
    for id in removes:
        if id in index:
            index.remove(id)


def _open(folder: Path, *, copy: bool) -> Index:
    names = {path.name for path in folder.iterdir()}
    if any(name.startswith("index-") and name.endswith(".json") for name in names):
        message = f"{folder}: this index has versions that Spark commits; serve it without --own"
        raise StorageError(message, path=str(folder))
    if "index.json" in names:
        return Index.open(folder, copy=copy)
    if names & {"graph.json", "filter.json"}:
        message = f"{folder}: only an index can be owned; serve this without --own"
        raise StorageError(message, path=str(folder))
    return Index()


def _local(folder: str | PathLike[str]) -> Path:
    if "://" in os.fspath(folder):
        message = f"{folder}: only a local folder can be owned"
        raise StorageError(message, path=str(folder))
    path = Path(folder).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", path=str(path)) from error
    return path


def _lock(folder: Path) -> int:
    """A lock on a folder that this process holds until it exits."""
    path = folder / ".serve.lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", path=str(path)) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with suppress(OSError):
            os.close(file)
        message = f"{folder}: another server owns this folder"
        raise StorageError(message, path=str(path)) from None
    os.truncate(file, 0)
    os.write(file, str(os.getpid()).encode())  # this process may save
    return file
