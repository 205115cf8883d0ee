"""Pictures of graphs: what an event reaches, and what refuses it."""

from __future__ import annotations

from collections import deque
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tamis import _tamis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_Id: TypeAlias = str | int
_State: TypeAlias = Literal["source", "reached", "refuses", "idle"]

_COLOURS: dict[_State, tuple[str, str]] = {
    "source": ("#cfe2ff", "#1c4e9c"),
    "reached": ("#d7f0d7", "#2a7a2a"),
    "refuses": ("#fbdcdc", "#b02a2a"),
    "idle": ("#f4f4f4", "#777777"),
}


class _Node(NamedTuple):
    id: _Id
    expression: str
    state: _State
    layer: int


class _Edge(NamedTuple):
    source: int
    target: int
    label: str
    state: _State


def neighbourhood(
    graph: _tamis.Graph,
    event: Mapping[str, Any] | str | bytes | None,
    source: _Id | None,
    most: int,
) -> tuple[list[_Node], list[_Edge]]:
    """The nodes to draw, up to a maximum, and the edges between them."""
    layers: dict[_Id, int] = {}
    if source is None:
        for node in graph:
            if len(layers) >= most:
                break
            layers[node] = 0
    else:
        graph.expression(source)  # an unknown source is an error
        layers[source] = 0
        waiting = deque([source])
        while waiting and len(layers) < most:
            node = waiting.popleft()
            for _, target, _, _ in graph.edges(node):
                if target not in layers and len(layers) < most:
                    layers[target] = layers[node] + 1
                    waiting.append(target)
    numbers = {node: number for number, node in enumerate(layers)}
    edges = [edge for node in layers for edge in graph.edges(node) if edge[1] in numbers]
    expressions = {node: graph.expression(node) for node in layers}
    reached: set[_Id] = set()
    held: set[_tamis.Expression | None] = {None}
    if event is not None and source is not None:
        reached = set(graph.match(event, source))
        index = _tamis.Index(missing=graph.missing, time_zone=graph.time_zone)
        every = [*expressions.values(), *(edge[2] for edge in edges)]
        asked = [found for found in dict.fromkeys(every) if found is not None]
        index.add_many(enumerate(asked))
        held |= {asked[number] for number in index.match(event) if isinstance(number, int)}
    begun = {source} | reached
    drawn = []
    for at, to, expression, cost in edges:
        passes: _State = "idle"
        if event is not None and at in begun:
            passes = "reached" if expression in held else "refuses"
        words = [] if expression is None else [str(expression)]
        words += [] if cost == 1 else [f"cost {cost:g}"]
        drawn.append(_Edge(numbers[at], numbers[to], ", ".join(words), passes))
    asked_nodes = {edge.target for edge in drawn if edge.state == "reached"}
    nodes = []
    for node, number in numbers.items():
        state: _State = "idle"
        if node == source:
            state = "source"
        elif node in reached:
            state = "reached"
        elif number in asked_nodes:
            state = "refuses"
        expression = expressions[node]
        text = "" if expression is None else str(expression)
        nodes.append(_Node(node, text, state, layers[node]))
    return nodes, drawn


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def draw_dot(nodes: Sequence[_Node], edges: Sequence[_Edge]) -> str:
    """The drawing as Graphviz DOT; ids that are strings and integers are kept apart."""
    lines = ["digraph {", "  rankdir=LR;", "  node [shape=box, style=filled];"]
    for number, node in enumerate(nodes):
        fill, line = _COLOURS[node.state]
        style = "filled,dashed" if node.state == "refuses" else "filled"
        lines.append(
            f"  n{number} [label={_quote(str(node.id))}, tooltip={_quote(node.expression)}, "
            f'style="{style}", fillcolor="{fill}", color="{line}"];'
        )
    for edge in edges:
        style = "dashed" if edge.state == "refuses" else "solid"
        lines.append(
            f"  n{edge.source} -> n{edge.target} [label={_quote(edge.label)}, "
            f'style={style}, color="{_COLOURS[edge.state][1]}"];'
        )
    return "\n".join([*lines, "}", ""])


_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 130, 28, 230, 48, 20


def draw_svg(nodes: Sequence[_Node], edges: Sequence[_Edge]) -> str:
    """The drawing as SVG, in layers by the distance from the source."""
    filled: dict[int, int] = {}
    places: list[tuple[int, int]] = []
    for node in nodes:
        row = filled.get(node.layer, 0)
        filled[node.layer] = row + 1
        places.append((_MARGIN + node.layer * _ACROSS, _MARGIN + row * _DOWN))
    width = 2 * _MARGIN + _WIDTH + _ACROSS * max(filled, default=0)
    height = 2 * _MARGIN + _DOWN * max(filled.values(), default=1)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    arrow = (
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777777"/></marker></defs>'
    )
    lines = [_svg_edge(edge, places[edge.source], places[edge.target]) for edge in edges]
    boxes = [_svg_node(node, place) for node, place in zip(nodes, places, strict=True)]
    return "\n".join([head, arrow, *lines, *boxes, "</svg>", ""])


def _svg_edge(edge: _Edge, source: tuple[int, int], target: tuple[int, int]) -> str:
    middle = _HEIGHT // 2
    start = (source[0] + _WIDTH, source[1] + middle)
    end = (target[0], target[1] + middle)
    bend = 50 if end[0] > start[0] else 110
    dashes = ' stroke-dasharray="5 4"' if edge.state == "refuses" else ""
    title = f"<title>{escape(_printable(edge.label))}</title>" if edge.label else ""
    return (
        f'<path class="edge {edge.state}" d="M{start[0]} {start[1]}C{start[0] + bend} {start[1]} '
        f'{end[0] - bend} {end[1]} {end[0]} {end[1]}" fill="none" '
        f'stroke="{_COLOURS[edge.state][1]}"{dashes} marker-end="url(#end)">{title}</path>'
    )


def _svg_node(node: _Node, place: tuple[int, int]) -> str:
    fill, line = _COLOURS[node.state]
    name = _printable(str(node.id))
    shown = name if len(name) <= 18 else name[:17] + "\u2026"
    dashes = ' stroke-dasharray="5 4"' if node.state == "refuses" else ""
    title = _printable(f"{name}: {node.expression}" if node.expression else name)
    return (
        f'<g class="node {node.state}" data-id={_quoted(name)}><title>{escape(title)}</title>'
        f'<rect x="{place[0]}" y="{place[1]}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" '
        f'fill="{fill}" stroke="{line}"{dashes}/>'
        f'<text x="{place[0] + _WIDTH // 2}" y="{place[1] + 18}" text-anchor="middle">'
        f"{escape(shown)}</text></g>"
    )


def _printable(text: str) -> str:
    """The text without what XML cannot hold."""
    return "".join(char if char >= " " and char not in "\ufffe\uffff" else " " for char in text)


def _quoted(text: str) -> str:
    """The text as an attribute's value; an XML reader would turn plain line ends into blanks."""
    escaped = escape(text)
    for character in "\t\n\r":
        escaped = escaped.replace(character, f"&#{ord(character)};")
    return f'"{escaped}"'
