"""How do subscriptions become an index that workers can open?

Rows go to the shard that their id's hash names. One task per shard reads, checks and compiles its
rows into one segment file; what it refuses goes into a file of errors. The driver sees one line per
shard, and commits a version when all are there.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from tamis import errors as tamis_errors
from tamis._tamis import Index, read_manifest
from tamis.errors import StorageError, SubscriptionError, TamisError
from tamis.spark.columns import column, deleted_column, subscription_columns
from tamis.spark.shipping import on_worker
from tamis.spark.worker import BUILT, ERRORS, SHARD
from tamis.storage import manifest as manifests
from tamis.storage.folder import Folder
from tamis.storage.manifest import Manifest, Missing

_PER_SHARD = 500_000  # subscriptions, where nobody says how many shards there are
_SHOWN = 5  # errors in a message


@dataclass(frozen=True)
class Compiled:
    """What came of `compile` or `update`.

    Attributes:
        path: The folder of the index.
        version: The version that was committed.
        subscriptions: How many subscriptions it has.
        shards: How many shards it has.
        built: How many of them were built now.
        error_count: How many rows were refused.
        errors: These rows: `id`, `position` (the character of the expression, from 1), `message`,
            `expression`.
        seconds: What building took, summed over the shards.
    """

    path: str
    version: int
    subscriptions: int
    shards: int
    built: int
    error_count: int
    errors: DataFrame
    seconds: float


def compile(
    subscriptions: DataFrame,
    path: str | PathLike[str],
    *,
    shards: int | None = None,
    strict: bool = False,
    missing: Missing = "unknown",
    time_zone: str = "UTC",
    metadata_columns: Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Compiled:
    """Compile subscriptions into a new version of an index.

    Rows that are equal are one. Rows of one id that are not, and rows that cannot be used, are
    refused: they are counted, and come back as `errors`.

    Args:
        subscriptions: The columns `id` (strings or integers), `expression` (text, or the JSON form)
            and, optionally, `metadata` (JSON, or a struct, map, array or variant), `weights` (what
            attributes, or values that are strings, are worth: JSON such as `{"age": 2, "tags":
            {"new": 2.5}}`, or a struct, map or variant), `boost` (a number by which scores are
            multiplied), `priority` (an integer, for `first`), `active_from` and `active_until`
            (timestamps, dates, or their texts, between which it can match).
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

    Raises:
        SubscriptionError: A column is missing or of a wrong type, or `strict` and a row is refused.
        ExpressionError: A hierarchy is none.
        StorageError: The folder cannot be written, or another job has committed meanwhile.
    """
    if shards is not None and shards < 1:
        raise ValueError(f"shards is at least 1, not {shards}")
    if missing not in ("unknown", "false"):
        raise ValueError(f'missing is "unknown" or "false", not {missing!r}')
    columns, ids = subscription_columns(subscriptions)
    declared = list(metadata_columns)
    empty = _saved_empty(hierarchies or {}, time_zone, declared)
    folder = Folder(path)
    if any(file.name == "index.json" for file in folder.files()):
        message = f"{folder}: there is an index that Index.save wrote; compile into another folder"
        raise StorageError(message, path=str(folder))
    there = manifests.versions(folder)
    if shards is None:
        shards = max(1, -(-subscriptions.count() // _PER_SHARD))
    rows = subscriptions.select(*(value.alias(name) for name, value in columns.items()))
    built = _build(rows, folder, shards, None, missing, time_zone, declared, limits)
    content = {"missing": missing, "shards": shards, "ids": ids}
    content |= {key: empty[key] for key in ("hierarchies", "metadata_columns", "time_zone")}
    return _commit(
        subscriptions.sparkSession, folder, max(there, default=0) + 1, content, [], built, strict
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
    folder = Folder(path)
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
    built = _build(
        rows,
        folder,
        before.shards,
        before.key,
        before.missing,
        before.time_zone,
        before.content["metadata_columns"],
        limits,
    )
    touched = {row[SHARD] for row in built}
    kept = [
        {key: [entry for entry in before.content.get(key, ()) if entry["shard"] not in touched]}
        for key in manifests.LISTS
    ]
    return _commit(
        changes.sparkSession, folder, before.version + 1, before.content, kept, built, strict
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


def _build(
    rows: DataFrame,
    folder: Folder,
    shards: int,
    previous: str | None,
    missing: Missing,
    time_zone: str,
    metadata_columns: list[str],
    limits: Mapping[str, Any] | None,
) -> list[Any]:
    folder.make()
    shard = sf.pmod(sf.xxhash64(column("id")), sf.lit(shards)).cast("int")
    arguments: dict[str, Any] = {"uri": folder.uri, "previous": previous, "missing": missing}
    arguments |= {"time_zone": time_zone, "metadata_columns": metadata_columns}
    build = on_worker("build_shards", **arguments, limits=dict(limits) if limits else None)
    parts = rows.withColumn(SHARD, shard).repartitionById(shards, SHARD)
    try:
        return parts.mapInArrow(build, BUILT).collect()
    except PySparkException as error:
        raise _reveal(error) from error


def _reveal(error: PySparkException) -> Exception:
    """The error of Tamis in one of Spark, where there is one."""
    text = str(error)
    for name, message in re.findall(r"tamis\.errors\.(\w+): (.*)", text):
        kind = getattr(tamis_errors, name, None)
        if isinstance(kind, type) and issubclass(kind, TamisError):
            return kind(message)
    return error


def _commit(
    spark: SparkSession,
    folder: Folder,
    version: int,
    content: dict[str, Any],
    kept: list[dict[str, list[dict[str, Any]]]],
    built: list[Any],
    strict: bool,
) -> Compiled:
    files = sorted(row["error_file"] for row in built if row["error_file"])
    count = sum(row["errors"] for row in built)
    errors = _errors(spark, folder, files)
    if strict and count:
        examples = errors.limit(_SHOWN).collect()
        for file in files:
            folder.delete(file)
        raise SubscriptionError(_describe(count, examples))
    parts = [json.loads(row["entry"]) for row in built]
    for key in manifests.LISTS:
        listed = [entry for part in (*kept, *parts) for entry in part.get(key, ())]
        content[key] = sorted(listed, key=lambda entry: entry["shard"])
    # What a manifest says besides its files is the same for all shards.
    content = {**(parts[0] if parts else _saved_empty({}, "UTC", [])), **content}
    if any(part["format"] != content["format"] for part in parts):
        message = f"{folder}: built by another version of Tamis; compile it again instead"
        raise StorageError(message, path=str(folder))
    content |= {
        "errors": {"count": count, "files": files},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    committed: Manifest = manifests.commit(folder, version, content)
    return Compiled(
        path=folder.uri,
        version=version,
        subscriptions=committed.subscriptions,
        shards=content["shards"],
        built=len(built),
        error_count=count,
        errors=errors,
        seconds=sum(row["seconds"] for row in built),
    )


def _saved_empty(
    hierarchies: Mapping[str, Any], time_zone: str, metadata_columns: list[str]
) -> dict[str, Any]:
    """The manifest of an index with hierarchies, and without subscriptions."""
    index = Index(time_zone=time_zone, metadata_columns=metadata_columns)
    for attribute, values in hierarchies.items():
        index.hierarchy(attribute, values)
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        path = Path(folder) / "index.json"
        content = read_manifest("index", path, path.read_bytes())
        del content["checksum"]
        return content


def _errors(spark: SparkSession, folder: Folder, files: list[str]) -> DataFrame:
    names = spark.createDataFrame([(name,) for name in files], "file string")
    return names.mapInArrow(on_worker("read_errors", uri=folder.uri), ERRORS)


def _describe(count: int, examples: list[Any]) -> str:
    rows = "row" if count == 1 else "rows"
    lines = [f"{count} {rows} refused, nothing was committed"]
    lines += [f"  id {row['id']!r}: {row['message']}" for row in examples]
    return "\n".join(lines)
