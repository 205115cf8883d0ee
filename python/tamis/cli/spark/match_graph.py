"""`tamis spark match-graph`: which nodes of a graph does each event of many files reach?"""

from typing import Any

from tamis.batches import OnError
from tamis.cli.output import CommandError
from tamis.cli.spark.options import Keep, run

USAGE = "Usage: tamis spark match-graph EVENTS GRAPH RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark match-graph events.jsonl exchange reached.parquet --source pub1
    tamis spark match-graph events.parquet s3://bucket/exchange out --sources publisher --sinks-only
"""


def match_graph(
    events: str,
    graph: str,
    result: str,
    /,
    *,
    source: str | None = None,
    sources: str | None = None,
    event: str | None = None,
    keep: Keep = None,
    lists: bool = False,
    sinks_only: bool = False,
    version: int | None = None,
    on_error: OnError = "raise",
) -> int:
    """Write, for every event, the nodes of a graph that it reaches.

    Args:
        events: Events, as `tamis spark match` reads them.
        graph: The folder of the graph.
        result: The folder to write, in the format of its suffix, or Parquet.
        source: The node that all events start from.
        sources: Instead, the column that holds the node that each event starts from.
        event: The column that holds the events.
        keep: The columns of the events to include; all by default.
        lists: Write one row per event instead of one per node.
        sinks_only: Write only nodes without outgoing edges.
        version: The version of the graph; the current one by default.
        on_error: What to do with an event that cannot be read or whose source is not a node:
            `raise` fails, `skip` leaves it out, `collect` writes it with the reason in
            `event_error`.
    """
    if (source is None) == (sources is None):
        raise CommandError("match-graph takes --source, a node, or --sources, a column")

    def find(frame: Any, column: str | None) -> Any:
        from tamis.spark import match_graph
        from tamis.spark.searching import node_named

        return match_graph(
            frame,
            graph,
            None if source is None else node_named(graph, source, version),
            sources=sources,
            event=event or column,
            keep=keep,
            output="lists" if lists else "pairs",
            sinks_only=sinks_only,
            version=version,
            on_error=on_error,
        )

    return run("match-graph", events, result, find)
