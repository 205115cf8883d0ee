"""Rules that carry examples: `tamis test` reports those that fail, and why."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tamis import rules
from tamis.cli.app import run
from tamis.rules import RuleError, examples, sigma

GOOD = """\
missing: unknown
time_zone: Europe/Paris
now: 2026-01-02T05:00:00Z
rules:
  - id: young-west
    expression: age between 18 and 25 and state in ('CA', 'OR')
    metadata: {team: growth}
    match:
      - {age: 21, state: CA}
    not_match:
      - {age: 30, state: CA}
      - {age: 21}
  - id: stopped
    eventbridge: {detail: {state: [stopped]}}
    match: [{detail: {state: stopped}}]
  - id: adult
    mongo: {age: {$gte: 18}}
    not_match: [{age: 17}, {}]
  - id: named
    sql: lower(name) LIKE 'a%'
    match: [{name: Ada}]
  - id: recent
    expression: {attribute: at, operator: '>', value: {timestamp: '2026-01-01 00:00:00'}}
    match: [{at: 2026-01-01 00:00:01}]
"""


def test_good_rules_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(GOOD)
    tests = examples.read(file)
    assert [rule.id for rule in tests.rules] == [
        "young-west",
        "stopped",
        "adult",
        "named",
        "recent",
    ]
    assert tests.refused == []
    assert list(tests.run()) == []
    assert run(["test", str(file)]) == 0
    assert capsys.readouterr().out == "5 rules, 8 of 8 examples pass\n"


def test_failures_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(GOOD.replace("{age: 30, state: CA}", "{age: 20, state: OR}"))
    assert run(["test", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{file}:11: young-west: example 2 must not match: ")
    assert "age between 18 and 25" in out
    assert out.endswith("5 rules, 7 of 8 examples pass\n")
    assert run(["test", str(file), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["id"], record["line"], record["must_match"]) == ("young-west", 11, False)


def test_json_and_options(tmp_path: Path) -> None:
    rules = [{"id": 7, "expression": "not a = 1", "match": [{}]}, {"id": "x", "expression": "a"}]
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(rules))
    assert run(["test", str(file)]) == 1
    assert run(["test", str(file), "--missing", "false"]) == 0


BAD_RULES: list[tuple[Any, str]] = [
    (3, "a rule must be an object"),
    ({"expression": "a"}, "must have an `id`"),
    ({"id": True, "expression": "a"}, "must have an `id`"),
    ({"id": "x"}, "one of expression"),
    ({"id": "x", "expression": "a", "sql": "a"}, "one of expression"),
    ({"id": "x", "expression": "a ="}, "expected"),
    ({"id": "x", "expression": {"no": 1}}, ""),
    ({"id": "x", "eventbridge": {"a": []}}, "empty array"),
    ({"id": "x", "mongo": {"a": {"$near": 1}}}, "no operator"),
    ({"id": "x", "sql": "sum(a) > 1"}, "aggregate"),
    ({"id": "x", "sql": 7}, "string"),
    ({"id": "x", "expression": "a", "matches": []}, "no member 'matches'"),
    ({"id": "x", "expression": "a", "match": {"a": 1}}, "list of events"),
    ({"id": "x", "expression": "a", "match": [1]}, "list of events"),
    ({"id": "good", "expression": "a"}, "already used"),
]


@pytest.mark.parametrize(("rule", "reason"), BAD_RULES)
def test_a_bad_rule_costs_no_other(rule: Any, reason: str) -> None:
    good = {"id": "good", "expression": "a = 1", "match": [{"a": 1}]}
    other = {"id": "other", "expression": "a = 2", "match": [{"a": 2}]}
    tests = examples.read(json.dumps([good, rule, other]) + "\n")
    assert [each.id for each in tests.rules] == ["good", "other"]
    assert len(tests.refused) == 1
    assert reason in tests.refused[0].reason
    assert list(tests.run()) == []


BAD_FILES = {
    "empty": "# nothing\n",
    "not YAML": "rules: [unclosed\n",
    "no rules": "title: x\nrules: 3\n",
    "an unknown option": "rules: []\nmising: false\n",
    "a wrong option": "rules: []\nmissing: maybe\n",
    "a list as an option": "rules: []\nmissing: [1]\n",
    "a moment": "rules: []\nnow: yesterday\n",
    "a zone": "rules: []\ntime_zone: Mars/Base\n",
    "a key twice": "rules: []\nrules: []\n",
    "deep": "rules: " + "[" * 20_000 + "]" * 20_000 + "\n",
    "a cycle": "rules: &a\n  - *a\n",
    "a bomb": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{n}: &{n} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n"
        for p, n in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "rules: *j\n",
    "a tag of Python": "rules: !!python/object/apply:os.system [ls]\n",
    "JSON": '{"rules": [}',
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuleError):
        examples.read(BAD_FILES[name])
    file = tmp_path / "rules.yaml"
    file.write_text(BAD_FILES[name])
    assert run(["test", str(file)]) == 1
    assert capsys.readouterr().err.startswith(str(file))


def test_an_event_that_cannot_be_read(tmp_path: Path) -> None:
    tests = examples.read("- {id: x, expression: a = 1, match: [{a: [[1]]}, {a: 1}]}\n# end\n")
    (failure,) = tests.run()
    assert "cannot be read" in failure.explanation


SIGMA = """\
title: Whoami
id: 20000000-0000-4000-8000-000000000001
logsource: {category: process_creation}
detection: {s: {Image|endswith: 'whoami.exe'}, condition: s}
tests:
  match: [{Image: 'C:\\WHOAMI.EXE'}]
  not_match: [{Image: 'C:\\net.exe'}, {}]
"""


def test_sigma_rules_carry_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sigma.collection")
    (tmp_path / "a.yml").write_text(SIGMA)
    assert run(["test", "--from", "sigma", str(tmp_path)]) == 0
    wrong = SIGMA.replace("net.exe", "x_whoami.exe").replace("0001", "0002")
    (tmp_path / "b.yml").write_text(wrong)
    (tmp_path / "c.yml").write_text(
        SIGMA.replace("tests:", "tests:\n  maybe: []").replace("0001", "0003")
    )
    (tmp_path / "d.yml").write_text("title: [\n")
    tests = sigma.read_tests(tmp_path)
    assert len(tests.rules) == 2
    assert len(tests.refused) == 2
    assert run(["test", "--from", "sigma", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "example 2 must not match" in captured.out
    assert "`match` and `not_match`" in captured.err
    assert run(["test", "--from", "sigma", str(tmp_path / "nowhere")]) == 1


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    """Every importer counts the rules read and refused; the commands show that on a terminal."""
    pytest.importorskip("sigma.collection")
    pytest.importorskip("sqlglot")
    counts: list[int] = []
    rules.sigma.read(SIGMA + "---\ntitle: bad\n", progress=counts.append)
    rules.eventbridge.read('{"a": {"x": ["y"]}, "b": {"x": []}}', progress=counts.append)
    rules.mongo.read('{"a": {"x": 1}}', progress=counts.append)
    rules.sql.read('{"a": "x = 1"}', progress=counts.append)
    assert counts == [1, 2, 1, 2, 1, 1]


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file = tmp_path / "rules.json"
    file.write_text('{"a": {"x": 1}}')
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert run(["rules", "read", "--from", "mongo", str(file)]) == 0
    assert "reading" in terminal.getvalue()
