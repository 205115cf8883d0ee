"""Which nodes a filter selects, judged by lxml."""

import pytest
from lxml import etree

from tamis import xml
from xpaths import NAMESPACES, Documents, Queries

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


@pytest.mark.parametrize("seed", range(3))
def test_paths_lead_to_the_nodes_that_lxml_selects(seed: int) -> None:
    # To lxml, paths that begin elsewhere begin at the root element.
    queries = [
        query
        for query in Queries(seed).distinct(400, 1)
        if query.startswith("//") and " " not in query
    ]
    filters = xml.Filter()
    filters.add_many(enumerate(queries), namespaces=NAMESPACES)
    generator = Documents(seed)
    selected = 0
    for document in [generator.document() for _ in range(20)]:
        tree = etree.fromstring(document).getroottree()
        for match in filters.match(document, nodes=True):
            assert isinstance(match.id, int)
            expected = tree.xpath(queries[match.id], namespaces=NAMESPACES)
            if not isinstance(expected, list):
                continue
            # lxml has no object for the document itself.
            nodes = [node for node in match.nodes if node.path != "/"]
            for node, judge in zip(nodes, expected, strict=True):
                if isinstance(judge, etree._Element) and isinstance(judge.tag, str):
                    line: object = judge.sourceline
                    assert node.line == line
                    assert node.text == judge.xpath("string(.)")
                    selected += 1
                if b'xmlns="urn:q"' not in document:
                    assert tree.xpath(f"count({node.path})", namespaces=NAMESPACES) == 1, node.path
    assert selected > 100
