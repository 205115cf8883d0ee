"""Documents that arrive in pieces: certain matches are reported early, the rest at the end."""

import random

import pytest

import tamis
from tamis import xml
from xpaths import NAMESPACES, Documents, Queries

CATALOG = b"<catalog><product id='1'><price>299</price></product><draft/></catalog>"


def feed_all(stream: xml.Stream, pieces: list[bytes]) -> list[object]:
    for piece in pieces:
        stream.feed(piece)
    return stream.close()


def test_what_is_certain_is_told_at_once() -> None:
    filters = xml.Filter()
    filters.add("path", "//product")
    filters.add("attribute", "//product[@id = 1]")
    filters.add("below", "//product[@id = 1]/price")
    filters.add("content", "//product[@id]/price[. < 300]")
    filters.add("above", "/catalog[contains(., '299')]")
    filters.add("no draft", "not(//draft)")
    filters.add("count", "count(//product) = 1")
    filters.add("nested", "//product[price]")
    filters.add("or", "//nothing or //product")
    filters.add("union", "//price | //nothing")
    filters.add("boolean", "boolean(//product[@id])")
    stream = filters.stream()
    assert set(stream.feed(CATALOG[:25])) == {"path", "or", "attribute", "boolean"}
    assert stream.feed(CATALOG[25:28]) == []
    assert set(stream.feed(CATALOG[28:35])) == {"union", "below"}
    assert stream.feed(CATALOG[35:40]) == []
    assert stream.feed(CATALOG[40:43]) == ["content"]
    assert stream.feed(CATALOG[43:-1]) == []
    assert stream.feed(CATALOG[-1:]) == ["above"]
    assert stream.close() == filters.match(CATALOG)
    for use in (stream.close, lambda: stream.feed(b"<a/>")):
        with pytest.raises(ValueError, match="the document has ended"):
            use()


def test_long_values_are_told_as_early_as_short_ones() -> None:
    for value in ("x", "x" * 64, "x" * 65, "x" * 5000):
        filters = xml.Filter()
        filters.add("own", f"//a[@x = '{value}']")
        filters.add("below", f"//a[@x = '{value}']/b//c")
        stream = filters.stream()
        assert stream.feed(f"<r><a x='{value}'>".encode()) == ["own"]
        assert stream.feed(b"<b><d>") == []
        assert stream.feed(b"<c>") == ["below"]
        assert stream.feed(b"</c></d></b></a></r>") == []
        assert stream.close() == ["own", "below"]


@pytest.mark.parametrize(
    "markup", ["<!--{}-->", "<![CDATA[{}]]>", "<?p {}?>", "<c d='{}'/>", "{}", "<c>{}</c>"]
)
def test_answers_behind_long_markup_are_told_at_once(markup: str) -> None:
    filters = xml.Filter()
    filters.add("b", "//b")
    stream = filters.stream()
    stream.feed(b"<a>")
    content = markup.format("x" * 1_000_000).encode()
    for at in range(0, len(content), 1000):
        assert stream.feed(content[at : at + 1000]) == []
    assert stream.feed(b"<b>") == ["b"]


@pytest.mark.parametrize(
    ("query", "after"),
    [
        # At the start of the last element
        ("//c", "<c x='1' y='2'>"),
        ("/a/b/*", "<c x='1' y='2'>"),
        ("//d or //b/c", "<c x='1' y='2'>"),
        ("//d | /a//c", "<c x='1' y='2'>"),
        ("boolean(//c)", "<c x='1' y='2'>"),
        ("//c[@x]", "<c x='1' y='2'>"),
        ("//c/@x", "<c x='1' y='2'>"),
        ("//c[@x = 1 and @y > 1]", "<c x='1' y='2'>"),
        ("//c[@x = $one]", "<c x='1' y='2'>"),
        ("//b[@z]/c[contains(@x, '1')][starts-with(@y, '2')]", "<c x='1' y='2'>"),
        # At its end
        ("//c[. = 'text']", "</c>"),
        ("//c[text()]", "</c>"),
        ("//b[@z = 3]/c[@x][contains(., 'ex')]", "</c>"),
        ("//b[@z]/c[text() != 'other' and @y]", "</c>"),
        # At the end of the document
        ("not(//d)", ""),
        ("count(//c) = 1", ""),
        ("//c[1]", ""),
        ("//b[c]", ""),
        ("//c/..", ""),
        ("//c[@x or @y]", ""),
        ("//c[@*]", ""),
        ("//c[not(@z)]", ""),
        ("//c[string-length(@x) = 1]", ""),
        ("//c[@x] | //d", ""),
        ("//c[@x] or //d", ""),
        ("//c/text()", ""),
        ("/a/b[contains(., 'text')]/c", ""),
    ],
)
def test_filters_are_told_when_the_documentation_says(query: str, after: str) -> None:
    filters = xml.Filter()
    filters.add("q", query, variables={"one": 1})
    pieces = ["<a>", "<b z='3'>", "<c x='1' y='2'>", "text", "</c>", "</b>", "<e/>", "</a>"]
    stream = filters.stream()
    told = [piece for piece in pieces if stream.feed(piece.encode())]
    assert told == ([after] if after else [])
    assert stream.close() == ["q"]


@pytest.mark.parametrize("seed", range(4))
def test_pieces_give_what_the_whole_gives(seed: int) -> None:
    queries = Queries(seed).distinct(300, 0) + Queries(seed).distinct(100, 2)
    filters = xml.Filter()
    filters.add_many(enumerate(queries[:350]), namespaces=NAMESPACES)
    for at, query in enumerate(queries[350:], start=350):
        filters.add(at, query, namespaces=NAMESPACES)
    for at in range(0, 400, 7):
        filters.remove(at)
    generator, choose = Documents(seed), random.Random(seed)
    early_and_late = 0
    for _ in range(100):
        document = generator.document()
        stream = filters.stream()
        told: list[int] = []
        at = 0
        while at < len(document):
            size = choose.choice([1, 2, 3, 10, 50, 1000])
            told += stream.feed(document[at : at + size])
            at += size
        found = stream.close()
        assert found == filters.match(document)
        assert len(set(told)) == len(told)
        assert set(told) <= set(found)
        early_and_late += 0 < len(told) < len(found)
    assert early_and_late > 10


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "us-ascii"])
def test_any_encoding_may_arrive_in_pieces(encoding: str) -> None:
    body = "e" if encoding == "us-ascii" else "\u00e4"
    text = f"<?xml version='1.0' encoding='{encoding}'?>\r\n<a>\r{body}\r\n</a>"
    filters = xml.Filter()
    filters.add("q", f"/a = '\n{body}\n'")
    for size in (1, 2, 7):
        stream = filters.stream()
        content = text.encode(encoding)
        for at in range(0, len(content), size):
            stream.feed(content[at : at + size])
        assert stream.close() == ["q"]


@pytest.mark.parametrize(
    ("document", "line", "column"),
    [
        (b"<a>\n<b></a>", 2, 4),
        (b"<a/>\n<b/>", 2, 1),
        (b"<a>&e;</a>", 1, 4),
        (b"<a>\n\xff</a>", 2, 1),
        (b"<a>\n\x01</a>", 2, 1),
        (b"<a>\r\n<b>", 2, 4),
        (b"", 1, 1),
        (b"<!-- -- --><a/>", 1, 1),
    ],
)
def test_an_error_is_the_last_word(document: bytes, line: int, column: int) -> None:
    filters = xml.Filter()
    filters.add("q", "//a")
    for size in (1, 3, 100):
        stream = filters.stream()
        with pytest.raises(tamis.DocumentError) as caught:
            feed_all(stream, [document[at : at + size] for at in range(0, len(document), size)])
        assert (caught.value.line, caught.value.column) == (line, column)
        with pytest.raises((tamis.DocumentError, ValueError)):
            stream.feed(b"<a/>")


def test_limits_hold_while_a_document_arrives() -> None:
    filters = xml.Filter(limits=xml.Limits(document=1000, document_depth=10))
    stream = filters.stream()
    with pytest.raises(tamis.LimitError) as caught:
        feed_all(stream, [b"x" * 100] * 1000)
    assert caught.value.limit == "document"
    stream = filters.stream()
    with pytest.raises(tamis.LimitError) as caught:
        feed_all(stream, [b"<a>"] * 1000)
    assert caught.value.limit == "document_depth"
    with pytest.raises(TypeError, match="a piece of a document must be bytes"):
        stream.feed("<a/>")  # type: ignore[arg-type]


def test_markup_without_end_takes_linear_time() -> None:
    filters = xml.Filter()
    filters.add("q", "//a")
    for begin in (b"<!--", b"<![CDATA[", b"<a b='", b"<!DOCTYPE a [<!--", b"<?p "):
        stream = filters.stream()
        stream.feed(b"<a>" if begin.startswith((b"<![", b"<a b")) else b"")
        stream.feed(begin)
        for _ in range(20_000):
            stream.feed(b"x" * 100)
        with pytest.raises(tamis.DocumentError):
            stream.close()


def test_text_without_markup_takes_linear_time() -> None:
    filters = xml.Filter(limits=xml.Limits(document=64 << 20))
    filters.add("q", "/a[contains(., 'y')]")
    stream = filters.stream()
    stream.feed(b"<a>")
    piece = b"x" * 1024
    for _ in range(32_768):
        stream.feed(piece)
    assert stream.feed(b"y</a>") == ["q"]
    assert stream.close() == ["q"]
