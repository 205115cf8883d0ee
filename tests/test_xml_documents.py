"""Documents: encodings and streams, malformed and hostile ones."""

import io
from pathlib import Path

import pytest
from lxml import etree

import tamis
from tamis import xml


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
    with pytest.raises(TypeError, match="a stream must return bytes, not str"):
        filters.match(io.StringIO("<a/>"))  # type: ignore[arg-type]
    endless = open("/dev/zero", "rb")  # noqa: PTH123, SIM115
    with endless, pytest.raises(tamis.LimitError):
        filters.match(endless)
    with pytest.raises(FileNotFoundError) as missing:
        xml.Filter().match(tmp_path / "missing.xml")
    assert missing.value.filename == str(tmp_path / "missing.xml")
    assert "missing.xml" in str(missing.value)
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        xml.Filter().match(tmp_path)
    with pytest.raises(
        TypeError, match="a document must be bytes, text, a path or a binary stream"
    ):
        xml.Filter().match(3)  # type: ignore[call-overload]


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


def matches(query: str, document: bytes | str, limits: xml.Limits | None = None) -> bool:
    filters = xml.Filter(limits=limits)
    filters.add("q", query)
    return filters.match(document) == ["q"]


def test_white_space_of_entities_is_normalised_in_attributes() -> None:
    for reference in ("&#13;", "&#10;", "&#9;", " "):
        document = f"<!DOCTYPE a [<!ENTITY e '{reference}'>]><a b='x&e;y'>&e;</a>"
        assert matches("/a/@b = 'x y'", document)
        assert etree.fromstring(document).get("b") == "x y"
    assert matches("/a/@b = 'x\ry'", "<a b='x&#13;y'/>")
    nested = "<!DOCTYPE a [<!ENTITY e '&#38;#13;'><!ENTITY f '&e;&#13;'>]><a b='x&f;y'/>"
    assert matches("/a/@b = 'x\r y'", nested)
    assert etree.fromstring(nested).get("b") == "x\r y"
    tokens = "<!DOCTYPE a [<!ATTLIST a b NMTOKENS #IMPLIED><!ENTITY e '&#13;'>]><a b=' x &e; y '/>"
    assert matches("/a/@b = 'x y'", tokens)
    assert etree.fromstring(tokens).get("b") == "x y"


XHTML = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "xhtml1-strict.dtd">'


def test_entities_that_only_an_external_dtd_declares_are_a_choice() -> None:
    document = f"{XHTML}<html title='a&nbsp;b'>c&nbsp;d&amp;</html>"
    with pytest.raises(tamis.DocumentError, match=r"`nbsp` is not declared.*undeclared_entities"):
        matches("/html", document)
    ignore = xml.Limits(undeclared_entities="ignore")
    assert matches("/html[. = 'cd&'][@title = 'ab']", document, ignore)
    keep = xml.Limits(undeclared_entities="keep")
    assert matches("/html[. = 'c&nbsp;d&'][@title = 'a&nbsp;b']", document, keep)
    assert keep.undeclared_entities == "keep"
    stream = xml.Filter(limits=keep).stream()
    stream.feed(document.encode())
    assert stream.close() == []
    # If all declarations were read, or the document is standalone, it is an error.
    for broken in (
        "<a>&nbsp;</a>",
        "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&nbsp;</a>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>]><a>&e;</a>",
        f"<?xml version='1.0' standalone='yes'?>{document}",
        document.replace("&nbsp;", "&n bsp;"),
    ):
        with pytest.raises(tamis.DocumentError):
            matches("/a", broken, ignore)
    with pytest.raises(ValueError, match="undeclared_entities must be one of error, ignore, keep"):
        xml.Limits(undeclared_entities="drop")  # type: ignore[arg-type]


def test_parameter_entities() -> None:
    declared = "<!DOCTYPE a [<!ENTITY % p \"<!ENTITY e 'x'>\">{}]><a>&e;</a>"
    assert matches("/a = 'x'", declared.format("%p;"))
    assert matches("/a = 'y'", declared.format("<!ENTITY e 'y'>"))
    external = "<!DOCTYPE a [<!ENTITY % p SYSTEM 'x'>{}<!ENTITY e 'y'>]><a>&e;</a>"
    assert matches("/a = 'y'", external.format(""))
    with pytest.raises(tamis.DocumentError, match="never read"):
        matches("/a", external.format("%p;"))
    # Declarations after it are ignored: the entity may have declared the same names.
    assert matches("/a = ''", external.format("%p;"), xml.Limits(undeclared_entities="ignore"))


@pytest.mark.parametrize(
    "label",
    [
        "iso-8859-1",
        "ISO_8859-1",
        "latin1",
        "l1",
        "iso-8859-2",
        "iso-8859-5",
        "iso-8859-7",
        "iso-8859-9",
        "iso-8859-15",
        "windows-1251",
        "cp1252",
        "windows-1252",
        "windows-1254",
        "koi8-r",
        "us-ascii",
        "shift_jis",
        "euc-jp",
        "gb18030",
        "gbk",
        "big5",
        "euc-kr",
        "utf-8",
        "UTF8",
        "utf-16",
    ],
)
def test_encodings_and_their_aliases(label: str) -> None:
    codec = {"l1": "latin-1"}.get(label, label)
    for text in ("e", "\x80", "\u20ac", "\u0131", "\u0436", "\u3042", "\u4f60", "\ud55c"):
        try:
            content = f"<?xml version='1.0' encoding='{label}'?><a>{text}</a>".encode(codec)
        except UnicodeEncodeError:
            continue
        if label == "big5" and text in ("\u0436", "\u3042"):
            continue  # Not in Big5 itself; extensions differ.
        assert matches(f"/a = '{text}'", content), text
        if label != "l1":
            assert etree.fromstring(content).text == text


# Labels that the WHATWG maps to Windows code pages, and the encodings that XML processors use
REDIRECTED = {
    "us-ascii": "us-ascii ascii ANSI_X3.4-1968",
    "iso-8859-1": "iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso-ir-100 latin1 l1 cp819 ibm819",
    "iso-8859-9": "iso-8859-9 iso8859-9 iso88599 iso_8859-9 iso-ir-148 latin5 l5 csisolatin5",
    "iso-8859-11": "iso-8859-11 iso8859-11 iso885911",
    "windows-1252": "windows-1252 cp1252 x-cp1252",
    "windows-1254": "windows-1254 cp1254 x-cp1254",
    "windows-874": "windows-874 dos-874",
}


@pytest.mark.parametrize("encoding", REDIRECTED)
def test_every_byte_is_what_it_is_to_lxml(encoding: str) -> None:
    filters = xml.Filter()
    filters.add("q", "/a")

    def ours(document: bytes) -> str | None:
        try:
            return filters.match(document, nodes=True)[0].nodes[0].text
        except tamis.DocumentError:
            return None

    def theirs(document: bytes) -> str | None:
        try:
            return etree.fromstring(document).text
        except etree.XMLSyntaxError:
            return None

    declared = "<?xml version='1.0' encoding='{}'?><a>"
    for byte in range(0x80, 0x100):
        content = bytes([byte]) + b"</a>"
        expected = theirs(declared.format(encoding).encode() + content)
        if expected is None and encoding.startswith("windows"):
            continue  # Not defined; to the WHATWG a control character.
        for label in REDIRECTED[encoding].split():
            assert ours(declared.format(label).encode() + content) == expected, (label, byte)


def test_what_an_encoding_does_not_have_is_an_error_with_a_place() -> None:
    declared = "<?xml version='1.0' encoding='{}'?>\n<a>"
    for label, content in [
        ("us-ascii", b"\xe4"),
        ("shift_jis", b"\x81"),
        ("gb18030", b"\xff"),
        ("iso-8859-7", b"\xae"),
        ("iso-8859-11", b"\xdb"),
    ]:
        with pytest.raises(tamis.DocumentError) as caught:
            matches("/a", declared.format(label).encode() + content + b"</a>")
        assert (caught.value.line, caught.value.column) == (2, 4), label
    for label in ("ebcdic-cp-us", "hz-gb-2312", "x-user-defined", "utf-7"):
        with pytest.raises(tamis.DocumentError, match="is not supported"):
            matches("/a", declared.format(label).encode() + b"</a>")


def test_xml_1_1_is_read_by_the_rules_of_1_0() -> None:
    assert matches("/a = 'x\u0085y'", "<?xml version='1.1'?><a>x\u0085y</a>")
    plainly = "; XML 1.1 and later are read by the rules of XML 1.0"
    for version, message in (("1.1", plainly), ("1.5", plainly), ("1.0", "")):
        document = f"<?xml version='{version}'?><a>\n&#1;</a>"
        with pytest.raises(tamis.DocumentError) as caught:
            matches("/a", document)
        assert str(caught.value).endswith(f"not a character that XML allows{message}")
        assert (caught.value.line, caught.value.column) == (2, 1)
        with pytest.raises(etree.XMLSyntaxError):
            etree.fromstring(document)
        stream = xml.Filter().stream()
        with pytest.raises(tamis.DocumentError) as caught:
            stream.feed(document.encode())
        assert str(caught.value).endswith(f"not a character that XML allows{message}")
    with pytest.raises(tamis.DocumentError, match="begins with its version"):
        matches("/a", "<?xml version='2.0'?><a/>")


def test_surrogates_and_views() -> None:
    filters = xml.Filter()
    filters.add("q", "/a")
    with pytest.raises(tamis.DocumentError, match=r"the lone surrogate U\+D83D") as caught:
        filters.match("<a>\n\u00e4\ud83d</a>")
    assert (caught.value.line, caught.value.column) == (2, 2)
    content = b"<a>x</a>"
    assert filters.match(memoryview(content)) == ["q"]
    assert filters.match(memoryview(bytearray(b"<.a./.>."))[::2]) == ["q"]
    stream = filters.stream()
    stream.feed(memoryview(content)[:3])
    stream.feed(memoryview(content)[3:])
    assert stream.close() == ["q"]
