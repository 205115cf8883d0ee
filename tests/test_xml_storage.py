"""Saved filters open unchanged."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tamis
from tamis import StorageError, xml
from xpaths import NAMESPACES, Documents, Queries


def make(count: int) -> xml.Filter:
    filters = xml.Filter()
    filters.add_many((n, query) for n, query in enumerate(queries(count)))
    return filters


def queries(count: int) -> list[str]:
    return [f"//a[@x = {n}]//b" if n % 2 else f"/a/b[. = '{n}']" for n in range(count)]


def test_save_and_open(tmp_path: Path) -> None:
    found = Queries(1).distinct(200, 0) + Queries(1).distinct(100, 2)
    filters = xml.Filter(engine="yfilter")
    filters.add_many(enumerate(found[:250]), namespaces=NAMESPACES)
    filters.add_many(
        ((f"s{n}", query) for n, query in enumerate(found[250:])), namespaces=NAMESPACES
    )
    for n in range(0, 250, 3):
        filters.remove(n)
    filters.save(tmp_path / "filters")
    for engine in (None, "auto", "scan"):
        opened = xml.open(tmp_path / "filters", engine=engine)
        assert opened.engine == (engine or "yfilter")
        assert list(opened) == list(filters)
        assert len(opened) == len(filters)
        assert opened[1].xpath == filters[1].xpath
        assert opened["s1"].namespaces == NAMESPACES
        generator = Documents(1)
        for document in [generator.document() for _ in range(20)]:
            assert opened.match(document) == filters.match(document)


def test_opened_filters_change_and_are_saved_again(tmp_path: Path) -> None:
    make(100).save(tmp_path)
    first = set(tmp_path.glob("filters-*"))
    opened = xml.open(str(tmp_path))
    opened.add("new", "//b")
    opened.remove(1)
    opened.save(tmp_path)
    # Existing files are not written again; the manifest lists the removals.
    assert first < set(tmp_path.glob("filters-*"))
    again = xml.open(tmp_path)
    assert list(again) == list(opened)
    assert again.match("<a x='1'><b/></a>") == ["new"]
    # In another folder, everything is written.
    again.save(tmp_path / "copy")
    assert list(xml.open(tmp_path / "copy")) == list(again)
    # Files that no manifest names are removed.
    for n in range(100):
        if n in again:
            again.remove(n)
    again.add_many((n, "//c") for n in range(2000))
    again.save(tmp_path)
    assert first.isdisjoint(tmp_path.glob("filters-*"))
    assert xml.open(tmp_path).match("<b/>") == ["new"]


def test_no_filters(tmp_path: Path) -> None:
    xml.Filter().save(tmp_path)
    assert len(xml.open(tmp_path)) == 0
    assert xml.open(tmp_path, limits=xml.Limits(document=3)).limits.document == 3


def test_damage_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"not an XML filter: filter\.json is missing"):
        xml.open(tmp_path)
    make(50).save(tmp_path)
    [file] = tmp_path.glob("filters-*.tamis")
    content = file.read_bytes()
    choose = random.Random(1)
    for at in [0, 8, 16, 24, 40, *choose.sample(range(len(content)), 50)]:
        file.write_bytes(
            content[:at] + bytes([content[at] ^ 1 << choose.randrange(8)]) + content[at + 1 :]
        )
        # Eight bytes of the header are reserved.
        if not 32 <= at < 40:
            with pytest.raises(StorageError, match="filters-"):
                xml.open(tmp_path)
    file.write_bytes(content[:-1])
    with pytest.raises(StorageError, match="filters-"):
        xml.open(tmp_path)
    file.write_bytes(content)
    manifest = tmp_path / "filter.json"
    text = manifest.read_text()
    for wrong in ["", "{}", text.replace('"format": 3', '"format": 9'), text[:40], "[]"]:
        manifest.write_text(wrong)
        with pytest.raises(StorageError, match=r"filter\.json"):
            xml.open(tmp_path)
    manifest.write_text(text.replace(file.name, "../" + file.name))
    with pytest.raises(StorageError, match=r"filter\.json"):
        xml.open(tmp_path)
    manifest.write_text(text)
    file.unlink()
    with pytest.raises(StorageError, match="filters-"):
        xml.open(tmp_path)
    # An index does not open as a filter, nor a filter as an index.
    make(1).save(tmp_path / "filter")
    with pytest.raises(StorageError, match="not an index"):
        tamis.open(tmp_path / "filter")


def test_a_killed_save_leaves_what_was_there(tmp_path: Path) -> None:
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import itertools
from test_xml_storage import make
filters = make(100)
filters.save({str(tmp_path)!r})
print("saved", flush=True)
for n in itertools.count():
    filters.add("turn", f"//a[{{n}}]")
    filters.save({str(tmp_path)!r})
"""
    for turn in range(4):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"saved\n"
        time.sleep(0.02 * turn)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        opened = xml.open(tmp_path)
        assert len(opened) in (100, 101)
        assert opened.match("<a><b>4</b></a>")[0] == 4
