"""`tamis.xml.Filter`: filters that come and go, what it refuses, and why a filter is true."""

import itertools
import threading

import pytest

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
