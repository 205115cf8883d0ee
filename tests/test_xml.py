"""XPath filters against lxml, an implementation that shares nothing with ours."""

import io
import itertools
import random
import threading
from pathlib import Path
from typing import get_args

import pytest
from lxml import etree

import tamis
from tamis import xml
from tamis.xml import Engine

ENGINES: tuple[Engine, ...] = get_args(Engine)
NAMESPACES = {"p": "urn:p", "q": "urn:q"}


class Documents:
    """Random documents in which few names and values meet often."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        return self.random.choice(["a", "a", "b", "b", "c", "d", "p:a", "q:b"])

    def text(self) -> str:
        return self.random.choice(
            [
                "1",
                "2",
                "3.5",
                "-1",
                "x",
                "xy",
                " 2 ",
                "ab c",
                "&lt;",
                "<![CDATA[1]]>",
                "&#50;",
                "",
                "é",
            ]
        )

    def element(self, depth: int) -> str:
        choose = self.random
        name = self.name()
        attributes = "".join(
            f' {attribute}="{choose.choice(["1", "2", "3", "x", "", "10"])}"'
            for attribute in ("x", "y", "p:x", "xml:lang")
            if choose.random() < 0.25
        )
        content = [self.text() if choose.random() < 0.5 else ""]
        for _ in range(choose.choice([0, 1, 2, 3]) if depth > 0 else 0):
            kind = choose.random()
            if kind < 0.85:
                content.append(self.element(depth - 1))
            elif kind < 0.92:
                content.append("<!--2-->")
            else:
                content.append("<?a 1?>")
            if choose.random() < 0.3:
                content.append(self.text())
        return f"<{name}{attributes}>{''.join(content)}</{name}>"

    def document(self) -> bytes:
        inner = self.element(self.random.randint(1, 6))
        default = ' xmlns="urn:q"' if self.random.random() < 0.1 else ""
        head = self.random.choice(["", "<?xml version='1.0'?>", "<!--1-->\n"])
        return f'{head}<a xmlns:p="urn:p" xmlns:q="urn:q"{default} x="1">{inner}</a>'.encode()


class Queries:
    """Random XPath expressions of the language that filters take."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def test(self) -> str:
        return self.random.choice(
            [
                "a",
                "a",
                "b",
                "b",
                "c",
                "d",
                "*",
                "*",
                "p:a",
                "q:b",
                "p:*",
                "text()",
                "node()",
                "comment()",
                "processing-instruction()",
            ]
        )

    def name(self) -> str:
        return self.random.choice(["a", "a", "b", "b", "c", "d", "*", "p:a", "q:*"])

    def literal(self) -> str:
        return self.random.choice(["'1'", "'x'", "''", "1", "2", "3.5", "'ab c'", "-1", "0", "10"])

    def comparison(self) -> str:
        return self.random.choice(["=", "=", "!=", "<", "<=", ">", ">="])

    def predicate(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if kind < 0.3:
            source = choose.choice(["@x", "@y", "@p:x", ".", "text()", "@*"])
            return f"{source} {self.comparison()} {self.literal()}"
        if kind < 0.4:
            return choose.choice(["@x", "@y", "@p:x", "text()", "not(@x)", "*", "contains(., 'x')"])
        if kind < 0.5:
            return choose.choice(
                [
                    "1",
                    "2",
                    "last()",
                    "position() = 2",
                    "position() < last()",
                    "last() - 1",
                    "position() mod 2 = 1",
                ]
            )
        if depth > 0:
            return self.expression(depth - 1)
        return self.path(0)

    def step(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if kind < 0.72:
            step = self.name()
        elif kind < 0.8:
            step = choose.choice(["@x", "@*", "@p:x", ".", "..", "text()", "node()"])
            if step in (".", ".."):
                return step
        else:
            axes = [
                "child",
                "descendant",
                "descendant-or-self",
                "self",
                "parent",
                "ancestor",
                "ancestor-or-self",
                "following-sibling",
                "preceding-sibling",
                "attribute",
            ]
            step = f"{choose.choice(axes)}::{self.test()}"
        for _ in range(choose.choice([0, 0, 0, 1, 1, 2]) if depth > 0 else 0):
            step += f"[{self.predicate(depth - 1)}]"
        return step

    def path(self, depth: int) -> str:
        choose = self.random
        if depth > 0 and choose.random() < 0.08:
            start = f"({self.path(depth - 1)})[{choose.choice(['1', '2', 'last()', '@x'])}]/"
        else:
            start = choose.choice(["/", "//", "//", "//", "", ".//"])
        steps = [self.step(depth) for _ in range(choose.choice([1, 1, 2, 2, 3, 4]))]
        path = start + steps[0]
        for step in steps[1:]:
            path += choose.choice(["/", "/", "//"]) + step
        return path

    def expression(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if kind < 0.55 or depth == 0:
            return self.path(depth)
        if kind < 0.65:
            return f"{self.path(depth)} {self.comparison()} {self.literal()}"
        if kind < 0.70:
            return f"{self.path(depth - 1)} {self.comparison()} {self.path(depth - 1)}"
        if kind < 0.80:
            connective = choose.choice(["and", "or"])
            return f"({self.expression(depth - 1)} {connective} {self.expression(depth - 1)})"
        if kind < 0.85:
            return f"not({self.expression(depth - 1)})"
        if kind < 0.88:
            return f"{self.path(depth - 1)} | {self.path(depth - 1)}"
        path = self.path(depth - 1)
        return choose.choice(
            [
                f"count({path}) {self.comparison()} {choose.randint(0, 3)}",
                f"sum({path}) > 2",
                f"contains({path}, 'x')",
                f"starts-with({path}, '1')",
                f"string-length({path}) > 1",
                f"normalize-space({path}) = '2'",
                f"name({path}) = 'p:a'",
                f"local-name({path}) = 'a'",
                f"namespace-uri({path}) = 'urn:p'",
                f"substring({path}, 1, 1) = 'x'",
                f"substring-before({path}, 'y') = 'x'",
                f"substring-after({path}, 'x') = 'y'",
                f"translate({path}, 'xy', 'z') = 'z'",
                f"concat({path}, '!') = '1!'",
                f"number({path}) = 2",
                f"round({path}) = 4",
                f"floor({path}) = 3",
                f"ceiling({path}) = 4",
                f"boolean({path})",
                f"{path} = true()",
                f"{path} + 1 = 3",
                f"{path} * 2 div 2 - 1 mod 2 < -{path}",
                f"string({path}) = string(//b)",
                "lang('x') or //*[lang('x')]",
            ]
        )

    def streamable(self) -> str:
        """A path that engines decide from names and values alone, or with one nested path."""
        choose = self.random
        path = ""
        for _ in range(choose.randint(1, 5)):
            path += choose.choice(["/", "//"]) + self.name()
            while choose.random() < 0.3:
                source = choose.choice(["@x", "@y", "@p:x", ".", "text()"])
                path += choose.choice(
                    [
                        f"[{source} {self.comparison()} {self.literal()}]",
                        f"[{self.literal()} {self.comparison()} {source}]",
                        f"[@x][{source} = '1']",
                        f"[@x = 1 and @y {self.comparison()} 2]",
                        f"[contains({source}, 'x')]",
                        f"[starts-with(@x, {self.literal()})]",
                        f"[{self.name()}/{self.name()}]",
                        f"[.//{self.name()}[@x]]",
                    ]
                )
        return path + choose.choice(["", "", "", "/@x", "/text()"])

    def distinct(self, count: int, depth: int = 2) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.streamable() if depth == 0 else self.expression(depth)] = None
        return list(found)


def judge(queries: list[str], documents: list[bytes]) -> list[list[int]]:
    """What lxml says: of each document, the positions of the queries that are true."""
    # A predicate makes the document node the context, which lxml does not.
    compiled = [
        etree.XPath(f"boolean(/self::node()[boolean({query})])", namespaces=NAMESPACES)
        for query in queries
    ]
    results = []
    for document in documents:
        tree = etree.fromstring(document).getroottree()
        results.append([at for at, query in enumerate(compiled) if query(tree)])
    return results


@pytest.mark.parametrize("depth", [0, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_all_engines_agree_with_lxml(seed: int, depth: int) -> None:
    # 15 times 500 queries and 50 documents are 375,000 pairs for each engine.
    queries = Queries(seed).distinct(500, depth)
    generator = Documents(seed)
    documents = [generator.document() for _ in range(50)]
    expected = judge(queries, documents)
    assert sum(map(len, expected)) > 500
    for engine, memory in [*((engine, 50_000) for engine in ENGINES), ("auto", 0), ("auto", 20)]:
        filters = xml.Filter(engine=engine, limits=xml.Limits(memory=memory))
        filters.add_many(enumerate(queries), namespaces=NAMESPACES)
        for document, ids in zip(documents, expected, strict=True):
            found = filters.match(document)
            wrong = [queries[at] for at in set(found) ^ set(ids)]
            assert not wrong, (engine, memory, wrong[:3], document.decode())
            assert found == ids


def matches(query: str, document: str | bytes, engine: Engine = "auto") -> bool:
    filters = xml.Filter(engine=engine)
    filters.add("q", query, namespaces=NAMESPACES)
    return filters.match(document) == ["q"]


TWO = "<r><s><b>1</b></s><s><b>2</b><b>3</b></s></r>"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("query", "document", "expected"),
    [
        # Positions count per parent, or over the document.
        ("//b[2]", "<r><s><b/></s><s><b/></s></r>", False),
        ("(//b)[2]", "<r><s><b/></s><s><b/></s></r>", True),
        ("//b[2][. = 3]", TWO, True),
        ("(//b)[2][. = 3]", TWO, False),
        # Predicates renumber from left to right.
        ("//b[. > 1][1][. = 2]", TWO, True),
        ("//b[1][. > 2]", TWO, False),
        # All predicates of a step hold on the same element.
        ("//a[@x][@y]", "<a x='1'><a y='1'/></a>", False),
        ("//a[@x][@y]", "<a x='1'/>", False),
        # Numbers compare as numbers, and what is no number is not equal to one.
        ("//b[. = 1.0]", TWO, True),
        ("//b[. = '1.0']", TWO, False),
        ("//a[. != 5]", "<a>x</a>", True),
        ("//a[. < 5 or . >= 5]", "<a>x</a>", False),
        ("number('x') = number('x')", "<a/>", False),
        # A node-set compares by its nodes, one by one; != is not the opposite of =.
        ("//b = 1 and //b != 1", TWO, True),
        ("//c = 1 or //c != 1", TWO, False),
        ("//c = false()", TWO, True),
        # The first text node, or the whole string value.
        ("//a[contains(text(), 'y')]", "<a>x<b/>y</a>", False),
        ("//a[contains(., 'y')]", "<a>x<b/>y</a>", True),
        ("//a[text() = 'y']", "<a>x<b/>y</a>", True),
        ("/a[. = 'xzy']", "<a>x<b>z</b>y</a>", True),
        # Namespaces.
        ("//a", "<a xmlns='urn:p'/>", False),
        ("//p:a", "<a xmlns='urn:p'/>", True),
        ("//a[@p:x]", "<a x='1' xmlns:p='urn:p'/>", False),
        ("//a[@p:x]", "<a q:x='1' xmlns:q='urn:p'/>", True),
        ("//@*", "<a xmlns='urn:p' xmlns:q='urn:q'/>", False),
        # Relative to the document.
        ("a", "<a/>", True),
        ("b", "<a><b/></a>", False),
        (".//b/..", "<a><b/></a>", True),
        ("/", "<a/>", True),
        ("not(//draft)", "<a/>", True),
        ("count(//a) = 0", "<b/>", True),
        ("1 = 1", "<b/>", True),
        # Recursion: the inner element counts as well as the outer.
        ("//a[@x = 2]/a[@x = 1]/b", "<a x='1'><a x='2'><a x='1'><b/></a></a></a>", True),
        ("//a[@x = 1]/a[@x = 1]/b", "<a x='1'><a x='2'><a x='1'><b/></a></a></a>", False),
    ],
)
def test_details_that_decide(engine: Engine, query: str, document: str, expected: bool) -> None:
    assert matches(query, document, engine) is expected
    assert bool(judge([query], [document.encode()])[0]) is expected


CATALOG = (
    "<catalog><product><name>Color Monitor</name><price><msrp>310.40</msrp></price></product>"
    "</catalog>"
)


@pytest.mark.parametrize("engine", ENGINES)
def test_examples_of_the_paper(engine: Engine) -> None:
    """Diao et al. 2003: q1 to q3 of Figure 2, q4 and q5 of section 5, q6 of section 6."""
    assert matches("/catalog/product//msrp", CATALOG, engine)
    assert matches("//product[name = 'Color Monitor']", CATALOG, engine)
    assert not matches("//product[price/msrp < 300]/name", CATALOG, engine)
    q4 = "//a[@a1 = 'v1'][@a2 = 'v2']"
    assert not matches(q4, "<r><a a1='v1'/><a a2='v2'/></r>", engine)
    assert not matches(q4, "<a a1='v1'><a a2='v2'/></a>", engine)
    assert matches(q4, "<a a1='v1'><a a1='v1' a2='v2'/></a>", engine)
    q5 = "//a[@a1 = 'v1']//b"
    assert matches(q5, "<a><a a1='v1'><b/></a></a>", engine)
    assert matches(q5, "<a a1='v1'><a><b/></a></a>", engine)
    assert not matches(q5, "<r><a a1='v1'/><a><b/></a></r>", engine)
    q6 = "/a[d]//b[e/f]/c"
    assert matches(q6, "<a><d/><x><b><e><f/></e><c/></b></x></a>", engine)
    assert not matches(q6, "<a><d/><b><e><f/></e></b><b><c/></b></a>", engine)
    assert not matches(q6, "<a><b><d/><e><f/></e><c/></b></a>", engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_shared_automaton_of_the_paper(engine: Engine) -> None:
    """The eight queries of Figure 7, and the walk over them that Figure 10 shows."""
    filters = xml.Filter(engine=engine)
    queries = ["/a/b", "/a/c", "/a/b/c", "/a//b/c", "/a/*/b", "/a//c", "/a/*/*/c", "/a/b/c"]
    filters.add_many((f"Q{at}", query) for at, query in enumerate(queries, start=1))
    assert filters.match("<a><b><c/></b></a>") == ["Q1", "Q3", "Q4", "Q6", "Q8"]
    assert filters.match("<a><b/><c/></a>") == ["Q1", "Q2", "Q6"]
    assert filters.match("<a><x><b><c/></b></x></a>") == ["Q4", "Q5", "Q6", "Q7"]
    assert filters.match("<b><a><b/></a></b>") == []


def test_filters_come_and_go() -> None:
    filters = xml.Filter()
    filters.add("a", "//a")
    filters.add(7, "//p:a", namespaces={"p": "urn:p"})
    filters.add_many({"b": "//b", "none": "//c"})
    assert len(filters) == 4
    assert list(filters) == ["a", 7, "b", "none"]
    assert "a" in filters
    assert "x" not in filters
    assert filters["b"].xpath == "//b"
    assert filters[7].namespaces == {"p": "urn:p"}
    assert filters.match("<a><b/></a>") == ["a", "b"]
    filters.add("a", "//b")
    assert filters.match("<a><b/></a>") == ["b", "a"]
    filters.remove("b")
    assert filters.match("<a><b/></a>") == ["a"]
    with pytest.raises(tamis.UnknownIdError):
        filters.remove("b")
    with pytest.raises(tamis.UnknownIdError):
        filters["b"]
    assert filters.stats() == {"subscriptions": 3, "segments": 4, "engine": "auto"}
    assert repr(filters) == "<Filter of 3 subscriptions>"


def test_a_failing_batch_adds_nothing() -> None:
    filters = xml.Filter()
    with pytest.raises(
        tamis.ExpressionSyntaxError, match=r"item 1 \(id 'b'\): line 1, column 4"
    ) as caught:
        filters.add_many([("a", "//a"), ("b", "//b]")])
    assert caught.value.item == 1
    assert len(filters) == 0
    with pytest.raises(tamis.SubscriptionError, match="an item is"):
        filters.add_many([("a",)])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("query", "column", "reason"),
    [
        ("//a[", 5, "expected an expression"),
        ("//x:a", 3, "the unknown prefix `x`"),
        ("matches(a, 'b')", 1, "the unknown function `matches`"),
        ("not(a, b)", 1, "expected 1 argument"),
        ("//a[$x]", 5, "a variable"),
        ("id('x')", 1, "the function `id`"),
        ("//a/following::b", 5, "the axis `following`"),
        ("//a/preceding::b", 5, "the axis `preceding`"),
        ("a is b", 3, "found `is`"),
    ],
)
def test_what_is_no_filter_is_refused(query: str, column: int, reason: str) -> None:
    with pytest.raises(tamis.ExpressionSyntaxError) as caught:
        xml.Filter().add("q", query)
    assert caught.value.column == column
    assert reason in str(caught.value)


def test_documents_are_bytes_text_or_paths(tmp_path: Path) -> None:
    text = "<?xml version='1.0' encoding='{}'?><a>\u00e4</a>"
    filters = xml.Filter()
    filters.add("q", "/a = '\u00e4'")
    for encoding in ("utf-8", "utf-16", "iso-8859-1", "windows-1252"):
        content = text.format(encoding).encode(encoding)
        path = tmp_path / f"{encoding}.xml"
        path.write_bytes(content)
        for document in (
            content,
            bytearray(content),
            memoryview(content),
            path,
            text.format(encoding),
        ):
            assert filters.match(document) == ["q"]
    with (tmp_path / "utf-16.xml").open("rb") as stream:
        assert filters.match(stream) == ["q"]
    with pytest.raises(TypeError, match="a stream gives bytes, not str"):
        filters.match(io.StringIO("<a/>"))  # type: ignore[arg-type]
    endless = open("/dev/zero", "rb")  # noqa: PTH123, SIM115
    with endless, pytest.raises(tamis.LimitError):
        filters.match(endless)
    with pytest.raises(FileNotFoundError):
        xml.Filter().match(tmp_path / "missing.xml")
    with pytest.raises(TypeError, match="a document is bytes, text, a path or a binary stream"):
        xml.Filter().match(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("document", "line", "column", "reason"),
    [
        ("<a>\n<b></a>", 2, 4, "</b>"),
        ("<a/><b/>", 1, 5, "a second root element"),
        ("<a/>trailing", 1, 5, "text outside"),
        ("<a>", 1, 4, "is not closed"),
        ("", 1, 1, "without an element"),
        ("<a b='1' b='2'/>", 1, 3, "given twice"),
        ("<a>&e;</a>", 1, 4, "is not declared"),
        ("<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>", 1, 58, "never read"),
    ],
)
def test_a_broken_document_is_an_error_with_a_place(
    document: str, line: int, column: int, reason: str
) -> None:
    filters = xml.Filter()
    filters.add("q", "//a")
    with pytest.raises(tamis.DocumentError, match=reason) as caught:
        filters.match(document)
    assert (caught.value.line, caught.value.column) == (line, column)
    with pytest.raises(tamis.DocumentError, match="item 1 ") as caught:
        filters.match_batch(["<a/>", document])
    assert caught.value.item == 1
    assert filters.match_batch(["<a/>", "<b/>"]) == [["q"], []]


def test_hostile_documents_end_at_a_limit(tmp_path: Path) -> None:
    filters = xml.Filter()
    filters.add("q", "//a")
    laughs = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 20))
    huge = tmp_path / "huge.xml"
    with huge.open("wb") as file:
        file.truncate(1 << 30)
    hostile: list[tuple[str | Path, str]] = [
        (f"<!DOCTYPE a [<!ENTITY e0 'ha'>{laughs}]><a>&e19;</a>", "expansion"),
        ("<a>" * 1_000_000, "document_depth"),
        (huge, "document"),
        ("<a " + " ".join(f"b{n}=''" for n in range(2000)) + "/>", "attributes"),
    ]
    for document, limit in hostile:
        with pytest.raises(tamis.LimitError) as caught:
            filters.match(document)
        assert caught.value.limit == limit


def test_declared_attributes_cost_what_they_hold() -> None:
    filters = xml.Filter()
    filters.add("q", "//a[@b7 = 'x']")
    declared = "".join(f" b{n} CDATA #IMPLIED" for n in range(100_000))
    many = "<a/>" * 100_000
    assert filters.match(f"<!DOCTYPE r [<!ATTLIST a{declared}>]><r>{many}</r>") == []
    assert filters.match("<!DOCTYPE a [<!ATTLIST a b7 CDATA 'x'>]><a/>") == ["q"]
    with pytest.raises(tamis.LimitError) as caught:
        filters.match(f"<!DOCTYPE r [<!ATTLIST a b CDATA '{'x' * 1000}'>]><r>{many}</r>")
    assert caught.value.limit == "expansion"


@pytest.mark.parametrize("engine", ENGINES)
def test_recursive_documents_take_polynomial_time(engine: Engine) -> None:
    filters = xml.Filter(engine=engine)
    filters.add("none", "//a//a//a//a[@x]")
    filters.add("nested", "//a[.//a[.//a[@x]]]")
    filters.add("values", "//a[@y]//a[@y]//a[@y]//a[@x]")
    filters.add("all", "//a//a//a//a")
    assert filters.match("<a>" * 2000 + "</a>" * 2000) == ["all"]
    assert filters.match("<a y='1'>" * 2000 + "</a>" * 2000) == ["all"]


def test_explanations_say_what_held() -> None:
    filters = xml.Filter()
    filters.add("q", "//product[@id]/price and not(//draft)")
    explanation = filters.explain("q", "<c><product id='1'/><draft/></c>")
    assert not explanation.matched
    assert [(part["text"], part["truth"]) for part in explanation.to_list()] == [
        ("//product[@id]/price and not(//draft)", False),
        ("//product[@id]/price", False),
        ("not(//draft)", False),
        ("//draft", True),
    ]
    assert explanation.to_list()[1]["selected"] == [1, 0]
    assert str(explanation).splitlines()[1] == (
        "false      //product[@id]/price    -- its steps select 1, 0 nodes"
    )
    assert filters.explain("q", "<product id='1'><price/></product>").matched


def test_threads_match_while_filters_change() -> None:
    filters = xml.Filter()
    filters.add_many((at, f"//a[@x = {at}]") for at in range(100))
    document = "<r>" + "".join(f"<a x='{at}'/>" for at in range(100)) + "</r>"
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            found = filters.match(document)
            steady = [at for at in found if at < 100]
            # The other filters come and go in pairs, both or neither.
            others = [at for at in found if at >= 100]
            if steady != list(range(100)) or len(others) % 2:
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for turn in itertools.islice(itertools.count(100, 2), 200):
        filters.add_many([(turn, "//a"), (turn + 1, "//r")])
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(filters) == 500


def test_limits_can_be_set() -> None:
    limits = xml.Limits(document_depth=2)
    assert limits == xml.Limits(document_depth=2)
    filters = xml.Filter(limits=limits)
    assert filters.limits.document_depth == 2
    filters.add("q", "//b")
    assert filters.match("<a><b/></a>") == ["q"]
    with pytest.raises(tamis.LimitError, match="nesting of a document: 3 exceeds the limit of 2"):
        filters.match("<a><b><c/></b></a>")
    with pytest.raises(ValueError, match="engine is one of auto, yfilter"):
        xml.Filter(engine="zfilter")  # type: ignore[arg-type]
