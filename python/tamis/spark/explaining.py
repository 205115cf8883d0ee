"""Explains matches, row by row, for a sample."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from tamis.errors import EventError
from tamis.spark import worker
from tamis.spark.columns import Moment, column, moment, require
from tamis.spark.shipping import on_worker
from tamis.spark.tables import Rules, index_of
from tamis.spark.worker import NOW, REFUSED

_EVENT, _ID = "_tamis_event", "_tamis_id"
_RESULTS = ("subscription", "metadata", REFUSED)  # columns that are not attributes


def explain(
    events: DataFrame,
    path: Rules,
    *,
    subscription: str | int | None = None,
    event: str | None = None,
    limit: int = 20,
    version: int | None = None,
    now: Moment | None = None,
) -> DataFrame:
    """Explain which predicates of a subscription are true, false or unknown for an event.

    `now()` is the query's `current_timestamp()`, as in `match`.

    Args:
        events: Events as for `match`, or the pairs that it returns.
        path: The folder of the index, or the rules themselves.
        subscription: The id of the subscription; by default the one in the column `subscription`.
        event: The column that holds the events; by default, every column is an attribute.
        limit: The number of rows to explain.
        version: The version of the index; the current one by default.
        now: The value of `now()`, as in `match`.

    Returns:
        The rows, with the column `explanation`.

    Raises:
        EventError: A column is missing.
        StorageError: There is no such index or version.
    """
    index = index_of(events, path, version)
    index.check_files()
    if subscription is None:
        require(events, "subscription", EventError, "events to explain")
        id = column("subscription")
        events = events.where(id.isNotNull())  # null for events that could not be read
    else:
        id = sf.lit(subscription)
    if event is None:
        names = [name for name in events.columns if name not in _RESULTS]
        text = sf.to_json(sf.struct(*map(column, names)), {"ignoreNullFields": "false"})
    elif isinstance(require(events, event, EventError, "events"), (StringType, BinaryType)):
        text = column(event).cast("string")
    else:
        text = sf.to_json(column(event), {"ignoreNullFields": "false"})
    rows = events.limit(limit).withColumns({_EVENT: text, _ID: id, NOW: moment(now)})
    task = on_worker(
        worker.explain_batches, uri=index.folder.uri, manifest=index.key, names=rows.columns
    )
    fields = [StructField(field.name, field.dataType) for field in events.schema]
    plain = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
    return plain.mapInArrow(task, StructType([*fields, StructField("explanation", StringType())]))
