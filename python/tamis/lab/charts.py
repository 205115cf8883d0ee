"""How are results drawn? Lines over the varied parameter, or bars; one colour per matcher."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

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
    "cnf": ("blue", "s"),
    "dewey": ("orange", "v"),
    "interval": ("green", "^"),
    "scan": ("grey", "x"),
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
    "bfs": ("grey", "x"),
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
_HATCHES = ("", "//", "..", "xx")


def style(series: Series, beside: Sequence[Series]) -> tuple[str, str, str, str]:
    """Colour, marker, line and hatching; the same matcher in other ways differs in the last two."""
    same = [each.name for each in beside if each.matcher == series.matcher]
    variant = same.index(series.name) % len(_LINES)
    colour, marker = _STYLES.get(series.matcher) or _spare(series.matcher)
    return _COLOURS[colour], marker, _LINES[variant], _HATCHES[variant]


def _spare(matcher: str) -> tuple[str, str]:
    """For a matcher from elsewhere, by its name."""
    chosen = crc32(matcher.encode())
    return list(_COLOURS)[chosen % len(_COLOURS)], "<>hp8"[chosen % 5]


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
    "hatch.linewidth": 0.5,
}
_METRIC_LINES = ("-", "--", ":")


def save(results: Results, folder: Path, formats: tuple[str, ...] = ("svg", "png")) -> list[Path]:
    """Draw a chart into files; the same records give the same bytes.

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
    if drawing.kind == "bars" and len(results.values) == 1:
        panels = len(drawing.metrics)
        height = 0.7 + 0.28 * len(results.experiment.series)
        figure = Figure(figsize=(max(4.6, 2.9 * panels), height), layout="constrained")
        for place, axes in enumerate(figure.subplots(1, panels, squeeze=False)[0]):
            _beside(axes, results, place)
        return figure
    figure = Figure(figsize=(5.8, 3.0), layout="constrained")
    axes = figure.add_subplot()
    if drawing.kind == "bars":
        _bars(axes, results)
    else:
        _lines(axes, results)
    axes.set_xlabel(drawing.x_label)
    axes.set_ylabel(drawing.metrics[0].label)
    _scale(axes.yaxis, "y" in drawing.log)
    if "y" not in drawing.log:
        axes.set_ylim(bottom=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure


def _encode(results: Results, suffix: str) -> bytes:
    import matplotlib

    to = BytesIO()
    about = ("Creator", "Date", "Format", "Type") if suffix == "svg" else ("Software",)
    salt = results.experiment.name  # names within one page must differ from chart to chart
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        draw(results).savefig(
            to, format=suffix, dpi=144, bbox_inches="tight", metadata=dict.fromkeys(about)
        )
    return to.getvalue()


def _scale(axis: "Axis", logarithmic: bool) -> None:
    """Ticks are written as numbers, not as powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if logarithmic:
        (axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale)("log")
        low, high = axis.get_view_interval()
        wide = high > low * 100
        axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _lines(axes: "Axes", results: Results) -> None:
    drawing, every = results.experiment.drawing, results.experiment.series
    values = results.values
    numeric = all(isinstance(value, int | float) for value in values)
    for series in every:
        colour, marker, line, _ = style(series, every)
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
            )
    _scale(axes.xaxis, "x" in drawing.log)
    if drawing.x is None:
        places: Any = values if numeric else range(len(values))
        if not numeric or len(values) <= 7:
            axes.set_xticks(places, [results.name(place) for place in range(len(values))])
            axes.minorticks_off()


def _bars(axes: "Axes", results: Results) -> None:
    """A group of bars for every value; further figures stand within the first, paler."""
    drawing, every = results.experiment.drawing, results.experiment.series
    width = 0.8 / len(every)
    for place, series in enumerate(every):
        colour, _, _, hatch = style(series, every)
        for layer, metric in enumerate(drawing.metrics):
            heights = [height or 0.0 for height in results.line(series, metric)]
            left = [value + (place - (len(every) - 1) / 2) * width for value in range(len(heights))]
            label = series.label if layer == 0 else f"{series.label}, {metric.label}"
            shade = {"color": colour} if layer == 0 else {"color": "white", "alpha": 0.55}
            axes.bar(
                left,
                heights,
                width * 0.92,
                label=label if layer == 0 else None,
                hatch=hatch if layer == 0 else "",
                edgecolor="white" if layer == 0 else colour,
                linewidth=0.5,
                **shade,
            )
    axes.set_xticks(
        range(len(results.values)), [results.name(v) for v in range(len(results.values))]
    )
    axes.grid(visible=False, axis="x")


def _beside(axes: "Axes", results: Results, place: int) -> None:
    """One bar for every series, with its figure at the end."""
    drawing, every = results.experiment.drawing, results.experiment.series
    metric = drawing.metrics[place]
    lengths = [results.figure(series, 0, metric) for series in every]
    for row, (series, length) in enumerate(zip(every, lengths, strict=True)):
        colour, _, _, hatch = style(series, every)
        axes.barh(
            row, length or 0.0, 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5
        )
        text = "absent" if length is None else number(length)
        axes.annotate(
            text, (length or 0.0, row), xytext=(3, 0), textcoords="offset points", va="center"
        )
    _scale(axes.xaxis, "y" in drawing.log)
    axes.set_yticks(range(len(every)), [series.label if place == 0 else "" for series in every])
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set_xlabel(metric.label)
    axes.grid(visible=False, axis="y")
