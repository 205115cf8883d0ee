"""Draws results: lines over the varied parameter, bars, or dots, with one colour per matcher.

Bars must start at zero, so a logarithmic axis has dots instead.
"""

import textwrap
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.lab.cells import Metric
from tamis.lab.experiments import Series
from tamis.lab.records import Results, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_COLOURS = {
    "blue": "#0072b2",
    "orange": "#e69f00",
    "green": "#009e73",
    "red": "#d55e00",
    "purple": "#8a5a9e",
    "pink": "#cc79a7",
    "sky": "#56b4e9",
    "black": "#222222",
    "grey": "#8c8c8c",
    "brown": "#8c5a2b",
    "olive": "#8a9a00",
    "teal": "#1aa5a5",
}
_STYLES = {
    # the engine
    "auto": ("black", "*"),
    "compiled": ("black", "o"),
    "atree": ("red", "D"),
    "kindex": ("blue", "o"),
    "cnf": ("purple", "s"),
    "dewey": ("orange", "v"),
    "interval": ("green", "^"),
    "scan": ("grey", "x"),
    "tamis:Index": ("black", "o"),
    "tamis:Graph": ("black", "o"),
    "tamis.xml:Filter": ("black", "o"),
    # the papers' comparators
    "pscan": ("orange", "P"),
    "sift": ("green", "s"),
    "propagation": ("red", "^"),
    "dnf-expansion": ("purple", "s"),
    "scan-with-conjunctions": ("brown", "X"),
    "bop": ("sky", "s"),
    "bdd": ("purple", "P"),
    "translation": ("olive", "<"),
    # graphs
    "index": ("orange", "s"),
    "bfs": ("sky", "P"),
    "general": ("blue", "o"),
    "general-skipping": ("red", "^"),
    "dag": ("green", "v"),
    "dag-skipping": ("teal", "D"),
    # XML
    "yfilter": ("blue", "o"),
    "hybrid": ("orange", "s"),
    "xfilter": ("red", "^"),
    "yfilter-inline": ("purple", "v"),
    "yfilter-unsorted": ("green", "D"),
}
_LINES = ("-", "--", ":", "-.")
_APART = ("red", "blue", "green", "purple", "orange", "teal")


def style(series: Series, beside: Sequence[Series]) -> tuple[str, str, str]:
    """Colour, marker and line.

    Variants of one matcher differ in the line style and, if no other matcher has variants, in
    the colour.
    """
    same = [each.name for each in beside if each.matcher == series.matcher]
    variant = same.index(series.name)
    colour, marker = _STYLES.get(series.matcher) or _spare(series.matcher, beside)
    several = {one.matcher for one in beside if _ways(one, beside) > 1}
    if several == {series.matcher}:
        others = {_STYLES[each.matcher][0] for each in beside if each.matcher in _STYLES}
        free = [each for each in _APART if each == colour or each not in others]
        free.sort(key=lambda each: each != colour)  # its own first
        colour, marker = free[variant % len(free)], "osD^v<"[variant % 6]
    return _COLOURS[colour], marker, _LINES[variant % len(_LINES)]


def _ways(series: Series, beside: Sequence[Series]) -> int:
    return sum(each.matcher == series.matcher for each in beside)


def _spare(matcher: str, beside: Sequence[Series]) -> tuple[str, str]:
    """An unused colour for an external matcher, by its position."""
    names = dict.fromkeys(each.matcher for each in beside)
    used = {_STYLES[name][0] for name in names if name in _STYLES}
    free = [colour for colour in _COLOURS if colour not in used] or list(_COLOURS)
    place = [name for name in names if name not in _STYLES].index(matcher)
    return free[place % len(free)], "<>hp8"[place % 5]


_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",  # text stays text
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}
_METRIC_LINES = ("-", "--", ":")


def save(results: Results, folder: Path, formats: tuple[str, ...] = ("svg", "png")) -> list[Path]:
    """Draw a chart into files. The same records give the same bytes.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for suffix in formats:
        file = folder / f"{results.experiment.name.replace('/', '-')}.{suffix}"
        file.write_bytes(_encode(results, suffix))
        files.append(file)
    return files


def inline(results: Results) -> str:
    """A chart as an SVG element."""
    text = _encode(results, "svg").decode()
    return text[text.index("<svg") :]


def draw(results: Results) -> "Figure":
    """A chart of the results."""
    from matplotlib.figure import Figure

    drawing = results.experiment.drawing
    if drawing.kind == "bars" and (len(results.values) == 1 or "y" in drawing.log):
        figure = _rows(results)
    elif drawing.kind == "bars" and "y" not in drawing.log:
        panels = len(results.values)
        figure = Figure(figsize=(max(5.8, 1.3 + 2.1 * panels), 3.2), layout="constrained")
        for value, axes in enumerate(figure.subplots(1, panels, squeeze=False)[0]):
            _bars(axes, results, value)
    else:
        figure = Figure(figsize=(5.8, 3.2), layout="constrained")
        axes = figure.add_subplot()
        _lines(axes, results)
        axes.set_xlabel(drawing.x_label)
        axes.set_ylabel(_wrap(drawing.metrics[0].label, 34))
        _scale(axes.yaxis, "y" in drawing.log)
        if "y" not in drawing.log:
            axes.set_ylim(bottom=0)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    figure.suptitle(_title(results), x=0.01, ha="left", fontsize=9.5, fontweight="bold")
    return figure


def _title(results: Results) -> str:
    title = results.experiment.title
    return _wrap(f"{results.experiment.source}: {title}", 78)


def _wrap(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width))


def _encode(results: Results, suffix: str) -> bytes:
    import matplotlib

    to = BytesIO()
    about = ("Creator", "Date", "Format", "Type") if suffix == "svg" else ("Software",)
    salt = results.experiment.name  # ids must differ between charts on one page
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        draw(results).savefig(
            to, format=suffix, dpi=144, bbox_inches="tight", metadata=dict.fromkeys(about)
        )
    return to.getvalue()


def _scale(axis: "Axis", logarithmic: bool, few: bool = False) -> None:
    """Write ticks as numbers, not as powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if logarithmic:
        (axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale)("log")
        low, high = axis.get_view_interval()
        wide = few or high > low * 100
        axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"


def _lines(axes: "Axes", results: Results) -> None:
    drawing, every = results.experiment.drawing, results.experiment.series
    values = results.values
    numeric = all(isinstance(value, int | float) for value in values)
    hidden = _hidden(results)
    for series in every:
        colour, marker, line = style(series, every)
        for place, metric in enumerate(drawing.metrics):
            points = []
            for value, y in enumerate(results.line(series, metric)):
                x = values[value] if numeric else value
                if drawing.x is not None:
                    x = results.figure(series, value, drawing.x)
                if x is not None and y is not None:
                    points.append((x, y))
            if not points:
                continue
            if drawing.x is not None:
                points.sort()
            label = series.label if place == 0 else f"{series.label}, {metric.label}"
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=colour,
                marker=marker,
                linestyle=line if len(drawing.metrics) == 1 else _METRIC_LINES[place % 3],
                markerfacecolor=colour if place == 0 else "white",
                label=label,
                **(_BELOW if series.name in hidden and place == 0 else {}),
            )
    _scale(axes.xaxis, "x" in drawing.log)
    if drawing.x is None:
        places: Any = values if numeric else range(len(values))
        if not numeric or len(values) <= 7:
            names = [results.name(place) for place in range(len(values))]
            if numeric and "x" not in drawing.log:
                names = _thinned(values, names)
            axes.set_xticks(places, names)
            axes.minorticks_off()


_BELOW: dict[str, Any] = {"linewidth": 5.0, "markersize": 9.0, "alpha": 0.55}
_COINCIDE = 0.02  # lines closer than this fraction of the axis hide each other


def _hidden(results: Results) -> set[str]:
    """The series that a later one hides; they are drawn wider."""
    from math import log

    drawing, every = results.experiment.drawing, results.experiment.series
    lines = {series.name: results.line(series, drawing.metrics[0]) for series in every}
    heights = [y for line in lines.values() for y in line if y is not None and y > 0]
    if len(heights) < 2:
        return set()
    scale = log if "y" in drawing.log else float
    span = (scale(max(heights)) - scale(min(heights))) or 1.0
    found = set[str]()
    for place, under in enumerate(every):
        for over in every[place + 1 :]:
            pairs = [
                abs(scale(a) - scale(b)) / span
                for a, b in zip(lines[under.name], lines[over.name], strict=True)
                if a is not None and b is not None and a > 0 and b > 0
            ]
            if pairs and max(pairs) < _COINCIDE:
                found.add(under.name)
    return found


def _thinned(places: Sequence[float], names: Sequence[str]) -> list[str]:
    """Tick labels, without those that would overlap the next one."""
    span = (max(places) - min(places)) or 1.0
    kept, shown = [""] * len(names), None
    for at in (len(names) - 1, *range(len(names) - 1)):
        needed = 0.022 * len(names[at]) * span
        if shown is None or all(
            abs(places[at] - places[other]) > needed for other in range(len(names)) if kept[other]
        ):
            kept[at], shown = names[at], at
    return kept


def _bars(axes: "Axes", results: Results, value: int) -> None:
    """Draw the bars of one value on a separate axis; a second metric is paler, inside the first."""
    drawing, every = results.experiment.drawing, results.experiment.series
    first, *within = drawing.metrics
    for place, series in enumerate(every):
        colour, _, _ = style(series, every)
        height = results.figure(series, value, first)
        axes.bar(place, height or 0.0, 0.8, color=colour)
        for metric in within:
            part = results.figure(series, value, metric)
            axes.bar(place, part or 0.0, 0.8, color="white", alpha=0.55)
        text = "absent" if height is None else number(height)
        axes.annotate(
            text, (place, height or 0.0), xytext=(0, 2), textcoords="offset points", ha="center"
        )
    axes.set_xticks(range(len(every)), [series.label for series in every], rotation=40, ha="right")
    axes.set_title(f"{drawing.x_label}: {results.name(value)}", fontweight="normal")
    axes.margins(y=0.12)
    axes.grid(visible=False, axis="x")
    _scale(axes.yaxis, False)
    if value == 0:
        axes.set_ylabel(_wrap(first.label, 34))


def _rows(results: Results) -> "Figure":
    """One row per series; one panel per metric of a single value, or one per value."""
    from matplotlib.figure import Figure

    drawing = results.experiment.drawing
    panels = [(0, metric) for metric in drawing.metrics]
    if len(results.values) > 1:
        panels = [(value, drawing.metrics[0]) for value in range(len(results.values))]
    size = (max(5.6, 1.4 + 2.4 * len(panels)), 1.1 + 0.28 * len(results.experiment.series))
    figure = Figure(figsize=size, layout="constrained")
    shared = len(results.values) > 1
    columns = figure.subplots(1, len(panels), squeeze=False, sharex=shared)[0]
    for place, (axes, (value, metric)) in enumerate(zip(columns, panels, strict=True)):
        _row_panel(axes, results, value, metric)
        if place > 0:
            axes.set_yticklabels([])
        if len(results.values) > 1:
            title = f"{drawing.x_label}: {results.name(value)}"
            axes.set_title(title, fontweight="normal", fontsize=8.5)
    if len(results.values) > 1 and len(panels) > 1:  # one label for all panels
        for axes in columns:
            axes.set_xlabel("")
        figure.supxlabel(drawing.metrics[0].label, fontsize=9)
    return figure


def _row_panel(axes: "Axes", results: Results, value: int, metric: Metric) -> None:
    """Draw a bar per series, or a dot on a logarithmic axis, with its number next to it."""
    every, logarithmic = results.experiment.series, "y" in results.experiment.drawing.log
    for row, series in enumerate(every):
        colour, marker, _ = style(series, every)
        length = results.figure(series, value, metric)
        if not logarithmic:
            axes.barh(row, length or 0.0, 0.7, color=colour)
        elif length is not None:
            axes.plot([length], [row], color=colour, marker=marker, linestyle="")
        text = "absent" if length is None else number(length)
        axes.annotate(
            text, (length or 0.0, row), xytext=(5, 0), textcoords="offset points", va="center"
        )
    _scale(axes.xaxis, logarithmic, few=True)
    axes.set_yticks(range(len(every)), [series.label for series in every])
    axes.set_ylim(len(every) - 0.5, -0.5)
    axes.margins(x=0.3 if logarithmic else 0.18)
    axes.set_xlabel(metric.label)
    axes.grid(visible=False, axis="y")
