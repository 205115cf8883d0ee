"""Which nodes of a graph does each event of a DataFrame reach?

Every worker maps the whole graph, and events stay where they are. Batches meet the graph that is
saved when `match_graph` is called; a stream meets that which is saved when a micro-batch begins,
one for the whole micro-batch.
"""

from collections.abc import Iterable
from os import PathLike
from typing import get_args

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructField, StructType

from tamis.batches import OnError
from tamis.errors import UnknownIdError
from tamis.graph import Strategy
from tamis.spark.columns import Events
from tamis.spark.matching import Output, what_on_error, with_errors
from tamis.spark.shipping import on_worker
from tamis.spark.worker import NOW, REFUSED, VERSION
from tamis.storage.cache import graph_file, ids_of, load_graph
from tamis.storage.folder import Folder


def match_graph(
    events: DataFrame,
    path: str | PathLike[str],
    source: str | int | None = None,
    *,
    sources: str | None = None,
    event: str | None = None,
    keep: Iterable[str] | None = None,
    output: Output = "pairs",
    sinks_only: bool = False,
    strategy: Strategy = "auto",
    on_error: OnError | None = None,
) -> DataFrame:
    """The nodes of a graph that each event reaches.

    Args:
        events: One column per attribute, unless `event` names the one that holds the events. A
            streaming DataFrame, too.
        path: The folder that `Graph.save` wrote.
        source: The node that all events start from.
        sources: Instead, the column that holds the node that each event starts from.
        event: The column that holds the events: a struct, a map, a variant, or JSON as string or
            binary.
        keep: The columns of the events that come out again; all by default.
        output: `"pairs"` for a row per node, with the column `node`, or `"lists"` for a row per
            event, with the column `nodes`, in the order in which they are found.
        sinks_only: Whether only nodes that no edge leads on from are wanted.
        strategy: How the searches are driven; all find the same nodes.
        on_error: What becomes of events that cannot be read, or whose source is no node, as in
            `match`.

    Raises:
        EventError: A column is missing, or of a type that it cannot have.
        UnknownIdError: No node has the source's id.
        StorageError: There is no graph, or its file is missing.
    """
    if output not in ("pairs", "lists"):
        raise ValueError(f'output is "pairs" or "lists", not {output!r}')
    if (source is None) == (sources is None):
        raise ValueError("give `source`, a node, or `sources`, the column of each event's")
    folder = Folder(path)
    file = graph_file(folder)
    graph = load_graph(folder, file)
    if source is not None and source not in graph:
        raise UnknownIdError(f"no node has the id {source!r}")
    if strategy not in get_args(Strategy):
        raise ValueError(f"strategy is one of {', '.join(get_args(Strategy))}, not {strategy!r}")
    added = "nodes" if output == "lists" else "node"
    follows, on_error = events.isStreaming, what_on_error(events, on_error)
    errors = [StructField(REFUSED, StringType())] if on_error != "raise" else []
    prepared = Events(
        events,
        event=event,
        document=None,
        keep=keep,
        mentioned=None if graph.asks_values else set(graph.attributes),
        prune=not follows,  # a later graph may mention other attributes
        taken=[added, *(field.name for field in errors)],
        source=sources,
    )
    frame, ids = prepared.frame.withColumn(NOW, sf.current_timestamp()), ids_of(graph)
    if follows:
        task = on_worker("current_graph", uri=folder.uri, ids=ids)
        now = events.sparkSession.range(0, 1, 1, 1).mapInArrow(task, f"{VERSION} string")
        frame = frame.crossJoin(sf.broadcast(now))
    task = on_worker(
        "search_batches",
        uri=folder.uri,
        names=frame.columns,
        file=None if follows else file,
        column=prepared.column,
        attributes=prepared.attributes,
        keep=prepared.keep,
        lists=output == "lists",
        collect=bool(errors),
        searched={
            "source": source,
            "sources": prepared.source,
            "sinks_only": sinks_only,
            "strategy": strategy,
        },
    )
    kept = [StructField(name, frame.schema[name].dataType) for name in prepared.keep]
    kind: DataType = StringType() if ids == "string" else LongType()
    found = StructField(added, ArrayType(kind) if output == "lists" else kind)
    # mapInArrow takes the names of columns for expressions.
    plain = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    return with_errors(plain.mapInArrow(task, StructType([*kept, *errors, found])), on_error)
