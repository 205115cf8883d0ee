"""Writes one page with each paper's results next to our measurements."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from tamis.lab import charts
from tamis.lab.experiments import Series
from tamis.lab.records import Results, number
from tamis.lab.verdicts import ALIKE, PARTLY, WORDS, judge, mean_ratio

Grid = list[list[str]]


def grid(results: Results) -> Grid:
    """The figures as a table with a header row and a header column."""
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
    """The unit of the numbers in a grid, if all have the same one."""
    drawing = results.experiment.drawing
    return drawing.metrics[0].label if len(drawing.metrics) == 1 else ""


def markdown(cells: Grid) -> str:
    """A table for Markdown."""
    head, *rows = (f"| {' | '.join(row)} |" for row in cells)
    rule = f"|---|{'---:|' * (len(cells[0]) - 1)}"
    return "\n".join([head, rule, *rows])


def html(cells: Grid) -> str:
    """A table for a page."""
    head, *rows = cells
    lines = ["<table>", f"<tr>{_cells('th', head)}</tr>"]
    lines += [f"<tr>{_cells('th', row[:1])}{_cells('td', row[1:])}</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)


def _cross(results: Results, rows: str, columns: str) -> Grid:
    """A table of two of: values, series, metrics. The third has a single item."""
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


def finding(results: Results) -> str:
    """Which series has the lowest figure, how far the others are above it, and how each grows."""
    places = [place for place in range(len(results.values)) if _measured(results, place)]
    if not places:
        return "Nothing was measured."
    first, last = places[0], places[-1]
    sentences = [_ranking(results, last)]
    if first != last:
        sentences.append(_growth(results, first, last))
    return " ".join(filter(None, sentences))


def comparison(results: Results) -> str:
    """Whether the series are in the paper's order; empty if the paper gives none."""
    places = [place for place in range(len(results.values)) if _measured(results, place)]
    held, against = _against(results, places)
    if against:
        text = f"The paper's order does not hold here: {_join(against)}."
    elif not held:
        return ""
    else:
        _, against = _against(results, places[-1:])
        if not against:
            return "The paper's order holds here."
        where = f"at {results.varied} = {results.name(places[-1])}"
        text = f"The paper's order holds on average, but {where} {_join(against)}."
    return f"{text} {results.experiment.why}".rstrip()


def _against(results: Results, places: Sequence[int]) -> tuple[int, list[str]]:
    """Count the pairs of series that are in the paper's order, and list those that are not."""
    by_name = {series.name: series for series in results.experiment.series}
    order = [by_name[name] for name in results.experiment.order]
    held, against = 0, []
    for position, less in enumerate(order):
        for more in order[position + 1 :]:
            ratio = mean_ratio(results, more, less, places)
            if ratio is None:
                continue
            held += ratio >= 1 / ALIKE
            if ratio < 1 / ALIKE:
                by, than = number(1 / ratio), _wording(results).than
                against.append(f"{_name(more)} {than.format(by)} than {_name(less)}")
    return held, against


class _Wording(NamedTuple):
    """Phrases for a kind of figure; `{}` stands for a factor."""

    noun: str
    alone: str
    least: str
    more: str
    than: str


_TIME = _Wording("time", "takes", "is fastest", "takes {}x as long", "is {}x faster")
_MEMORY = _Wording(
    "memory", "uses", "uses the least memory", "uses {}x as much", "uses {}x less memory"
)
_OTHER = _Wording("figure", "has", "has the lowest figure", "has {}x as much", "is {}x lower")


def _wording(results: Results) -> _Wording:
    units = results.experiment.drawing.metrics[0].label.split()
    if {"nanoseconds", "microseconds", "microseconds,", "seconds", "ms"} & {*units}:
        return _TIME
    return _MEMORY if {"KB", "MB", "MiB", "bytes"} & {*units} else _OTHER


def _name(series: Series) -> str:
    """The label of a series, in quotes if it would not read as one name."""
    is_phrase = " " in series.label and not series.label[0].isupper()
    return f'"{series.label}"' if is_phrase or "," in series.label else series.label


def _measured(results: Results, place: int) -> dict[Series, float]:
    metric = results.experiment.drawing.metrics[0]
    figures = {
        series: results.figure(series, place, metric) for series in results.experiment.series
    }
    return {series: value for series, value in figures.items() if value is not None}


def _ranking(results: Results, place: int) -> str:
    metric = results.experiment.drawing.metrics[0]
    ranked = sorted(_measured(results, place).items(), key=lambda item: item[1])
    (best, least), *others = ranked
    where = f"At {results.varied} = {results.name(place)}, " if results.varied else ""
    figure = f"{number(least)} {metric.label.partition(' (')[0]}"
    wording = _wording(results)
    if not others:
        return _sentence(f"{where}{_name(best)} {wording.alone} {figure}")
    text = f"{where}{_name(best)} {wording.least} ({figure})"
    if least > 0:
        (second, value), *rest = others
        times = [f"{_name(second)} {wording.more.format(number(value / least))}"]
        times += [f"{_name(series)} {number(value / least)}x" for series, value in rest]
        text += f"; {_join(times)}"
    return _sentence(text)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _growth(results: Results, first: int, last: int) -> str:
    before, after = _measured(results, first), _measured(results, last)
    factors = [
        (series, after[series] / before[series])
        for series in before
        if series in after and before[series] > 0
    ]
    grown = [f"{number(factor)}x for {_name(series)}" for series, factor in factors if factor >= 1]
    fallen = [f"{number(factor)}x for {_name(series)}" for series, factor in factors if factor < 1]
    changes = [f"grows {_join(grown)}"] if grown else []
    changes += [f"falls to {_join(fallen)}"] if fallen else []
    if not changes:
        return ""
    by = f"{results.varied} = " if results.varied else ""
    span = f"{by}{results.name(first)} to {results.name(last)}"
    return f"From {span}, the {_wording(results).noun} {', and '.join(changes)}."


def _join(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { border-bottom: 1px solid #ddd; margin-top: 3rem } h3 { margin-top: 2.5rem }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0 }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: right }
th:first-child, .words td, .words th { text-align: left; vertical-align: top }
th { font-weight: 600 }
svg { max-width: 100%; height: auto } nav a { margin-right: .8rem }
code { background: #f3f3f3; padding: .1rem .3rem } .note { color: #666; font-size: 14px }
"""

_WORDS = '<table class="words">'

_INTRODUCTION = """\
[The laboratory](lab.md) repeats the papers' experiments on workloads like theirs. The papers' data
is private and their machines are old, so do not compare absolute numbers: compare which algorithm
is ahead, and how each one grows. `tamis lab run all` repeats everything, and `tamis lab report`
writes all numbers on one page."""


def verdicts(every: Iterable[Results]) -> Grid:
    """Every claim of the papers: confirmed or not, by how much, and why."""
    found: Grid = [["figure", "the paper says", "here", "by how much", "why"]]
    for results in every:
        found += [
            [results.experiment.source, each.claim.says, each.word, each.amount, each.why]
            for each in judge(results)
        ]
    return found


def _summary(cells: Grid) -> str:
    """The number of claims per verdict."""
    words = [row[2] for row in cells[1:]]
    names = {PARTLY: "partly confirmed"}
    counts = [f"{words.count(w)} {names.get(w, w)}" for w in WORDS if w in words]
    return (
        f"{len(words)} claims: {', '.join(counts)}. Ratios are geometric means over all values of "
        "a figure; growth is from its first value to its last. Figures less than a tenth apart "
        "count as equal."
    )


def draw(every: Iterable[Results], folder: Path) -> list[Path]:
    """Draw charts as SVG and PNG, and write tables as Markdown.

    Args:
        every: The measured experiments.
        folder: Where to write; created if it does not exist.

    Returns:
        The files.
    """
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    for results in every:
        if results.experiment.drawing.kind != "table":
            files += charts.save(results, folder)
            continue
        file = folder / f"{_stem(results)}.md"
        parts = [markdown(grid(results)), *_absent(results)]
        file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        files.append(file)
    return files


def page(every: Sequence[Results], remark: str = "") -> str:
    """One self-contained page of HTML."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><meta charset="utf-8">',
        "<title>Tamis: figures of the papers</title>",
        f"<style>{_STYLE}</style>",
        "<h1>Figures of the papers, measured again</h1>",
        *(f"<p>{escape(line)}</p>" for line in (*_about(every), remark) if line),
        "<nav>",
        *(f'<a href="#{_stem(each)}">{escape(each.experiment.name)}</a>' for each in every),
        "</nav>",
    ]
    told = verdicts(every)
    if len(told) > 1:
        parts += ["<h2>The papers' claims, and our results</h2>"]
        parts += [f"<p>{escape(_summary(told))}</p>", html(told).replace("<table>", _WORDS, 1)]
    for paper, results in _by_paper(every):
        experiment = results.experiment
        if paper:
            parts.append(f"<h2>{escape(paper)}</h2>")
        parts.append(f'<h3 id="{_stem(results)}">{escape(_heading(results))}</h3>')
        parts += [f"<p><b>{who}:</b> {escape(text)}</p>" for who, text in _sentences(results)]
        numbers = html(grid(results))
        if experiment.drawing.kind == "table":
            parts.append(numbers)
        else:
            label = unit(results)
            parts.append(charts.inline(results))
            parts.append(f"<details><summary>Numbers, {escape(label)}</summary>{numbers}</details>")
        parts += [f'<p class="note">{escape(note)}</p>' for note in results.notes]
        parts.append(f"<p>Repeat: <code>{escape(_command(results))}</code></p>")
    return "\n".join([*parts, "</html>", ""])


def write_markdown(every: Sequence[Results], path: Path, remark: str = "") -> list[Path]:
    """Write a short version: a page of Markdown, and the charts as SVG in a folder of its name.

    Returns:
        The files.
    """
    folder = path.with_suffix("")
    parts = ["# Figures of the papers", _INTRODUCTION, *_about(every), *filter(None, [remark])]
    files = [path]
    told = verdicts(every)
    if len(told) > 1:
        table = markdown(told).replace("---:|", "---|")
        parts += ["## The papers' claims, and our results", _summary(told), table]
    for paper, results in _by_paper(every):
        experiment = results.experiment
        if paper:
            parts.append(f"## {paper}")
        parts.append(f"### {_heading(results)}")
        parts += [f"**{who}:** {text}" for who, text in _sentences(results)]
        if experiment.drawing.kind == "table":
            parts.append(markdown(grid(results)))
        else:
            files += charts.save(results, folder, ("svg",))
            parts.append(f"![{experiment.title}]({folder.name}/{files[-1].name})")
        parts += _absent(results)
        parts.append(f"`{_command(results)}`")
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return files


def _by_paper(every: Iterable[Results]) -> Iterator[tuple[str, Results]]:
    """All results; the first of each paper has its name, the others an empty one."""
    last = ""
    for results in every:
        paper = results.experiment.source.partition(",")[0]
        yield "" if paper == last else paper, results
        last = paper


def _absent(results: Results) -> list[str]:
    return [f"Absent: {'; '.join(results.notes)}."] if results.notes else []


def _heading(results: Results) -> str:
    figure = results.experiment.source.partition(", ")[2] or results.experiment.name
    return f"{figure}: {results.experiment.title}"


def _sentences(results: Results) -> list[tuple[str, str]]:
    said = [("Here", finding(results))]
    if results.experiment.found:
        said.insert(0, ("The paper", results.experiment.found))
    if order := comparison(results):
        said.append(("Compared", order))
    if results.experiment.note:
        said.append(("Note", results.experiment.note))
    return said


def _command(results: Results) -> str:
    scale = "" if results.scale == "full" else f" --scale {results.scale}"
    return f"tamis lab run {results.experiment.call}{scale}"


def _about(every: Sequence[Results]) -> list[str]:
    """The day, the machine, the versions, and how long measuring took."""
    rows = [*{key: row for results in every for key, row in results.records.items()}.values()]
    if not rows:
        return ["Nothing has been measured yet."]
    days = sorted({row["recorded"][:10] for row in rows})
    last = max(rows, key=lambda row: str(row["recorded"]))
    minutes = sum(row["seconds"] for row in rows) / 60
    pythons = " and ".join(sorted({row["python"] for row in rows}))
    absent = sum(row["status"] != "measured" for row in rows)
    measured = (
        f"{len(rows)} cells, each measured in its own process, took {minutes:.0f} minutes in total "
        f"on {' and '.join(dict.fromkeys([days[0], days[-1]]))}. {absent} of them have no figures; "
        "a note says why."
    )
    machine = (
        f"{last['cores']} cores of {last['cpu']}, {last['system'].split('-')[0]}, "
        f"Tamis {last['tamis']} (build {last['engine']}), Python {pythons}, "
        f"seed {last['seed']}."
    )
    return [measured, machine]


def _stem(results: Results) -> str:
    return results.experiment.name.replace("/", "-")
