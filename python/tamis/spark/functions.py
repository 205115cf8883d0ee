"""Matches subscriptions inside SQL queries.

    ts.register(spark, names={"campaigns": "s3://bucket/campaigns"})
    spark.sql("select *, tamis_match(struct(*), 'campaigns') as hits from events")

The driver resolves the name of an index to a version once, so that all tasks of a query use the
same one. `evaluating` runs on the workers.
"""

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from os import PathLike
from typing import Any, Literal

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tamis.errors import StorageError
from tamis.spark.columns import Moment, moment
from tamis.spark.evaluating import ARGUMENTS, Function, Pinned, call
from tamis.spark.matching import what_it_says
from tamis.spark.shipping import shipped
from tamis.spark.tables import TABLE_NAME
from tamis.storage import manifest as manifests
from tamis.storage.folder import Folder
from tamis.storage.manifest import Manifest

Path = str | PathLike[str]

_function: Any = arrow_udf  # the stubs require annotations, which this function must not have


def register(
    spark: SparkSession,
    names: Mapping[str, Path | tuple[Path, int]] | None = None,
    *,
    ids: Literal["string", "bigint"] | None = None,
    now: datetime | None = None,
    prefix: str = "tamis_",
) -> list[str]:
    """Add the functions of Tamis to the SQL of a session.

    - `tamis_match(event, index)`: the ids of the subscriptions that the event matches.
    - `tamis_top(event, index, n)`: the best, as structs of `subscription` and `score`.
    - `tamis_first(event, index)`: the id of the highest priority.
    - `tamis_explain(event, index, id)`: why the event matches the subscription, or not.
    - `tamis_error(event, index)`: why the event cannot be read; null if it can.
    - `tamis_matches(event, index)`, a table function: a row per match, with the id. With a `TABLE`
      argument for `event`, every row of the table is an event and comes out with each id.

    An event is a struct, a map, a variant, or JSON as string or binary. An index is one of `names`,
    or a path. All but `tamis_error` return null for an event that cannot be read.

    `now => current_timestamp()` sets `now()`, and `where => 'tenant = 1'` restricts the
    subscriptions; both are optional.

    Args:
        spark: The session; Spark Connect is supported.
        names: The names of indexes in queries, each with a path, or a path and a version. Queries
            use the version that is current now, until functions are registered again. A path in a
            query means the version that is current when a task begins. Give all names in one call:
            another call with the same prefix replaces the functions and forgets earlier names.
        ids: The type of the returned ids. By default, that of all named indexes if they agree, and
            otherwise strings.
        now: The value of `now()` if a query does not set it; by default, the time of this call.
        prefix: The prefix of the function names.

    Returns:
        The names of the functions.

    Raises:
        StorageError: There is no such index or version, or its ids are not of the type `ids`.
    """
    if ids not in (None, "string", "bigint"):
        raise ValueError(f'ids must be "string" or "bigint", not {ids!r}')
    indexes = {name: _read(place) for name, place in (names or {}).items()}
    types = {_ids(index) for index in indexes.values()}
    if ids == "bigint" and "string" in types:
        wrong = next(name for name, index in indexes.items() if _ids(index) == "string")
        raise ValueError(f"the ids of {wrong!r} are strings, not integers")
    chosen = ids or (types.pop() if len(types) == 1 else "string")
    pinned = Pinned(
        {name: (index.folder.uri, index.key) for name, index in indexes.items()},
        chosen,
        now or datetime.now(UTC),
    )
    registered = list[str]()
    for function in ARGUMENTS:
        udf = _function(_task(function, pinned), _result(function, chosen))
        spark.udf.register(f"{prefix}{function}", udf)
        registered.append(f"{prefix}{function}")
    spark.udtf.register(f"{prefix}matches", _table_function(pinned))
    return [*registered, f"{prefix}matches"]


def match_column(
    index: Path,
    event: Column | str | None = None,
    *,
    where: str | None = None,
    version: int | None = None,
    now: Moment | None = None,
) -> Column:
    """The ids of the subscriptions that each event matches, as a column.

    Works wherever columns do: `events.select("*", match_column(path).alias("hits"))`, in a stream,
    too. It is null for an event that cannot be read; `error_column` says why.

    Args:
        index: The folder of the index.
        event: The events: a struct, a map, a variant, or JSON as string or binary; or the name of
            such a column. By default all columns of the DataFrame.
        where: A condition on the metadata of subscriptions, as in `match`.
        version: The version of the index; by default the one that is current now.
        now: The value of `now()`; by default the query's `current_timestamp()`, which for a stream
            is that of the micro-batch.

    Raises:
        StorageError: There is no such index or version.
    """
    return _column("match", index, event, where, version, now)


def error_column(
    index: Path, event: Column | str | None = None, *, version: int | None = None
) -> Column:
    """Why each event cannot be read, as a column; null for those that can.

    Args:
        index: The folder of the index.
        event: The events, as in `match_column`.
        version: The version of the index; by default the one that is current now.

    Raises:
        StorageError: There is no such index or version.
    """
    return _column("error", index, event, None, version, None)


def _column(
    function: Function,
    path: Path,
    event: Column | str | None,
    where: str | None,
    version: int | None,
    now: Moment | None,
) -> Column:
    index = _read(path if version is None else (path, version))
    said = what_it_says(index, where)
    ids = "string" if isinstance(said.ids, StringType) else "bigint"
    pinned = Pinned({"": (index.folder.uri, index.key)}, ids, None)
    if event is None:
        event = sf.struct("*")
    constants = {"index": "", "where": where} if function == "match" else {"index": ""}
    task = _task(function, pinned, **constants)
    moments = {"now": moment(now)} if said.asks_now or where is not None else {}
    answered: Column = _function(task, _result(function, ids))(event, **moments)
    return answered


def _task(function: Function, pinned: Pinned, **constants: Any) -> Callable[..., Any]:
    """The function that a worker calls for each batch of arguments.

    Args:
        function: The name of the function.
        pinned: The driver's decisions.
        constants: Arguments that are the same for all events.
    """
    return shipped(functools.partial(call, function, pinned, constants))


def _table_function(pinned: Pinned) -> Any:
    """The class that Spark analyzes on the driver and runs on workers; pickled by value."""
    decided = tuple(pinned)

    class TamisMatches:
        @staticmethod
        def analyze(event: Any, index: Any, now: Any = None, where: Any = None) -> Any:
            from tamis.spark import table_function

            return table_function.analyze(decided, event, index, now, where)

        def __init__(self, analyzed: Any) -> None:
            from tamis.spark import table_function

            self._matches = table_function.Matches(analyzed)

        def eval(self, event: Any, *decided: Any, **named: Any) -> Any:  # noqa: ARG002
            yield from self._matches.eval(event)

        def terminate(self) -> Any:
            yield from self._matches.terminate()

    return sf.udtf(TamisMatches)


def _result(function: Function, ids: str) -> DataType:
    """The Spark type of a function's results."""
    id: DataType = StringType() if ids == "string" else LongType()
    if function == "match":
        return ArrayType(id)
    if function == "top":
        fields = [StructField("subscription", id), StructField("score", DoubleType())]
        return ArrayType(StructType(fields))
    return id if function == "first" else StringType()


def _read(place: Path | tuple[Path, int]) -> Manifest:
    path, version = place if isinstance(place, tuple) else (place, None)
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"SQL functions and columns take the folder of an index, not a {type(path).__name__}: "
            "compile rules first with `ts.compile(rules, path)`, and pass the path"
        )
    try:
        index = manifests.read(Folder(path), version)
    except StorageError as error:
        if isinstance(path, str) and TABLE_NAME.fullmatch(path):
            message = (
                f"{error}; if `{path}` is a table of rules, compile it first with "
                f'`ts.compile("{path}", folder)`, and pass the folder'
            )
            raise StorageError(message, path=error.path) from error
        raise
    index.check_files()
    return index


def _ids(index: Manifest) -> str:
    return "string" if isinstance(what_it_says(index).ids, StringType) else "bigint"
