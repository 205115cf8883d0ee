"""How do subscriptions become an index, and how does a change feed change it?

`compile` builds every shard from a table of rules, `update` builds those that changes touch. What
they share is in `building`.
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

_PER_SHARD = 500_000  # subscriptions, where nobody says how many shards there are


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

    Rows that are equal are one. Rows of one id that are not, and rows that cannot be used, are
    refused: they are counted, and come back as `errors`.

    Args:
        subscriptions: A DataFrame, or the name of a table. The columns are `id` (strings or
            integers), `expression` (text, or the JSON form) and, optionally, `metadata` (JSON, or a
            struct, map, array or variant), `weights` (what attributes, or values that are strings,
            are worth: JSON such as `{"age": 2, "tags": {"new": 2.5}}`, or a struct, map or
            variant), `boost` (a number by which scores are multiplied), `priority` (an integer, for
            `first`), `active_from` and `active_until` (timestamps, dates, or their texts, between
            which it can match).
        path: The folder of the index: a path, or a URI of a filesystem that Arrow or fsspec opens.
        shards: How many shards there are; by default one for 500,000 subscriptions, which are
            counted first.
        strict: Fail where a row is refused, and commit nothing.
        missing: What a predicate is on an attribute without a value.
        time_zone: Where times without an offset are at home, in expressions and in events. Updates
            leave it as it is.
        metadata_columns: The members of metadata that get an index, so that `where` is fast.
            Updates leave them as they are.
        hierarchies: What lies above the values of attributes, by their names, as `Index.hierarchy`
            takes it. Updates leave it as it is.
        limits: Bounds on expressions, as `tamis.Limits` takes them.
        progress: Called now and then, in another thread, with the number of shards that are built
            and the number of all. Not with Spark Connect, which shows a bar of its own.

    Raises:
        SubscriptionError: A column is missing or of a wrong type, or `strict` and a row is refused.
        ExpressionError: A hierarchy is none.
        StorageError: The folder cannot be written, or another job has committed meanwhile.
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
    """What a manifest says besides its files, from the arguments of `compile`."""
    if shards is not None and shards < 1:
        raise ValueError(f"shards is at least 1, not {shards}")
    if missing not in ("unknown", "false"):
        raise ValueError(f'missing is "unknown" or "false", not {missing!r}')
    empty = building.saved_empty(hierarchies or {}, time_zone, list(metadata_columns))
    named = ("format", "hierarchies", "metadata_columns", "time_zone")
    return {"missing": missing, "shards": shards} | {key: empty[key] for key in named}


def rows_of(subscriptions: DataFrame) -> tuple[DataFrame, str]:
    """The rows that shards are built from, with their digests, and the type of the ids."""
    columns, ids = subscription_columns(subscriptions)
    rows = subscriptions.select(*(value.alias(name) for name, value in columns.items()))
    return building.with_digests(rows), ids


def shards_for(rows: DataFrame) -> int:
    """How many shards rows get where nobody says it."""
    return max(1, -(-rows.count() // _PER_SHARD))


def compile_rows(
    rows: DataFrame,
    folder: Folder,
    settings: dict[str, Any],
    strict: bool,
    limits: Mapping[str, Any] | None,
    expected: Mapping[str, str] | None = None,
    progress: building.Progress | None = None,
) -> Compiled:
    """Build all shards from rows, and commit them; see `building.commit`."""
    if any(file.name == "index.json" for file in folder.files()):
        message = f"{folder}: there is an index that Index.save wrote; compile into another folder"
        raise StorageError(message, path=str(folder))
    there = manifests.versions(folder)
    if settings["shards"] is None:
        settings = {**settings, "shards": shards_for(rows)}
    built = building.build(rows, folder, settings, limits, progress=progress)
    version = max(there, default=0) + 1
    return building.commit(
        rows.sparkSession, folder, version, settings, built, strict=strict, expected=expected
    )


def update(
    path: str | PathLike[str],
    changes: DataFrame,
    *,
    strict: bool = False,
    limits: Mapping[str, Any] | None = None,
) -> Compiled:
    """Apply a change feed to an index: only shards that a change touches are built again.

    A change that is refused leaves the subscription as it is; a deleted id need not be there.

    Args:
        path: The folder of the index.
        changes: The columns of `compile`, and `operation`: `upsert` (or `insert`, `update`,
            `update_postimage`), `delete`, or `update_preimage`, which is passed over. Of several
            changes of one id the one with the highest `sequence` counts, if there is that column.
        strict: Fail where a row is refused, and commit nothing.
        limits: Bounds on expressions.

    Raises:
        SubscriptionError: A column is missing or of a wrong type, or `strict` and a row is refused.
        StorageError: There is no such index, or another job has committed meanwhile.
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
        strict: Fail where a row is refused.
        limits: Bounds on expressions.
        drop_refused: Whether a refused change removes the subscription, instead of leaving it.
        source: What the new version follows, for its manifest.
    """
    before = manifests.read(folder)
    if before.shards is None:
        message = (
            f"{folder}: an index that Index.save wrote has no shards; compile it on Spark first"
        )
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
    """Passes over what a change feed says of the past, and fails on what it cannot say."""
    operation = sf.lower(column("operation"))
    message = sf.concat(
        sf.lit("operation is 'upsert' or 'delete', not "), sf.coalesce(operation, sf.lit("null"))
    )
    known = operation.isin(*_OPERATIONS, "update_preimage")
    return sf.when(known, operation != "update_preimage").otherwise(
        sf.raise_error(message).cast("boolean")
    )
