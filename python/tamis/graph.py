"""Graph constraints: which nodes of a graph does an event reach?

>>> import tamis
>>> graph = tamis.Graph()
>>> graph.add_node("net1", "topic in ('sports', 'finance') and age > 30")
>>> graph.add_edge("pub1", "net1")
>>> graph.add_edge("net1", "adv7", expression="adsize = '300x200'", cost=0.2)
>>> event = {"topic": "sports", "age": 35, "adsize": "300x200"}
>>> list(graph.match(event, source="pub1"))
['net1', 'adv7']
>>> print(graph.explain({"topic": "sports", "age": 25}, source="pub1", target="adv7"))
"adv7" is not reached from "pub1": every path is refused by
node "net1"
  false    and
  true       topic in ('finance', 'sports')    -- topic is 'sports'
  false      age > 30    -- age is 25
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from tamis import _tamis
from tamis.errors import GraphError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from tamis._tamis import Limits

Strategy: TypeAlias = Literal[
    "auto", "dag", "dag-skipping", "general", "general-skipping", "index", "bfs"
]

__all__ = ["Graph", "Strategy"]


class Graph(_tamis.Graph):
    """A graph of nodes and edges with expressions that you can search while it changes.

    An event starts at a source and reaches a node if every node and edge of some path accepts it.
    The source's own expression is not evaluated; the source is a result only if a cycle leads back
    to it. A node or edge without an expression accepts every event. Parallel edges are
    alternatives: one that accepts the event is enough.

    Args:
        missing: The truth of a predicate on an attribute without a value: `"unknown"` or `"false"`.
        time_zone: The zone of times without an offset, in expressions and in events.
        limits: Limits on expressions and events.
        path: The folder of a saved graph; see `open`.
        verify: Whether to check every byte of a saved graph.
        copy: Whether to copy a saved graph into memory.
    """

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        limits: Limits | None = None,
        verify: bool = True,
        copy: bool = False,
    ) -> Self:
        """Open a saved graph.

        Args:
            path: The folder it was saved into, or the manifest in it.
            limits: Limits on expressions and events.
            verify: Whether to check every byte now. Otherwise the file is only mapped, and damage
                is an error when it is read.
            copy: Whether to copy the file into memory instead of mapping it. A mapped file that
                somebody truncates kills the process with SIGBUS.
        """
        return cls(limits=limits, path=path, verify=verify, copy=copy)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the graph to a folder, which is created if it does not exist.

        It replaces the graph that was saved there before. If Spark jobs read the graph while it
        changes, save it with `tamis.spark.save_graph`.

        Raises:
            StorageError: The folder cannot be written, or holds versions.
        """
        from pathlib import Path

        there = Path(path).glob("graph-*.json")
        if any(re.fullmatch(r"graph-\d+\.json", file.name) for file in there):
            message = f"{os.fspath(path)}: the folder holds versions; save into another"
            raise StorageError(message, path=os.fspath(path))
        super().save(path)

    @classmethod
    def from_tables(
        cls,
        nodes: Any,
        edges: Any,
        *,
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
        limits: Limits | None = None,
    ) -> Self:
        """Create a graph from two tables: Arrow, Polars, pandas, DuckDB.

        Args:
            nodes: Columns `id` and, optionally, `expression`; None if the edges name all nodes.
            edges: Columns `source` and `target` and, optionally, `expression` and `cost`.
            missing: As for a new graph.
            time_zone: As for a new graph.
            limits: As for a new graph.
        """
        graph = cls(missing=missing, time_zone=time_zone, limits=limits)
        graph.add_many(_node_rows(nodes), _edge_rows(edges))
        return graph

    @classmethod
    def from_csv(
        cls,
        nodes: str | PathLike[str] | None,
        edges: str | PathLike[str],
        *,
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
        limits: Limits | None = None,
    ) -> Self:
        """Create a graph from two CSV files with the columns of `from_tables`; ids are text.

        Args:
            nodes: The file of the nodes; None if the edges name all nodes.
            edges: The file of the edges.
            missing: As for a new graph.
            time_zone: As for a new graph.
            limits: As for a new graph.
        """
        graph = cls(missing=missing, time_zone=time_zone, limits=limits)
        graph.add_many(
            () if nodes is None else _read_csv(nodes, ["id"], ["expression"]),
            _read_csv(edges, ["source", "target"], ["expression", "cost"]),
        )
        return graph

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        expression: str = "expression",
        cost: str = "cost",
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
        limits: Limits | None = None,
    ) -> Self:
        """Create a graph from a NetworkX graph; an undirected edge leads both ways.

        Args:
            graph: Any kind of NetworkX graph whose nodes are strings or integers.
            expression: The attribute of nodes and edges that holds their expression.
            cost: The attribute of edges that holds their cost.
            missing: As for a new graph.
            time_zone: As for a new graph.
            limits: As for a new graph.
        """
        ours = cls(missing=missing, time_zone=time_zone, limits=limits)
        directed = graph if graph.is_directed() else graph.to_directed()
        ours.add_many(
            ((node, found) for node, found in directed.nodes(data=expression)),
            (
                (source, target, data.get(expression), data.get(cost))
                for source, target, data in directed.edges(data=True)
            ),
        )
        return ours

    def to_networkx(self) -> Any:
        """The graph as a NetworkX `MultiDiGraph`, with attributes `expression` and `cost`."""
        import networkx

        graph = networkx.MultiDiGraph()
        for node in self:
            graph.add_node(node, expression=_text(self.expression(node)))
        for source, target, expression, cost in self.edges():
            graph.add_edge(source, target, expression=_text(expression), cost=cost)
        return graph

    def draw(
        self,
        event: Mapping[str, Any] | str | bytes | None = None,
        source: str | int | None = None,
        *,
        format: Literal["dot", "svg"] = "svg",
        most: int = 60,
    ) -> str:
        """Draw the graph, or the part around a match, as SVG or as Graphviz DOT.

        With an event and a source, the drawing marks what was reached, what refuses the event and
        what was left out. Nodes are drawn from the source outwards, or in insertion order.

        Args:
            event: The event to match.
            source: The node it starts from.
            format: `"svg"` or `"dot"`.
            most: The maximum number of nodes to draw.
        """
        if event is not None and source is None:
            message = "an event is drawn from a source: give both, or neither"
            raise GraphError(message)
        from tamis.drawing import draw_dot, draw_svg, neighbourhood

        drawers = {"svg": draw_svg, "dot": draw_dot}
        if format not in drawers:
            message = f'format is "svg" or "dot", not {format!r}'
            raise ValueError(message)
        return drawers[format](*neighbourhood(self, event, source, most))

    def __reduce__(self) -> tuple[Any, ...]:
        from tamis.pickling import reduce_graph

        return reduce_graph(self)

    def _repr_html_(self) -> str:
        from tamis.display import show_graph

        return show_graph(self)


def _text(expression: object) -> str | None:
    return None if expression is None else str(expression)


def _columns(table: Any, wanted: list[str], optional: list[str], what: str) -> Iterator[Any]:
    """The rows of an Arrow table; an absent column has no values."""
    import pyarrow

    table = pyarrow.table(table)
    lacking = [name for name in wanted if name not in table.column_names]
    if lacking:
        raise _lacking(what, lacking, table.column_names)
    columns = [
        table.column(name).to_pylist() if name in table.column_names else [None] * len(table)
        for name in [*wanted, *optional]
    ]
    return zip(*columns, strict=True)


def _node_rows(nodes: Any) -> Iterable[Any]:
    return () if nodes is None else _columns(nodes, ["id"], ["expression"], "the table of nodes")


def _edge_rows(edges: Any) -> Iterable[Any]:
    return _columns(edges, ["source", "target"], ["expression", "cost"], "the table of edges")


def _read_csv(
    path: str | PathLike[str], wanted: list[str], optional: list[str]
) -> Iterator[tuple[Any, ...]]:
    import csv
    from pathlib import Path

    with Path(path).open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        names = list(rows.fieldnames or [])
        lacking = [name for name in wanted if name not in names]
        if lacking:
            raise _lacking(str(path), lacking, names)
        for row in rows:
            cost = row.get("cost") or None
            try:
                values = {**row, "cost": None if cost is None else float(cost)}
            except ValueError:
                message = f"{path}, line {rows.line_num}: the cost {cost!r} is not a number"
                raise GraphError(message) from None
            # An empty field is no expression; ids may be empty.
            yield (
                *(values[name] if values[name] is not None else "" for name in wanted),
                *(
                    values.get(name) or None if name != "cost" else values["cost"]
                    for name in optional
                ),
            )


def _lacking(what: str, lacking: list[str], found: list[str]) -> GraphError:
    missing = ", ".join(f"`{name}`" for name in lacking)
    return GraphError(f"{what} lacks the column {missing}; it has {', '.join(found) or 'none'}")
