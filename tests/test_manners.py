"""Integration with Python: imports, pickles, notebooks, progress, types."""

import ast
import copy
import inspect
import io
import pickle
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints, is_typeddict

import pytest

import tamis
from tamis import Index, Limits, Match, _tamis, attr, xml
from tamis.pickling import restore_index
from tamis.statistics import FilterStats, GraphStats, IndexStats

T = TypeVar("T")

IMPORTED = """
import sys
before = set(sys.modules)
import typing
import tamis
print(*sorted(set(sys.modules) - before))
"""


def test_importing_it_imports_little() -> None:
    """Checks the imported modules: `dataclasses`, `pathlib` and `urllib` took most of the time."""
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{IMPORTED}"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    imported = set(ran.stdout.split())
    assert "tamis.builder" in imported
    expensive = ["csv", "dataclasses", "datetime", "decimal", "html", "inspect", "ipaddress"]
    expensive += ["json", "pathlib", "pyarrow", "tamis.drawing", "tempfile", "urllib", "xml.sax"]
    assert imported.isdisjoint(expensive)


def test_every_exported_name_is_there() -> None:
    assert {name for name in tamis.__all__ if not hasattr(tamis, name)} == set()
    assert set(tamis.__all__) <= set(dir(tamis))
    with pytest.raises(AttributeError, match="has no attribute 'Indices'"):
        _ = tamis.Indices  # type: ignore[attr-defined]


def example(**options: Any) -> Index[Any]:
    index = Index[Any](missing="false", time_zone="Europe/Paris", **options)
    index.add("west", "zip = '94110'", metadata={"owner": "é"}, boost=2.5, priority=-3)
    index.add(7, "t > timestamp '2026-01-01'", active_from="2026-01-01", active_until="2027-01-01")
    index.hierarchy("topic", {"sports": ["tennis"]})
    index.add("sport", "topic = 'sports' and any(items, price > 3) and name matches '^x+$'")
    return index


def again(thing: T) -> T:
    restored: T = pickle.loads(pickle.dumps(thing))
    return restored


class TestPickling:
    @pytest.mark.parametrize("matcher", ["auto", "scan", "interval"])
    def test_an_index(self, matcher: Any) -> None:
        index = example(matcher=matcher, limits=Limits(depth=77), metadata_columns=["owner"])
        index.remove(7)
        index.add(7, "member")
        for restored in (again(index), copy.copy(index), copy.deepcopy(index)):
            assert list(restored) == list(index) == ["west", "sport", 7]
            assert restored.limits == index.limits
            assert (restored.missing, restored.time_zone) == ("false", "Europe/Paris")
            assert restored.metadata_columns == ["owner"]
            assert restored.matcher == matcher
            event = {"topic": "tennis", "items": [{"price": 4}], "name": "xx", "zip": "94110"}
            assert restored.match(event) == index.match(event) == ["west", "sport"]
            assert restored["west"].metadata == {"owner": "é"}
            restored.add("more", "a")
            assert "more" not in index

    def test_subscriptions(self) -> None:
        index = example()
        for id in index:
            before, after = index[id], again(index[id])
            for name in ("id", "expression", "metadata", "boost", "priority"):
                assert getattr(after, name) == getattr(before, name)
            assert after.active_from == before.active_from
            assert after.active_until == before.active_until

    def test_limits(self) -> None:
        limits = Limits(depth=3, xml=xml.Limits(names=5, undeclared_entities="keep"))
        assert again(limits) == limits != Limits()
        assert again(limits.xml) == limits.xml
        assert again(Limits()) == Limits()

    def test_graphs_and_filters(self) -> None:
        graph = tamis.Graph(missing="false", limits=Limits(depth=7))
        graph.add_edge("a", "b", expression="x > 1", cost=0.5)
        restored = again(graph)
        assert type(restored) is tamis.Graph
        assert list(restored.match({"x": 2}, "a")) == ["b"]
        assert (restored.missing, restored.limits) == ("false", Limits(depth=7))
        filters = xml.Filter(engine="xfilter", limits=xml.Limits(names=9))
        filters.add("q", "//a[@id]")
        same = again(filters)
        assert (same.match("<a id='1'/>"), same.engine) == (["q"], "xfilter")
        assert same.limits == filters.limits

    def test_what_is_not_pickled_says_what_to_do(self) -> None:
        index = example()
        with pytest.raises(TypeError, match=r"pickle its to_dict\(\)"):
            pickle.dumps(index.explain("west", {}))
        filters = xml.Filter()
        filters.add("q", "//a")
        with pytest.raises(TypeError, match=r"pickle its to_list\(\)"):
            pickle.dumps(filters.explain("q", "<a/>"))

    def test_a_forged_pickle_writes_no_file_elsewhere(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="holds no file of the name"):
            restore_index({f"{tmp_path}/x": b""}, Limits(), "auto")
        assert list(tmp_path.iterdir()) == []


HOSTILE = "</td><script>alert('1')</script>\x00\ud7ff&\"" + "x" * 100_000


class Tags(HTMLParser):
    """The tags of a document, none of which may come from user input."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found = set[str]()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


class TestNotebooks:
    def shown(self, thing: Any, longest: int = 20_000) -> str:
        text: str = thing._repr_html_()
        assert len(text) < longest
        known = {"b", "code", "div", "pre", "span", "table", "td", "th", "tr"}
        drawn = {"svg", "defs", "marker", "path", "g", "title", "rect", "text"}
        assert Tags(text).found <= known | drawn
        return text

    def test_everything_is_escaped_and_bounded(self) -> None:
        index = Index[Any](limits=Limits(text=10**7))
        expression = attr[HOSTILE[:200]] == HOSTILE
        for number in range(30):
            index.add(f"{number}{HOSTILE}", expression, metadata=HOSTILE)
        id = f"0{HOSTILE}"
        assert "and 20 more" in self.shown(index)
        self.shown(index[id])
        self.shown(index.explain(id, {HOSTILE[:200]: HOSTILE}))
        self.shown(Match(HOSTILE, 1.5))
        graph = tamis.Graph(limits=Limits(text=10**7))
        graph.add_edge(HOSTILE[:300], "<b>", expression=attr[HOSTILE[:200]] == HOSTILE[:300])
        self.shown(graph)
        graph.add_node(id)
        for _ in range(5):
            graph.add_edge(id, "<b>")
        self.shown(graph, 600_000)
        filters = xml.Filter()
        filters.add(HOSTILE, "//a[. = '<script>']")
        self.shown(filters)
        self.shown(filters.explain(HOSTILE, "<a/>"))

    def test_what_is_shown(self) -> None:
        index = example()
        text = self.shown(index)
        assert "Index of 3 subscriptions" in text
        assert "zip = &#x27;94110&#x27;" in text
        assert "Europe/Paris" in text
        explained = self.shown(index.explain("west", {"zip": "1"}))
        assert '<span style="color:#c23b3b">false ' in explained
        assert "boost" in self.shown(index["west"])
        assert "priority" not in self.shown(index["sport"])
        assert self.shown(Index()) == self.shown(Index())
        assert "scores <b>1.5</b>" in self.shown(Match("a", 1.5))

    def test_a_long_explanation_is_cut(self) -> None:
        index = Index[Any]()
        index.add(1, " or ".join(f"(a = {n} and b = {n})" for n in range(300)))
        assert "more lines" in self.shown(index.explain(1, {}), 60_000)


class TestProgress:
    def test_it_is_quiet_in_scripts(self, capfd: pytest.CaptureFixture[str]) -> None:
        index = Index[Any]()
        index.add_many([(n, f"a = {n}") for n in range(3000)], progress=True)
        index.add_many({"x": "a"}, progress=False)
        assert len(index) == 3001
        assert capfd.readouterr() == ("", "")

    def test_it_draws_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        Index[Any]().add_many([(n, f"a = {n}") for n in range(3000)], progress=True)
        drawn = terminal.getvalue()
        assert drawn.startswith("\r[")
        assert re.search(r"100%  3,000 of 3,000  \d+\.\d s\n$", drawn)
        Index[Any]().add_many([], progress=True)
        index = Index.from_csv(io.StringIO("id,expression\na,b\n"), progress=True)
        assert len(index) == 1

    def test_without_standard_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stderr", None)
        Index[Any]().add_many({"x": "a"}, progress=True)


@pytest.mark.parametrize(
    ("thing", "described"),
    [(Index(), IndexStats), (tamis.Graph(), GraphStats), (xml.Filter(), FilterStats)],
)
def test_stats_have_the_keys_that_are_described(thing: Any, described: Any) -> None:
    stats = thing.stats()
    kinds = get_type_hints(described)
    assert list(stats) == list(kinds)
    documented = set(re.findall(r"^ {8}(\w+): ", described.__doc__, re.MULTILINE))
    assert documented == set(kinds)
    for name, kind in kinds.items():
        if is_typeddict(kind):
            assert list(stats[name]) == list(get_type_hints(kind))
        else:
            assert isinstance(stats[name], get_origin(kind) or kind)


def test_ids_have_a_type() -> None:
    """Checked by mypy: the result of `match` has the annotated type."""
    index: Index[str] = Index()
    index.add("a", "x > 1")
    ids: list[str] = index.match({"x": 2})
    best: Match[str] = index.top({"x": 2})[0]
    assert (ids, best.id) == (["a"], "a")
    assert Index[str] == Index[str]
    assert Index[str]().match({}) == []
    index.add(3, "x > 1")  # type: ignore[arg-type]


def test_paths_may_be_of_any_kind(tmp_path: Path) -> None:
    index = example()
    for path in (tmp_path / "a", str(tmp_path / "b"), Pathlike(tmp_path / "c")):
        index.save(path)
        assert len(tamis.open(path)) == 3
        graph = tamis.Graph()
        graph.add_node("n")
        graph.save(path)
        assert len(tamis.Graph.open(path)) == 1
        filters = xml.Filter()
        filters.save(path)
        assert len(xml.open(path)) == 0


class Pathlike:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_help_says_what_the_stub_says() -> None:
    """`scripts/docstrings.py write` copies the stub's docstrings into the native module."""
    stub = Path(_tamis.__file__).with_name("_tamis.pyi").read_text(encoding="utf-8")
    compared = 0
    for node in ast.parse(stub).body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        described = [(node, getattr(_tamis, node.name))]
        if isinstance(node, ast.ClassDef):
            members = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
            described += [(each, getattr(described[0][1], name)) for name, each in members.items()]
        for written, thing in described:
            text = ast.get_docstring(written)
            if text is not None:
                assert inspect.getdoc(thing) == text, written.name
                compared += 1
    assert compared > 150
