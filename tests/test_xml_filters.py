"""`tamis.xml.Filter`: adding and removing filters, refusals, and explanations."""

import itertools
import threading
from pathlib import Path

import pytest
from lxml import etree

import tamis
from tamis import xml


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
        ("//a[$x]", 5, "the unknown variable `$x`"),
        ("//a/namespace::b", 5, "the axis `namespace`"),
        ("a is b", 3, "found `is`"),
    ],
)
def test_what_is_no_filter_is_refused(query: str, column: int, reason: str) -> None:
    with pytest.raises(tamis.ExpressionSyntaxError) as caught:
        xml.Filter().add("q", query)
    assert caught.value.column == column
    assert reason in str(caught.value)


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
            # The other filters are added and removed in pairs, both or neither.
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
    with pytest.raises(ValueError, match="engine must be one of auto, yfilter"):
        xml.Filter(engine="zfilter")  # type: ignore[arg-type]


def test_a_namespace_needs_a_prefix() -> None:
    filters = xml.Filter()
    with pytest.raises(tamis.ExpressionError, match="a namespace needs a prefix"):
        filters.add("q", "//a", namespaces={"": "urn:p"})
    with pytest.raises(tamis.ExpressionError, match="a namespace needs a prefix"):
        filters.add_many({"q": "//a"}, namespaces={"": "urn:p"})
    with pytest.raises(tamis.ExpressionError, match="binds a prefix to no namespace"):
        filters.add("q", "//a", namespaces={"p": ""})
    with pytest.raises(tamis.ExpressionError, match="cannot contain a lone surrogate"):
        filters.add("q", "//a[. = '\ud800']")
    assert len(filters) == 0


def test_variables_are_given_with_a_filter(tmp_path: Path) -> None:
    filters = xml.Filter()
    filters.add("most", "//price[. < $most]", variables={"most": 300})
    filters.add("name", "//name[. = $p:name]", variables={"p:name": 'it\'s "x"'})
    filters.add("position", "//price[$n]", variables={"n": 2})
    filters.add_many({"flag": "$on", "not": "not($on)"}, variables={"on": True})
    document = '<c><price>299</price><name>it\'s "x"</name></c>'
    assert filters.match(document) == ["most", "name", "flag"]
    assert filters["most"].variables == {"most": 300.0}
    assert filters["name"].variables == {"p:name": 'it\'s "x"'}
    assert filters["flag"].variables == {"on": True}
    filters.save(tmp_path)
    opened = xml.open(tmp_path)
    assert opened.match(document) == ["most", "name", "flag"]
    assert opened["flag"].variables == {"on": True}
    with pytest.raises(TypeError, match="the variable `x` must be a string, a number or a boolean"):
        filters.add("q", "$x", variables={"x": []})  # type: ignore[dict-item]
    with pytest.raises(tamis.ExpressionSyntaxError, match="a node-set"):
        filters.add("q", "count($x)", variables={"x": "a"})


def test_long_sums_are_not_deep() -> None:
    filters = xml.Filter()
    filters.add("sum", " + ".join(["count(//a)"] * 5000) + " = 5000")
    filters.add("mixed", "1 + 2 * 3 - 4 div 2 - 1 = 4 and 2 * 3 mod 4 * 5 = 10 and -2 - -3 = 1")
    filters.add("left", "10 - 3 - 2 = 5 and 8 div 4 div 2 = 1 and 1 - (2 - 3) = 2")
    assert filters.match("<a/>") == ["sum", "mixed", "left"]


@pytest.mark.parametrize("engine", ["auto", "scan"])
def test_elements_are_identified_by_attributes_of_type_id(engine: xml.Engine) -> None:
    filters = xml.Filter(engine=engine)
    filters.add("one", "id('x')/b")
    filters.add("many", "count(id('x y  z')) = 2")
    filters.add("nodes", "count(id(//ref)) = 2")
    filters.add("none", "id('q')")
    filters.add("name", "name(id('y')) = 'c'")
    types = "<!DOCTYPE a [<!ATTLIST a i ID #IMPLIED><!ATTLIST c i ID #IMPLIED>]>"
    content = "<a i='x' j='q'><b i='z'/><c i=' y '/><c i='y'/><ref>y</ref><ref>x q</ref></a>"
    assert filters.match(types + content) == ["one", "many", "nodes", "name"]
    assert filters.match(content) == []


def test_elements_are_identified_by_xml_id() -> None:
    filters = xml.Filter()
    filters.add("one", "id('x')[self::b]")
    filters.add("two", "count(id('x y')) = 2")
    filters.add("none", "id('z')")
    document = "<a id='z'><b xml:id='x'/><b xml:id=' y '/></a>"
    assert filters.match(document) == ["one", "two"]
    assert etree.fromstring(document).xpath("count(id('x')) = 1 and not(id('z'))")
