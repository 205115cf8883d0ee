"""The command line: what it writes, where, and with which exit code."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tamis
from commands import Run, runner
from tamis.cli import reading

SUBSCRIPTIONS = """\
{"id": "young-west", "expression": "age between 18 and 25 and state in ('CA', 'OR', 'WA')"}
{"id": "members", "expression": {"attribute": "member", "operator": "=", "value": true}}

{"id": 7, "expression": "not state = 'CA'", "metadata": {"owner": "Zoë"}}
"""
EVENTS = """\
{"age": 21, "state": "CA"}
{"age": 70, "member": true}

{"state": "NY"}
"""
MATCHES = [
    {"line": 1, "matches": ["young-west"]},
    {"line": 2, "matches": ["members"]},
    {"line": 4, "matches": [7]},
]


Start = Callable[..., Any]  # a Popen with its streams


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command in this process, in a folder with the files of this module."""
    monkeypatch.chdir(tmp_path)
    Path("subscriptions.jsonl").write_text(SUBSCRIPTIONS, encoding="utf-8")
    Path("events.jsonl").write_text(EVENTS, encoding="utf-8")
    return runner(capsys, monkeypatch)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command as a separate process."""
    (tmp_path / "subscriptions.jsonl").write_text(SUBSCRIPTIONS, encoding="utf-8")
    started = []

    def call(*arguments: str, **options: Any) -> Any:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-m", "tamis", *arguments]
        process = subprocess.Popen(command, cwd=tmp_path, **{**streams, **options})
        started.append(process)
        return process

    yield call
    for process in started:
        with process:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, content in re.findall(
        r'^```json title="(.*?)"\n(.*?)^```', page, re.MULTILINE | re.DOTALL
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
    tamis_here = f'tamis() {{ "{sys.executable}" -m tamis "$@"; }}'
    sessions = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(sessions) > 5
    for session in sessions[1:]:  # the first one installs
        for command, expected in re.findall(r"^\$ (.*)\n((?:[^$\n].*\n)*)", session, re.MULTILINE):
            shell = subprocess.run(
                ["sh", "-c", f"{tamis_here}; {command}"],
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            assert shell.stdout.decode() == expected, command


class TestCheck:
    def test_writes_the_canonical_form(self, run: Run) -> None:
        expressions = ("a = 1 AND (b)", '{"attribute": "c", "operator": "exists"}')
        assert run("check", *expressions) == (0, "a = 1 and b = true\nexists(c)\n", "")

    def test_says_where_an_expression_is_wrong(self, run: Run) -> None:
        code, out, err = run("check", "a", "age betwen 1 and 2")
        assert (code, out) == (1, "a = true\n")
        first, *excerpt = err.splitlines()
        assert first.startswith("argument 2: line 1, column 5: expected ")
        assert first.endswith("did you mean `between`?")
        assert excerpt == ["  age betwen 1 and 2", "      ^^^^^^"]

    def test_json(self, run: Run) -> None:
        result = run("check", "--json", "a = 'é'", "age betwen 1 and 2")
        valid, invalid = result.json
        assert (result.code, result.err) == (1, "")
        assert valid == {"argument": 1, "valid": True, "expression": "a = 'é'"}
        error = invalid.pop("error")
        assert invalid == {"argument": 2, "valid": False}
        assert error["kind"] == "ExpressionSyntaxError"
        assert (error["line"], error["column"], error["suggestion"]) == (1, 5, "between")

    def test_finds_contradictions_without_events(self, run: Run) -> None:
        # Equal and implied subscriptions are only searched for with events.
        result = run("check", "a > 3 and not a > 2", "b = 1", "b in (1)", "lower(c) = 'X'", "b > 0")
        assert (result.code, result.err) == (1, "")
        *_, last, case, never, summary = result.out.splitlines()
        assert last == "b > 0"
        assert case.startswith('"argument 4", column 1: ')
        assert case.endswith(" [text-case]")
        assert never == '"argument 1": no event can satisfy this expression [never]'
        assert summary == "2 findings: 1 text-case, 1 never"
        ignored = run("check", "lower(c) = 'X'", "--ignore", "text-case")
        assert ignored == (0, "lower(c) = 'X'\n", "")

    def test_finds_them_in_files_and_saved_indexes(self, run: Run) -> None:
        index = tamis.Index()
        index.add_many({"good": "a = 1", "bad": "a > 3 and not a > 2"})
        index.save("saved")
        finding = '"bad": no event can satisfy this expression [never]\n1 finding\n'
        assert run("check", "--file", "saved") == (1, finding, "")
        assert run("check", "--file", "saved", "--ignore", "never") == (0, "0 findings\n", "")
        Path("rules.csv").write_text("id,expression\ngood,a = 1\nbad,a > 3 and not a > 2\n")
        code, out, err = run("check", "--file", "rules.csv")
        assert (code, err) == (1, "")
        assert out == "rules.csv: 2 valid, 0 invalid\nrules.csv:3: " + finding
        *_, last = run("check", "--file", "rules.csv", "--json").json
        assert (last["finding"], last["line"], last["subscriptions"]) == ("never", 3, ["bad"])

    @pytest.mark.parametrize("text", ["", "   ", "a < true", "(" * 100_000, "a \ud800"])
    def test_refuses(self, run: Run, text: str) -> None:
        code, out, err = run("check", text)
        assert (code, out) == (1, "")
        assert err.startswith("argument 1: ")

    def test_counts_a_file(self, run: Run) -> None:
        expected = "subscriptions.jsonl: 3 valid, 0 invalid\n"
        assert run("check", "--file", "subscriptions.jsonl") == (0, expected, "")
        result = run("check", "--file", "subscriptions.jsonl", "--json")
        assert result.code == 0
        assert [(line["line"], line["id"], line["valid"]) for line in result.json] == [
            (1, "young-west", True),
            (2, "members", True),
            (4, 7, True),
        ]

    def test_reads_lines_of_text(self, run: Run) -> None:
        text = "\ufeffa = 1\r\n\r\n  -- a comment, a = \r\nb = 2 -- another\r\n   c betwen 1\r\nd"
        code, out, err = run("check", "-f", "-", "--format", "text", stdin=text)
        assert (code, out) == (1, "<stdin>: 3 valid, 1 invalid\n")
        assert err.startswith("<stdin>:5: column 6: expected ")

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"id": "x", "expression": "a <"}', 'id "x": column 4: expected a value'),
            ('{"id": "x", "expression": "a and\\n b <"}', 'id "x": line 2, column 5: expected'),
            ('{"id": "x", "expression": {"an": []}}', 'id "x": JSON form .* not `an`'),
            ('{"id": "x", "expression": 5}', 'id "x": JSON form .* expected an object'),
            ('{"id": "x", "expresion": "a"}', 'unknown key "expresion".* mean `expression`'),
            (
                '{"id": "x", "expression": "a", "to": 1}',
                'unknown key "to".* own data in `metadata`',
            ),
            ('{"id": true, "expression": "a"}', "id true: an id must be a string .* not True"),
            ('{"id": [1], "expression": "a"}', "id .* an id must be a string"),
            (
                '{"id": "\\ud800", "expression": "a"}',
                "id .* an id must be a string of Unicode text",
            ),
            ('{"id": 9223372036854775808, "expression": "a"}', "id .* 64-bit integer"),
            ('{"id": "x", "id": "y", "expression": "a"}', "the key `id` occurs twice"),
            ('{"id": "x"}', "a subscription needs the key `expression`"),
            ("{}", "a subscription needs the key `id`"),
            ("{", "the line is not valid JSON: column 2: expected a key"),
            (
                '{"id" "x"}',
                "the line is not valid JSON: column 2: expected a key in double quotes and `:`",
            ),
            ('{"id": x}', "the line is not valid JSON: column 8: expecting value"),
            (
                '{"id": "x" "expression": "a"}',
                "the line is not valid JSON: column 12: expected `,` or `}`",
            ),
            (
                '{"id": "x", "expression": "a",}',
                "the line is not valid JSON: column 31: expected a key",
            ),
            (
                '{"id": "x", "expression": "a"} 1',
                "the line is not valid JSON: column 32: expected the end",
            ),
            (
                '{"id": "x", "expression": {"and": [}',
                "the line is not valid JSON: column 37: expected the",
            ),
            (
                '{"id": "x", "expression": "a", "metadata": NaN}',
                "the line is not valid JSON: column 44",
            ),
            (
                '{"id": "x", "expression": "a", "metadata": [NaN]}',
                "the line is not valid JSON: NaN",
            ),
            (
                f'{{"id": "x", "expression": "a", "metadata": {"[" * 99999}{"]" * 99999}}}',
                "the line",
            ),
            (
                '{"id": "x\ty", "expression": "a"}',
                "the line is not valid JSON: column 10: invalid control",
            ),
            (f'{{"id": {"9" * 5000}, "expression": "a"}}', "the line is not valid JSON"),
        ],
    )
    def test_refuses_a_line(self, run: Run, line: str, message: str) -> None:
        lines = f'{{"id": "first", "expression": "a = 1"}}\n{line}\n'
        code, out, err = run("check", "--file", "-", "--format", "jsonl", stdin=lines)
        assert (code, out) == (1, "<stdin>: 1 valid, 1 invalid\n")
        assert re.match(f"<stdin>:2: {message}", err)

    def test_an_id_may_stand_only_once(self, run: Run) -> None:
        lines = "".join(f'{{"id": {id}, "expression": "a"}}\n' for id in ('"1"', "1", '"1"', "1"))
        code, out, err = run("check", "--file", "-", "--format", "jsonl", stdin=lines)
        assert (code, out) == (1, "<stdin>: 2 valid, 2 invalid\n")
        assert err.splitlines() == [
            '<stdin>:3: the id "1" is already on line 1',
            "<stdin>:4: the id 1 is already on line 2",
        ]

    @pytest.mark.parametrize("spaces", ["", " ", "\t "])
    def test_spaces_do_not_matter(self, run: Run, spaces: str) -> None:
        parts = ["", "{", '"id"', ":", '"x"', ",", '"expression"', ":", '{"and":[]}', "}", ""]
        result = run("check", "-f-", "--format=jsonl", "--json", stdin=spaces.join(parts))
        assert result.json[0] == {"line": 1, "id": "x", "valid": True, "expression": "true"}

    def test_the_engine_judges_the_depth_of_the_json_form(self, run: Run) -> None:
        for depth, code in ((499, 0), (100_000, 1)):
            nested = '{"not": ' * depth + '{"attribute": "a", "operator": "exists"}' + "}" * depth
            line = f'{{"id": 1, "expression": {nested}}}'
            result = run("check", "-f", "-", "--format", "jsonl", stdin=line)
            assert result.code == code
            assert ("limit `depth`" in result.err) == (code == 1)


class TestMatch:
    def test_writes_a_line_per_event(self, run: Run) -> None:
        result = run("match", "subscriptions.jsonl", "events.jsonl")
        assert (result.code, result.json, result.err) == (0, MATCHES, "")

    def test_reads_standard_input(self, run: Run) -> None:
        assert run("match", "subscriptions.jsonl", "-", stdin=EVENTS).json == MATCHES
        assert run("match", "-", "events.jsonl", stdin=SUBSCRIPTIONS).json == MATCHES

    def test_reads_gzip(self, run: Run) -> None:
        Path("events.gz").write_bytes(gzip.compress(EVENTS.encode()))
        assert run("match", "subscriptions.jsonl", "events.gz").json == MATCHES
        packed = gzip.compress(b"\xef\xbb\xbf" + EVENTS.encode())
        assert run("match", "subscriptions.jsonl", "-", stdin=packed).json == MATCHES

    def test_missing(self, run: Run) -> None:
        result = run("match", "subscriptions.jsonl", "events.jsonl", "--missing", "false")
        assert [line["matches"] for line in result.json] == [["young-west"], ["members", 7], [7]]

    @pytest.mark.parametrize("block", [1, 2, 7, 26, 27, 28, 1000])
    def test_reads_in_blocks(self, run: Run, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
        monkeypatch.setattr(reading, "_BLOCK", block)
        for end in ("\n", "", "\n\n \r\n", '\n{"state": }\n'):
            result = run(
                "match", "subscriptions.jsonl", "-", "--on-error=skip", stdin=EVENTS[:-1] + end
            )
            assert result.json == MATCHES
            assert result.code == ("}" in end)

    def test_fails_at_an_invalid_event(self, run: Run) -> None:
        events = '{"age": 21, "state": "CA"}\n{"age": }\n{"member": true}\n'
        result = run("match", "subscriptions.jsonl", "-", stdin=events)
        assert (result.code, result.json) == (1, MATCHES[:1])
        message, hint = result.err.splitlines()
        assert message == "<stdin>:2: the event is invalid JSON: column 9: expected value"
        assert "--on-error skip" in hint

    def test_skips_invalid_events(self, run: Run) -> None:
        events = b'{"age": 1e9999999}\n{"state": "NY"}\n[1]\n\n{"state": "\xff"}\n{"state": "NY"}'
        result = run("match", "subscriptions.jsonl", "-", "--on-error", "skip", stdin=events)
        expected = [{"line": 2, "matches": [7]}, {"line": 6, "matches": [7]}]
        assert (result.code, result.json) == (1, expected)
        *messages, summary = result.err.splitlines()
        assert [message.split(" ")[0] for message in messages] == [
            "<stdin>:1:",
            "<stdin>:3:",
            "<stdin>:5:",
        ]
        assert summary == "<stdin>: 3 invalid, skipped"

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"id": 8, "expression": "a <"}', "id 8: column 4: expected a value"),
            ('{"id": 8, "expression": {"an": []}}', "id 8: JSON form of an expression"),
            ('{"id": null, "expression": "a"}', "id null: an id must be a string"),
            ('{"id": 7, "expression": "a"}', "the id 7 is already on line 4"),
            ("age > 3", "the line is not valid JSON: column 1: expected a JSON object, found `a`"),
        ],
    )
    def test_refuses_a_subscription(self, run: Run, line: str, message: str) -> None:
        result = run("match", "-", "events.jsonl", stdin=f"{SUBSCRIPTIONS}{line}\n")
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith(f"<stdin>:5: {message}")

    @pytest.mark.parametrize("on_error", ["skip", "collect"])
    def test_a_bad_subscription_costs_itself(self, run: Run, on_error: str) -> None:
        lines = [
            '{"id": "a", "expression": "x > 1"}',
            '{"id": "b", "expression": "x >"}',
            "",
            '{"id": [], "expression": "x"}',
            '{"id": "a", "expression": "x > 2"}',
            "{",
            '{"id": "c", "expression": "x >\\n 2 and"}',
            '{"id": "d", "expression": {"attribute": "x", "operator": "=", "value": 3}}',
        ]
        Path("rules.jsonl").write_text("\n".join(lines), encoding="utf-8")
        command = ("rules.jsonl", "-", "--on-error", on_error)
        found = run("match", *command, stdin='{"x": 3}')
        assert (found.code, found.json) == (1, [{"line": 1, "matches": ["a", "d"]}])
        beginnings = [
            'rules.jsonl:2: id "b": column 4: expected a value',
            "rules.jsonl:4: id []: an id must be a string",
            'rules.jsonl:5: the id "a" is already on line 1',
            "rules.jsonl:6: the line is not valid JSON: column 2",
            'rules.jsonl:7: id "c": line 2, column 7: expected',
            "rules.jsonl: 5 invalid, skipped",
        ]
        said = [line for line in found.err.splitlines() if line.startswith("rules.jsonl")]
        assert [line[: len(start)] for line, start in zip(said, beginnings, strict=True)] == (
            beginnings
        )
        counted = run("match", *command, "--count", stdin='{"x": 2}')
        assert (counted.code, counted.json) == (1, [{"id": "a", "count": 1}])
        assert run("first", *command, stdin='{"x": 2}').json == [{"line": 1, "first": ["a"]}]
        both = run("top", *command, "-n1", stdin='{"x": }\n{"x": 2}')
        assert both.code == 1
        assert both.json[-1] == {"line": 2, "top": [{"id": "a", "score": 1.0}]}
        assert (
            run("match", "rules.jsonl", "-", stdin='{"x": 3}').out == ""
        )  # by default, nothing is skipped

    def test_agrees_with_the_library(self, run: Run) -> None:
        index = tamis.Index()
        index.add_many((f"é{n}", f"n between {n} and {2 * n}") for n in range(50))
        lines = (
            json.dumps({"id": id, "expression": str(index[id].expression)}) + "\n" for id in index
        )
        Path("many.jsonl").write_text("".join(lines), encoding="utf-8")
        events = [{"n": n % 120} for n in range(2000)]
        result = run("match", "many.jsonl", "-", stdin="\n".join(map(json.dumps, events)))
        assert [line["matches"] for line in result.json] == index.match_batch(events)


class TestTop:
    def test_writes_the_best_of_every_event(self, run: Run) -> None:
        best = [
            {"line": 1, "top": [{"id": "young-west", "score": 2.0}]},
            {"line": 2, "top": [{"id": "members", "score": 1.0}]},
            {"line": 4, "top": [{"id": 7, "score": 0.0}]},
        ]
        result = run("top", "subscriptions.jsonl", "events.jsonl")
        assert (result.code, result.json, result.err) == (0, best, "")
        assert [
            line["top"] for line in run("top", "-n0", "subscriptions.jsonl", "events.jsonl").json
        ] == [[]] * 3

    def test_boosts(self, run: Run) -> None:
        boosted = '{"id": 8, "expression": "state = \'CA\'^2", "boost": 1.5}\n'
        Path("boosted.jsonl").write_text(SUBSCRIPTIONS + boosted, encoding="utf-8")
        result = run("top", "boosted.jsonl", "-", "-n", "1", stdin=EVENTS)
        assert result.json[0] == {"line": 1, "top": [{"id": 8, "score": 3.0}]}
        for boost in ("-1", "true", '"much"'):
            line = f'{{"id": 8, "expression": "a", "boost": {boost}}}'
            result = run("top", "-", "events.jsonl", stdin=line)
            assert result.code == 1
            assert "boost" in result.err

    def test_invalid_events(self, run: Run) -> None:
        result = run(
            "top", "subscriptions.jsonl", "-", "--on-error=skip", stdin='{"age": }\n' + EVENTS
        )
        assert (result.code, len(result.json)) == (1, 3)
        assert "<stdin>:1:" in result.err
        assert run("top", "subscriptions.jsonl", "-", stdin='{"age": }').code == 1
        assert run("top", "-", "-").code == 2
        assert run("top", "subscriptions.jsonl", "events.jsonl", "-n", "-1").code == 2


class TestExplain:
    def test_a_subscription(self, run: Run) -> None:
        event = '{"age": 30, "state": "CA"}'
        index = tamis.Index()
        index.add(0, "age between 18 and 25 and state in ('CA', 'OR', 'WA')")
        expected = index.explain(0, event)
        arguments = ("explain", "subscriptions.jsonl", "young-west")
        assert run(*arguments, event) == (0, f"{expected}\n", "")
        assert run(*arguments, event, "--json").json == [expected.to_dict()]
        assert run(*arguments, "-", stdin=event).out == f"{expected}\n"
        Path("event.json").write_text('{\n"age": 30,\n"state": "CA"}\n', encoding="utf-8")
        assert run(*arguments, "@event.json").out == f"{expected}\n"

    def test_an_expression(self, run: Run) -> None:
        event = '{"path": "a//b"}'
        assert run("explain", "--expression", "path = 'a//b'", event) == (
            0,
            "true     path = 'a//b'    -- path is 'a//b'\n",
            "",
        )
        form = '{"attribute": "a", "operator": "is null"}'
        assert run("explain", "-e", form, "{}", "--json").json[0]["truth"] == "true"
        result = run("explain", "-e", "not a = 1", "{}", "--missing", "false", "--json")
        assert result.json[0]["truth"] == "true"

    def test_an_id_is_a_string_first(self, run: Run) -> None:
        lines = [f'{{"id": {id}, "expression": "a = {n}"}}\n' for n, id in enumerate(("7", '"7"'))]
        for order in (lines, lines[::-1]):
            result = run("explain", "-", "7", "{}", "--json", stdin="".join(order))
            assert result.json[0]["text"] == "a = 1"
        result = run("explain", "-", "7", "{}", "--json", stdin=lines[0])
        assert result.json[0]["text"] == "a = 0"

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["subscriptions.jsonl", "youngwest", "{}"], 2, 'tamis: .*did you mean "young-west"'),
            (["subscriptions.jsonl", "7", '{"state": [[1]]}'], 1, "event: "),
            (["subscriptions.jsonl", "7", '{"state": "\udcff"}'], 1, "event: .* lone surrogate"),
            (["subscriptions.jsonl", "7", "[]"], 1, "event: .* an event is a JSON object"),
            (["subscriptions.jsonl", "7", "events.jsonl"], 2, "tamis: .*: @events.jsonl"),
            (["subscriptions.jsonl", "7", "@nowhere"], 2, "tamis: cannot read nowhere: No such"),
            (
                ["subscriptions.jsonl", "7", "@events.jsonl"],
                1,
                "events.jsonl: the event is invalid.*\nto .*--line",
            ),
            (["subscriptions.jsonl", "7"], 2, "tamis: explain takes SUBSCRIPTIONS ID EVENT"),
            (["-", "7", "-"], 2, "tamis: subscriptions and event cannot both come"),
            (["--expression", "a <", "{}"], 1, "--expression: line 1, column 4: expected"),
            (["--expression", "a", "7", "{}"], 2, "tamis: explain takes SUBSCRIPTIONS ID EVENT"),
        ],
    )
    def test_refuses(self, run: Run, arguments: list[str], code: int, message: str) -> None:
        result = run("explain", *arguments)
        assert (result.code, result.out) == (code, "")
        assert re.match(message, result.err)

    def test_names_the_column_of_a_line(self, run: Run) -> None:
        Path("broken.jsonl").write_text('{"a": 1}\n{"a": }\n')
        result = run("explain", "subscriptions.jsonl", "7", "broken.jsonl", "--line", "2")
        assert result.code == 1
        assert result.err.startswith("broken.jsonl:2: the event is invalid JSON: column 7: ")

    def test_says_which_line_is_wrong(self, run: Run) -> None:
        lines = '{"id": 1, "expression": "a"}\n{"id": 2, "expression": "a <"}\n'
        assert run("explain", "-", "1", "{}", stdin=lines).code == 0
        result = run("explain", "-", "2", "{}", stdin=lines)
        assert result.code == 1
        assert result.err.startswith("<stdin>:2: column 4: expected")
        lines += "{\n"  # not a subscription
        assert run("explain", "-", "1", "{}", stdin=lines).code == 0
        result = run("explain", "-", "3", "{}", stdin=lines)
        assert result.code == 1
        assert result.err.startswith("<stdin>:3: the line is not valid JSON")


class TestUsage:
    @pytest.mark.parametrize("command", [[], ["check"], ["match"], ["explain"]])
    def test_help(self, run: Run, command: list[str]) -> None:
        code, out, err = run(*command, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(" ".join(["Usage: tamis", *command]))
        assert ("Examples:" in out) == bool(command)

    def test_version(self, run: Run) -> None:
        code, out, err = run("--version")
        assert (code, err) == (0, "")
        assert re.fullmatch(r"tamis \d+\.\d+\.\d+\n", out)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["chek"], 'Unknown command "chek". Did you mean "check"?'),
            (["check"], "check takes either expressions or --file"),
            (["check", "a", "--file", "events.jsonl"], "check takes either expressions or --file"),
            (["check", "events.jsonl"], "events.jsonl is a file; to check what it holds: --file"),
            (["check", "--jsn", "a"], "Unknown option: --jsn"),
            (["match"], 'Command "match" parameter SUBSCRIPTIONS requires an argument'),
            (["match", "--fast", "a", "b"], 'Invalid value "--fast" for SUBSCRIPTIONS'),
            (["match", "a", "b", "c"], "Unused Tokens"),
            (["match", "a", "b", "--missing", "no"], 'Invalid value "no" for --missing'),
            (["match", "-", "-"], "subscriptions and events cannot both come from standard input"),
        ],
    )
    def test_a_wrong_command_line(self, run: Run, arguments: list[str], message: str) -> None:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"tamis: {message}")
        assert err.count("\n") == 1

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "cannot read it: No such file or directory"),
            (b"PAR1\0\0\0", "cannot read it: it is not text"),
            ("a = 1".encode("utf-16"), "cannot read it: it is not text"),
            (
                gzip.compress(b"a = 1\n" * 100, mtime=0)[:-9],
                "cannot read it: Compressed file ended",
            ),
            (b"\x1f\x8b rubbish after all", "cannot read it: Unknown compression method"),
            (b"a = 1\nb = '\xff'\n", "it:2: not UTF-8 text: invalid byte 0xff at offset 5"),
        ],
    )
    def test_an_unreadable_file(self, run: Run, content: bytes | None, message: str) -> None:
        if content is not None:
            Path("it").write_bytes(content)
        code, out, err = run("check", "--file", "it", "--format", "text")
        assert (code, out) == (2, "")
        assert err.startswith(f"tamis: {message}")
        assert err.count("\n") == 1

    def test_a_folder(self, run: Run) -> None:
        for arguments in (
            ["check", "-f", ".", "--format=text"],
            ["match", "subscriptions.jsonl", "."],
        ):
            assert run(*arguments)[::2] == (2, "tamis: cannot read .: Is a directory\n")
        for arguments in (
            ["match", ".", "events.jsonl"],
            ["explain", ".", "a", "{}"],
            ["check", "-f", "."],
        ):
            code, out, err = run(*arguments)
            assert (code, out) == (2, "")
            assert re.match("tamis: .*index.json", err)

    def test_an_endless_line(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "_LONGEST_LINE", 1 << 20)
        endless = b'{"a": 1}\n' + b" " * (1 << 21)
        code, out, err = run("match", "subscriptions.jsonl", "-", stdin=endless)
        assert (code, out) == (2, '{"line": 1, "matches": []}\n')
        assert err == "tamis: <stdin>:2: the line is longer than 1 MiB\n"
        assert run("explain", "-e", "a", "-", stdin=endless).code == 2

    def test_closed_streams(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", None)
            assert run("check", "a") == (2, "", "tamis: standard output is closed\n")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", None)
            assert run("check", "a <") == (1, "", "")

    def test_a_fault_is_one_line(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: object) -> None:
            raise RuntimeError("oops")

        monkeypatch.setattr("tamis.cli.check.write", fail)
        expected = "tamis: a fault in Tamis, please report it: RuntimeError('oops')\n"
        assert run("check", "a") == (70, "", expected)

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
    def test_completion(
        self, run: Run, shell: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        code, out, err = run("completion", shell)
        assert (code, err) == (0, "")
        assert "explain" in out
        assert list(home.iterdir()) == []


class TestProcess:
    def test_a_pipe(self, start: Start) -> None:
        process = start("match", "subscriptions.jsonl", "-")
        out, err = process.communicate(EVENTS.encode())
        assert (process.returncode, err) == (0, b"")
        assert [json.loads(line) for line in out.splitlines()] == MATCHES

    def test_matches_are_seen_as_events_come(self, start: Start) -> None:
        process = start("match", "subscriptions.jsonl", "-")
        for _ in range(3):
            process.stdin.write(b'{"state": "NY"}\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["matches"] == [7]

    def test_a_reader_that_went_away(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "events.jsonl").write_text('{"state": "NY"}\n' * 100_000, encoding="utf-8")
        process = start("match", "subscriptions.jsonl", "events.jsonl")
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141

    def test_interrupted(self, start: Start) -> None:
        process = start("match", "subscriptions.jsonl", "-")
        process.stdin.write(b"{}\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
        assert process.wait() == 130

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk(self, start: Start) -> None:
        for arguments in (["check", "a"], ["match", "subscriptions.jsonl", "subscriptions.jsonl"]):
            with Path("/dev/full").open("wb") as full:
                process = start(*arguments, stdout=full)
            assert process.stderr.read() == b"tamis: cannot write: No space left on device\n"
            assert process.wait() == 2

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
    def test_progress_on_a_terminal(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "events.jsonl").write_text(EVENTS, encoding="utf-8")
        terminal, stderr = os.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        arguments = ("match", "subscriptions.jsonl", "events.jsonl")
        process = start(*arguments, stderr=stderr, env=environment)
        out = process.stdout.read()
        assert process.wait() == 0
        os.close(stderr)
        shown = os.read(terminal, 1 << 16)
        os.close(terminal)
        assert b"matching events.jsonl" in shown
        assert [json.loads(line) for line in out.splitlines()] == MATCHES

    def test_without_the_extra(self) -> None:
        for module in ("cyclopts", "rich"):
            code = f"import sys; sys.modules[{module!r}] = None; sys.argv[1:] = ['--help']; "
            code += "from tamis.cli import main; sys.exit(main())"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
            expected = f"tamis: the command line needs {module}: pip install 'tamis[cli]'\n"
            assert (done.returncode, done.stdout) == (2, b"")
            assert done.stderr.decode() == expected

    def test_the_library_does_not_need_the_extra(self) -> None:
        code = "import sys, tamis, tamis.cli; print({'cyclopts', 'rich'} & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout.decode().strip() == "set()"


class TestCompile:
    ROWS = 'id,expression,metadata\nold,age > 60,"{""team"": 1}"\nbad,age >,\nyoung,age < 20,\n'

    def test_saves_what_is_valid(self, run: Run) -> None:
        Path("rules.csv").write_text(self.ROWS)
        code, out, err = run("compile", "rules.csv", "saved", "--metadata-columns", "team")
        assert code == 1
        assert re.fullmatch(r"saved: 2 subscriptions, 1 invalid, [0-9.]+ s\n", out)
        assert err.startswith('rules.csv:3: id "bad": column 6: expected a value')
        assert err.endswith("rules.csv: 1 invalid, skipped\n")
        index = tamis.open("saved")
        assert list(index) == ["old", "young"]
        assert index.metadata_columns == ["team"]
        assert index.match({"age": 70}, where="team = 1") == ["old"]

    def test_every_format(self, run: Run) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        pa.parquet.write_table(pa.table({"id": [1], "expression": ["a = 1"]}), "rules.parquet")
        Path("rule.json").write_text('{"shop": {"source": ["shop"]}}')
        options = ["--missing", "false", "--time-zone", "Europe/Paris"]
        assert run("compile", "subscriptions.jsonl", "lines", *options).code == 0
        assert run("compile", "rules.parquet", "table").code == 0
        stdin = "id,expression\nx,a = 1\n"
        assert run("compile", "-", "input", "--format", "csv", stdin=stdin).code == 0
        assert run("compile", "rule.json", "events", "--from", "eventbridge").code == 0
        lines = tamis.open("lines")
        assert (lines.missing, lines.time_zone) == ("false", "Europe/Paris")
        assert list(lines) == ["young-west", "members", 7]
        assert lines[7].metadata == {"owner": "Zoë"}
        assert list(tamis.open("table")) == [1]
        assert list(tamis.open("input")) == ["x"]
        assert len(tamis.open("events")) == 1
        assert run("match", "lines", "events.jsonl").code == 0

    def test_json_says_what_was_refused(self, run: Run) -> None:
        Path("rules.csv").write_text(self.ROWS)
        result = run("compile", "rules.csv", "saved", "--json")
        [told] = result.json
        assert told.pop("seconds") >= 0
        [refused] = told.pop("refused")
        assert told == {"path": "saved", "saved": True, "subscriptions": 2}
        assert (refused["line"], refused["id"]) == (3, "bad")
        assert "expected a value" in refused["message"]
        patterns = '{"good": {"source": ["shop"]},\n"bad": {"source": []}}'
        Path("rules.json").write_text(patterns)
        [told] = run("compile", "rules.json", "patterns", "--from", "eventbridge", "--json").json
        assert told["subscriptions"] == 1
        [refused] = told["refused"]
        assert (refused["file"], refused["id"]) == ("rules.json", "bad")
        assert "empty array" in refused["message"]

    def test_strict_saves_all_or_nothing(self, run: Run) -> None:
        Path("rules.csv").write_text(self.ROWS)
        code, out, err = run("compile", "rules.csv", "saved", "--strict")
        assert (code, out) == (1, "")
        assert err.endswith("saved: nothing was saved\n")
        assert not Path("saved").exists()
        code, out, _ = run("compile", "-", "saved", stdin='{"id": 1, "expression": "a <"}')
        assert (code, out, Path("saved").exists()) == (1, "", False)

    def test_replaces_an_index_only_if_told_to(self, run: Run) -> None:
        assert run("compile", "subscriptions.jsonl", "saved").code == 0
        Path("rules.csv").write_text("id,expression\nx,a = 1\n")
        expected = (2, "", "tamis: saved already holds an index; --replace replaces it\n")
        assert run("compile", "rules.csv", "saved") == expected
        assert len(tamis.open("saved")) == 3
        assert run("compile", "rules.csv", "saved", "--replace").code == 0
        assert list(tamis.open("saved")) == ["x"]

    def test_touches_nothing_else(self, run: Run) -> None:
        Path("notes").mkdir()
        Path("notes/mine.txt").write_text("mine")
        for more in ([], ["--replace"]):
            code, _, err = run("compile", "subscriptions.jsonl", "notes", *more)
            assert (code, "holds other files" in err) == (2, True)
            code, _, err = run("compile", "subscriptions.jsonl", "events.jsonl", *more)
            assert (code, err) == (2, "tamis: events.jsonl is not a folder\n")
        assert list(Path("notes").iterdir()) == [Path("notes/mine.txt")]
        Path("empty").mkdir()
        assert run("compile", "subscriptions.jsonl", "empty").code == 0

    def test_follows_no_link(self, run: Run) -> None:
        assert run("compile", "subscriptions.jsonl", "saved").code == 0
        before = {path.name: path.read_bytes() for path in Path("saved").iterdir()}
        Path("link").symlink_to("saved")
        Path("dangling").symlink_to("nowhere")
        Path("rules.csv").write_text("id,expression\nx,a = 1\n")
        for name in ("link", "link/", "dangling"):
            code, _, err = run("compile", "rules.csv", name, "--replace")
            assert (code, "is a symbolic link" in err) == (2, True)
        assert {path.name: path.read_bytes() for path in Path("saved").iterdir()} == before
        # A manifest that is a link is replaced, and its target stays.
        Path("saved/index.json").rename("kept.json")
        Path("saved/index.json").symlink_to("../kept.json")
        kept = Path("kept.json").read_bytes()
        assert run("compile", "rules.csv", "saved", "--replace").code == 0
        assert not Path("saved/index.json").is_symlink()
        assert Path("kept.json").read_bytes() == kept

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["missing.csv", "saved"], "cannot read missing.csv"),
            (["subscriptions.jsonl", "saved", "--time-zone", "Mars"], "Mars"),
            (["subscriptions.jsonl", "saved", "--format", "xml"], "xml"),
            (["subscriptions.jsonl"], "folder"),
        ],
    )
    def test_refuses(self, run: Run, arguments: list[str], message: str) -> None:
        code, out, err = run("compile", *arguments)
        assert (code, out) == (2, "")
        assert message.lower() in err.lower()
        assert not Path("saved").exists()


def test_a_misspelt_name_in_where_is_reported(run: Run) -> None:
    for command in (["match"], ["match", "--count"], ["top"], ["first"]):
        words = [command[0], "subscriptions.jsonl", "events.jsonl", *command[1:]]
        code, _, err = run(*words, "--where", "ownr = 'Zoë'")
        said = "`where` asks for `ownr`, which the metadata of 1 subscription does not have"
        assert (code, err) == (0, f"{said}; did you mean `owner`?\n")
        assert run(*words, "--where", "owner = 'Zoe'").err == ""


def test_explain_says_that_a_subscription_is_inactive(run: Run) -> None:
    Path("rules.csv").write_text("id,expression,active_until\nold,a = 1,2026-01-01\n")
    index, _ = tamis.Index.from_csv("rules.csv", on_error="collect")
    index.save("saved")
    for name in ("rules.csv", "saved"):
        words = ("explain", name, "old", '{"a": 1}', "--now", "2026-01-02T05:00Z")
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        assert out.splitlines() == [
            "false    active before 2026-01-01 00:00:00Z    -- now is 2026-01-02 05:00:00Z",
            "true     a = 1    -- a is 1",
        ]
        [told] = run(*words, "--json").json
        times = {"active_until": "2026-01-01 00:00:00Z", "now": "2026-01-02 05:00:00Z"}
        assert told["inactive"] == times
        assert run(*words[:-1], "2025-01-02").out == "true     a = 1    -- a is 1\n"


def test_now_is_given(run: Run) -> None:
    Path("recent.jsonl").write_text(
        json.dumps({"id": "recent", "expression": "t > now() - interval '1' day"}), encoding="utf-8"
    )
    event = '{"t": "2026-01-02T04:00Z"}'
    moment = ("--now", "2026-01-02T05:00Z")
    assert '"recent"' in run("match", "recent.jsonl", "-", *moment, stdin=event).out
    assert '"recent"' not in run("match", "recent.jsonl", "-", stdin=event).out
    assert '"recent"' in run("top", "recent.jsonl", "-", *moment, stdin=event).out
    explained = run("explain", "recent.jsonl", "recent", event, *moment, "--json")
    explanation = json.loads(explained.out)
    assert explanation["truth"] == "true"
    assert (explanation["attribute"], explanation["seen"]) == ("t", ["2026-01-02T04:00Z"])
    assert explanation["right"] == "now() - interval '1' day"
    assert explanation["right_seen"] == ["2026-01-01 05:00:00+00:00"]
    refused = run("match", "recent.jsonl", "-", "--now", "noon", stdin=event)
    assert refused.code == 2
    assert "`now` must be a time, not 'noon'" in refused.err


def test_where_count_and_first(run: Run) -> None:
    rules = [
        {"id": "a", "expression": "x > 1", "metadata": {"tenant": "t"}},
        {"id": "b", "expression": "x > 2", "priority": 3, "active_until": "2026-01-01T00:00Z"},
        {"id": "c", "expression": "x > 2", "priority": 3, "metadata": {"tenant": "t"}},
    ]
    lines = "".join(json.dumps(rule) + "\n" for rule in rules)
    Path("rules.jsonl").write_text(lines, encoding="utf-8")
    events = '{"x": 2}\n{"x": 3}\n'
    before, after = ("--now", "2025-12-31T23:00Z"), ("--now", "2026-01-01T00:00Z")
    where = ("--where", "tenant = 't'")
    assert run("first", "rules.jsonl", "-", *before, stdin=events).json == [
        {"line": 1, "first": ["a"]},
        {"line": 2, "first": ["b"]},
    ]
    found = run("first", "rules.jsonl", "-", "-n", "2", *after, stdin=events).json
    assert [line["first"] for line in found] == [["a"], ["c", "a"]]
    found = run("match", "rules.jsonl", "-", *where, *before, stdin=events).json
    assert [line["matches"] for line in found] == [["a"], ["a", "c"]]
    found = run("top", "rules.jsonl", "-", *where, *before, stdin=events).json
    assert [len(line["top"]) for line in found] == [1, 2]
    counted = run("match", "rules.jsonl", "-", "--count", *before, stdin=events)
    assert counted.json == [
        {"id": "a", "count": 2},
        {"id": "b", "count": 1},
        {"id": "c", "count": 1},
    ]
    bad = run("match", "rules.jsonl", "-", "--count", "--on-error", "skip", stdin='{"x": 2}\n{\n')
    assert (bad.code, bad.json) == (1, [{"id": "a", "count": 1}])
    assert "<stdin>:2:" in bad.err
    assert run("match", "rules.jsonl", "-", "--count", stdin="{").code == 1
    refused = run("match", "rules.jsonl", "-", "--where", "tenant =", stdin=events)
    assert refused.code == 2
    assert "expected" in refused.err
