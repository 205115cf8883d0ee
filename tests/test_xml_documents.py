"""Documents as they come: encodings and streams, broken ones and hostile ones."""

import io
from pathlib import Path

import pytest

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
