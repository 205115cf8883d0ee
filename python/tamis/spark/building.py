"""Builds shards from rows, and commits them as a version of an index.

`compile`, `update` and `follow` share this. Rows go to the shard that their id's hash names. One
task per shard builds its segment file and reports one line; the driver commits when all are there.

A shard records what it was built from: its *fingerprint* is a digest of the digests of its rows.
Spark computes the same digest of a table, so comparing two texts per shard shows which shards a
changed table affects. The task computes the digest from the rows it received, so the fingerprint
describes exactly what a shard was built from, even if the table changes meanwhile.
"""

import json
import re
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import TimestampType

from tamis import errors as tamis_errors
from tamis._tamis import Index, read_manifest
from tamis.errors import StorageError, SubscriptionError, TamisError
from tamis.spark import worker
from tamis.spark.columns import column
from tamis.spark.metrics import Metrics
from tamis.spark.shipping import on_worker
from tamis.spark.worker import BUILT, DIGEST, DIGEST_LENGTH, ERRORS, SHARD
from tamis.storage import manifest as manifests
from tamis.storage.folder import Folder
from tamis.storage.manifest import Manifest

Progress = Callable[[int, int], None]

_SHOWN = 5  # errors per message
_INTERVAL = 0.2  # seconds between progress reports


@dataclass(frozen=True)
class Compiled:
    """The result of `compile`, `update` or a round of `follow`.

    Attributes:
        path: The folder of the index.
        version: The version that was committed.
        subscriptions: The number of subscriptions.
        shards: The number of shards.
        built: The number of shards that were built now.
        built_bytes: The bytes of their files.
        error_count: The number of refused rows.
        errors: The refused rows: `id`, `position` (the character of the expression, from 1),
            `message`, `expression`.
        seconds: The time to build, summed over the shards.
    """

    path: str
    version: int
    subscriptions: int
    shards: int
    built: int
    built_bytes: int
    error_count: int
    errors: DataFrame
    seconds: float


class RulesChangedError(StorageError):
    """The rules changed while they were being built."""


# ---------------------------------------------------------------- fingerprints


def with_digests(rows: DataFrame) -> DataFrame:
    """Rows with the column `DIGEST`, equal for equal rows; a null counts as no value."""
    parts = [_part(field.name, field.dataType) for field in rows.schema]
    digest = sf.sha2(sf.concat_ws(",", *parts), 256)
    return rows.withColumn(DIGEST, sf.substring(digest, 1, DIGEST_LENGTH))


def _part(name: str, kind: Any) -> Column:
    value = column(name)
    # The text of a timestamp depends on the session's zone.
    text = sf.unix_micros(value) if isinstance(kind, TimestampType) else value
    part = sf.concat(sf.lit(f"{name}="), sf.sha2(text.cast("string"), 256))
    return sf.when(value.isNotNull(), part)


def fingerprints(rows: DataFrame, shards: int) -> dict[str, str]:
    """The fingerprint of every shard that has rows; see `worker.fingerprint`.

    Args:
        rows: With the column `DIGEST`.
        shards: The number of shards.
    """
    listed = sf.array_join(sf.sort_array(sf.collect_set(column(DIGEST))), "")
    grouped = rows.groupBy(shard_of(shards).alias(SHARD)).agg(sf.sha2(listed, 256).alias("print"))
    return {str(row[SHARD]): row["print"] for row in grouped.collect()}


def shard_of(shards: int) -> Column:
    """The shard that a row belongs to."""
    return sf.pmod(sf.xxhash64(column("id")), sf.lit(shards)).cast("int")


# ---------------------------------------------------------------- building


def build(
    rows: DataFrame,
    folder: Folder,
    settings: Mapping[str, Any],
    limits: Mapping[str, Any] | None,
    *,
    previous: str | None = None,
    only: Collection[int] | None = None,
    drop_refused: bool = False,
    progress: Progress | None = None,
) -> list[Any]:
    """Build shards from rows, and return the report of each task.

    Args:
        rows: Subscriptions or changes.
        folder: Where the files go.
        settings: The settings in the manifest.
        limits: Limits on expressions.
        previous: The key of the manifest whose subscriptions stay if rows do not change them.
        only: The shards to build; all that have rows by default.
        drop_refused: Whether a refused row also removes the subscription of `previous`.
        progress: Called from time to time with the number of built shards and the total.
    """
    folder.make()
    shards, part = settings["shards"], column(SHARD)
    parts = rows.withColumn(SHARD, shard_of(shards))
    if only is not None and len(only) < shards:
        chosen = sorted(only)
        parts = parts.where(part.isin(*chosen))
        shards, part = len(chosen), sf.array_position(sf.lit(chosen), part).cast("int") - 1
    with _shown(parts.sparkSession, progress, shards) as counting:
        with counting:
            task = on_worker(
                worker.build_shards,
                uri=folder.uri,
                previous=previous,
                missing=settings["missing"],
                time_zone=settings["time_zone"],
                metadata_columns=settings["metadata_columns"],
                limits=dict(limits) if limits else None,
                drop_refused=drop_refused,
            )
        return _collect(parts.repartitionById(shards, part).mapInArrow(task, BUILT))


@contextmanager
def _shown(
    spark: SparkSession, progress: Progress | None, shards: int
) -> Iterator[AbstractContextManager[object]]:
    """Report how many shards are built, while the block runs."""
    if progress is None:
        yield nullcontext()
        return
    try:
        metrics = Metrics(spark)
    except ValueError:  # Spark Connect shows its own progress bar
        yield nullcontext()
        return
    done = threading.Event()

    def show() -> None:
        while not done.wait(_INTERVAL):
            progress(min(metrics.rows, shards), shards)  # a task reports its shard in one row

    thread = threading.Thread(target=show, name="tamis-progress", daemon=True)
    thread.start()
    try:
        yield metrics
    finally:
        done.set()
        thread.join()
    progress(shards, shards)


def _collect(built: DataFrame) -> list[Any]:
    try:
        return built.collect()
    except PySparkException as error:
        raise _reveal(error) from error


def _reveal(error: PySparkException) -> Exception:
    """The Tamis error inside a Spark error, if there is one."""
    text = str(error)
    for name, message in re.findall(r"tamis\.errors\.(\w+): (.*)", text):
        kind = getattr(tamis_errors, name, None)
        if isinstance(kind, type) and issubclass(kind, TamisError):
            return kind(message)
    return error


# ---------------------------------------------------------------- committing


def commit(
    spark: SparkSession,
    folder: Folder,
    version: int,
    settings: dict[str, Any],
    built: list[Any],
    *,
    before: Manifest | None = None,
    dropped: Collection[int] = (),
    strict: bool = False,
    keep_errors: bool = False,
    expected: Mapping[str, str] | None = None,
    keep_some_of: int = 0,
) -> Compiled:
    """Commit the built shards, and those that stay, as a new version.

    Args:
        spark: A session.
        folder: Where the files are.
        version: The version's number.
        settings: The settings in the manifest.
        built: The reports of the tasks.
        before: The version whose other shards stay.
        dropped: Shards of it that do not stay, besides those that were built.
        strict: Whether to fail if a row was refused.
        keep_errors: Whether to count the refused rows of unchanged shards again.
        expected: The fingerprints that the shards must have.
        keep_some_of: The number of subscriptions that must not become none; 0 allows it.

    Raises:
        SubscriptionError: `strict` is set and a row was refused, or no subscription is left of
            `keep_some_of`.
        RulesChangedError: The fingerprints differ.
        StorageError: Another job has committed that version.
    """
    touched = {row[SHARD] for row in built} | set(dropped)
    refused = [(row[SHARD], row["errors"], row["error_file"]) for row in built if row["error_file"]]
    new = len(refused)
    if before is not None and keep_errors:
        refused += [error for error in _errors_of(before) if error[0] not in touched]
    count, files = sum(error[1] for error in refused), [error[2] for error in refused]
    errors = _read_errors(spark, folder, files)
    if strict and count:
        examples = errors.limit(_SHOWN).collect()
        for file in files[:new]:
            folder.delete(file)
        raise SubscriptionError(_describe(count, examples))
    parts = [json.loads(row["entry"]) for row in built]
    old = {} if before is None else before.content
    content = dict(settings)
    for key in manifests.LISTS:
        kept = [entry for entry in old.get(key, ()) if entry["shard"] not in touched]
        listed = kept + [entry for part in parts for entry in part.get(key, ())]
        content[key] = sorted(listed, key=lambda entry: entry["shard"])
    # The settings in a manifest are the same for all shards.
    content = {**(parts[0] if parts else saved_empty({}, "UTC", [])), **content}
    if keep_some_of and not any(entry.get("subscriptions") for entry in content["segments"]):
        for file in files[:new]:
            folder.delete(file)
        raise SubscriptionError(_describe_empty(keep_some_of, count))
    if any(part["format"] != content["format"] for part in parts):
        message = f"{folder}: built by another version of Tamis; compile it again instead"
        raise StorageError(message, path=str(folder))
    prints = {
        shard: text
        for shard, text in old.get("fingerprints", {}).items()
        if int(shard) not in touched
    }
    prints |= {str(row[SHARD]): row["fingerprint"] for row in built if row["fingerprint"]}
    if expected is not None and prints != expected:
        raise RulesChangedError(f"{folder}: the rules changed while they were compiled; try again")
    content |= {
        "errors": {
            "count": count,
            "files": files,
            "shards": [error[0] for error in refused],
            "counts": [error[1] for error in refused],
        },
        "fingerprints": prints,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    committed: Manifest = manifests.commit(folder, version, content)
    return Compiled(
        path=folder.uri,
        version=version,
        subscriptions=committed.subscriptions,
        shards=content["shards"],
        built=len(built),
        built_bytes=sum(entry["bytes"] for part in parts for entry in manifests.entries(part)),
        error_count=count,
        errors=errors,
        seconds=sum(row["seconds"] for row in built),
    )


def first_refused(index: Manifest) -> dict[str, Any]:
    """The first of the rows that were refused when a version was built; see `Compiled.errors`."""
    from pyarrow import BufferReader, parquet

    [name, *_] = index.content["errors"]["files"]
    file = parquet.ParquetFile(BufferReader(index.folder.read(name)))
    row: dict[str, Any] = next(file.iter_batches(batch_size=1)).to_pylist()[0]
    return row


def _errors_of(manifest: Manifest) -> list[tuple[int, int, str]]:
    """The files of refused rows: their shard, how many rows, and the name."""
    errors = manifest.content.get("errors", {})
    listed = (errors.get("shards", ()), errors.get("counts", ()), errors.get("files", ()))
    if len({len(part) for part in listed}) > 1:  # written by an earlier release
        return []
    return list(zip(*listed, strict=True))


def saved_empty(
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


def _read_errors(spark: SparkSession, folder: Folder, files: list[str]) -> DataFrame:
    names = spark.createDataFrame([(name,) for name in files], "file string")
    return names.mapInArrow(on_worker(worker.read_errors, uri=folder.uri), ERRORS)


def _describe_empty(before: int, refused: int) -> str:
    return (
        f"{'all rows of the rules are refused' if refused else 'the rules have no rows'}, and the "
        f"index has {before} {'subscription' if before == 1 else 'subscriptions'}: nothing was "
        "committed. A table without transactions is empty for a moment while it is overwritten. "
        "If no rules are meant, pass `allow_empty=True`"
    )


def _describe(count: int, examples: list[Any]) -> str:
    rows = "row" if count == 1 else "rows"
    lines = [f"{count} {rows} refused, nothing was committed"]
    lines += [f"  id {row['id']!r}: {row['message']}" for row in examples]
    return "\n".join(lines)
