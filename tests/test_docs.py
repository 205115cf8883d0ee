"""The documentation is correct: its Python runs, and its expressions parse as described."""

import ast
import io
import ipaddress
import json
import re
import runpy
import tomllib
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import tamis
from tamis import Expression, Limits, lab

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    """The code of the page's fenced blocks in a language."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(rf"^```{language}\b[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [str(fence) for fence in fences]


def rows(page: Path, *heads: str) -> list[list[str]]:
    """The rows of the page's table with these headers, without backticks."""
    text = page.read_text(encoding="utf-8")
    head = r"^\| " + r" \| ".join(map(re.escape, heads)) + r" \|\n\|[-|]+\|\n((?:\|.*\n?)+)"
    found = re.search(head, text, re.MULTILINE)
    assert found, f"{page.name} has no table of {heads}"
    between_cells = r"\|(?=(?:[^`]*`[^`]*`)*[^`]*$)"  # not within code
    lines = [re.split(between_cells, line)[1:-1] for line in found[1].splitlines()]
    return [[cell.strip().strip("`") for cell in line] for line in lines]


def write_files(page: Path, folder: Path) -> None:
    """Write the files that the page shows: blocks whose title is a file's name."""
    text = page.read_text(encoding="utf-8")
    shown = r'^```(?:csv|json) title="([\w.-]+)"\n(.*?)^```'
    for name, content in re.findall(shown, text, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(content, encoding="utf-8")


def run(code: str, names: dict[str, Any]) -> None:
    """Run a block; results shown in comments must be correct."""
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        assert statement.end_lineno is not None
        shown = lines[statement.end_lineno - 1][statement.end_col_offset or 0 :].strip()
        following = lines[statement.end_lineno :]
        source = ast.get_source_segment(code, statement) or ""
        output, result = io.StringIO(), None
        with redirect_stdout(output):
            if isinstance(statement, ast.Expr):
                result = eval(compile(ast.Expression(statement.value), "<docs>", "eval"), names)
            else:
                exec(compile(ast.Module([statement], []), "<docs>", "exec"), names)
        if isinstance(statement, ast.Expr) and re.match(
            r"#\s*([\[{('\"\d]|True|False|None)", shown
        ):
            assert result == ast.literal_eval(shown.lstrip("# ")), source
        printed = output.getvalue().splitlines()
        if printed and following[:1] and following[0].startswith("#"):
            shown_lines = [line.removeprefix("# ") for line in following[: len(printed)]]
            assert shown_lines == printed, source


def first_page() -> dict[str, Any]:
    """The names defined on the first page."""
    names: dict[str, Any] = {}
    for code in blocks(DOCS / "index.md", "python"):
        run(code, names)
    return names


def test_the_first_page_has_an_example() -> None:
    assert blocks(DOCS / "index.md", "python")
    assert first_page()["index"].match({"age": 21, "state": "CA"}) == ["young-west"]


def test_the_readme_has_an_example() -> None:
    for code in blocks(ROOT / "README.md", "python"):
        run(code, {})  # it is self-contained


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = first_page()
    write_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    for code in blocks(page, "python"):
        run(code, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_expressions_are_read(page: Path) -> None:
    for block in blocks(page, "sql"):
        for line in filter(str.strip, block.splitlines()):
            expression = tamis.parse(line)
            assert tamis.parse(str(expression)) == expression


def test_there_are_expressions() -> None:
    assert sum(len(blocks(page, "sql")) for page in PAGES) > 2


def test_json_forms_are_read() -> None:
    forms = [form for form in blocks(DOCS / "json-form.md", "json") if "$schema" not in form]
    assert forms
    for form in forms:
        Expression.from_json(form)
    text = re.search(r"^is `(.*)`\.$", (DOCS / "json-form.md").read_text("utf-8"), re.MULTILINE)
    assert text
    assert tamis.parse(text[1]) == Expression.from_json(forms[0])


def test_the_schema_is_that_of_json_forms() -> None:
    (schema,) = [form for form in blocks(DOCS / "json-form.md", "json") if "$schema" in form]
    validator = jsonschema_rs.validator_for(json.loads(schema))
    count = 0
    for path in ROOT.glob("testdata/language/*print.toml"):
        for case in tomllib.loads(path.read_text("utf-8"))["case"]:
            form = json.loads(tamis.parse(case["text"]).to_json())
            assert validator.is_valid(form), form
            count += 1
    assert count > 200
    for form in [
        {"attribute": "a", "term": {"it": True}, "operator": "=", "value": 1},
        {"attribute": "a", "operator": "~", "value": 1},
        {"any": "items", "all": "items", "where": True},
        {"term": {"function": "lower"}, "operator": "=", "value": "x"},
        {"attribute": "a", "operator": "=", "value": {"time": "12:00"}},
        {"and": [], "or": []},
    ]:
        assert not validator.is_valid(form), form
        with pytest.raises(tamis.ExpressionError):
            Expression.from_json(json.dumps(form))


def test_canonical_texts() -> None:
    for written, printed in rows(DOCS / "language.md", "written", "printed"):
        assert str(tamis.parse(written)) == printed


def test_the_errors_shown_are_the_errors() -> None:
    shown = blocks(DOCS / "language.md", "text")
    assert shown
    for error in shown:
        text = error.splitlines()[1].strip()
        with pytest.raises(tamis.ExpressionSyntaxError) as caught:
            tamis.parse(text)
        assert str(caught.value) == error.rstrip("\n")


def test_the_defaults_of_limits() -> None:
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    named = set()
    for page in (DOCS / "language.md", DOCS / "events.md"):
        for name, _, default in rows(page, "limit", "bounds", "default"):
            number, _, unit = default.replace(",", "").partition(" ")
            assert getattr(Limits(), name) == int(number) * units.get(unit, 1), name
            named.add(name)
    own, _, xml = repr(Limits()).partition(", xml=")
    assert named == set(re.findall(r"(\w+)=", own))
    assert xml.removesuffix(")") == repr(Limits().xml)


def test_the_first_page_lists_every_page() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w/-]+\.(?:md|ipynb))\)", text))
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = set(re.findall(r": ([\w/-]+\.(?:md|ipynb))$", nav, re.MULTILINE)) - {"index.md"}
    assert len(pages) > 20
    assert linked == pages


def test_the_readme_has_the_figures_of_the_performance_page() -> None:
    performance = (DOCS / "performance.md").read_text(encoding="utf-8")
    reasons = [
        row[1] for row in rows(ROOT / "README.md", "instead of", "because", "stay with it if")
    ]
    numbers = r"[0-9][0-9,.]*(?:x\b)?"
    figures = [number.rstrip(",.") for reason in reasons for number in re.findall(numbers, reason)]
    assert len(figures) > 15
    in_microseconds = {"21": "21.1", "73": "73,000", "2.9": "2,896,781", "6": "6.0"}
    for figure in figures:
        shown = in_microseconds.get(figure, figure.replace("x", " x"))
        assert re.search(rf"(?<![0-9,.]){re.escape(shown)}(?![0-9])", performance), figure


def test_the_table_of_matchers_lists_every_matcher() -> None:
    listed = rows(DOCS / "python.md", "matcher", "how it finds matches", "choose it")
    names = [name for row in listed for name in row[0].split("`, `")]
    assert sorted(names) == sorted([*lab.MATCHERS])


def test_pages_show_public_names_only() -> None:
    for page in PAGES:
        for code in [*blocks(page, "python"), *blocks(page, "py")]:
            assert not re.search(r"\b_tamis\b", code), page.name


RECIPES = [page for page in PAGES if page.parent.name == "cookbook"]


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_prints_what_its_page_shows(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    scripts = re.findall(r'^--8<-- "(examples/\w+\.py)"$', text, re.MULTILINE)
    shown = re.findall(r'^```text title="output"\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    if page.stem == "index":
        linked = set(re.findall(r"\((?!\.\.)([\w-]+)\.md\)", text))
        assert linked == {recipe.stem for recipe in RECIPES} - {"index"}
    elif page.stem == "kafka":  # runs in tests/spark/test_kafka.py
        assert scripts == ["examples/stream_kafka.py"]
    else:
        [script], [output] = scripts, shown
        monkeypatch.setattr("sys.argv", [script])
        runpy.run_path(str(ROOT / script), run_name="__main__")
        assert capsys.readouterr().out == output


def test_the_builder_says_what_the_text_says() -> None:
    names = {**first_page(), **{name: tamis.attr[name] == True for name in "xyz"}}  # noqa: E712
    names |= {"timedelta": timedelta, "ipaddress": ipaddress}
    checked = 0
    for builder, text in rows(DOCS / "python.md", "builder", "text"):
        first, *more = builder.split("`, `")
        receiver = first.rpartition("(")[0].rpartition(".")[0]
        codes = [first, *(f"{receiver}{code}" if code[0] == "." else code for code in more)]
        for code, wanted in zip(codes, text.split("`, `"), strict=False):
            built = None if "..." in wanted else eval(code, names)
            if isinstance(built, Expression):
                assert tamis.parse(wanted) == built, code
                checked += 1
    assert checked > 10


def test_the_truth_tables() -> None:
    """The truth tables on the page about semantics, with attributes for their letters."""
    values = {"true": True, "false": False}
    heads = ["`a`", "`b`", "`a and b`", "`a or b`", "`a xor b`", "`a xnor b`"]
    index = tamis.Index()
    index.add_many((head.strip("`"), head.strip("`")) for head in heads)
    for row in rows(DOCS / "semantics.md", *heads):
        event = {
            name: values[truth] for name, truth in zip("ab", row, strict=False) if truth in values
        }
        for head, truth in zip(heads, row, strict=True):
            assert index.explain(head.strip("`"), event).truth == truth, (head, event)
