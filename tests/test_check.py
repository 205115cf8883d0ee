"""The findings of `Index.check` and `tamis check --events`, and hostile input to them."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tamis
from tamis import Finding, Index
from tamis.cli import linting, main

SAMPLE = [
    {"country": "FR", "age": 21, "seen": "2026-01-02", "items": [{"price": 3}]},
    {"country": "DE", "age": 30.5, "user": {"name": "Ada"}},
]
RULES = {
    "case": "Country = 'FR'",
    "type": "age = '21'",
    "text": "seen > '2026-01-01'",
    "quoted": '"age > 5" = true',
    "never": "age > 30 and not age > 20",
    "always": "age is null or age is not null",
    "one": "age > 5 and country = 'FR'",
    "same": "country in ('FR') and age > 5",
    "wide": "country in ('FR', 'DE')",
}
KINDS = [
    ("unseen-attribute", ("case",)),
    ("unseen-type", ("type",)),
    ("text-order", ("text",)),
    ("quoted-name", ("quoted",)),
    ("never", ("never",)),
    ("always", ("always",)),
    ("equal", ("one", "same")),
    ("subsumed", ("one", "wide")),
]


def index_of(rules: dict[str, str], **how: Any) -> Index:
    index = Index(**how)
    index.add_many(rules)
    return index


def kinds(findings: Iterable[Finding]) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(finding.kind, finding.subscriptions) for finding in findings]


@pytest.mark.parametrize(
    "events",
    [
        SAMPLE,
        iter(SAMPLE),
        [json.dumps(event) for event in SAMPLE],
        "\n".join(json.dumps(event) for event in SAMPLE),
        b"\n\n".join(json.dumps(event).encode() for event in SAMPLE),
        pa.Table.from_pylist(SAMPLE),
    ],
    ids=["mappings", "iterator", "texts", "lines", "bytes", "arrow"],
)
def test_every_kind(events: Any) -> None:
    findings = index_of(RULES).check(events)
    assert kinds(findings) == KINDS
    unseen = findings[0]
    assert unseen.message == "none of 2 events has `Country`; did you mean `country`?"
    assert (unseen.count, unseen.attribute, unseen.position) == (1, "Country", 0)


ELEMENTS = [
    {"items": [{"price": "3", "at": datetime(2026, 1, 2, tzinfo=UTC), "paid": Decimal("1.5")}]},
    {"items": [{"price": "4", "at": None, "paid": None}]},
]


@pytest.mark.parametrize(
    "events",
    [
        ELEMENTS,
        [json.dumps(event, default=str) for event in ELEMENTS],
        pa.Table.from_pylist(ELEMENTS),
    ],
    ids=["mappings", "texts", "arrow"],
)
def test_types_inside_of_lists(events: Any) -> None:
    rules = {
        "number": "any(items, price > 2)",
        "flag": "none(items, price = '3' or price = true)",
        "right": "any(items, price = '3' and at > timestamp '2026-01-01 00:00:00Z')",
    }
    found = index_of(rules).check(events)
    assert kinds(found) == [("unseen-type", ("number",)), ("unseen-type", ("flag",))]
    message = (
        "`items.price` is compared with a number, but is a string in all elements that have it"
    )
    assert found[0].message == message


def test_without_a_sample_only_expressions_are_looked_at() -> None:
    expected = [kind for kind in KINDS if not kind[0].startswith("unseen")]
    assert kinds(index_of(RULES).check()) == expected
    assert kinds(index_of(RULES).check([])) == expected


def test_saved_and_other_matchers(tmp_path: Path) -> None:
    index_of(RULES).save(tmp_path / "saved")
    assert kinds(tamis.open(tmp_path / "saved").check(SAMPLE)) == KINDS
    for matcher in ("scan", "compiled", "kindex"):
        assert kinds(index_of(RULES, matcher=matcher).check(SAMPLE)) == KINDS


def test_positions_are_those_of_the_canonical_text() -> None:
    index = index_of({"a": "x = 1 AND (y = 2 or Z = 3)"})
    (finding,) = index.check([{"x": 1, "y": 2}])
    text = str(index["a"].expression)
    assert finding.position is not None
    assert text[finding.position :].startswith("Z = 3")


def test_texts_in_another_case() -> None:
    (finding,) = index_of({"a": "b = 1 and lower(name) = 'ACME'"}).check()
    assert (finding.kind, finding.attribute, finding.position) == ("text-case", "lower(name)", 10)
    wanted = "`lower(name)` never equals 'ACME', which is not in lower case: write 'acme'"
    assert finding.message == wanted


def test_missing_decides_what_always_holds() -> None:
    rules = {"a": "x = 1 or x != 1"}
    assert index_of(rules).check() == []
    assert kinds(index_of(rules, missing="false").check()) == [("always", ("a",))]


def test_bad_events_are_reported_and_passed_over() -> None:
    index = index_of({"a": "x > 1 and y.z = 2"})
    loop: dict[str, Any] = {"x": 3}
    loop["self"] = loop
    loop["list"] = [loop, loop]
    bad: list[Any] = ['{"x": ', 5, None, {"x": 10**400}, {"x": object()}, "[1]", b"\xff"]
    good: list[Any] = [{"x": 3, "y": {"z": 2}}, loop, {"x": [None, 3]}]
    findings = index.check([*bad, *good])
    assert [(finding.kind, finding.position) for finding in findings] == [
        ("event", row) for row in range(len(bad))
    ]
    findings = index.check(["{"] * 150)
    assert len(findings) == 101
    assert findings[100].message == "50 more events cannot be read"
    deep = '{"x": 1, "d": ' + '{"d": ' * 5_000 + "1" + "}" * 5_001
    assert [finding.kind for finding in index.check([deep])] == ["event"]
    with pytest.raises(tamis.EventError, match="not one event"):
        index.check({"x": 1})
    with pytest.raises(tamis.EventError, match="check takes an iterable of events"):
        index.check(5)


def test_errors_of_others_are_not_findings() -> None:
    def events() -> Iterable[dict[str, int]]:
        yield {"x": 1}
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        index_of({"a": "x > 1"}).check(events())


def test_many_subscriptions_are_one_finding_and_bounds_are_told() -> None:
    rules = {f"r{number}": f"nope > {number}" for number in range(500)}
    findings = index_of(rules).check([{"x": 1}], comparisons=10)
    assert [(finding.kind, finding.count) for finding in findings if finding.attribute] == [
        ("unseen-attribute", 500)
    ]
    assert len(findings[0].subscriptions) == 100
    assert findings[-1].kind == "bound"
    assert "10 pairs of predicates" in findings[-1].message
    assert len(index_of(rules).check(most=5)) == 6


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"id": id, "expression": text}) for id, text in RULES.items())
    Path("rules.jsonl").write_text("\n".join(lines))
    Path("sample.jsonl").write_text("\n\n".join(map(json.dumps, SAMPLE)) + "\n{")
    Path("good.jsonl").write_text("\n".join(map(json.dumps, SAMPLE)))
    return tmp_path


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--file", "rules.jsonl", "--events", "sample.jsonl"]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "rules.jsonl: 9 valid, 0 invalid"
    assert lines[1] == (
        'rules.jsonl:1: "case", column 1: none of 2 events has `Country`; did you mean `country`? '
        "[unseen-attribute]"
    )
    [line] = [line for line in lines if line.endswith(" [event]")]
    assert line.startswith("sample.jsonl:4: the event is invalid JSON: column 1")
    assert lines[-1].startswith("9 findings: 1 unseen-attribute, ")
    assert err == ""
    assert main(["check", "age > 5", "--events", "good.jsonl"]) == 0
    assert capsys.readouterr().out == "age > 5\n0 findings\n"
    assert main(["check", "Age > 5", "age <", "--events", "good.jsonl"]) == 1
    assert '"argument 1", column 1: none of 2' in capsys.readouterr().out
    assert main(["check", "--file", "-", "--events", "-"]) == 2


def test_the_command_writes_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--file", "rules.jsonl", "--events", "good.jsonl", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [(line["finding"], tuple(line["subscriptions"])) for line in lines if "finding" in line]
    assert sorted(found) == sorted(KINDS)
    assert [line["line"] for line in lines if line.get("finding") == "unseen-attribute"] == [1]
    assert lines[0] == {
        "line": 1,
        "id": "case",
        "valid": True,
        "expression": "Country = 'FR'",
    }


def test_the_command_takes_saved_indexes_and_other_languages(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index_of(RULES).save("saved")
    assert main(["check", "--file", "saved", "--events", "good.jsonl"]) == 1
    assert "\n8 findings: " in capsys.readouterr().out
    Path("patterns.json").write_text(json.dumps({"rule": {"Country": ["FR"]}}))
    assert main(["check", "--from", "mongo", "-f", "patterns.json", "-e", "good.jsonl"]) in (0, 1)
    Path("empty").mkdir()
    assert main(["check", "--file", "empty", "--events", "good.jsonl"]) == 2
    line = "age = 1 or age != 1"
    assert main(["check", line, "--events", "good.jsonl", "--missing", "false"]) == 1
    assert "every event satisfies" in capsys.readouterr().out


def test_the_command_writes_the_most_serious_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(linting._MOST_SERIOUS_FIRST) == sorted(linting._KINDS)
    many = [f"age > {number}" for number in range(20)]
    Path("rules.txt").write_text("\n".join([*many, "-- the one that matters", "Age > 3"]))
    command = ["check", "--file", "rules.txt", "--events", "good.jsonl"]
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("rules.txt:22: none of 2 events has `Age`")
    assert all(line.endswith(" [subsumed]") for line in lines[2:-1])
    assert lines[-1] == f"{len(lines) - 2} findings: 1 unseen-attribute, {len(lines) - 3} subsumed"
    assert main([*command, "--ignore", "equal,subsumed"]) == 1
    assert capsys.readouterr().out.splitlines()[2:] == ["1 finding"]
    assert main([*command, "--ignore", "equal", "--ignore", "unseen-attribute, subsumed"]) == 0
    assert capsys.readouterr().out.endswith("\n0 findings\n")
    assert main([*command, "--ignore", "subsumd"]) == 2
    assert "there is no kind 'subsumd'; the kinds are event, " in capsys.readouterr().err
    index_of(RULES).save("saved")
    kinds = ",".join(linting._KINDS)
    assert main(["check", "-f", "saved", "--events", "good.jsonl", "--ignore", kinds]) == 0


def test_the_command_names_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"id": ["a", "b"], "expression": ["age > 3", "Age > 3"]}
    parquet.write_table(pa.table(columns), "rules.parquet")
    assert main(["check", "--file", "rules.parquet", "--events", "good.jsonl"]) == 1
    assert 'rules.parquet, row 2: "b", column 1: none of' in capsys.readouterr().out
    assert main(["check", "--file", "rules.parquet", "--events", "good.jsonl", "--json"]) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["finding"], found["row"]) == ("unseen-attribute", 2)


def test_a_rule_with_the_same_mistake_twice_counts_once() -> None:
    index = Index()
    index.add("h", "hour(at) >= 22 or hour(at) < 6")
    index.add("i", "hour(at) = 3")
    (unseen,) = (found for found in index.check([{"x": 1}]) if found.kind == "unseen-attribute")
    assert (unseen.subscriptions, unseen.count) == (("h", "i"), 2)


def test_ends_of_a_range_in_the_wrong_order() -> None:
    index = Index()
    index.add("night", "x = 1 or hour(at) between 22 and 6")
    index.add("fine", "hour(at) between 6 and 22 and a between 'x' and 'y'")
    (found,) = index.check()
    assert (found.kind, found.subscriptions, found.attribute) == (
        "empty-range",
        ("night",),
        "hour(at)",
    )
    assert "the lower end is above the upper" in found.message
    assert "`hour(at) >= 22 or hour(at) <= 6`" in found.message


def test_advice_on_networks_keeps_the_negation() -> None:
    index = Index()
    index.add("in", "client in ('10.0.0.0/8')")
    index.add("out", "client not in ('10.0.0.0/8')")
    advice = {found.subscriptions: found.message.rpartition("write ")[2] for found in index.check()}
    assert advice == {
        ("in",): "`client in (cidr '10.0.0.0/8')`",
        ("out",): "`client not in (cidr '10.0.0.0/8')`",
    }
    network = ip_network("10.0.0.0/8")
    with pytest.raises(tamis.ExpressionError, match=r"write `not in \(cidr .*instead of `!=`"):
        tamis.attr.client != network  # noqa: B015
    with pytest.raises(tamis.ExpressionError, match=r"write `in \(cidr .*instead of `=`"):
        tamis.attr.client == network  # noqa: B015


def test_a_sample_in_csv_and_parquet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    csv, table = tmp_path / "e.csv", tmp_path / "e.parquet"
    csv.write_text("age,name\n3,ada\n4\n")
    parquet.write_table(pa.table({"age": [3]}), table)
    assert main(["check", "age > 1 and nme = 'x'", "--events", str(csv)]) == 1
    out = capsys.readouterr().out
    assert "none of 2 events has `nme`; did you mean `name`?" in out
    assert "e.csv:3: the row has 1 cells, and the header 2 [event]" in out
    assert main(["check", "age > 1", "--events", str(table)]) == 0
    (tmp_path / "e.xml").write_text("<a/>")
    assert main(["check", "age > 1", "--events", str(tmp_path / "e.xml")]) == 2


def test_similar_findings_are_counted_unless_as_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("".join(f"a > {n} and not a > 1\n" for n in range(1, 51)))
    assert main(["check", "--file", str(rules)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert sum(line.endswith("[never]") for line in out) == 20
    assert out[-2:] == ["30 more of the kind never; --json writes all", "50 findings"]
    assert main(["check", "--file", str(rules), "--json"]) == 1
    assert capsys.readouterr().out.count('"finding": "never"') == 50
