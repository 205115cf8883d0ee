"""Keeps an index up to date with a table of rules.

A round compares the table with the current version and builds the shards that differ. A Delta table
knows its own version and what changed since another one. Each version of the index records what it
was built from, so a round keeps no state: it can be killed, started again, or run by two drivers at
once.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from types import TracebackType
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession

from tamis.spark import building, compiling
from tamis.spark.building import Compiled
from tamis.spark.delta import DeltaTable, look
from tamis.spark.tables import as_frame
from tamis.storage import manifest as manifests
from tamis.storage.folder import Folder
from tamis.storage.manifest import CommitConflictError, Manifest, Missing

_ATTEMPTS = 5  # if other jobs commit at the same time
_log = logging.getLogger("tamis.spark")


class Follower:
    """An index that keeps up with a table of rules.

    Attributes:
        path: The folder of the index.
        last: The result of the last round that changed something; None before the first.
        error: The error of the last background round, if it failed.
    """

    def __init__(
        self,
        spark: SparkSession,
        rules: DataFrame | str | Callable[[], DataFrame],
        folder: Folder,
        settings: dict[str, Any],
        strict: bool,
        limits: Mapping[str, Any] | None,
        allow_empty: bool,
    ) -> None:
        self.path = folder.uri
        self.last: Compiled | None = None
        self.error: Exception | None = None
        self._spark, self._rules, self._folder = spark, rules, folder
        self._settings, self._strict, self._limits = settings, strict, limits
        self._allow_empty = allow_empty
        # A version of the index, and a version of a Delta table with the same rows.
        self._same: tuple[str, DeltaTable] | None = None
        self._one_at_a_time = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def refresh(self, *, allow_empty: bool | None = None) -> Compiled | None:
        """Bring the index up to date with the table: one round.

        Args:
            allow_empty: Whether an index with subscriptions may become empty in this round; by
                default as given to `follow`.

        Returns:
            The committed version; None if nothing has changed.

        Raises:
            SubscriptionError: A column is missing or has the wrong type, `strict` is set and a
                row is refused, or no rules are left and `allow_empty` is not set; the previous
                version stays.
            StorageError: The folder cannot be written, or other jobs keep committing.
        """
        allowed = self._allow_empty if allow_empty is None else allow_empty
        with self._one_at_a_time:
            for _ in range(_ATTEMPTS - 1):
                try:
                    done = self._round(allowed)
                    break
                except CommitConflictError:  # the other job may have committed the same changes
                    continue
            else:
                done = self._round(allowed)
            self.last = done or self.last
            return done

    def _round(self, allow_empty: bool) -> Compiled | None:
        given, delta = self._rules, None
        if isinstance(given, str):
            delta = look(self._spark, given)
        if delta is not None:
            frame = delta.read(self._spark)
        else:
            frame = given() if callable(given) else as_frame(given, self._spark)
        before = manifests.read(self._folder) if manifests.versions(self._folder) else None
        rows, ids = compiling.rows_of(frame)
        wanted = self._settings | {"ids": ids}
        source = {} if delta is None else {"source": delta.source}
        # A version of a Delta table is consistent: if it is empty, that is intended.
        may_empty = allow_empty or delta is not None
        keep_some_of = 0 if may_empty or before is None else before.subscriptions
        if before is None or not _is_like(before, wanted):
            return compiling.compile_rows(
                rows,
                self._folder,
                wanted | source,
                self._strict,
                self._limits,
                keep_some_of=keep_some_of,
            )
        if delta is not None:
            if before.content.get("source") == delta.source or self._same == (before.key, delta):
                return None
            changes = _changes(self._spark, before, delta)
            if changes is not None:
                return self._apply(before, delta, changes)
        done = self._compare(before, rows, source, keep_some_of)
        if done is None and delta is not None:
            self._same = before.key, delta
        return done

    def _apply(self, before: Manifest, delta: DeltaTable, changes: DataFrame) -> Compiled | None:
        """Build the shards that a change feed touches."""
        if changes.isEmpty():  # for example after compaction
            self._same = before.key, delta
            return None
        return compiling.apply_changes(
            self._folder,
            changes,
            strict=self._strict,
            limits=self._limits,
            drop_refused=True,
            source=delta.source,
        )

    def _compare(
        self, before: Manifest, rows: DataFrame, source: Mapping[str, Any], keep_some_of: int
    ) -> Compiled | None:
        """Build the shards whose fingerprints differ from those of the rows."""
        shards = before.shards
        assert shards is not None
        now = building.fingerprints(rows, shards)
        then = before.content.get("fingerprints", {})
        named = {str(entry["shard"]) for entry in before.segments}
        touched = {shard for shard in now if then.get(shard) != now[shard]}
        gone = (then.keys() | named) - now.keys()
        if not touched and not gone:
            return None
        before.check_files()
        settings = {key: value for key, value in before.content.items() if key != "source"}
        only = {int(shard) for shard in touched}
        built = (
            building.build(rows, self._folder, settings, self._limits, only=only) if only else []
        )
        return building.commit(
            self._spark,
            self._folder,
            before.version + 1,
            {**settings, **source},
            built,
            before=before,
            dropped={int(shard) for shard in touched | gone},
            strict=self._strict,
            keep_errors=True,
            keep_some_of=keep_some_of,
        )

    def start(self, every: float) -> None:
        """Run rounds in the background until `stop`.

        A round that fails is logged and kept as `error`; the next one tries again.

        Args:
            every: Seconds between the end of a round and the next.
        """
        if every <= 0:
            raise ValueError(f"every must be more than 0 seconds, not {every}")
        if self._thread is not None:
            raise ValueError("the follower is already running")
        self._stopping.clear()
        self._thread = threading.Thread(
            target=self._run, args=(every,), name="tamis-follow", daemon=True
        )
        self._thread.start()

    def _run(self, every: float) -> None:
        while not self._stopping.wait(every):
            try:
                self.refresh()
            except Exception as error:
                self.error = error
                _log.exception("%s does not follow its rules", self._folder)
            else:
                self.error = None

    def stop(self) -> None:
        """Stop the background rounds, after the running one has finished."""
        if self._thread is not None:
            self._stopping.set()
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _changes(spark: SparkSession, before: Manifest, delta: DeltaTable) -> DataFrame | None:
    """The changes of a Delta table since a version of the index, if Delta recorded them."""
    source = before.content.get("source")
    if not isinstance(source, dict) or source.get("delta") != delta.identity:
        return None
    return delta.changes(spark, source["version"])


def _is_like(before: Manifest, wanted: Mapping[str, Any]) -> bool:
    """Whether a version was compiled with these settings; the number of shards is optional."""
    return all(
        before.content.get(key) == value
        for key, value in wanted.items()
        if not (key == "shards" and value is None)
    )


def follow(
    spark: SparkSession,
    rules: DataFrame | str | Callable[[], DataFrame],
    path: str | PathLike[str],
    *,
    every: float | None = None,
    shards: int | None = None,
    strict: bool = False,
    missing: Missing = "unknown",
    time_zone: str = "UTC",
    metadata_columns: Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    allow_empty: bool = False,
) -> Follower:
    """Keep an index up to date with a table of rules, starting now.

    After each round, the index is what `compile` would make of the table, but only shards whose
    rows have changed are built. Streams that match with `path` use a new version from their next
    micro-batch on.

    Args:
        spark: A session.
        rules: The name of a table; a DataFrame, which is evaluated anew in every round; or a
            function that returns one, since Spark lists the files of a DataFrame only once. The
            columns are those of `compile`.
        path: The folder of the index.
        every: Seconds between rounds in the background; without it, call `refresh`.
        shards: As in `compile`; by default as many as the index has.
        strict: Whether to fail and commit nothing if a row is refused.
        missing: As in `compile`. An index with another setting is compiled again.
        time_zone: As in `compile`.
        metadata_columns: As in `compile`.
        hierarchies: As in `compile`.
        limits: Limits on expressions that are built from now on.
        allow_empty: Whether an index with subscriptions may become empty. By default, a round that
            finds no rules fails and the previous version stays, because a table without
            transactions is empty for a moment while it is overwritten. An empty Delta table is
            always followed.

    Returns:
        The follower, after its first round.

    Raises:
        SubscriptionError: A column is missing or has the wrong type, `strict` is set and a row is
            refused, or no rules are left and `allow_empty` is not set.
        StorageError: The folder cannot be written.
    """
    settings = compiling.settings_of(shards, missing, time_zone, metadata_columns, hierarchies)
    follower = Follower(spark, rules, Folder(path), settings, strict, limits, allow_empty)
    follower.refresh()
    if every is not None:
        follower.start(every)
    return follower
