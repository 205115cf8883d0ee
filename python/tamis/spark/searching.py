"""Searches a graph for the events of a DataFrame.

Every worker maps the whole graph, and events stay where they are. Batches use the version of the
graph that is current when `match_graph` is called; a stream uses the one that is current when a
micro-batch begins. `save_graph` adds a version and keeps the earlier ones, so that running
micro-batches can finish with them.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import get_args

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructField, StructType

from tamis._tamis import read_manifest
from tamis.batches import OnError
from tamis.errors import StorageError, UnknownIdError
from tamis.graph import Graph, Strategy
from tamis.spark import worker
from tamis.spark.columns import Events, Moment
from tamis.spark.matching import Output, metrics_of, what_on_error, with_errors, with_now
from tamis.spark.shipping import on_worker
from tamis.spark.worker import REFUSED, VERSION
from tamis.storage import manifest as manifests
from tamis.storage.cache import ids_of, load_graph
from tamis.storage.folder import Folder


def save_graph(graph: Graph, path: str | PathLike[str]) -> int:
    """Save a graph as a new version, which streams use from their next micro-batch on.

    Earlier versions stay until `vacuum` deletes them, so that running jobs can finish.

    Args:
        graph: The graph.
        path: A separate folder: a path, or a URI of a filesystem that Arrow or fsspec opens.

    Returns:
        The number of the version.

    Raises:
        StorageError: The folder cannot be written, `Graph.save` wrote there, or another job has
            saved a version meanwhile.
    """
    folder = Folder(path)
    if any(file.name == "graph.json" for file in folder.files()):
        message = f"{folder}: Graph.save wrote a graph here; save versions to another folder"
        raise StorageError(message, path=str(folder))
    version = max(manifests.versions(folder, "graph"), default=0) + 1
    folder.make()
    with folder.workplace() as place:
        graph.save(place)
        saved = Path(place) / "graph.json"
        content = read_manifest("graph", saved, saved.read_bytes())
        for entry in content["segments"]:
            file = Path(place) / entry["file"]
            entry["bytes"] = file.stat().st_size
            folder.take(file)
    content["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    return manifests.commit(folder, version, content, "graph").version


def node_named(path: str | PathLike[str], name: str, version: int | None = None) -> str | int:
    """The id of a node that is given as text, which may be an integer.

    Raises:
        UnknownIdError: No node has that id.
        StorageError: There is no graph.
    """
    folder = Folder(path)
    graph = load_graph(folder, manifests.read(folder, version, "graph").key)
    if name in graph:
        return name
    if name.lstrip("-").isdecimal() and int(name) in graph:
        return int(name)
    raise UnknownIdError(f"no node has the id {name!r}")


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
    version: int | None = None,
    on_error: OnError | None = None,
    now: Moment | None = None,
) -> DataFrame:
    """The nodes of a graph that each event reaches.

    Args:
        events: One column per attribute, unless `event` names the one that holds the events. A
            streaming DataFrame, too.
        path: The folder that `save_graph` or `Graph.save` wrote.
        source: The node that all events start from.
        sources: Instead, the column that holds the node that each event starts from.
        event: The column that holds the events: a struct, a map, a variant, or JSON as string or
            binary.
        keep: The columns of the events to keep in the result; all by default.
        output: `"pairs"` for a row per node, with the column `node`, or `"lists"` for a row per
            event, with the column `nodes`, in the order in which they are found.
        sinks_only: Whether to return only nodes without outgoing edges.
        strategy: The search strategy; all find the same nodes.
        version: The version of a graph that `save_graph` wrote; the current one by default.
        on_error: What to do with events that cannot be read or whose source is not a node, as in
            `match`.
        now: The value of `now()`, as in `match`.

    Raises:
        EventError: A column is missing or has the wrong type.
        UnknownIdError: No node has the source's id.
        StorageError: There is no graph, or its file is missing.
    """
    if output not in ("pairs", "lists"):
        raise ValueError(f'output must be "pairs" or "lists", not {output!r}')
    if (source is None) == (sources is None):
        raise ValueError(
            "pass `source`, a node, or `sources`, the column with the source of each event"
        )
    folder = Folder(path)
    saved = manifests.read(folder, version, "graph")
    graph = load_graph(folder, saved.key)
    if source is not None and source not in graph:
        raise UnknownIdError(f"no node has the id {source!r}")
    if strategy not in get_args(Strategy):
        raise ValueError(
            f"strategy must be one of {', '.join(get_args(Strategy))}, not {strategy!r}"
        )
    added = "nodes" if output == "lists" else "node"
    follows = events.isStreaming and version is None
    on_error = what_on_error(events, on_error)
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
    ids, current = ids_of(graph), None
    if follows:
        task = on_worker(worker.current_graph, uri=folder.uri, ids=ids)
        current = events.sparkSession.range(0, 1, 1, 1).mapInArrow(task, f"{VERSION} string")
    frame = with_now(prepared.frame, now, current)
    task = on_worker(
        worker.search_batches,
        uri=folder.uri,
        names=frame.columns,
        manifest=None if follows else saved.key,
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
    data_type: DataType = StringType() if ids == "string" else LongType()
    found = StructField(added, ArrayType(data_type) if output == "lists" else data_type)
    # mapInArrow takes the names of columns for expressions.
    plain = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    searched = plain.mapInArrow(task, StructType([*kept, *errors, found]))
    return with_errors(searched, on_error, added, metrics_of(events, str(folder)))
