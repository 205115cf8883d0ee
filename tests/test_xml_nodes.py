"""The nodes that filters select, compared with lxml."""

import pytest
from lxml import etree

from tamis import xml
from xpaths import NAMESPACES, VARIABLES, Documents, Queries

CATALOG = """<catalog>
<product id='1'><price>299</price></product>
<product id='2'>
  <price currency='EUR'>310</price></product><!-- end -->
</catalog>"""


def test_nodes_have_a_path_a_line_and_a_text() -> None:
    filters = xml.Filter()
    filters.add("price", "//price[. > 300]")
    filters.add("attribute", "//@currency")
    filters.add("text", "//price/text()")
    filters.add("comment", "//comment()")
    filters.add("root", "/")
    filters.add("count", "count(//price) = 2")
    filters.add("none", "//draft")
    found = filters.match(CATALOG, nodes=True)
    assert [match.id for match in found] == filters.match(CATALOG)
    nodes = {match.id: [(n.path, n.line, n.text) for n in match.nodes] for match in found}
    assert nodes["price"] == [("/catalog/product[2]/price", 4, "310")]
    assert nodes["attribute"] == [("/catalog/product[2]/price/@currency", 4, "EUR")]
    assert nodes["text"] == [
        ("/catalog/product[1]/price/text()", 2, "299"),
        ("/catalog/product[2]/price/text()", 4, "310"),
    ]
    assert nodes["comment"] == [("/catalog/comment()", 4, " end ")]
    assert nodes["root"][0][:2] == ("/", 1)
    assert nodes["count"] == []
    assert repr(found[0]) == '<Match "price": 1 nodes>'
    assert repr(found[0].nodes[0]) == "<Node /catalog/product[2]/price, line 4>"


def shown(node: object, tree: etree._ElementTree) -> tuple[object, ...]:
    """A node that lxml selects: kind, element, line and text."""
    if isinstance(node, etree._Element):
        tag: object = node.tag
        kind = "element" if isinstance(tag, str) else "other"
        text = node.xpath("string(.)") if kind == "element" else node.text or ""
        return kind, tree.getpath(node), node.sourceline, text
    assert isinstance(node, etree._ElementUnicodeResult)
    parent = node.getparent()
    assert parent is not None
    if node.is_attribute:
        return "attribute", tree.getpath(parent), parent.sourceline, str(node)
    around = parent if node.is_text else parent.getparent()
    assert around is not None
    return "text", tree.getpath(around), None, str(node)


def said(node: xml.Node, tree: etree._ElementTree, kind: object) -> tuple[object, ...]:
    """The same for a node of ours; lxml must find exactly one node at its path."""
    found = tree.xpath(node.path, namespaces=NAMESPACES)
    assert isinstance(found, list)
    assert len(found) == 1, node.path
    same = shown(found[0], tree)
    line = node.line if kind != "text" else None
    return same[0], same[1], line, node.text


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_are_those_that_lxml_selects(seed: int, depth: int) -> None:
    queries = Queries(seed, variables=True).selecting(400, depth)
    filters = xml.Filter()
    filters.add_many(enumerate(queries), namespaces=NAMESPACES, variables=VARIABLES)
    compiled = [etree.XPath(query, namespaces=NAMESPACES) for query in queries]
    generator = Documents(seed)
    documents = [generator.document() for _ in range(20)]
    # A default namespace has no prefix that lxml could use in a path.
    documents = [document for document in documents if b'xmlns="urn:q"' not in document]
    compared = 0
    for document in documents:
        tree = etree.fromstring(document).getroottree()
        found = {match.id: match.nodes for match in filters.match(document, nodes=True)}
        for at, query in enumerate(compiled):
            judged = query(tree, **VARIABLES)
            assert isinstance(judged, list)
            # lxml has no object for the document itself.
            ours = [node for node in found.get(at, []) if node.path != "/"]
            theirs = [shown(node, tree) for node in judged]
            assert len(ours) == len(theirs), (queries[at], document)
            for node, expected in zip(ours, theirs, strict=True):
                assert said(node, tree, expected[0]) == expected, (queries[at], document)
                compared += 1
    assert compared > 1000
