"""A saved index opens unchanged, even if the saving process is killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tamis
from tamis import Index, StorageError, xml


def make(count: int) -> Index:
    index = Index()
    index.add_many((f"s{n}", f"a = {n % 7} and b between {n % 5} and {n}") for n in range(count))
    return index


def test_save_and_open(tmp_path: Path) -> None:
    index = make(300)
    index.add("with metadata", "a = 3", metadata={"owner": ["x", 1]})
    index.remove("s3")
    index.save(tmp_path / "index")
    for verify in (True, False):
        opened = tamis.open(tmp_path / "index", verify=verify)
        assert list(opened) == list(index)
        assert opened["with metadata"].metadata == {"owner": ["x", 1]}
        for number in range(10):
            event = {"a": number, "b": 40}
            assert opened.match(event) == index.match(event)
        assert opened.missing == "unknown"
        assert opened.stats()["matcher"] == "compiled"


def test_an_opened_index_changes_and_is_saved_again(tmp_path: Path) -> None:
    make(100).save(tmp_path)
    first = set(tmp_path.glob("segment-*"))
    opened = tamis.open(str(tmp_path))
    opened.add("new", "a = 1")
    opened.remove("s1")
    opened.save(tmp_path)
    assert first < set(tmp_path.glob("segment-*"))
    again = tamis.open(tmp_path)
    assert "new" in again
    assert "s1" not in again
    assert again.match({"a": 1, "b": 3}) == opened.match({"a": 1, "b": 3})


def test_weak_negation_is_kept(tmp_path: Path) -> None:
    index = Index(missing="false")
    index.add("x", "a != 1")
    index.save(tmp_path)
    opened = tamis.open(tmp_path)
    assert opened.missing == "false"
    assert opened.match({}) == ["x"]


def test_what_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"not an index: index\.json is missing") as caught:
        tamis.open(tmp_path / "nowhere")
    assert caught.value.path.endswith("nowhere")
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(StorageError, match="manifest"):
        tamis.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        make(3).save(tmp_path / "file")
    assert isinstance(StorageError("x"), OSError)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    make(200).save(tmp_path)
    (segment,) = tmp_path.glob("segment-*")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 64
    segment.unlink()
    segment.write_bytes(content)
    with pytest.raises(StorageError, match=segment.name):
        tamis.open(tmp_path)


SAVER = """
import sys, tamis
index = tamis.open(sys.argv[1])
print("ready", flush=True)
number = len(index)
while True:
    index.add_many((n, f"a = {n % 7} and b > {n}") for n in range(number, number + 40))
    number += 40
    index.save(sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by a signal")
def test_killed_savers_leave_an_index(tmp_path: Path) -> None:
    """At random points: the old or the new index opens complete, and no files are left behind."""
    rounds = int(os.environ.get("TAMIS_KILLS", "12"))
    draw = random.Random(7)
    Index().save(tmp_path)
    size, index = 0, tamis.open(tmp_path)
    for _ in range(rounds):
        command = [sys.executable, "-c", SAVER, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as saver:
            assert saver.stdout is not None
            assert saver.stdout.readline() == b"ready\n"
            time.sleep(draw.uniform(0, 0.12))
            saver.send_signal(signal.SIGKILL)
        index = tamis.open(tmp_path)
        assert len(index) >= size
        assert len(index) % 40 == 0
        assert list(index) == list(range(len(index)))
        size = len(index)
        event = {"a": 3, "b": 10**6}
        assert index.match(event) == [n for n in range(size) if n % 7 == 3]
    index.save(tmp_path)
    assert not list(tmp_path.glob(".tamis-*"))


def test_a_save_touches_no_files_of_others(tmp_path: Path) -> None:
    others = ("segment-mine.tamis", "segment-0123456789abcdef-x.tamis", "notes.txt", ".tamis-mine")
    for name in others:
        (tmp_path / name).write_text("mine")
    make(10).save(tmp_path)
    make(20).save(tmp_path)  # replaces the index
    assert len(list(tmp_path.glob("segment-*-20.tamis"))) == 1
    assert not list(tmp_path.glob("segment-*-10.tamis"))
    assert all((tmp_path / name).read_text() == "mine" for name in others)


@pytest.mark.parametrize("text", ['{"my": "file"}', "", "notes", '{"files": 1, "format": 5}'])
def test_a_save_replaces_no_file_that_is_not_a_manifest(tmp_path: Path, text: str) -> None:
    graph, filters = tamis.Graph(), xml.Filter()
    graph.add_edge("a", "b")
    filters.add("a", "/a")
    for saved, name in ((make(3), "index"), (graph, "graph"), (filters, "filter")):
        (tmp_path / f"{name}.json").write_text(text)
        with pytest.raises(StorageError, match="name a new or an empty folder"):
            saved.save(tmp_path)
        assert (tmp_path / f"{name}.json").read_text() == text
    assert not list(tmp_path.glob("*.tamis"))


def test_a_save_replaces_a_damaged_or_older_manifest(tmp_path: Path) -> None:
    make(3).save(tmp_path)
    manifest = tmp_path / "index.json"
    for text in (manifest.read_text()[:-20], '{\n"format": 1}'):
        manifest.write_text(text)
        make(3).save(tmp_path)
        assert len(tamis.open(tmp_path)) == 3
