"""The formats that the command line reads, and its output besides matches."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tamis
from commands import Run, runner

SUBSCRIPTIONS: list[dict[str, Any]] = [
    {"id": "adult", "expression": "age >= 18", "metadata": {"owner": {"team": "a"}, "tags": [1]}},
    {"id": "west", "expression": "zip = '94110'", "priority": 2},
    {"id": "member", "expression": "member and user.country = 'FR'"},
]
CSV = """\
age,zip,member,user.country

21,94110,true,FR
"1
7",,false,"a ""quoted"", one"
1.80e1,94110,true,
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    lines = "".join(json.dumps(each) + "\n" for each in SUBSCRIPTIONS)
    Path("subscriptions.jsonl").write_text(lines, encoding="utf-8")
    return runner(capsys, monkeypatch)


def saved(**options: Any) -> tamis.Index:
    index = tamis.Index(**options)
    index.add_many(SUBSCRIPTIONS)
    index.save("saved")
    return index


def test_csv_events_are_read_as_json_would_be(run: Run) -> None:
    """Numbers and booleans are converted, empty cells are missing; `--text` keeps text."""
    Path("events.csv").write_text(CSV, encoding="utf-8")
    result = run("match", "subscriptions.jsonl", "events.csv")
    assert (result.code, result.err) == (0, "")
    assert result.json == [
        {"line": 3, "matches": ["adult", "member"]},
        {"line": 4, "matches": []},
        {"line": 6, "matches": ["adult"]},
    ]
    texts = run("match", "subscriptions.jsonl", "events.csv", "--text", "zip", "--with=event").json
    assert [line["matches"] for line in texts] == [
        ["adult", "west", "member"],
        [],
        ["adult", "west"],
    ]
    assert texts[0]["event"] == {"age": 21, "zip": "94110", "member": True, "user.country": "FR"}
    assert texts[1]["event"] == {"age": "1\n7", "member": False, "user.country": 'a "quoted", one'}
    assert '"age": 1.80e1' in run("match", "subscriptions.jsonl", "events.csv", "--with=event").out
    packed = gzip.compress(CSV.encode())
    piped = run("match", "subscriptions.jsonl", "-", "--format", "csv", stdin=packed)
    assert piped.json == result.json
    Path("events.csv.gz").write_bytes(packed)
    assert run("match", "subscriptions.jsonl", "events.csv.gz").json == result.json


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("age,age\n1,2\n", 1, 'events.csv:1: the header has the column "age" twice'),
        ("age,\n1,2\n", 1, "events.csv:1: a column has no name"),
        ('age\n"1\n', 1, "events.csv:2: not CSV: unexpected end of data"),
        ("age\n1\n1,2\n3\n", 1, "events.csv:3: the row has 2 cells, and the header 1"),
        (b"age\n\xff\n", 2, "tamis: events.csv:2: not UTF-8 text"),
        ("", 0, ""),
        ("age\n", 0, ""),
    ],
)
def test_bad_csv_events(run: Run, text: str | bytes, code: int, message: str) -> None:
    Path("events.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run("match", "subscriptions.jsonl", "events.csv")
    assert result.code == code
    assert result.err.startswith(message)


def test_a_bad_row_costs_itself(run: Run) -> None:
    Path("events.csv").write_text("age\n20\n1,2\n30\n", encoding="utf-8")
    options = ("subscriptions.jsonl", "events.csv", "--on-error")
    skipped = run("match", *options, "skip")
    assert [line["line"] for line in skipped.json] == [2, 4]
    assert skipped.err.endswith("events.csv: 1 invalid, skipped\n")
    collected = run("first", *options, "collect", "--only-matched")
    assert [sorted(line) for line in collected.json] == [
        ["first", "line"],
        ["error", "line"],
        ["first", "line"],
    ]
    counted = run("match", *options, "skip", "--count")
    assert (counted.code, counted.json) == (1, [{"id": "adult", "count": 2}])
    assert "events.csv:3: the row has 2 cells" in counted.err


def test_parquet(run: Run) -> None:
    rows = [{"age": 20.5, "user": {"country": "FR"}}, {"age": float("nan"), "user": None}]
    parquet.write_table(pa.Table.from_pylist(rows * 1200), "events.parquet")
    columns = {name: [row.get(name) for row in SUBSCRIPTIONS] for name in ("id", "expression")}
    metadata = [json.dumps(row.get("metadata")) for row in SUBSCRIPTIONS]
    parquet.write_table(pa.table({**columns, "metadata": metadata}), "subscriptions.parquet")
    options = ("--with", "event,metadata.owner.team", "--only-matched")
    lines = run("match", "subscriptions.parquet", "events.parquet", *options).json
    assert len(lines) == 1200
    assert lines[-1] == {
        "row": 2399,
        "event": {"age": 20.5, "user": {"country": "FR"}},
        "matches": [{"id": "adult", "metadata": {"owner.team": "a"}}],
    }
    every = run("match", "subscriptions.parquet", "events.parquet", "--with", "event").json
    assert every[1] == {"row": 2, "event": {"age": None, "user": None}, "matches": []}
    assert run("check", "--file", "subscriptions.parquet").out.endswith("3 valid, 0 invalid\n")
    Path("events.pq").write_bytes(b"PAR1 and no more")
    broken = run("match", "subscriptions.jsonl", "events.pq")
    assert (broken.code, broken.out) == (2, "")
    assert broken.err.startswith("tamis: cannot read events.pq: ")
    assert run("match", "subscriptions.jsonl", "-", "--format=parquet").code == 2


def test_subscriptions_from_csv(run: Run) -> None:
    head = "id,expression,metadata,priority\n"
    good = 'a,"age >\n 3","{""owner"": 1}",2\n\nb,age > 4,,\n'
    Path("subscriptions.csv").write_text(head + good, encoding="utf-8")
    found = run("first", "subscriptions.csv", "-", "--with=metadata", stdin='{"age": 5}')
    assert found.json == [{"line": 1, "first": [{"id": "a", "metadata": {"owner": 1}}]}]
    assert run("explain", "subscriptions.csv", "b", '{"age": 5}').out.startswith("true")
    lines = run("check", "--file", "subscriptions.csv", "--json").json
    assert [(line["line"], line["id"]) for line in lines] == [(2, "a"), (5, "b")]
    for bad, message in {
        "c,age <,,\n": 'subscriptions.csv:6: id "c": column 6: expected a value',
        "c,a,,often\n": 'subscriptions.csv:6: id "c": the column `priority` holds',
        "b,a,,\n": 'subscriptions.csv:6: the id "b" is already on line 5',
        "c\n": "subscriptions.csv:6: the row has 1 cells, and the header 4",
    }.items():
        Path("subscriptions.csv").write_text(head + good + bad, encoding="utf-8")
        refused = run("match", "subscriptions.csv", "-", stdin="{}")
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith(message)
    Path("subscriptions.csv").write_text("id,expresion\n", encoding="utf-8")
    assert run("match", "subscriptions.csv", "-").err.startswith(
        "subscriptions.csv:1: the file has"
    )


def test_bad_rows_of_subscriptions_cost_themselves(run: Run) -> None:
    text = "id,expression\na,age > 3\nb,age >\n\nc\nd,age > 4\n"
    Path("subscriptions.csv").write_text(text, encoding="utf-8")
    rows = [{"id": "a", "expression": "age > 3"}, {"id": "b", "expression": None}]
    parquet.write_table(pa.Table.from_pylist(rows), "subscriptions.parquet")
    for name, matches, messages in (
        ("subscriptions.csv", ["a", "d"], [':3: id "b": column 6: ', ":5: the row has 1 cells"]),
        ("subscriptions.parquet", ["a"], [", row 2: a subscription needs a value"]),
    ):
        found = run("match", name, "-", "--on-error=skip", stdin='{"age": 5}')
        assert (found.code, found.json) == (1, [{"line": 1, "matches": matches}])
        for message in messages:
            assert f"{name}{message}" in found.err
        assert found.err.endswith(f"{name}: {len(messages)} invalid, skipped\n")


def test_a_saved_index(run: Run) -> None:
    index = saved(missing="false", time_zone="Europe/Paris")
    event = '{"age": 20, "zip": "94110"}'
    for name in ("saved", "saved/index.json"):
        found = run("match", name, "-", stdin=event)
        assert found.json == [{"line": 1, "matches": index.match(event)}]
    assert run("top", "saved", "-", "-n1", "--with=metadata.tags", stdin=event).json == [
        {"line": 1, "top": [{"id": "adult", "score": 1.0, "metadata": {"tags": [1]}}]}
    ]
    assert run("match", "saved", "-", "--missing=false", stdin=event).code == 0
    refused = run("match", "saved", "-", "--missing=unknown", stdin=event)
    assert refused.code == 2
    assert 'saved was saved with missing="false"' in refused.err
    explained = run("explain", "saved", "west", event)
    assert explained.out == str(index.explain("west", event)) + "\n"
    assert "did you mean" in run("explain", "saved", "wst", event).err


def test_xml(run: Run) -> None:
    line = json.dumps({"id": "cheap", "expression": "xpath('//price[. < 300]')"})
    Path("filters.jsonl").write_text(line, encoding="utf-8")
    Path("docs/deep").mkdir(parents=True)
    Path("docs/a.xml").write_bytes("<p><price>299</price></p>".encode("utf-16"))
    Path("docs/deep/b.xml").write_text("<p><price>301</price></p>", encoding="utf-8")
    Path("docs/deep/c.xml").write_text("<p><price>", encoding="utf-8")
    expected = [{"file": "docs/a.xml", "matches": ["cheap"]}]
    assert run("match", "filters.jsonl", "docs/a.xml").json == expected
    every = run("match", "filters.jsonl", "docs", "--format=xml", "--on-error=skip")
    assert every.json == [*expected, {"file": "docs/deep/b.xml", "matches": []}]
    assert every.err.startswith("docs/deep/c.xml: ")
    piped = run("match", "filters.jsonl", "-", "--format=xml", stdin="<price>1</price>")
    assert piped.json == [{"file": "<stdin>", "matches": ["cheap"]}]
    assert run("explain", "filters.jsonl", "cheap", "@docs/a.xml").out.startswith("true")
    assert run("match", "filters.jsonl", "docs/none.xml").code == 1
    assert run("match", "filters.jsonl", "saved", "--format=xml").code == 1
    Path("empty").mkdir()
    assert "no file in this folder" in run("match", "filters.jsonl", "empty", "--format=xml").err


def test_events_and_metadata_beside_matches(run: Run) -> None:
    events = b'\n {"age": 1.10, "user": {"country": "FR", "id": 3}}\n{"age":18}\n'
    shown = run("match", "subscriptions.jsonl", "-", "--with", "event", stdin=events)
    raw = '{"line": 2, "event": {"age": 1.10, "user": {"country": "FR", "id": 3}}, '
    assert shown.out.splitlines()[0] == raw + '"matches": []}'  # as in the file
    assert shown.json[1] == {"line": 3, "event": {"age": 18}, "matches": ["adult"]}
    options = ("--with", "event.user.id,event.age", "--with", "metadata.owner", "--only-matched")
    picked = run("match", "subscriptions.jsonl", "-", *options, stdin=events)
    matches = [{"id": "adult", "metadata": {"owner": {"team": "a"}}}]
    assert picked.json == [{"line": 3, "event": {"age": 18}, "matches": matches}]
    refused = run("match", "subscriptions.jsonl", "-", "--with", "event,metadat", stdin=events)
    assert refused.code == 2
    assert "'metadat' is neither `event`" in refused.err
    assert "did you mean `metadata`?" in refused.err
    refused = run("match", "subscriptions.jsonl", "-", "--with", "age", stdin=events)
    assert "write event.age or metadata.age" in refused.err
    deep = '{"age": 20, "deep": ' + "[" * 150 + "]" * 150 + "}"
    assert run("match", "subscriptions.jsonl", "-", "--with=event.age", stdin=deep).json == [
        {"line": 1, "event": {"age": 20}, "matches": ["adult"]}
    ]


def test_explain_an_event_of_a_file(run: Run) -> None:
    Path("events.jsonl").write_text('\n{"age": 12}\n\n{"age": 30}\n', encoding="utf-8")
    Path("events.csv").write_text("age\n12\n30\n1,2\n", encoding="utf-8")
    for name, line in (("events.jsonl", 4), ("@events.jsonl", 4), ("events.csv", 3)):
        explained = run("explain", "subscriptions.jsonl", "adult", name, "--line", str(line))
        assert explained == (0, "true     age >= 18    -- age is 30\n", "")
    for name, line, message in (
        ("events.jsonl", 3, "tamis: events.jsonl: there is no event on line 3"),
        ("events.csv", 4, "events.csv:4: the row has 2 cells"),
        ("events.jsonl", 0, "tamis: Invalid value"),
    ):
        refused = run("explain", "subscriptions.jsonl", "adult", name, "--line", str(line))
        assert refused.code in (1, 2)
        assert refused.err.startswith(message)


def test_check_is_told_the_format(run: Run) -> None:
    """Regression: a line was guessed to be a subscription if it began with `{`."""
    for name in ("-", "rules"):
        refused = run("check", "--file", name)
        assert refused.code == 2
        assert "--format jsonl" in refused.err
    Path("rules.txt").write_text('a = 1\n{"id": 1, "expression": "a"}\n', encoding="utf-8")
    assert run("check", "--file", "rules.txt").out == "rules.txt: 1 valid, 1 invalid\n"
    told = run("check", "--file", "rules.txt", "--format", "jsonl")
    assert told.out == "rules.txt: 1 valid, 1 invalid\n"
    assert told.err.startswith("rules.txt:1: the line is not valid JSON")


def test_bad_json_in_a_cell_is_told_with_its_column(run: Run) -> None:
    texts = ["{a}", '{"a": ' + "1" * 5000 + "}"]
    reasons = ["column 2: expecting property name enclosed in double quotes", "Exceeds the limit"]
    for text, reason in zip(texts, reasons, strict=True):
        columns = {"id": ["a"], "expression": ["x > 1"], "metadata": [text]}
        parquet.write_table(pa.table(columns), "bad.parquet")
        Path("bad.csv").write_text(
            f'id,expression,metadata\na,x > 1,"{text.replace(chr(34), chr(34) * 2)}"\n'
        )
        expected = f"the column `metadata` holds JSON: {reason}"
        assert f"bad.parquet, row 1: {expected}" in run("check", "--file", "bad.parquet").err
        assert f'bad.csv:2: id "a": {expected}' in run("check", "--file", "bad.csv").err


def test_columns_of_other_names(run: Run) -> None:
    Path("rules.csv").write_text(
        "rule,key,owner,level,until\nage > 3,a,web,2,2027-01-01\nage > 4,b,,,\n"
    )
    named = ("--columns", "id=key,expression=rule", "--columns", "active_until=until")
    given = (*named, "--metadata", "owner,level")
    table = pa.table({"rule": ["age > 3"], "key": ["a"], "owner": ["web"], "level": [2]})
    parquet.write_table(table, "rules.parquet")
    event = '{"age": 9}'
    wanted = {"id": "a", "metadata": {"owner": "web", "level": 2}}
    options = ("--with", "metadata", "--now", "2026-01-01")
    found = run("match", "rules.csv", "-", *given, *options, stdin=event)
    assert found.json[0]["matches"] == [wanted, {"id": "b", "metadata": None}]
    late = run("match", "rules.csv", "-", *given, "--now", "2028-01-01", stdin=event)
    assert late.json[0]["matches"] == ["b"]
    short = ("--columns", "id=key,expression=rule", "--metadata", "owner,level")
    found = run("match", "rules.parquet", "-", *short, *options, stdin=event)
    assert found.json[0]["matches"] == [wanted]
    assert run("check", "--file", "rules.csv", *given).code == 0
    assert run("compile", "rules.csv", "saved", *given).code == 0
    assert tamis.open("saved")["a"].metadata == wanted["metadata"]
    assert run("explain", "rules.csv", "a", event, *given).out.startswith("true ")
    for words, message in (
        (("match", "rules.csv", "-"), "no column `id` .* `rule`, `key`.*--columns id=COLUMN"),
        (("match", "rules.csv", "-", *named), "unknown columns: `owner`, `level`; "),
        (("match", "rules.csv", "-", *given, "--metadata", "team"), "no column `team`"),
        (("match", "rules.parquet", "-", *given), "no column `until`"),
        (("match", "subscriptions.jsonl", "-", *given), "are for CSV and Parquet"),
        (("match", "saved", "-", *given), "are for CSV and Parquet"),
        (("check", "--file", "saved", *given), "are for CSV and Parquet"),
        (("explain", "saved", "a", event, *given), "are for CSV and Parquet"),
        (("match", "rules.csv", "-", "--columns", "rule"), 'value "rule" for --columns'),
        (("match", "rules.csv", "-", "--columns", "exp=rule"), "there is no 'exp'"),
    ):
        refused = run(*words, stdin=event)
        assert refused.code in (1, 2)
        assert re.search(message, refused.err), refused.err


def test_a_misspelt_member_of_metadata_is_reported(run: Run) -> None:
    options = ("--with", "event,metadata.ownr,metadata.owner")
    found = run("match", "subscriptions.jsonl", "-", *options, stdin='{"age": 20}')
    assert found.err == ("--with metadata.ownr: no metadata has `ownr`; did you mean `owner`?\n")


def test_collected_errors_show_the_event(run: Run) -> None:
    words = ("match", "subscriptions.jsonl", "-", "--on-error", "collect", "--with", "event")
    (line,) = run(*words, stdin="not json\n").json
    assert line["event"] == "not json"
    assert line["error"]


def test_the_time_zone_of_files(run: Run) -> None:
    Path("night.jsonl").write_text('{"id": "n", "expression": "hour(at) = 23"}\n')
    event = '{"at": "2026-01-01T22:30Z"}'
    zone = ("--time-zone", "Europe/Paris")
    assert run("match", "night.jsonl", "-", stdin=event).json[0]["matches"] == []
    assert run("match", "night.jsonl", "-", *zone, stdin=event).json[0]["matches"] == ["n"]
    assert run("explain", "night.jsonl", "n", event, *zone).out.startswith("true ")
    assert run("explain", "-e", "hour(at) = 23", event, *zone).out.startswith("true ")
    saved()
    assert "--time-zone cannot change" in run("match", "saved", "-", *zone, stdin=event).err
    assert run("match", "night.jsonl", "-", "--time-zone", "Mars").code == 2


def test_a_wrong_kind_is_shown_as_it_was_written(run: Run) -> None:
    refused = run("check", "a = 1", "--ignore", "nevr")
    assert refused.err.startswith('tamis: Invalid value "nevr" for --ignore.')


def test_changes_that_a_killed_server_left(run: Run) -> None:
    saved()
    Path("saved/changes").mkdir()
    Path(f"saved/changes/changes-{1:020}.log").write_text("")  # from a stopped server
    words = ("match", "saved", "-")
    assert run(*words, stdin="{}").err == ""
    Path(f"saved/changes/changes-{2:020}.log").write_text("change\n")
    assert "are not in this index yet" in run(*words, stdin="{}").err
    assert "are not in this index yet" in run("explain", "saved", "adult", "{}").err
    with pytest.raises(tamis.StorageError, match="changes in the log of `tamis serve --own`"):
        saved()
    refused = run("compile", "subscriptions.jsonl", "saved", "--replace")
    assert refused.code == 2
    assert "changes in the log of `tamis serve --own`" in refused.err
