"""Experiment files: reading them, and the errors of invalid ones."""

import re
from pathlib import Path
from typing import Any

import pytest

from tamis.lab import experiments
from tamis.lab.cells import KNOWN
from tamis.lab.experiments import Experiment, ExperimentError, check, measurable

SHIPPED = sorted(experiments.shipped())
GOOD = """
title = "time by size"
source = "Nobody 2026, Figure 1"
found = "Nothing yet."
order = ["kindex", "scan"]

[workload]
name = "fontoura"
depth = [1, 2]

[varied]
size = [100, 200]

[[series]]
matcher = "kindex"
label = "K-index"

[[series]]
matcher = "scan"

[draw]
y = ["time", { of = "memory", label = "bytes", times = 1.0 }]
log = ["y"]

[small.varied]
size = [50]

[small.effort]
events = 5
"""


def read(folder: Path, text: str) -> Experiment:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return experiments.read(path)


def test_what_a_file_says(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    full, small = found.plans["full"], found.plans["small"]
    assert (found.name, found.order) == ("mine", ("kindex", "scan"))
    assert [series.label for series in found.series] == ["K-index", "scan"]
    assert (full.varied, full.values, small.values) == ("size", (100, 200), (50,))
    assert (full.effort.events, small.effort.events) == (200, 5)
    assert full.parameters == small.parameters == {"depth": [1, 2]}
    assert [metric.label for metric in found.drawing.metrics] == [KNOWN["time"].label, "bytes"]
    check(found)


def test_cells_and_their_judges(tmp_path: Path) -> None:
    cells = list(read(tmp_path, GOOD).cells("full", 7))
    assert [(series.name, place) for series, place, _, _ in cells] == [
        *(("kindex", 0), ("scan", 0)),
        *(("kindex", 1), ("scan", 1)),
    ]
    _, _, cell, judge = cells[0]
    assert cell.parameters == {"depth": [1, 2], "seed": 7, "size": 100}
    assert judge.key == cells[1][2].key  # scan is also a series
    alone = GOOD.replace('[[series]]\nmatcher = "scan"\n', "").replace(', "scan"]', "]")
    _, _, cell, judge = next(read(tmp_path, alone).cells("full", 7))
    assert (judge.matcher, judge.effort.events) == ("scan", cell.effort.sample)
    keys = {each.key for _, _, each, _ in cells}
    assert len(keys) == 4
    assert not keys & {each.key for _, _, each, _ in read(tmp_path, GOOD).cells("full", 8)}


def test_cells_of_another_file(tmp_path: Path) -> None:
    first = read(tmp_path, GOOD)
    other = tmp_path / "other.toml"
    other.write_text(
        'title = "memory"\nsource = "Nobody 2026, Figure 2"\nfound = "Less."\ncells = "mine"\n'
        '[draw]\ny = "memory"\nseries = ["kindex"]\n',
        encoding="utf-8",
    )
    second = experiments.read(other)
    assert [series.name for series in second.series] == ["kindex"]
    assert second.plans == first.plans
    keys = {cell.key for _, _, cell, _ in first.cells("full", 1)}
    assert {cell.key for _, _, cell, _ in second.cells("full", 1)} < keys


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "time by size"\n', "", "`title` is missing: a text"),
        ('title = "time by size"', "title = 3", "`title` must be a text, not 3"),
        ("found =", "fuond =", "`fuond` is not a key here; did you mean `found`?"),
        (
            "[small.effort]",
            "[small.efort]",
            "`small.efort` is not a key here; did you mean `effort`?",
        ),
        ("events = 5", "events = 0", "`small.effort.events` must be above 0, not 0"),
        ("events = 5", "events = 0.5", "`small.effort.events` must be a whole number, not 0.5"),
        (
            "events = 5",
            "event = 5",
            "`small.effort.event` is not a key here; did you mean `events`?",
        ),
        ("size = [50]", "size = []", "`small.varied.size` must be a list of values, not []"),
        ("size = [50]", "depth = [50]", "`varied` must have one parameter, not size, depth"),
        ('log = ["y"]', 'log = ["z"]', "`draw.log` may contain 'x' and 'y', not 'z'"),
        (
            'log = ["y"]',
            'kind = "pie"',
            "`draw.kind` must be 'lines' or 'bars' or 'table', not 'pie'",
        ),
        ('log = ["y"]', 'kind = "table"', "`draw.rows` and `columns` leave out 2 metrics"),
        (
            'order = ["kindex"',
            'order = ["kidnex"',
            "`order` contains 'kidnex', but the series are kin",
        ),
        (
            'matcher = "scan"',
            'matcher = "kindex"',
            "`series[2].name` is 'kindex', which another series has",
        ),
        ('matcher = "scan"', "", "`series[2].matcher` is missing: a text"),
        ("times = 1.0", "time = 1.0", "`draw.y.time` is not a key here; did you mean `times`?"),
        ('["time", {', "[3, {", "`draw.y` must be the name of a metric or a table, not 3"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ExperimentError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'mine.toml'}: {message}"), caught.value


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"fontoura"',
            '"fontura"',
            "`workload.name` cannot be 'fontura'; did you mean 'fontoura'?",
        ),
        ("depth = [1, 2]", "deep = 2", "`fontoura.deep` cannot be 'deep'; did you mean 'depth'?"),
        ('matcher = "scan"', 'matcher = "skan"', "`series.matcher` cannot be 'skan'; did you mean"),
        ('label = "K-index"', "options = { x = 1 }", "`kindex.options` cannot be 'x'; known:"),
    ],
)
def test_what_there_is_not(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = GOOD.replace('order = ["kindex", "scan"]\n', "").replace(old, new, 1)
    with pytest.raises(ExperimentError, match=re.escape(f"mine.toml: {message}")):
        check(read(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"cannot read .*none\.toml: No such file"):
        experiments.find(str(tmp_path / "none.toml"))
    with pytest.raises(ExperimentError, match=r"mine\.toml is not valid TOML: Invalid value"):
        read(tmp_path, "title = ")


def test_names_of_experiments() -> None:
    def names(*asked: str) -> list[str]:
        return [each.name for each in experiments.find(*asked)]

    assert names("fig12a") == ["ji/fig12a"]
    assert names("whang/fig14") == ["whang/fig14"]
    assert len(names("whang")) == 7
    assert names("all", "ji") == list(experiments.shipped())
    with pytest.raises(
        ExperimentError,
        match=r"'fig14' is ambiguous: broder/fig14, diao/fig14, fontoura/fig14, whang/fig14",
    ):
        names("fig14")
    with pytest.raises(ExperimentError, match=r"a/x.toml and b/x.toml are both called x"):
        names("a/x.toml", "b/x.toml")
    with pytest.raises(
        ExperimentError,
        match=r"unknown experiment 'fig99': .*\(broder, diao, fontoura, ji, whang\)",
    ):
        names("fig99")


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_can_be_run(name: str) -> None:
    (found,) = experiments.find(name)
    check(found)
    assert found.found.endswith(".")
    assert len(found.plans["small"].values) <= len(found.plans["full"].values)


def figures(paper: str, **numbers: Any) -> set[str]:
    return {f"{paper}/{kind}{number}" for kind, many in numbers.items() for number in many}


def test_every_figure_is_there() -> None:
    wanted = (
        figures("whang", fig=range(14, 20))
        | figures("fontoura", fig=range(7, 15), table=range(2, 5))
        | figures("broder", fig=range(12, 17), table=(2, 3))
        | figures("diao", fig=(*range(11, 19), 22, 23, 24, 26, 27), table=range(3, 7))
        | figures("ji", table=(4,), fig=("9", *(f"12{letter}" for letter in "abcdefgh")))
        | figures("ji", fig=[f"{number}{letter}" for number in (11, 13) for letter in "abcd"])
        | figures("ji", fig=("8a", "8b", "10a", "10b"))
        | {"whang/size"}
    )
    assert set(SHIPPED) == wanted
    assert set(measurable()["matchers"]) == {"expressions", "graph", "xml"}
