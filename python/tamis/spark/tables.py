"""Finds or compiles the index for rules given as a folder, a DataFrame or a table.

If a function takes rules instead of the folder of an index, they are compiled into a folder that is
named after their content, and found there the next time. The folder is in the local cache, or in
the folder that the setting `spark.tamis.cache` names, which workers on other machines must be able
to reach.
"""

import hashlib
import logging
import os
import re
import shutil
import time
from os import PathLike
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from tamis.errors import StorageError
from tamis.storage import manifest as manifests
from tamis.storage.cache import own_folder
from tamis.storage.folder import Folder
from tamis.storage.manifest import CommitConflictError, Manifest

CACHE = "spark.tamis.cache"
"""The setting that names the folder for rules compiled on demand."""

Rules = DataFrame | str | PathLike[str]
"""The folder of an index, or the rules themselves: a DataFrame, or the name of a table."""

_log = logging.getLogger("tamis.spark")
_FILES = re.compile(r"\w+\.`[^`]+`")  # such as delta.`s3://bucket/rules`, a table without a name
TABLE_NAME = re.compile(r"\w+(\.\w+)*")  # may be the name of a table
_ATTEMPTS = 5  # if rules change while they are compiled
_KEPT = 32  # compiled rules that the local cache always keeps
_UNUSED = 24 * 3600.0  # seconds after which it evicts others


def as_frame(rules: DataFrame | str, spark: SparkSession | None = None) -> DataFrame:
    """The DataFrame itself, or that of a table."""
    if isinstance(rules, DataFrame):
        return rules
    spark = spark or SparkSession.active()
    if _FILES.fullmatch(rules) is None:
        spark.catalog.refreshTable(rules)  # Spark caches the list of a table's files
    return spark.table(rules)


def index_of(events: DataFrame, rules: Rules, version: int | None = None) -> Manifest:
    """The version of an index that events are matched with.

    Args:
        events: The events.
        rules: The folder of an index, or the rules themselves.
        version: The version of an index in a folder; the current one by default.

    Raises:
        StorageError: There is no such index or version.
        ValueError: Rules that are not in an index folder have no version, and a stream cannot
            follow them.
    """
    spark = events.sparkSession
    if not isinstance(rules, DataFrame) and not _is_table(spark, rules):
        try:
            return manifests.read(Folder(rules), version)
        except StorageError as error:
            if version is None and isinstance(rules, str) and TABLE_NAME.fullmatch(rules):
                message = f"{error}; nor is there a table `{rules}`"
                raise StorageError(message, path=error.path) from error
            raise
    if version is not None:
        raise ValueError(
            "`version` is only for an index in a folder; rules in a table have no versions"
        )
    if events.isStreaming:
        raise ValueError(
            "a stream is matched with the folder of an index, not with rules themselves: call "
            "`follow(spark, rules, path, every=10)`, which compiles them and keeps up with "
            "changes, and match with `path`; or match inside `foreachBatch`, which also takes rules"
        )
    return _compiled(as_frame(rules if isinstance(rules, DataFrame) else os.fspath(rules), spark))


def _is_table(spark: SparkSession, name: str | PathLike[str]) -> bool:
    """Whether a text names a table; a folder with an index takes precedence."""
    if not isinstance(name, str):
        return False
    if _FILES.fullmatch(name) is not None:
        return True
    if "/" in name or "\\" in name:
        return False
    there = {file.name for file in Folder(name).files()}
    if "index.json" in there or manifests.versions(Folder(name)):
        return False
    try:
        return spark.catalog.tableExists(name)
    except AnalysisException:  # not the name of a table, such as `a folder`
        return False


def _compiled(frame: DataFrame) -> Manifest:
    """Rules, compiled once per content."""
    from tamis.spark import building, compiling

    spark = frame.sparkSession
    rows, ids = compiling.rows_of(frame)
    settings = compiling.settings_of(None, "unknown", "UTC", (), None) | {"ids": ids}
    for _ in range(_ATTEMPTS):
        settings["shards"] = compiling.shards_for(rows)
        prints = building.fingerprints(rows, settings["shards"])
        content = repr((sorted(settings.items()), sorted(prints.items())))
        folder = _cached(spark, hashlib.sha256(content.encode()).hexdigest()[:40])
        if not manifests.versions(folder):
            try:
                compiling.compile_rows(rows, folder, settings, False, None, expected=prints)
            except building.RulesChangedError:
                continue
            except CommitConflictError:  # another job committed the same content first
                pass
        index = manifests.read(folder, 1)
        _warn_of_refused(index)
        return index
    raise StorageError("the rules change faster than they can be compiled; use `follow`", path="")


def _warn_of_refused(index: Manifest) -> None:
    """Log how many rules were left out, and why the first was."""
    from tamis.spark import building

    count = index.content.get("errors", {}).get("count", 0)
    if not count:
        return
    first = building.first_refused(index)
    _log.warning(
        "%d %s left out; the first has the id %r: %s\n"
        "`compile` returns all of them as `errors`, and fails with `strict=True`",
        count,
        "rule was" if count == 1 else "rules were",
        first["id"],
        first["message"],
    )


def _cached(spark: SparkSession, name: str) -> Folder:
    chosen = spark.conf.get(CACHE, "")
    if chosen:
        return Folder(f"{chosen.rstrip('/')}/{name}")
    master = spark.conf.get("spark.master", "") or ""
    if not master.startswith("local"):
        raise StorageError(
            f"rules are compiled into a folder that all workers reach: set {CACHE} to one, or "
            "compile them yourself and match with the path",
            path=CACHE,
        )
    place = own_folder() / "rules"
    place.mkdir(mode=0o700, exist_ok=True)
    here = place / name
    if here.is_dir():
        os.utime(here)
    else:
        _make_room(place)
    return Folder(here)


def _make_room(place: Path) -> None:
    """Evict compiled rules that nobody has used for a day, except the latest."""
    known = [(path.stat().st_mtime, path) for path in place.iterdir() if path.is_dir()]
    for used, path in sorted(known, reverse=True)[_KEPT:]:
        if used < time.time() - _UNUSED:
            shutil.rmtree(path, ignore_errors=True)
