"""The commands of `tamis spark`, run in the session of the tests."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis import Graph
from tamis import spark as ts
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
    """Files in a folder; Spark was started in another one, and resolves relative paths there."""
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
    """compile, match, top and stream on files give the results of a local index."""
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
    """Errors are one line, with an exit code, and no trace."""
    assert run("match", folder, "events/first.jsonl", "nowhere", "found") == 2
    assert "nowhere: not an index" in capsys.readouterr().err
    assert run("compile", folder, "missing.jsonl", "index") == 2
    assert "Path does not exist" in capsys.readouterr().err
    assert main(["spark", "stream", "kafka://events", "x", "y", "--checkpoint", "z"]) == 2
    assert "kafka://BROKER:PORT/TOPIC" in capsys.readouterr().err


def test_update_versions_and_vacuum(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Changes make versions, and vacuum deletes old ones."""
    (folder / "rules.jsonl").write_text('{"id": 1, "expression": "age > 1"}\n')
    (folder / "changes.jsonl").write_text(
        '{"id": 1, "operation": "delete", "sequence": 1}\n'
        '{"id": 1, "expression": "age > 60", "operation": "upsert", "sequence": 2}\n'
        '{"id": 2, "expression": "age > 5", "operation": "upsert", "sequence": 1}\n'
        '{"id": 3, "expression": "age >", "operation": "upsert", "sequence": 1}\n'
    )
    assert run("compile", folder, "rules.jsonl", "index") == 0
    assert run("update", folder, "index", "changes.jsonl", options="--strict") == 1
    assert run("update", folder, "index", "changes.jsonl", options="--json") == 1
    told = capsys.readouterr()
    assert "1 row refused, nothing was committed" in told.err
    assert "id '3': " in told.err
    done = json.loads(told.out.splitlines()[-1])
    assert (done["version"], done["subscriptions"], done["built"]) == (2, 2, 1)
    assert run("versions", folder, "index", options="--json") == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["version"], one["subscriptions"]) for one in listed] == [(1, 1), (2, 2)]
    assert run("versions", folder, "index") == 0
    assert ", 2 subscriptions, " in capsys.readouterr().out.splitlines()[1]
    assert run("vacuum", folder, "index", options="--keep 0") == 2
    assert run("vacuum", folder, "index", options="--keep 1 --hours 0") == 0
    assert run("versions", folder, "index") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2: ")
    assert run("versions", folder, "nowhere") == 2
    assert "nowhere: not an index" in capsys.readouterr().err


def test_documents_and_graphs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`match-xml` and `match-graph` write matches of documents and reached nodes."""
    (folder / "rules.jsonl").write_text(
        json.dumps({"id": "cheap", "expression": "xpath('//price[. < 300]')"})
    )
    for number in (100, 500):
        (folder / f"{number}.xml").write_text(f"<a><price>{number}</price></a>")
    assert run("compile", folder, "rules.jsonl", "filters") == 0
    assert run("match-xml", folder, "*.xml", "filters", "xml.jsonl", options="--keep path") == 0
    (found,) = read(folder / "xml.jsonl")
    assert (str(found["path"]).rpartition("/")[2], found["subscription"]) == ("100.xml", "cheap")
    (folder / "documents.jsonl").write_text('{"n": 1, "body": "<price>1</price>"}\n')
    options = "--document body --keep n --lists"
    assert run("match-xml", folder, "documents.jsonl", "filters", "n.jsonl", options=options) == 0
    assert read(folder / "n.jsonl") == [{"n": 1, "subscriptions": ["cheap"]}]

    graph = Graph()
    graph.add_edge(1, 2, expression="age > 50")
    ts.save_graph(graph, folder / "graph")
    files = ("events/first.jsonl", "graph", "nodes.jsonl")
    assert run("match-graph", folder, *files) == 2
    assert "match-graph takes --source, a node, or --sources" in capsys.readouterr().err
    assert run("match-graph", folder, *files, options="--source 7") == 1
    assert "no node has the id '7'" in capsys.readouterr().err
    assert run("match-graph", folder, *files, options="--source 1") == 0
    assert [row["node"] for row in read(folder / "nodes.jsonl")] == [2]
    assert run("versions", folder, "graph") == 0
    assert " bytes" in capsys.readouterr().out


def test_rules_of_another_language(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--from sigma` compiles Sigma rules."""
    (folder / "sigma").mkdir()
    rule = "title: Root\nid: 8f0c1f6e-6f4e-4d8e-9c8a-1f2b3c4d5e6f\n"
    rule += "logsource: {product: linux}\ndetection:\n  one: {user: root}\n  condition: one\n"
    (folder / "sigma" / "root.yml").write_text(rule)
    (folder / "sigma" / "bad.yml").write_text(
        rule.replace("condition: one", "condition: two").replace("8f0c", "9f0c")
    )
    assert run("compile", folder, "sigma", "index", options="--from sigma --strict") == 1
    assert "1 rules refused, nothing was committed" in capsys.readouterr().err
    assert run("compile", folder, "sigma", "index", options="--from sigma --missing false") == 1
    assert "bad.yml" in capsys.readouterr().err
    (folder / "logs.jsonl").write_text('{"user": "root"}\n{"user": "ada"}\n')
    files = ("logs.jsonl", "index", "found.jsonl")
    assert run("match", folder, *files, options="--metadata") == 0
    (found,) = read(folder / "found.jsonl")
    assert json.loads(str(found["metadata"]))["title"] == "Root"


@pytest.mark.parametrize("command", ["match", "match-xml", "match-graph", "top", "vacuum"])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has help."""
    assert main(["spark", command, "--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Usage: tamis spark {command}")
    if command in ("match", "top", "first"):  # shared options have a description
        for option, text in (("--keep", "columns of the events"), ("--where", "metadata")):
            assert text in told.partition(option)[2][:200]


def test_first_and_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`first` and `count` write the results of a local index."""
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
