"""All figures on one page: what each paper found, what was found here, and how to repeat it."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from tamis.lab import charts, grids
from tamis.lab.findings import comparison, finding
from tamis.lab.results import Results

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { border-bottom: 1px solid #ddd; margin-top: 3rem } h3 { margin-top: 2.5rem }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0 }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: right }
th:first-child { text-align: left } th { font-weight: 600 }
svg { max-width: 100%; height: auto } nav a { margin-right: .8rem }
code { background: #f3f3f3; padding: .1rem .3rem } .note { color: #666; font-size: 14px }
"""

_INTRODUCTION = """\
The experiments of the papers, measured again by [the laboratory](lab.md) on workloads like theirs.
Numbers are not those of the papers, whose data is private and whose machines are old: what can be
compared is who is ahead of whom, and what grows how. `tamis lab run all` repeats everything, and
`tamis lab report` writes all numbers on one page."""


def draw(every: Iterable[Results], folder: Path) -> list[Path]:
    """Draw charts as SVG and PNG, and write tables as Markdown.

    Args:
        every: What was measured.
        folder: Where to write; made if it is not there.

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
        parts = [grids.markdown(grids.grid(results)), *_absent(results)]
        file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        files.append(file)
    return files


def page(every: Sequence[Results], remark: str = "") -> str:
    """One page of HTML that needs nothing else."""
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
    for paper, results in _by_paper(every):
        experiment = results.experiment
        if paper:
            parts.append(f"<h2>{escape(paper)}</h2>")
        parts.append(f'<h3 id="{_stem(results)}">{escape(_heading(results))}</h3>')
        parts += [f"<p><b>{who}:</b> {escape(text)}</p>" for who, text in _sentences(results)]
        numbers = grids.html(grids.grid(results))
        if experiment.drawing.kind == "table":
            parts.append(numbers)
        else:
            unit = grids.unit(results)
            parts.append(charts.inline(results))
            parts.append(f"<details><summary>Numbers, {escape(unit)}</summary>{numbers}</details>")
        parts += [f'<p class="note">{escape(note)}</p>' for note in results.notes]
        parts.append(f"<p>Repeat: <code>{escape(_command(results))}</code></p>")
    return "\n".join([*parts, "</html>", ""])


def write_markdown(every: Sequence[Results], path: Path, remark: str = "") -> list[Path]:
    """A short version: a page of Markdown, and the charts as SVG in a folder of its name.

    Returns:
        The files.
    """
    folder = path.with_suffix("")
    parts = ["# Figures of the papers", _INTRODUCTION, *_about(every), *filter(None, [remark])]
    files = [path]
    for paper, results in _by_paper(every):
        experiment = results.experiment
        if paper:
            parts.append(f"## {paper}")
        parts.append(f"### {_heading(results)}")
        parts += [f"**{who}:** {text}" for who, text in _sentences(results)]
        if experiment.drawing.kind == "table":
            parts.append(grids.markdown(grids.grid(results)))
        else:
            files += charts.save(results, folder, ("svg",))
            parts.append(f"![{experiment.title}]({folder.name}/{files[-1].name})")
        parts += _absent(results)
        parts.append(f"`{_command(results)}`")
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return files


def _by_paper(every: Iterable[Results]) -> Iterator[tuple[str, Results]]:
    """All in turn, with the name of the paper before the first of it, and nothing before others."""
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
        return ["Nothing was measured yet."]
    days = sorted({row["recorded"][:10] for row in rows})
    last = max(rows, key=lambda row: str(row["recorded"]))
    minutes = sum(row["seconds"] for row in rows) / 60
    pythons = " and ".join(sorted({row["python"] for row in rows}))
    absent = sum(row["status"] != "measured" for row in rows)
    measured = (
        f"{len(rows)} cells, each in a process of its own, took {minutes:.0f} minutes together on "
        f"{' and '.join(dict.fromkeys([days[0], days[-1]]))}; {absent} of them have no figures, "
        "and say why."
    )
    machine = (
        f"{last['cores']} cores of {last['cpu']}, {last['system'].split('-')[0]}, "
        f"Tamis {last['tamis']} (build {last['engine']}), Python {pythons}, "
        f"seed {last['seed']}."
    )
    return [measured, machine]


def _stem(results: Results) -> str:
    return results.experiment.name.replace("/", "-")
