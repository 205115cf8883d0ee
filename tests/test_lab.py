"""The laboratory: the same bytes from the same seed, and no times for wrong results."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pytest

from oracle import Matcher
from tamis import EventError, Graph, Index, lab, xml
from tamis._tamis import Workload
from tamis.cli import main
from tamis.lab import Comparison, Measurement
from tamis.lab.experiments import measurable

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

WORKLOADS = [name for name, known in measurable()["workloads"].items() if known["family"] != "xml"]
FIGURES = [
    name
    for name in Measurement.__dataclass_fields__
    if name not in ("matcher", "status", "reason", "uses")
]
SUBSCRIPTIONS: list[tuple[str | int, str]] = [("a", "x > 3"), (2, "x > 1 and not y = 'z'")]
EVENTS = [b'{"x": 4, "y": "w"}', b'{"x": 2, "y": "w"}', b'{"x": 2, "y": "z"}']
STRANGERS = """
import os, time
from tamis import Index

class Forgetful:  # it misses the last match
    def __init__(self, missing):
        self.index = Index(missing=missing)
    def add_many(self, items):
        self.index.add_many(items)
    def match(self, event):
        return self.index.match(event)[:-1]

class Confused(Forgetful):  # as many matches, of other names
    def match(self, event):
        return [f"not {id}" for id in self.index.match(event)]

class Tiring(Forgetful):  # right once
    tired = False
    def match(self, event):
        found = self.index.match(event)[self.tired:]
        self.tired = True
        return found

class Right(Forgetful):
    def match(self, event):
        print("words on standard output do no harm")
        return self.index.match(event)[::-1]

class Endless(Forgetful):
    def add_many(self, items):
        time.sleep(600)

class Greedy(Forgetful):
    def add_many(self, items):
        self.kept = bytearray(3 << 29)

class Crashing(Forgetful):
    def add_many(self, items):
        os.abort()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with external matchers and a user's files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strangers.py").write_text(STRANGERS, encoding="utf-8")
    (tmp_path / "random.py").write_text("raise SystemExit('not the library')", encoding="utf-8")
    lines = [json.dumps({"id": id, "expression": text}) + "\n" for id, text in SUBSCRIPTIONS]
    (tmp_path / "subscriptions.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "events.jsonl").write_bytes(b"\n\n".join(EVENTS))
    return tmp_path


def only(matcher: str, **options: Any) -> Measurement:
    (found,) = lab.compare(SUBSCRIPTIONS, EVENTS, matchers=[matcher], **options).measurements
    return found


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, format: Any) -> None:
    def contents(name: str, seed: int) -> dict[str, bytes]:
        files = lab.generate(
            "dense", 40_000, events=50, seed=seed, folder=tmp_path / name, format=format
        )
        return {kind: file.read_bytes() for kind, file in files.items()}

    first, other = contents("first", 7), contents("other", 8)
    assert first == contents("second", 7)
    assert all(first[kind] != other[kind] for kind in first)


def test_a_graph_is_written_whole(tmp_path: Path) -> None:
    text = lab.generate("exchange", 5, events=30, seed=3, folder=tmp_path)
    tables = lab.generate("exchange", 5, events=30, seed=3, folder=tmp_path, format="parquet")
    read = {kind: parquet.read_table(tables[kind]) for kind in ("nodes", "edges", "sources")}
    sources = [row["source"] for row in read["sources"].to_pylist()]
    events = text["events"].read_text("utf-8").splitlines()
    one = Graph.from_csv(text["nodes"], text["edges"])
    other = Graph.from_tables(read["nodes"], read["edges"])
    assert len(one) == len(other) == 71_097
    found = one.match_batch(events, sources)
    assert found == other.match_batch(events, sources)
    assert sum(map(len, found)) > 100
    lines = text["sources"].read_text("utf-8").splitlines()
    assert lines == ["number,source", *(f"{at},{name}" for at, name in enumerate(sources))]
    with pytest.raises(ValueError, match="dense is not a graph; exchange is"):
        Workload("dense").nodes()


@pytest.mark.parametrize("workload", WORKLOADS)
def test_both_formats_hold_the_workload(tmp_path: Path, workload: str) -> None:
    for format in ("jsonl", "parquet"):
        lab.generate(workload, 20, events=5, seed=3, folder=tmp_path, format=format)
    source = Workload(workload, size=20, seed=3)
    expressions = source.expressions(0, 20)["text"].to_pylist()
    events = source.events(0, 5)["text"].to_pylist()

    lines = (tmp_path / "subscriptions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows == [{"id": id, "expression": text} for id, text in enumerate(expressions)]
    assert rows == parquet.read_table(tmp_path / "subscriptions.parquet").to_pylist()
    assert (tmp_path / "events.jsonl").read_text("utf-8").splitlines() == events
    assert parquet.read_table(tmp_path / "events.parquet")["event"].to_pylist() == events
    described = json.loads((tmp_path / "workload.json").read_text("utf-8"))
    assert described["missing"] == source.missing
    assert described["seed"] == 3


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_documents_and_filters(tmp_path: Path, format: Any) -> None:
    given = {"schema": "auction", "predicates": 1, "nested": 1}
    lab.generate("xml", 500, events=20, seed=3, parameters=given, folder=tmp_path, format=format)

    def rows(kind: str) -> list[dict[str, Any]]:
        file = tmp_path / f"{kind}.{format}"
        if format == "parquet":
            found: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
            return found
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    filters, scan = xml.Filter(), xml.Filter(engine="scan")
    for each in (filters, scan):
        each.add_many((row["id"], row["xpath"]) for row in rows("subscriptions"))
    assert len(filters) == 500
    answers = [filters.match(row["document"]) for row in rows("events")]
    assert answers == [scan.match(row["document"]) for row in rows("events")]
    assert len(answers) == 20
    assert any(answers)
    source = Workload("xml", size=500, seed=3, parameters=json.dumps(given))
    assert [row["xpath"] for row in rows("subscriptions")] == source.expression_texts(0, 500)
    assert json.loads((tmp_path / "workload.json").read_text("utf-8"))["parameters"] == given


def test_a_document_type_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "own.dtd"
    file.write_text("<!ELEMENT a (b*)><!ELEMENT b (a?)><!ATTLIST b x CDATA #IMPLIED>", "utf-8")
    source = Workload("xml", size=50, parameters=json.dumps({"dtd": str(file), "root": "b"}))
    assert {text[:2] for text in source.event_texts(0, 20)} == {"<b"}
    assert len(set(source.expression_texts(0, 50))) == 50
    file.write_text("<!ELEMENT a (c)>", "utf-8")
    with pytest.raises(ValueError, match=r"own\.dtd: .*the element `c` is not declared"):
        Workload("xml", size=50, parameters=json.dumps({"dtd": str(file)}))


def test_lines_need_no_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    files = lab.generate("dense", 3, events=2, folder=tmp_path)
    assert len(files["subscriptions"].read_text("utf-8").splitlines()) == 3
    assert [set(json.loads(line)) for line in files["events"].read_text("utf-8").splitlines()]
    with pytest.raises(ModuleNotFoundError):
        lab.generate("dense", 3, events=2, folder=tmp_path, format="parquet")


def test_generating_nothing_and_too_much(tmp_path: Path) -> None:
    files = lab.generate("dense", 0, events=0, folder=tmp_path, format="parquet")
    assert parquet.read_table(files["events"]).column_names == ["number", "event"]
    for count, seed, name in (
        (-1, 0, "dense"),
        (1 << 32, 0, "dense"),
        (1, -1, "dense"),
        (1, 0, "x"),
    ):
        with pytest.raises(ValueError, match=r"count must be|seed must be|unknown workload"):
            lab.generate(name, count, seed=seed, folder=tmp_path)


def test_every_matcher_is_measured() -> None:
    source = Workload("fontoura", size=100, seed=1)
    subscriptions = list(enumerate(source.expressions(0, 100)["text"].to_pylist()))
    events = [text.encode() for text in source.events(0, 20)["text"].to_pylist()]
    found = lab.compare(subscriptions, events, missing="false", sample=10)

    index = Index(missing="false")
    index.add_many(subscriptions)
    matches = sum(len(index.match(event)) for event in events) / 20
    assert matches > 0
    assert [each.matcher for each in found.measurements] == list(lab.MATCHERS)
    for each in found.measurements:
        assert each.status == "measured", each
        assert each.matches_per_event == matches
        assert each.timed == 20
        assert 0 < (each.median_us or 0) <= (each.p99_us or 0)
        assert each.bytes
    assert found.settings["checked"] == 10
    assert found.recommended in lab.MATCHERS


def test_tests_know_every_matcher() -> None:
    assert sorted(get_args(Matcher)) == sorted(lab.MATCHERS)


@pytest.mark.parametrize(
    ("matcher", "reason"),
    [
        ("Forgetful", r"event \d: [01] matches, but scan finds [12]"),
        ("Confused", r"event \d: [12] matches like scan, but different ones"),
    ],
)
def test_a_wrong_matcher_gets_no_time(folder: Path, matcher: str, reason: str) -> None:
    found = lab.compare(SUBSCRIPTIONS, EVENTS, matchers=[f"strangers:{matcher}", "scan"])
    wrong, scan = found.measurements
    assert wrong.status == "differs"
    assert wrong.reason is not None
    assert re.fullmatch(reason, wrong.reason), wrong.reason
    assert {getattr(wrong, name) for name in FIGURES} == {None}
    assert scan.status == "measured"
    assert found.recommended == "scan"


def test_a_matcher_that_is_wrong_outside_the_sample(folder: Path) -> None:
    wrong = only("strangers:Tiring", sample=1)
    reason = "0.333333 matches per event over 3 events, but scan finds 1"
    assert (wrong.status, wrong.reason) == ("differs", reason)
    assert {getattr(wrong, name) for name in FIGURES} == {None}


def test_a_right_matcher_from_elsewhere(folder: Path) -> None:
    found = only("strangers:Right")
    assert found.status == "measured"
    assert found.matches_per_event == 1.0
    assert found.bytes is None


def test_a_matcher_that_refuses_the_data() -> None:
    text = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(40))
    found = lab.compare([("exploding", text)], EVENTS, matchers=["kindex", "compiled"])
    refused, compiled = found.measurements
    assert refused.status == "refused"
    assert "exploding" in (refused.reason or "")
    assert compiled.status == "measured"


def test_limits_of_time_and_memory(folder: Path) -> None:
    late = only("strangers:Endless", time_limit=5)
    assert (late.status, late.reason) == ("late", "not done within 5 s")
    if sys.platform == "linux":
        greedy = only("strangers:Greedy", memory_limit=1 << 30)
        assert (greedy.status, greedy.reason) == ("failed", "out of memory")
        crashed = only("strangers:Crashing")
        assert crashed.status == "failed"
        assert (crashed.reason or "").startswith("ended by SIGABRT")


def test_what_cannot_be_compared() -> None:
    for items, events, matchers in (
        ([], EVENTS, ["scan"]),
        (SUBSCRIPTIONS, [], ["scan"]),
        (SUBSCRIPTIONS, EVENTS, ["skan"]),
        (SUBSCRIPTIONS, EVENTS, ["strangers:"]),
    ):
        with pytest.raises(ValueError, match=r"at least|unknown matcher"):
            lab.compare(items, events, matchers=matchers)
    with pytest.raises(EventError) as caught:
        lab.compare(SUBSCRIPTIONS, [*EVENTS, b'{"x": '], matchers=["scan"])
    assert caught.value.item == 3


def measured(**times: float) -> Comparison:
    rows = [Measurement(name, "measured", uses=name, best_us=best) for name, best in times.items()]
    return Comparison([*rows, Measurement("cnf", "differs", "event 1")], {})


def test_the_recommendation() -> None:
    assert measured(scan=30, compiled=10).recommended == "compiled"
    next_fastest = "the next fastest, scan, takes 3.00x as long"
    assert next_fastest in measured(scan=30, compiled=10).recommendation
    assert measured(compiled=10, auto=10.5).recommended == "auto"
    assert "1.05x as long as compiled" in measured(compiled=10, auto=10.5).recommendation
    assert measured(compiled=10, auto=20).recommended == "compiled"
    assert measured().recommended is None
    assert measured().recommendation == "no matcher could be measured"


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tamis(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        written = capsys.readouterr()
        return code, written.out, written.err

    return call


FILES = ("subscriptions.jsonl", "events.jsonl")


def test_compare_as_text_and_recorded(tamis: Call) -> None:
    code, out, err = tamis(
        *("lab", "compare", *FILES, "--matchers", "compiled", "strangers:Forgetful"),
        *("--record", "kept", "--seed", "5"),
    )
    assert (code, err) == (0, "")
    head, compiled, wrong, *_ = out.splitlines()
    assert head.split()[:3] == ["matcher", "build", "s"]
    assert compiled.split()[-2:] == ["1.0", "3"]
    assert wrong.split()[:2] == ["strangers:Forgetful", "differs:"]
    assert "2 subscriptions, 3 events; matches of 3 of them compared with scan" in out
    assert "use compiled: " in out
    (kept,) = Path("kept").iterdir()
    rows = parquet.read_table(kept).to_pylist()
    assert [row["status"] for row in rows] == ["measured", "differs"]
    assert all(row["seed"] == 5 and row["cpu"] and row["tamis"] for row in rows)
    assert [row["events"] for row in rows] == [3, 3]
    assert rows[1]["best_us"] is None


def test_records_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = Comparison([Measurement("scan", "late", "not done within 1 s")], {"seed": 0})
    row = json.loads(lab.record(found, tmp_path).read_text("utf-8"))
    assert row.items() >= asdict(found.measurements[0]).items()


def test_generate_and_compare_as_json(tamis: Call) -> None:
    made = ("lab", "generate", "whang", "30", "--events", "9", "--out", "w", "--format", "parquet")
    code, out, _ = tamis(*made)
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == [
        "subscriptions.parquet",
        "events.parquet",
        "workload.json",
    ]
    files = ("w/subscriptions.parquet", "w/events.parquet")
    code, out, err = tamis(
        *("lab", "compare", *files, "--matchers", "kindex", "--events", "4", "--json")
    )
    assert (code, err) == (0, "")
    row, last = map(json.loads, out.splitlines())
    assert (row["matcher"], row["status"], row["timed"]) == ("kindex", "measured", 4)
    assert (last["recommended"], last["subscriptions"]) == ("kindex", 30)


def test_compare_tables(tamis: Call) -> None:
    """Rules and events in CSV, and events whose attributes are columns of Parquet."""
    Path("rules.csv").write_text("id,expression\na,age > 3\nb,zip = '94'\n", encoding="utf-8")
    Path("events.csv").write_text("age,zip\n4,94\n,\n2,8\n", encoding="utf-8")
    rows = [{"age": 4, "zip": "94"}, {"age": None, "zip": None}, {"age": 2, "zip": "8"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), "events.parquet")
    for words, matches in (
        (("events.csv",), 1 / 3),
        (("events.csv", "--text", "zip"), 2 / 3),
        (("events.parquet",), 2 / 3),
    ):
        code, out, err = tamis("lab", "compare", "rules.csv", *words, "--matchers=scan", "--json")
        assert (code, err) == (0, "")
        row, last = map(json.loads, out.splitlines())
        assert row["matches_per_event"] == pytest.approx(matches)
        assert (last["subscriptions"], last["events"]) == (2, 3)
    Path("rules.csv").write_text("id,expression\na,age > 3\nb,zip =\n", encoding="utf-8")
    code, _, err = tamis("lab", "compare", "rules.csv", "events.csv")
    assert (code, err[:12]) == (1, "rules.csv:3:")
    Path("events.csv").write_text("age\n4\n5,6\n", encoding="utf-8")
    code, _, err = tamis("lab", "compare", FILES[0], "events.csv")
    assert (code, err[:13]) == (1, "events.csv:3:")


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_compare_filters_of_documents(tamis: Call, format: str) -> None:
    made = ("lab", "generate", "xml", "60", "--events", "9", "--out", "w", "--format", format)
    assert tamis(*made)[0] == 0
    files = (f"w/subscriptions.{format}", f"w/events.{format}")
    code, out, err = tamis("lab", "compare", *files, "--json")
    assert (code, err) == (0, "")
    *rows, last = map(json.loads, out.splitlines())
    assert [row["matcher"] for row in rows] == list(lab.XML_MATCHERS)
    assert {row["status"] for row in rows} == {"measured"}
    assert len({row["matches_per_event"] for row in rows}) == 1
    assert rows[0]["matches_per_event"] > 0
    assert (last["family"], last["subscriptions"]) == ("xml", 60)


def test_filters_that_cannot_be_compared(tamis: Call) -> None:
    files = {
        "filters": '{"id": 1, "xpath": "//a"}\n',
        "bad": '{"id": 1, "xpath": "//a["}\n',
        "mixed": '{"id": 1, "xpath": "//a"}\n{"id": 2, "expression": "x > 1"}\n',
        "untyped": '{"id": 1, "xpath": 3}\n',
        "documents": '{"document": "<a/>"}\n',
        "broken": '{"document": "<a/>"}\n{"document": "<a>"}\n',
        "events": '{"x": 3}\n',
    }
    for name, text in files.items():
        Path(f"{name}.jsonl").write_text(text, encoding="utf-8")
    for filters, documents, message in (
        ("bad", "documents", "bad.jsonl: item 0 (id 1): line 1, column 5:"),
        ("mixed", "documents", "mixed.jsonl:2: a line must be a JSON object with `id` and `xpath`"),
        ("untyped", "documents", "untyped.jsonl:1: `xpath` must be a text"),
        ("filters", "broken", "broken.jsonl:2: "),
        ("filters", "events", "events.jsonl:1: a line must be a JSON object with `document`"),
    ):
        words = (f"{filters}.jsonl", f"{documents}.jsonl", "--matchers", "auto")
        code, out, err = tamis("lab", "compare", *words)
        assert (code, out) == (1, "")
        assert err.startswith(message), err


def test_what_the_command_refuses(tamis: Call) -> None:
    Path("bad.jsonl").write_text('{"id": 1, "expression": "x >"}\n', encoding="utf-8")
    Path("worse.jsonl").write_text('{"x": 4}\n\n{"x": }\n', encoding="utf-8")
    Path("odd.jsonl").write_text('{"id": 1.5, "expression": "x > 1"}\n', encoding="utf-8")
    for words, code, message in (
        (("compare", "odd.jsonl", FILES[1]), 1, "odd.jsonl: item 0 (id 1.5): an id must be"),
        (("compare", "bad.jsonl", FILES[1]), 1, "bad.jsonl:1: "),
        (
            ("compare", FILES[0], "worse.jsonl"),
            1,
            "worse.jsonl:3: the event is invalid JSON: column 7",
        ),
        (("compare", *FILES, "--matchers", "skan"), 2, "tamis: unknown matcher 'skan'; known:"),
        (("compare", *FILES, "--events", "0"), 2, "tamis: --events and"),
        (("compare", "none.parquet", FILES[1]), 2, "tamis: cannot read none.parquet: "),
        (("compare", "-", "-"), 2, "tamis: subscriptions and events cannot both"),
        (("generate", "nothing", "3", "--out", "w"), 2, 'tamis: unknown workload "nothing"'),
        (("generate", "xml", "3", "--out", "w", "--set", "x"), 2, "tamis: --set takes name=value"),
        (
            ("generate", "xml", "3", "--out", "w", "--set", "depth=40"),
            2,
            "tamis: depth must be from 1 to 32, not 40",
        ),
        (
            ("generate", "xml", "3", "--out", "w", "--set", "schema=news", "width=1"),
            2,
            'tamis: unknown parameter "width"; known: ',
        ),
    ):
        found, out, err = tamis("lab", *words)
        assert (found, out) == (code, ""), words
        assert err.startswith(message), err
