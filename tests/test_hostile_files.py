"""Forged files in a folder that others can write to are refused, and do no harm."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import tamis
from tamis import Graph, Index, StorageError, xml
from tamis._tamis import read_manifest, write_manifest


def make(count: int = 100) -> Index:
    index = Index()
    index.add_many((n, f"a = {n % 7} and b between {n % 5} and {n}") for n in range(count))
    return index


def save_graph(path: Path) -> None:
    graph = Graph()
    graph.add_edge("x", "y", expression="a = 1")
    graph.save(path)


def save_filter(path: Path) -> None:
    filters = xml.Filter()
    filters.add("x", "//a")
    filters.save(path)


SAVED: list[tuple[str, Callable[[Path], object], Callable[[Path], object]]] = [
    ("index", lambda path: make().save(path), tamis.open),
    ("graph", save_graph, Graph.open),
    ("filter", save_filter, xml.open),
]


def run(code: str, *arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run code in a separate process, which must end."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


# ---------------------------------------------------------------- manifests


@pytest.mark.parametrize(("kind", "save", "open"), SAVED)
def test_an_edited_manifest_is_refused(
    tmp_path: Path, kind: str, save: Callable[[Path], object], open: Callable[[Path], object]
) -> None:
    save(tmp_path)
    manifest = tmp_path / f"{kind}.json"
    text = manifest.read_bytes()
    edited = text.replace(b'"removed": []', b'"removed": [0]')
    assert edited != text
    manifest.write_bytes(edited)
    with pytest.raises(StorageError, match="checksum"):
        open(tmp_path)
    manifest.write_bytes(text)
    open(tmp_path)


@pytest.mark.parametrize(("kind", "save", "open"), SAVED)
def test_an_older_format_is_named(
    tmp_path: Path, kind: str, save: Callable[[Path], object], open: Callable[[Path], object]
) -> None:
    save(tmp_path)
    (tmp_path / f"{kind}.json").write_text('{"format": 1, "missing": "unknown"}')
    with pytest.raises(StorageError, match="format 1"):
        open(tmp_path)


def test_a_manifest_names_only_files_that_a_save_writes(tmp_path: Path) -> None:
    make().save(tmp_path)
    path = tmp_path / "index.json"
    text = path.read_text()
    (name,) = (file.name for file in tmp_path.glob("segment-*"))
    members = text[: text.index(',\n"checksum"')] + "}"
    assert write_manifest("index", path, members) == text.encode()
    assert read_manifest("index", path, text.encode())["segments"][0]["file"] == name
    twice = f'"file": "{name}", "file": "../../{name}"'
    for forged in (
        members.replace(name, f"../{name}"),
        members.replace(name, f"/{name}"),
        members.replace(name, "home"),
        members.replace(f'"file": "{name}"', twice),
        members.replace('"missing"', '"missing": "false", "missing"'),
    ):
        assert forged != members
        with pytest.raises(StorageError, match=r"index\.json"):
            write_manifest("index", path, forged)
    with pytest.raises(ValueError, match="kind"):
        read_manifest("other", path, b"")  # type: ignore[arg-type]


# ---------------------------------------------------------------- links, pipes and devices


@pytest.mark.parametrize(("kind", "save", "open"), SAVED)
def test_links_are_not_followed(
    tmp_path: Path, kind: str, save: Callable[[Path], object], open: Callable[[Path], object]
) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    save(folder)
    outside.write_text("kept")
    (folder / ".lock").unlink()
    (folder / ".lock").symlink_to(outside)
    with pytest.raises(StorageError, match="symbolic link"):
        save(folder)
    assert outside.read_text() == "kept"
    (folder / ".lock").unlink()
    for file in folder.glob("*[.][jt]*"):
        moved = tmp_path / file.name
        file.rename(moved)
        file.symlink_to(moved)
        with pytest.raises(StorageError, match="symbolic link"):
            open(folder)
        save(folder)  # replaces the link, not its target
        assert not file.is_symlink()
        open(folder)
    (tmp_path / "link").symlink_to(folder)  # chosen by the user
    open(tmp_path / "link")


@pytest.mark.parametrize(("kind", "save", "open"), SAVED)
def test_pipes_and_devices_are_refused(
    tmp_path: Path, kind: str, save: Callable[[Path], object], open: Callable[[Path], object]
) -> None:
    save(tmp_path)
    for file in (tmp_path / f"{kind}.json", *tmp_path.glob("*.tamis")):
        content = file.read_bytes()
        file.unlink()
        os.mkfifo(file)
        code = """
        import sys, tamis
        from tamis import xml
        tamis.open if sys.argv[2] == "index" else tamis.Graph.open
        opens = {"index": tamis.open, "graph": tamis.Graph.open, "filter": xml.open}
        try:
            opens[sys.argv[2]](sys.argv[1])
        except tamis.StorageError as error:
            print(error)
        """
        told = run(code, tmp_path, kind)  # a separate process, because it might hang
        assert "not a regular file" in told.stdout, told.stderr
        file.unlink()
        file.write_bytes(content)
    open(tmp_path)


def test_a_name_that_somebody_took_does_not_stop_a_save(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f".tamis-{number:016x}").symlink_to(tmp_path / "victim")
    make().save(tmp_path)
    assert not (tmp_path / "victim").exists()
    assert not list(tmp_path.glob(".tamis-*"))


# ---------------------------------------------------------------- mapped files that change


@pytest.mark.parametrize(("kind", "save", "open"), SAVED[:2])
def test_a_copy_survives_what_ends_a_map(
    tmp_path: Path, kind: str, save: Callable[[Path], object], open: Callable[[Path], object]
) -> None:
    code = """
    import glob, os, sys, tamis
    kind, folder, copy = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
    (path,) = glob.glob(folder + "/*.tamis")
    if kind == "index":
        opened = tamis.open(folder, copy=copy)
        os.truncate(path, 0)
        print(opened.match({"a": 1, "b": 1}))
    else:
        opened = tamis.Graph.open(folder, copy=copy)
        os.truncate(path, 0)
        print(list(opened.match({"a": 1}, "x")))
    """
    save(tmp_path)
    (path,) = tmp_path.glob("*.tamis")
    content = path.read_bytes()
    told = run(code, kind, tmp_path, True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("[" if kind == "index" else "['y']")
    path.write_bytes(content)
    # As documented.
    assert run(code, kind, tmp_path, False).returncode == -signal.SIGBUS


# ---------------------------------------------------------------- forks


def test_a_fork_during_a_save_does_not_keep_the_lock(tmp_path: Path) -> None:
    code = """
    import os, sys, threading, time, tamis
    index = tamis.Index()
    index.add_many((n, f"a = {n}") for n in range(20000))
    saving = threading.Thread(target=lambda: [index.save(sys.argv[1]) for _ in range(20)])
    saving.start()
    children = []
    for _ in range(20):
        time.sleep(0.01)
        child = os.fork()
        if child == 0:
            time.sleep(30)  # holding what it inherited
            os._exit(0)
        children.append(child)
    saving.join()
    index.save(sys.argv[1])
    print("saved", flush=True)
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)
    """
    told = run(code, tmp_path)
    assert told.stdout == "saved\n", told.stderr


@pytest.mark.parametrize("kind", ["index", "graph", "filter"])
def test_a_child_forked_while_others_write_works_or_says_why(tmp_path: Path, kind: str) -> None:
    code = """
    import itertools, os, signal, sys, threading, time, tamis
    from tamis import xml

    kind, folder = sys.argv[1:]
    if kind == "index":
        subject = tamis.Index()
        write = lambda n: subject.add(n, f"a = {n}")
    elif kind == "graph":
        subject = tamis.Graph()
        write = lambda n: subject.add_edge(n % 97, n % 89, expression=f"a = {n % 5}")
    else:
        subject = xml.Filter()
        write = lambda n: subject.add(n % 500, f"//a[. = {n}]")
    stop = threading.Event()

    def keep_writing():
        for n in itertools.count():
            if stop.is_set():
                return
            write(n)

    threads = [threading.Thread(target=keep_writing) for _ in range(2)]
    for thread in threads:
        thread.start()
    outcomes = []
    for round in range(20):
        time.sleep(0.005)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            status = 0
            try:
                write(10**6)
                subject.save(folder + f"/{round}")
            except tamis.TamisError as error:
                status = 1 if "fork" in str(error) else 2
            os._exit(status)
        outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    print(sorted(set(outcomes)))
    """
    told = run(code, kind, tmp_path, timeout=600)
    assert told.stdout in ("[0]\n", "[0, 1]\n", "[1]\n"), (told.stdout, told.stderr)
