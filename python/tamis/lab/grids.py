"""Results as a table of texts: for tables of papers, and for the numbers behind a chart."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from tamis.lab.results import Results

Grid = list[list[str]]


def grid(results: Results) -> Grid:
    """The first row and the first column say what the others are."""
    drawing = results.experiment.drawing
    if drawing.kind == "table":
        return _cross(results, drawing.rows, drawing.columns)
    if len(results.values) == 1:
        return _cross(results, "series", "metrics")
    found: Grid = [[drawing.x_label]]
    for series in results.experiment.series:
        for place, metric in enumerate(drawing.metrics):
            found[0].append(series.label if place == 0 else f"{series.label}, {metric.label}")
    for value in range(len(results.values)):
        row = [results.name(value)]
        for series in results.experiment.series:
            row += [results.text(series, value, metric) for metric in drawing.metrics]
        found.append(row)
    return found


def unit(results: Results) -> str:
    """What the numbers of a grid are, where all are the same."""
    drawing = results.experiment.drawing
    return drawing.metrics[0].label if len(drawing.metrics) == 1 else ""


def markdown(grid: Grid) -> str:
    """A table for Markdown."""
    head, *rows = (f"| {' | '.join(row)} |" for row in grid)
    rule = f"|---|{'---:|' * (len(grid[0]) - 1)}"
    return "\n".join([head, rule, *rows])


def html(grid: Grid) -> str:
    """A table for a page."""
    head, *rows = grid
    lines = ["<table>", f"<tr>{_cells('th', head)}</tr>"]
    lines += [f"<tr>{_cells('th', row[:1])}{_cells('td', row[1:])}</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)


def _cross(results: Results, rows: str, columns: str) -> Grid:
    """Values, series or metrics down, others of them across; there is one of the third."""
    experiment = results.experiment
    sides: dict[str, tuple[Sequence[Any], Callable[[Any], str]]] = {
        "values": (range(len(results.values)), results.name),
        "series": (experiment.series, lambda series: series.label),
        "metrics": (experiment.drawing.metrics, lambda metric: metric.label),
    }
    (third,) = set(sides) - {rows, columns}
    chosen = {third: sides[third][0][0]}
    (down, down_name), (across, across_name) = sides[rows], sides[columns]
    corner = experiment.drawing.x_label if rows == "values" else ""
    found: Grid = [[corner, *map(across_name, across)]]
    for one in down:
        row = [down_name(one)]
        for other in across:
            at = chosen | {rows: one, columns: other}
            row.append(results.text(at["series"], at["values"], at["metrics"]))
        found.append(row)
    return found
