"""The commands of `tamis spark`, run in the session of the tests."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis.cli import main

SUBSCRIPTIONS = """\
{"id": "young-west", "expression": "age between 18 and 25 and state in ('CA', 'OR', 'WA')"}
{"id": "members", "expression": {"attribute": "member", "operator": "=", "value": true}}
{"id": "typo", "expression": "age betwen 1 and 2"}
"""
EVENTS = """\
{"age": 21, "state": "CA"}
{"age": 70, "member": true}
"""


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files in a folder; Spark was started elsewhere, and would look for relative paths there."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    (tmp_path / "rules.jsonl").write_text(SUBSCRIPTIONS)
    (tmp_path / "events").mkdir()
    (tmp_path / "events/first.jsonl").write_text(EVENTS)
    return tmp_path


def run(command: str, folder: Path, *files: str, options: str = "") -> int:
    return main(["spark", command, *(f"{folder}/{file}" for file in files), *options.split()])


def read(folder: Path) -> list[dict[str, object]]:
    files = sorted(folder.glob("part-*"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_compile_match_and_stream(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", folder, "rules.jsonl", "index", options="--strict") == 1
    told = capsys.readouterr()
    assert "1 row refused, nothing was committed" in told.err
    assert run("compile", folder, "rules.jsonl", "index", options="--json") == 1
    told = capsys.readouterr()
    assert "did you mean `between`?" in told.err
    done = json.loads(told.out)
    assert (done["version"], done["subscriptions"], done["error_count"]) == (1, 2, 1)

    assert (
        run("match", folder, "events/first.jsonl", "index", "found.jsonl", options="--lists") == 0
    )
    found = {str(row["event"]): row["subscriptions"] for row in read(folder / "found.jsonl")}
    assert found == dict(zip(EVENTS.splitlines(), [["young-west"], ["members"]], strict=True))

    assert run("top", folder, "events/first.jsonl", "index", "best.jsonl", options="--n 1") == 0
    best = read(folder / "best.jsonl")
    assert sorted((row["subscription"], row["rank"]) for row in best) == [
        ("members", 1),
        ("young-west", 1),
    ]

    options = f"--checkpoint {folder}/state --once"
    assert run("stream", folder, "events", "index", "out.jsonl", options=options) == 0
    (folder / "events" / "second.jsonl").write_text('{"age": 19, "state": "OR"}\n{"age": \n')
    assert run("stream", folder, "events", "index", "out.jsonl", options=options) == 0
    rows = read(folder / "out.jsonl")
    (refused,) = [row for row in rows if "event_error" in row]
    assert refused["event"] == '{"age": '
    assert sorted(str(row["subscription"]) for row in rows if row is not refused) == [
        "members",
        "young-west",
        "young-west",
    ]


def test_what_goes_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("match", folder, "events/first.jsonl", "nowhere", "found") == 2
    assert "nowhere: not an index" in capsys.readouterr().err
    assert run("compile", folder, "missing.jsonl", "index") == 2
    assert "Path does not exist" in capsys.readouterr().err
    assert main(["spark", "stream", "kafka://events", "x", "y", "--checkpoint", "z"]) == 2
    assert "kafka://BROKER:PORT/TOPIC" in capsys.readouterr().err


def test_first_and_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules.jsonl").write_text(
        '{"id": "a", "expression": "age > 1", "metadata": {"tenant": 1}}\n'
        '{"id": "b", "expression": "age > 1", "priority": 5, "active_until": "2999-01-01"}\n'
        '{"id": "c", "expression": "age > 50", "priority": 9}\n'
    )
    assert run("compile", folder, "rules.jsonl", "index", options="--metadata-columns tenant") == 0
    assert run("first", folder, "events/first.jsonl", "index", "first.jsonl") == 0
    found = {(row["subscription"], row["priority"]) for row in read(folder / "first.jsonl")}
    assert found == {("b", 5), ("c", 9)}
    assert run("count", folder, "events/first.jsonl", "index", "counts.jsonl") == 0
    counts = {row["subscription"]: row["count"] for row in read(folder / "counts.jsonl")}
    assert counts == {"a": 2, "b": 2, "c": 1}
    files = ("events/first.jsonl", "index", "one.jsonl")
    command = ["spark", "match", *(f"{folder}/{name}" for name in files)]
    assert main([*command, "--where", "tenant = 1"]) == 0
    assert {row["subscription"] for row in read(folder / "one.jsonl")} == {"a"}
    capsys.readouterr()
