"""XPath filters compared with lxml, an independent implementation."""

from typing import get_args

import pytest

from tamis import xml
from tamis.xml import Engine
from xpaths import NAMESPACES, VARIABLES, Documents, Queries, judge

ENGINES: tuple[Engine, ...] = get_args(Engine)


@pytest.mark.parametrize("depth", [0, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_all_engines_agree_with_lxml(seed: int, depth: int) -> None:
    # 15 times 500 queries and 50 documents are 375,000 pairs for each engine.
    queries = Queries(seed, variables=True).distinct(500, depth)
    generator = Documents(seed)
    documents = [generator.document() for _ in range(50)]
    expected = judge(queries, documents)
    assert sum(map(len, expected)) > 500
    for engine, memory in [*((engine, 50_000) for engine in ENGINES), ("auto", 0), ("auto", 20)]:
        filters = xml.Filter(engine=engine, limits=xml.Limits(memory=memory))
        filters.add_many(enumerate(queries), namespaces=NAMESPACES, variables=VARIABLES)
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
        # Positions count per parent, or in the whole document.
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
        # Numbers compare as numbers; a text that is not a number equals none.
        ("//b[. = 1.0]", TWO, True),
        ("//b[. = '1.0']", TWO, False),
        ("//a[. != 5]", "<a>x</a>", True),
        ("//a[. < 5 or . >= 5]", "<a>x</a>", False),
        ("number('x') = number('x')", "<a/>", False),
        # A node-set compares by its nodes; != is not the negation of =.
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
        # following and preceding exclude descendants and ancestors.
        ("//b[1]/following::b[. = 3]", TWO, True),
        ("//s[1]/following::*[3][. = 3]", TWO, True),
        ("//s[2]/preceding::*[1][. = 1][self::b]", TWO, True),
        ("//s/b/preceding::s[b]", TWO, True),
        ("//b/preceding::r", TWO, False),
        ("//s/following::b[. = 1]", TWO, False),
        ("//c[following::a or preceding::a]", "<a><c/></a>", False),
        ("//c[following::comment() and preceding::text()]", "<a>x<c/><!--y--></a>", True),
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


@pytest.mark.parametrize("engine", ENGINES)
def test_recursive_documents_take_polynomial_time(engine: Engine) -> None:
    filters = xml.Filter(engine=engine)
    filters.add("none", "//a//a//a//a[@x]")
    filters.add("nested", "//a[.//a[.//a[@x]]]")
    filters.add("values", "//a[@y]//a[@y]//a[@y]//a[@x]")
    filters.add("all", "//a//a//a//a")
    assert filters.match("<a>" * 2000 + "</a>" * 2000) == ["all"]
    assert filters.match("<a y='1'>" * 2000 + "</a>" * 2000) == ["all"]
