"""Expensive filters and documents end at a limit, and the error names the filter."""

import time

import pytest

import tamis
from tamis import xml

DEEP = 2000
SIBLINGS = "<r>" + "<a/>" * 1000 + "</r>"
NUMBERS = "<r>" + "".join(f"<b>{n}</b><c>{n + 20_000}</c>" for n in range(15_000)) + "</r>"


def deep(text: str) -> str:
    return "<a>" * DEEP + text + "</a>" * DEEP


@pytest.mark.parametrize(
    ("query", "document", "limit"),
    [
        # 20 KB of expression that would build a string of 9 GB.
        (f"string-length(concat({','.join('/' * 9000)})) > 3", "x" * 1_000_000, "filter_memory"),
        ("//a[preceding-sibling::a[preceding-sibling::a[position() = last() - 1]][last() > 1]]",
         SIBLINGS, "filter_work"),
        ("//a[translate(., 'x', 'y') = 'z']", "x" * 1_000_000, "filter_work"),
        ("//a[count(.//a) = count(.//a[count(.//a) > 1])]", "x", "filter_work"),
        ("//a[contains(., 'yes')]", "x" * 5_000_000, "document_work"),
        ("//a[. = 5]", "1" * 5_000_000, "document_work"),
    ],
)  # fmt: skip
def test_what_takes_too_long_ends_at_a_limit(query: str, document: str, limit: str) -> None:
    document = document if document.startswith("<") else deep(document)
    limits = xml.Limits(document_work=100_000_000)
    if limit == "filter_work":
        limits = xml.Limits(filter_work=2_000_000)
    engines: tuple[xml.Engine, ...] = ("auto", "scan", "yfilter")
    for engine in engines:
        filters = xml.Filter(engine=engine, limits=limits)
        filters.add("cheap", "//nothing[@x = 1]")
        filters.add("costly", query)
        with pytest.raises(tamis.LimitError) as caught:
            filters.match(document)
        error = caught.value
        if engine == "auto":
            assert error.limit == limit
        assert error.limit in ("filter_work", "document_work", "filter_memory")
        assert error.found > error.allowed == getattr(limits, error.limit)
        if error.limit != "document_work":
            assert error.filter == "costly"
            assert str(error).startswith("filter ")
            assert "costly" in str(error)
        # The next document is matched normally.
        assert filters.match("<nothing x='1'/>") == ["cheap"]


def test_a_filter_is_named_by_its_id_and_an_xpath_of_an_index_by_itself() -> None:
    limits = xml.Limits(filter_work=1000)
    filters = xml.Filter(limits=limits)
    filters.add(7, "count(//a[../a]) > 3")
    with pytest.raises(tamis.LimitError, match="filter 7: work of evaluating a filter: ") as caught:
        filters.match(SIBLINGS)
    assert caught.value.filter == 7
    index = tamis.Index(limits=tamis.Limits(xml=limits))
    index.add("s", "xpath('count(//a[../a]) > 3')")
    with pytest.raises(tamis.LimitError) as caught:
        index.match({}, document=SIBLINGS)
    assert caught.value.filter == "count(//a[../a]) > 3"
    with pytest.raises(tamis.LimitError):
        filters.explain(7, SIBLINGS)


def test_what_no_context_changes_is_evaluated_once() -> None:
    # 450 million comparisons, one by one; here 30,000.
    filters = xml.Filter(limits=xml.Limits(filter_work=2_000_000))
    filters.add("order", "//b[. > //c]")
    filters.add("equality", "//b[. = //c]")
    filters.add("count", "//b[. = count(//c)]")
    filters.add("string", "//b[contains(string(//c), .)]")
    assert filters.match(NUMBERS) == ["string"]
    filters.add("both", "//c[. > //b][. = //c]")
    assert filters.match(NUMBERS) == ["string", "both"]


def test_white_space_is_normalised_once_for_all_elements() -> None:
    filters = xml.Filter(limits=xml.Limits(filter_work=2_000_000))
    filters.add("q", "//a[normalize-space(.) = 'x']")
    filters.add("own", "//a[normalize-space() = 'y']")
    assert filters.match(deep(" \n x" + " " * 1_000_000)) == ["q"]
    filters.add("attribute", "//@b[normalize-space(.) = 'c d']")
    assert filters.match("<a b='  c \t d '><!-- x  y --></a>") == ["attribute"]


@pytest.mark.parametrize("nodes", [False, True])
def test_a_match_gives_up_when_its_time_is_over(nodes: bool) -> None:
    none = xml.Limits(filter_work=1 << 60, document_work=1 << 60)
    filters = xml.Filter(limits=none)
    query = "//a[preceding-sibling::a[preceding-sibling::a[position() = last() - 1]][last() > 1]]"
    filters.add("q", query)
    start = time.monotonic()
    with pytest.raises(tamis.MatchTimeoutError, match=r"not done after 0\.01 s") as caught:
        filters.match(SIBLINGS, nodes=nodes, timeout=0.01)  # type: ignore[call-overload]
    assert time.monotonic() - start < 30
    assert caught.value.seconds == 0.01
    assert isinstance(caught.value, TimeoutError)
    with pytest.raises(tamis.MatchTimeoutError, match="item 1 "):
        filters.match_batch(["<r/>", SIBLINGS], timeout=0.01)
    assert filters.match("<a/>", timeout=1000) == []
    assert filters.match("<a/>", timeout=float("inf")) == []
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="timeout must be a number of seconds"):
            filters.match("<a/>", timeout=wrong)
    index = tamis.Index(limits=tamis.Limits(xml=none))
    index.add("s", f"xpath('{query}')")
    with pytest.raises(tamis.MatchTimeoutError):
        index.match({}, document=SIBLINGS, timeout=0.01)


@pytest.mark.parametrize("matcher", ["auto", "scan", "kindex"])
def test_an_index_gives_up_when_its_time_is_over(matcher: str) -> None:
    index = tamis.Index(matcher=matcher)  # type: ignore[arg-type]
    index.add_many((n, f"a > {n % 100} and b = 1") for n in range(10_000))
    event = {"a": 1000, "b": 1}
    assert len(index.match(event, timeout=1000)) == 10_000
    with pytest.raises(tamis.MatchTimeoutError):
        index.match(event, timeout=0)
    # The deadline of one match does not affect the next.
    assert len(index.match(event)) == 10_000


@pytest.mark.parametrize("strategy", ["auto", "bfs", "index", "dag", "general"])
def test_a_search_gives_up_when_its_time_is_over(strategy: str) -> None:
    graph = tamis.Graph()
    graph.add_many(edges=[("s", n) for n in range(5000)])
    found = graph.match({}, source="s", strategy=strategy, timeout=0)  # type: ignore[arg-type]
    with pytest.raises(tamis.MatchTimeoutError):
        list(found)
    assert len(list(graph.match({}, source="s", timeout=1000))) == 5000
