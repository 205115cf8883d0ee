"""What has changed in a Delta table since the version that an index follows?

Delta numbers the versions of a table and, if `delta.enableChangeDataFeed` is set, records the rows
that changed between two of them. We take only the ids from that feed, and the rows from the current
table. So it does not matter how often a row changed, in what order, or whether an id occurs in
several rows.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tamis.spark.columns import column

_FEED = "delta.enableChangeDataFeed"
_COLUMNS = (  # of a subscription; other names may have a meaning in a change feed
    "id",
    "expression",
    "metadata",
    "weights",
    "boost",
    "priority",
    "active_from",
    "active_until",
)


@dataclass(frozen=True)
class DeltaTable:
    """A version of a Delta table.

    Attributes:
        name: The name of the table in SQL.
        identity: The id that Delta gives the table; another table of the same name has another id.
        version: The version.
        has_feed: Whether the table has a change feed.
    """

    name: str
    identity: str
    version: int
    has_feed: bool

    @property
    def source(self) -> dict[str, Any]:
        """Its description in a manifest."""
        return {"delta": self.identity, "version": self.version}

    def read(self, spark: SparkSession) -> DataFrame:
        """The table as it is in this version."""
        return spark.read.option("versionAsOf", self.version).table(self.name)

    def changes(self, spark: SparkSession, since: int) -> DataFrame | None:
        """The changes after another version, as `update` takes them.

        Returns:
            The current rows of all ids that changed, as `upsert`, and ids that are gone, as
            `delete`; None if Delta has no record of the changes.
        """
        if not self.has_feed or not 0 <= since < self.version:
            return None
        feed = spark.read.option("readChangeFeed", "true").option("startingVersion", since + 1)
        try:
            told = feed.option("endingVersion", self.version).table(self.name)
            # Evaluate now, so that missing files of the feed raise an error here.
            ids = told.select("id").where("id is not null").distinct().localCheckpoint()
        except PySparkException:
            return None
        now = self.read(spark)
        now = now.select(*(column(name) for name in now.columns if name in _COLUMNS))
        present = now.join(ids, "id", "left_semi").withColumn("operation", sf.lit("upsert"))
        gone = ids.join(now.select("id"), "id", "left_anti")
        gone = gone.withColumn("operation", sf.lit("delete"))
        return present.unionByName(gone, allowMissingColumns=True)


def look(spark: SparkSession, name: str) -> DeltaTable | None:
    """The current version of a Delta table; None if the name is not that of a Delta table."""
    try:
        with _not_logged():
            detail = spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]
    except PySparkException:  # a view, or a session without Delta
        return None
    if detail["format"] != "delta":
        return None
    latest = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").select("version").collect()[0]
    has_feed = (detail["properties"] or {}).get(_FEED, "").lower() == "true"
    return DeltaTable(name, detail["id"], latest["version"], has_feed)


@contextmanager
def _not_logged() -> Iterator[None]:
    """Keep PySpark from logging failures of this thread, which are expected here."""
    thread, logger = threading.get_ident(), PySparkLogger.getLogger("SQLQueryContextLogger")

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)
