"""Compiles subscriptions into an index, and applies change feeds to it.

`compile` builds every shard from a table of rules, `update` only those with changes. `building` has
the common part.
"""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from tamis.errors import StorageError, SubscriptionError
from tamis.spark import building
from tamis.spark.building import Compiled
from tamis.spark.columns import column, deleted_column, subscription_columns
from tamis.spark.tables import as_frame
from tamis.storage import manifest as manifests
from tamis.storage.folder import Folder
from tamis.storage.manifest import Missing

_PER_SHARD = 500_000  # subscriptions, by default


def compile(
    subscriptions: DataFrame | str,
    path: str | PathLike[str],
    *,
    shards: int | None = None,
    strict: bool = False,
    missing: Missing = "unknown",
    time_zone: str = "UTC",
    metadata_columns: Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Compiled:
    """Compile subscriptions into a new version of an index.

    Identical rows count once. Different rows with the same id, and invalid rows, are refused: they
    are counted and returned as `errors`.

    Args:
        subscriptions: A DataFrame, or the name of a table. The columns are `id` (strings or
            integers), `expression` (text, or the JSON form) and, optionally, `metadata` (JSON, or a
            struct, map, array or variant), `weights` (weights of attributes, or of values that are
            strings: JSON such as `{"age": 2, "tags": {"new": 2.5}}`, or a struct, map or
            variant), `boost` (a factor for scores), `priority` (an integer, for
            `first`), `active_from` and `active_until` (timestamps, dates, or their texts).
        path: The folder of the index: a path, or a URI of a filesystem that Arrow or fsspec opens.
        shards: The number of shards; by default one per 500,000 subscriptions, which are counted
            first.
        strict: Whether to fail and commit nothing if a row is refused.
        missing: The truth of a predicate on an attribute without a value.
        time_zone: The zone of times without an offset, in expressions and in events. Updates do not
            change it.
        metadata_columns: The members of metadata to index, which makes `where` fast.
            Updates do not change them.
        hierarchies: Hierarchies by attribute, as in `Index.hierarchy`. Updates do not change them.
        limits: Limits on expressions, as in `tamis.Limits`.
        progress: Called from time to time, in another thread, with the number of built shards and
            the total. Not with Spark Connect, which shows its own progress bar.

    Raises:
        SubscriptionError: A column is missing or has the wrong type, or `strict` is set and a row
            is refused.
        ExpressionError: A hierarchy is invalid.
        StorageError: The folder cannot be written, or another job has committed in the meantime.
    """
    wanted = settings_of(shards, missing, time_zone, metadata_columns, hierarchies)
    rows, wanted["ids"] = rows_of(as_frame(subscriptions))
    return compile_rows(rows, Folder(path), wanted, strict, limits, progress=progress)


def settings_of(
    shards: int | None,
    missing: Missing,
    time_zone: str,
    metadata_columns: Iterable[str],
    hierarchies: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The settings in a manifest, from the arguments of `compile`."""
    if shards is not None and shards < 1:
        raise ValueError(f"shards must be at least 1, not {shards}")
    if missing not in ("unknown", "false"):
        raise ValueError(f'missing must be "unknown" or "false", not {missing!r}')
    empty = building.saved_empty(hierarchies or {}, time_zone, list(metadata_columns))
    named = ("format", "hierarchies", "metadata_columns", "time_zone")
    return {"missing": missing, "shards": shards} | {key: empty[key] for key in named}


def rows_of(subscriptions: DataFrame) -> tuple[DataFrame, str]:
    """The rows that shards are built from, with their digests, and the type of the ids."""
    columns, ids = subscription_columns(subscriptions)
    rows = subscriptions.select(*(value.alias(name) for name, value in columns.items()))
    return building.with_digests(rows), ids


def shards_for(rows: DataFrame) -> int:
    """The default number of shards for rows."""
    return max(1, -(-rows.count() // _PER_SHARD))


def compile_rows(
    rows: DataFrame,
    folder: Folder,
    settings: dict[str, Any],
    strict: bool,
    limits: Mapping[str, Any] | None,
    expected: Mapping[str, str] | None = None,
    progress: building.Progress | None = None,
    keep_some_of: int = 0,
) -> Compiled:
    """Build all shards from rows, and commit them; see `building.commit`."""
    if any(file.name == "index.json" for file in folder.files()):
        message = f"{folder}: Index.save wrote an index here; compile into another folder"
        raise StorageError(message, path=str(folder))
    there = manifests.versions(folder)
    if settings["shards"] is None:
        settings = {**settings, "shards": shards_for(rows)}
    built = building.build(rows, folder, settings, limits, progress=progress)
    version = max(there, default=0) + 1
    return building.commit(
        rows.sparkSession,
        folder,
        version,
        settings,
        built,
        strict=strict,
        expected=expected,
        keep_some_of=keep_some_of,
    )


def update(
    path: str | PathLike[str],
    changes: DataFrame,
    *,
    strict: bool = False,
    limits: Mapping[str, Any] | None = None,
) -> Compiled:
    """Apply a change feed to an index; only shards with changes are rebuilt.

    A refused change leaves the subscription as it is; a deleted id need not exist.

    Args:
        path: The folder of the index.
        changes: The columns of `compile`, and `operation`: `upsert` (or `insert`, `update`,
            `update_postimage`), `delete`, or `update_preimage`, which is ignored. If several rows
            change one id, the one with the highest `sequence` counts, if there is such a column.
        strict: Whether to fail and commit nothing if a row is refused.
        limits: Limits on expressions.

    Raises:
        SubscriptionError: A column is missing or has the wrong type, or `strict` is set and a row
            is refused.
        StorageError: There is no such index, or another job has committed in the meantime.
    """
    return apply_changes(Folder(path), changes, strict=strict, limits=limits)


def apply_changes(
    folder: Folder,
    changes: DataFrame,
    *,
    strict: bool,
    limits: Mapping[str, Any] | None,
    drop_refused: bool = False,
    source: Mapping[str, Any] | None = None,
) -> Compiled:
    """Apply changes to the current version, and commit the next.

    Args:
        folder: The folder of the index.
        changes: As in `update`.
        strict: Whether to fail if a row is refused.
        limits: Limits on expressions.
        drop_refused: Whether a refused change removes the subscription, instead of leaving it.
        source: The table that the new version follows, for its manifest.
    """
    before = manifests.read(folder)
    if before.shards is None:
        message = f"{folder}: an index of Index.save has no shards; compile it on Spark first"
        raise StorageError(message, path=str(folder))
    before.check_files()
    columns, ids = subscription_columns(changes)
    if ids != before.ids:
        message = f"the column `id` of the changes is {ids}, that of the index is {before.ids}"
        raise SubscriptionError(message)
    columns["deleted"] = deleted_column(changes)
    changes = changes.where(_is_operation())
    if "sequence" in changes.columns:
        latest = sf.rank().over(Window.partitionBy(column("id")).orderBy(column("sequence").desc()))
        changes = changes.withColumn("_tamis_rank", latest).where("_tamis_rank = 1")
    rows = changes.select(*(value.alias(name) for name, value in columns.items()))
    built = building.build(
        rows, folder, before.content, limits, previous=before.key, drop_refused=drop_refused
    )
    settings = {key: value for key, value in before.content.items() if key != "source"}
    if source is not None:
        settings["source"] = dict(source)
    return building.commit(
        changes.sparkSession,
        folder,
        before.version + 1,
        settings,
        built,
        before=before,
        strict=strict,
    )


_OPERATIONS = ("upsert", "insert", "update", "update_postimage", "delete")


def _is_operation() -> Any:
    """Drop the preimages of a change feed, and fail on unknown operations."""
    operation = sf.lower(column("operation"))
    message = sf.concat(
        sf.lit("operation must be 'upsert' or 'delete', not "),
        sf.coalesce(operation, sf.lit("null")),
    )
    known = operation.isin(*_OPERATIONS, "update_preimage")
    return sf.when(known, operation != "update_preimage").otherwise(
        sf.raise_error(message).cast("boolean")
    )
