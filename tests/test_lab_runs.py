"""Running experiments: checked before timed, recorded one by one, drawn from records."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tamis.cli import main
from tamis.lab import charts, experiments, records, report, runner, verdicts
from tamis.lab.experiments import Experiment
from tamis.lab.records import FIGURES, Records

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("matplotlib")

STRANGERS = """
from tamis import Index

class Right:
    def __init__(self, missing):
        self.index = Index(missing=missing)
    def add_many(self, items):
        self.index.add_many(items)
    def match(self, event):
        return self.index.match(event)[::-1]

class Forgetful(Right):  # it misses the last match
    def match(self, event):
        return self.index.match(event)[:-1]

class Confused(Right):  # as many matches, of other numbers
    def match(self, event):
        return [id + 1000 for id in self.index.match(event)]

class Greedy(Right):
    def add_many(self, items):
        self.kept = bytearray(3 << 29)

class Endless(Right):
    def add_many(self, items):
        while True:
            pass
"""
EXPERIMENT = """
title = "time by size"
source = "Nobody 2026, Figure 1"
found = "The first is the fastest."
order = [{order}]

[workload]
name = "fontoura"

[varied]
size = [50, 100]

[effort]
events = 10
sample = 3
repetitions = 1
time_limit = {limit}
memory_limit = 1024

{series}

[draw]
{draw}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with external matchers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strangers.py").write_text(STRANGERS, encoding="utf-8")
    return tmp_path


def make(*matchers: str, order: str = "", limit: float = 20, draw: str = "") -> Experiment:
    series = "\n".join(f'[[series]]\nmatcher = "{each}"' for each in matchers)
    text = EXPERIMENT.format(order=order, series=series, limit=limit, draw=draw)
    Path("mine.toml").write_text(text, encoding="utf-8")
    return experiments.read(Path("mine.toml"))


def run(asked: Experiment, kept: Records | None = None, **options: Any) -> records.Results:
    kept = kept or Records(Path("kept"))
    runner.run([asked], kept, **options)
    return records.collect(asked, kept, "full", options.get("seed", 1))


def test_every_figure_is_recorded(folder: Path) -> None:
    found = run(make("kindex", "interval", "strangers:Right"))
    assert len(found.rows) == 6
    for row in found.rows.values():
        assert (row["status"], row["seed"], row["timed"]) == ("measured", 1, 10)
        assert {name for name in FIGURES if row[name] is None} == {"first_us"}
        assert row["events_per_second"] == pytest.approx(1e6 / row["best_us"])
        assert all(row[name] for name in ("tamis", "engine", "cpu", "cores", "python", "recorded"))
        assert row["seconds"] > 0
    assert json.loads(found.rows["kindex", 0]["parameters"])["size"] == 50
    assert json.loads(found.rows["kindex", 0]["counters"])["entries"] > 0
    assert "predicates per expression" in json.loads(found.rows["interval", 1]["statistics"])
    (file,) = Path("kept").iterdir()
    rows = parquet.read_table(file).to_pylist()
    assert [row["matcher"] for row in rows[:4]] == ["scan", "kindex", "interval", "strangers:Right"]
    assert len({row["digest"] for row in rows}) == 2  # one for each size


@pytest.mark.parametrize(
    ("matcher", "reason"),
    [
        ("Forgetful", "event 1: "),
        ("Confused", "as many matches as scan, but different ones"),
    ],
)
def test_a_wrong_matcher_gets_no_time(folder: Path, matcher: str, reason: str) -> None:
    found = run(make(f"strangers:{matcher}", "kindex", draw='kind = "bars"'))
    wrong = found.rows[f"strangers:{matcher}", 0]
    assert (wrong["status"], wrong["reason"][: len(reason)]) == ("differs", reason)
    assert {wrong[name] for name in FIGURES} == {None}
    assert wrong["counters"] is None
    assert found.rows["kindex", 0]["status"] == "measured"
    assert f"strangers:{matcher}, differs: {reason}" in found.notes[0]
    assert report.grid(found)[1][1:2] == ["differs"]
    text = report.page([found])
    assert "differs" in text
    ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])


def test_limits_are_recorded(folder: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("memory is limited on Linux")
    found = run(make("strangers:Greedy", "strangers:Endless", "compiled", limit=3))
    greedy, endless = found.rows["strangers:Greedy", 0], found.rows["strangers:Endless", 0]
    assert (greedy["status"], greedy["reason"]) == ("failed", "out of memory")
    assert (endless["status"], endless["reason"]) == ("late", "not done within 3 s")
    assert {greedy["best_us"], endless["best_us"]} == {None}
    assert "strangers:Greedy, failed: out of memory (at size 50, 100)" in found.notes
    assert found.rows["compiled", 1]["status"] == "measured"


def test_a_run_goes_on_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, kept = make("kindex", "interval"), Records(Path("kept"))

    def interrupt(done: int, count: int, label: str) -> None:
        assert count == 4
        if done == 2:
            assert label == "mine kindex size=100"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run([asked], kept, show=interrupt)
    summary = runner.run([asked], Records(Path("kept")))["mine"]
    assert (summary.measured, summary.known) == (4, 2)
    summary = runner.run([asked], Records(Path("kept")))["mine"]
    assert (summary.known, summary.seconds) == (4, 0)
    summary = runner.run([asked], Records(Path("kept")), again=True)["mine"]
    assert (summary.measured, summary.known) == (4, 0)
    monkeypatch.setattr(runner, "engine", lambda: "another build")
    summary = runner.run([asked], Records(Path("kept")))["mine"]
    assert (summary.measured, summary.known) == (4, 0)


def row(best: float | None) -> records.Row:
    return {"status": "measured" if best else "late", "reason": "slow", "best_us": best}


def drawn(asked: Experiment, **lines: list[float | None]) -> records.Results:
    rows = {(name, at): row(best) for name, line in lines.items() for at, best in enumerate(line)}
    return records.Results(asked, "full", (50, 100), rows, {})


def test_findings(folder: Path) -> None:
    asked = make("kindex", "scan", "cnf", order='"kindex", "scan", "cnf"')
    found = drawn(asked, kindex=[1.0, 2.0], scan=[3.0, 12.0], cnf=[4.0, None])
    assert report.finding(found) == (
        "At size = 100, kindex is fastest (2.00 microseconds per event); scan takes 6.00x as long. "
        "From size = 50 to 100, the time grows 2.00x for kindex and 4.00x for scan."
    )
    assert report.comparison(found) == "The paper's order holds here."
    found = drawn(asked, kindex=[9.0, 9.0], scan=[3.0, 12.0], cnf=[4.0, None])
    assert report.comparison(found) == (
        "The paper's order does not hold here: scan is 1.50x faster than kindex and cnf is 2.25x "
        "faster than kindex."
    )
    found = drawn(asked, kindex=[1.0, 6.0], scan=[9.0, 3.0])
    assert report.comparison(found) == (
        "The paper's order holds on average, but at size = 100 scan is 2.00x faster than kindex."
    )
    assert report.finding(drawn(asked)) == "Nothing was measured."
    assert report.comparison(drawn(asked)) == ""


@pytest.mark.parametrize(
    "draw",
    ['log = ["x", "y"]', 'kind = "bars"', 'x = "matches"', 'kind = "table"'],
)
def test_drawing_needs_records_alone(folder: Path, draw: str) -> None:
    asked = make("kindex", "interval", draw=draw)
    kept = Records(Path("kept"))
    assert not records.collect(asked, kept, "full", 1).rows
    run(asked, kept)
    found = records.collect(asked, Records(Path("kept")), "full", 1)
    files = report.draw([found], Path("out"))
    kinds = [file.suffix for file in files]
    if "table" in draw:
        assert kinds == [".md"]
        assert (
            files[0]
            .read_text(encoding="utf-8")
            .startswith("| size | kindex | interval |\n|---|---:")
        )
        return
    assert kinds == [".svg", ".png"]
    labels = "".join(ElementTree.parse(files[0]).getroot().itertext())
    assert "kindex" in labels
    assert "interval" in labels
    before = [file.read_bytes() for file in files]
    assert [file.read_bytes() for file in report.draw([found], Path("out"))] == before


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tamis(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*words: str) -> tuple[int, str, str]:
        code = main(("lab", *words))
        written = capsys.readouterr()
        return code, written.out, written.err

    return call


def test_the_commands(tamis: Call) -> None:
    make("kindex", "strangers:Forgetful")
    code, out, err = tamis("run", "mine.toml", "--machine", "this", "--seed", "3")
    assert code == 0
    assert out.splitlines()[0].startswith("mine: 2 measured, ")
    assert err.startswith("mine strangers:Forgetful size=50: differs: event 1: ")
    kept = Path("benchmarks/record/this")
    assert len(list(kept.glob("*.parquet"))) == 1
    code, out, _ = tamis("run", "mine.toml", "--machine", "this", "--seed", "3")
    assert "4 of them recorded before, 0.0 s" in out
    drawing = ("draw", "mine.toml", "--machine", "this", "--seed", "3", "--out", "drawn")
    code, out, _ = tamis(*drawing)
    assert (code, out.split()) == (0, [str(Path("drawn/mine.svg")), str(Path("drawn/mine.png"))])


def test_the_report(tamis: Call) -> None:
    code, out, _ = tamis("run", "fontoura/fig7", "--scale", "small")
    assert code == 0
    code, out, _ = tamis("report", "--scale", "small")
    page = Path(out.strip()).read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)|(src|href)=\"(?!#)", page)  # needs no other file
    assert "tamis lab run fontoura/fig7 --scale small" in page
    assert "The paper:" in page
    assert page.count("<svg") == 1
    code, out, _ = tamis("report", "figures.md", "--scale", "small")
    short = Path("figures.md").read_text(encoding="utf-8")
    assert "![size of expanded expressions by depth](figures/fontoura-fig7.svg)" in short
    assert Path("figures/fontoura-fig7.svg").exists()


def test_a_report_of_ones_own(tamis: Call) -> None:
    make("kindex", "strangers:Forgetful", draw='kind = "table"')
    assert tamis("run", "mine.toml")[0] == 0
    assert tamis("report", "page.md", "mine.toml")[0] == 0
    page = Path("page.md").read_text(encoding="utf-8")
    assert "`tamis lab run mine.toml`" in page
    assert re.search(r"\| 50 \| [0-9.,]+ \| differs \|", page)
    assert "Absent: strangers:Forgetful, differs: event 1:" in page
    assert tamis("draw", "mine.toml", "--out", "drawn")[0] == 0
    assert "Absent: strangers:Forgetful" in Path("drawn/mine.md").read_text(encoding="utf-8")


def _row(matcher: str, best: float, size: int, moment: str = "1", **others: str) -> records.Row:
    common = {"status": "measured", "workload": "w", "effort": "{}", "options": "{}"}
    figures = {"recorded": moment, "matcher": matcher, "best_us": best, "experiment": "mine"}
    return {**common, **figures, "parameters": f'{{"size": {size}}}', **others}


def test_rivals_are_what_is_faster_than_the_default() -> None:
    rows = [
        *(_row("auto", 10, 1), _row("scan", 99, 1), _row("kindex", 9, 1), _row("atree", 5, 1)),
        *(_row("kindex", 3, 2), _row("scan", 9, 2)),  # without the default
        *(_row("compiled", 10, 3), _row("atree", 8, 3), _row("dewey", 1, 3, status="differs")),
    ]
    found = verdicts.rivals(rows)
    assert [(each.matcher, each.parameters, each.factor) for each in found.rivals] == [
        ("atree", {"size": 1}, 2.0),
        ("atree", {"size": 3}, 1.25),
    ]
    assert (found.compared, found.incomparable) == (2, 1)
    assert [each.factor for each in verdicts.rivals(rows, 1.5).rivals] == [2.0]
    assert verdicts.rivals(rows, runs=2).rivals == []
    # In the second run, one of them is no longer faster.
    again = [_row("auto", 10, 1, "2"), _row("atree", 9.5, 1, "2")]
    assert verdicts.rivals([*rows, *again], runs=2).rivals == []
    again = [_row("auto", 10, 1, "2"), _row("atree", 8, 1, "2")]
    [rival] = verdicts.rivals([*rows, *again], runs=2).rivals
    assert (rival.default_us, rival.rival_us, rival.factor) == ((10, 10), (8, 5), 1.25)


def test_the_command_lists_rivals(tamis: Call) -> None:
    make("auto", "scan")
    assert tamis("run", "mine.toml")[0] == 0
    code, out, _ = tamis("rivals", "--factor", "0.000001")
    assert code == 0
    first, *_, last = out.splitlines()
    assert re.match(r"[0-9.]+x  .* \(.*size .*\): scan, .* us \[mine\]$", first), first
    assert re.match(r"[0-9]+ faster by more than 1e-06x, in [0-9]+ settings; 0 settings", last)


def test_what_the_commands_refuse(tamis: Call) -> None:
    for words, message in (
        (("run", "fig99"), "tamis: unknown experiment 'fig99': name a figure such as"),
        (("run", "none.toml"), "tamis: cannot read none.toml: No such file"),
        (("draw",), "tamis: there are no records of these at scale full in benchmarks"),
        (("rivals",), "tamis: there are no records in benchmarks"),
        (("rivals", "--runs", "0"), "tamis: --runs must be at least 1"),
        (("report", "page.pdf"), "tamis: a report must be a file that ends with .html or .md, not"),
    ):
        code, out, err = tamis(*words)
        assert (code, out) == (2, "")
        assert err.startswith(message), err


def test_the_machine_has_a_name() -> None:
    assert records.here().endswith("-cores")


CLAIMS = """
claims = [
  {{ says = "the first has less", of = ["{0}", "{1}"] }},
  {{ says = "a hundred times", of = ["{0}", "{1}"], by = 100, last = true }},
  {{ says = "both grow", kind = "rises", of = ["{0}", "{1}"] }},
  {{ says = "alike", kind = "alike", of = ["{0}", "{1}"], why = "they differ" }},
  {{ says = "the second gives up", kind = "absent", of = ["{1}"] }},
]
"""


def test_claims_are_judged_by_the_records(folder: Path) -> None:
    experiment = make("kindex", "interval")
    path = Path("mine.toml")
    text = path.read_text().replace(
        "\n[workload]", CLAIMS.format("kindex", "interval") + "\n[workload]", 1
    )
    path.write_text(text)
    experiment = experiments.read(path)
    found = run(experiment)

    def told(first: list[float], second: list[float]) -> dict[str, tuple[str, str]]:
        times = {"kindex": first, "interval": second}
        rows: dict[tuple[str, int], records.Row] = {
            (name, place): {**row, "best_us": times[name][place]}
            for (name, place), row in found.rows.items()
        }
        every = verdicts.judge(replace(found, rows=rows))
        return {each.claim.says: (each.word, each.why) for each in every}

    assert told([1, 2], [300, 600]) == {
        "the first has less": ("confirmed", ""),
        "a hundred times": ("confirmed", ""),
        "both grow": ("confirmed", ""),
        "alike": ("not confirmed", "they differ"),
        "the second gives up": ("not confirmed", "not examined"),
    }
    close = told([1, 2], [1.05, 1])
    assert close["the first has less"] == ("not confirmed", "not examined")
    assert close["both grow"] == ("partly", "not examined")
    assert close["alike"][0] == "confirmed"
    assert told([1, 1], [1.05, 1])["the first has less"][0] == "no difference"
    assert told([1, 1], [3, 3])["a hundred times"][0] == "partly"
    page = report.page([found])
    assert page.index("claims, and our results") < page.index("<svg")


def test_no_bars_on_a_logarithmic_axis(folder: Path) -> None:
    for log, bars in (('log = ["y"]', 0), ("", 2)):
        found = run(make("kindex", "interval", draw=f'kind = "bars"\n{log}'))
        figure = charts.draw(found)
        assert [len(axes.patches) for axes in figure.axes] == [bars, bars]  # a panel per value
        assert "Nobody 2026, Figure 1" in str(figure.get_suptitle())


def test_ticks_keep_apart_and_hidden_lines_are_drawn_wider(folder: Path) -> None:
    assert charts._thinned([10, 20, 100], ["10,000", "20,000", "100,000"]) == [
        "10,000",
        "",
        "100,000",
    ]
    found = run(make("kindex", "interval"))
    times = {"kindex": [1.0, 100.0], "interval": [1.001, 100.1]}
    rows: dict[tuple[str, int], records.Row] = {
        (name, place): {**row, "best_us": times[name][place]}
        for (name, place), row in found.rows.items()
    }
    assert charts._hidden(replace(found, rows=rows)) == {"kindex"}
