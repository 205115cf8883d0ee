"""An index in any filesystem of Arrow or fsspec is mapped from a local copy."""

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs
from pyspark.sql import SparkSession

from tamis import Graph, Index, StorageError
from tamis import spark as ts
from tamis.spark import building
from tamis.storage import manifest
from tamis.storage.cache import cache_folder, open_index
from tamis.storage.folder import Folder

ROWS = [(n, f"a = {n % 5}") for n in range(60)]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """An S3 server on loopback."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def uri(endpoint: str) -> str:
    bucket = f"bucket-{uuid4().hex}"
    options = f"endpoint_override={endpoint}&scheme=http&region=us-east-1"
    fs.S3FileSystem(
        access_key="key",
        secret_key="word",
        endpoint_override=endpoint,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    ).create_dir(bucket)
    return f"s3a://key:word@{bucket}/some/index?{options}"


def test_an_object_store(spark: SparkSession, uri: str) -> None:
    """An index in S3 is compiled, matched, updated and vacuumed; workers map local copies."""
    frame = spark.createDataFrame(ROWS, "id long, expression string")
    compiled = ts.compile(frame, uri, shards=2)
    assert compiled.subscriptions == 60
    events = spark.createDataFrame([(1,), (9,)], "a long")
    for placement in ("replicated", "sharded"):
        found = ts.match(events, uri, placement=placement)
        assert sorted(row["subscription"] for row in found.collect()) == list(range(1, 60, 5))
    bad = spark.createDataFrame(
        [(1, "a = 9", "upsert"), (2, "a = =", "upsert")],
        "id long, expression string, operation string",
    )
    updated = ts.update(uri, bad)
    assert (updated.version, updated.error_count) == (2, 1)
    assert [row["id"] for row in updated.errors.collect()] == ["2"]
    assert ts.match(events, uri).count() == 12
    assert ts.match(events, uri, version=1).count() == 12
    with pytest.raises(StorageError, match="another job has committed"):
        manifest.commit(Folder(uri), 2, manifest.read(Folder(uri)).content)
    assert "index-1.json" in ts.vacuum(uri, unfinished=timedelta(0))
    assert ts.versions(uri) == [2]
    names = {file.name for file in Folder(uri).files()}
    copies = {path.name for path in cache_folder().iterdir()}
    assert {name for name in names if name.startswith("segment-")} <= copies


def test_of_jobs_that_commit_at_once_one_succeeds(endpoint: str, uri: str) -> None:
    """Ten writers repeatedly publish one version at once; each time exactly one succeeds."""
    pytest.importorskip("obstore")
    rounds, writers = 5, 10
    barrier = threading.Barrier(writers)
    won = [list[int]() for _ in range(rounds)]

    def write(writer: int) -> None:
        folder = Folder(uri)
        for version in range(rounds):
            barrier.wait(60)
            if folder.publish(f"index-{version}.json", f"{writer}".encode()):
                won[version].append(writer)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    assert [len(winners) for winners in won] == [1] * rounds
    folder = Folder(uri)
    for version, (winner,) in enumerate(won):
        assert folder.read(f"index-{version}.json") == f"{winner}".encode()
        # The response to a request may be lost although the request succeeded.
        assert folder.publish(f"index-{version}.json", f"{winner}".encode())
    wrong = uri.replace("bucket-", "other-")
    with pytest.raises(StorageError, match="index-1") as caught:
        Folder(wrong).publish("index-1.json", b"")
    assert "word" not in str(caught.value)


def test_two_updates_at_once(
    spark: SparkSession, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second to commit fails, and the version of the first stays."""
    ts.compile(spark.createDataFrame(ROWS, "id long, expression string"), uri, shards=2)
    schema = "id long, expression string, operation string"
    build, barrier = building.build, threading.Barrier(2)

    def build_both(*given: Any, **more: Any) -> Any:
        built = build(*given, **more)
        barrier.wait(300)
        return built

    monkeypatch.setattr(building, "build", build_both)

    def update(number: int) -> str:
        rows = spark.createDataFrame([(number, "a = 77", "upsert")], schema)
        try:
            return f"version {ts.update(uri, rows).version}"
        except StorageError as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(update, (1000, 2000)))
    assert told[0].endswith("another job has committed version 2 meanwhile; run this one again")
    assert told[1] == "version 2"
    index = open_index(uri, manifest.read(Folder(uri)).key, None)
    assert len(index.match({"a": 77})) == 1


def test_a_graph_in_an_object_store(spark: SparkSession, uri: str) -> None:
    """The same for a graph, version by version."""
    graph = Graph()
    graph.add_edge("pub", "net", expression="a < 3")
    events = spark.createDataFrame([(1,), (9,)], "a long")
    for version in (1, 2):
        assert ts.save_graph(graph, uri) == version
        assert ts.match_graph(events, uri, "pub").count() == version
        graph.add_edge("pub", "adv", expression="a > 3")
    assert ts.match_graph(events, uri, "pub", version=1).count() == 1
    names = {file.name for file in Folder(uri).files() if file.name.endswith(".tamis")}
    assert len(names) == 2
    assert names <= {path.name for path in cache_folder().iterdir()}
    assert "graph-1.json" in ts.vacuum(uri)
    assert ts.versions(uri) == [2]
    assert ts.match_graph(events, uri, "pub").count() == 2
    with pytest.raises(StorageError, match="another job has committed version 2"):
        manifest.commit(Folder(uri), 2, manifest.read(Folder(uri), 2, "graph").content, "graph")


def test_copies_are_checked_and_make_room(
    spark: SparkSession, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged copies are fetched again, a damaged source is an error, old copies are evicted."""
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path))
    ts.compile(spark.createDataFrame(ROWS, "id long, expression string"), uri)
    folder = Folder(uri)
    key = manifest.read(folder).key
    index = open_index(uri, key, None)
    assert index.match({"a": 3}) == list(range(3, 60, 5))
    (copy,) = tmp_path.glob("segment-*")
    content = bytearray(copy.read_bytes())
    open_index.cache_clear()
    assert len(open_index(uri, key, None)) == 60  # from the existing copy
    copy.unlink()
    copy.write_bytes(bytes(len(content)))  # an invalid copy, which is fetched again
    open_index.cache_clear()
    assert len(open_index(uri, key, None)) == 60

    open_index.cache_clear()
    monkeypatch.setenv("TAMIS_CACHE_BYTES", "100")
    copy.unlink()
    assert open_index(uri, key, None).match({"a": 3}) == list(range(3, 60, 5))
    assert not list(tmp_path.glob("segment-*"))  # mapped, and then deleted

    content[len(content) // 2] ^= 64
    open_index.cache_clear()
    folder.delete(copy.name)
    (tmp_path / "damaged").mkdir()
    damaged = tmp_path / "damaged" / copy.name
    damaged.write_bytes(content)
    folder.take(damaged)
    with pytest.raises(StorageError, match=copy.name):
        open_index(uri, key, None)
    assert not copy.exists()


def test_a_cache_that_others_can_write_to_is_refused(
    spark: SparkSession, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others cannot inject a file: links, modes, owners and contents are checked."""
    ts.compile(spark.createDataFrame(ROWS, "id long, expression string"), uri)
    key = manifest.read(Folder(uri)).key
    monkeypatch.delenv("TAMIS_CACHE")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    here = cache_folder()
    assert here.parent == tmp_path

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here.symlink_to(elsewhere)
    with pytest.raises(StorageError, match="set TAMIS_CACHE"):
        open_index(uri, key, None)
    here.unlink()
    here.mkdir()
    here.chmod(0o777)
    with pytest.raises(StorageError, match="set TAMIS_CACHE"):
        open_index(uri, key, None)
    assert not list(elsewhere.iterdir())
    assert not list(here.iterdir())

    # A cache of an older version, to which nobody else could write.
    here.chmod(0o755)
    assert len(open_index(uri, key, None)) == 60
    assert stat.S_IMODE(here.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in here.iterdir()} == {0o600}
    if os.getuid() == 0:
        open_index.cache_clear()
        os.chown(here, 65534, 65534)
        with pytest.raises(StorageError, match="set TAMIS_CACHE"):
            open_index(uri, key, None)
        os.chown(here, 0, 0)

    # Every process detects a replaced copy of the same size.
    (copy,) = here.glob("segment-*")
    content = bytearray(copy.read_bytes())
    content[-1] ^= 1
    copy.unlink()
    copy.write_bytes(content)
    open_index.cache_clear()
    assert open_index(uri, key, None).match({"a": 3}) == list(range(3, 60, 5))
    copy.unlink()
    copy.symlink_to(elsewhere / "x")
    open_index.cache_clear()
    assert open_index(uri, key, None).match({"a": 3}) == list(range(3, 60, 5))
    assert not copy.is_symlink()
    assert not list(elsewhere.iterdir())
    open_index.cache_clear()


def test_messages_hold_no_credentials(spark: SparkSession, uri: str) -> None:
    """Errors do not show a password in a URI."""
    with pytest.raises(StorageError, match="not an index") as caught:
        ts.match(spark.range(1), uri)
    assert "word" not in str(caught.value)
    with pytest.raises(StorageError, match=r"index-7\.json") as caught:
        Folder(uri).read("index-7.json")
    assert "word" not in str(caught.value)


def test_other_filesystems(tmp_path: Path) -> None:
    """Local URIs are local folders; fsspec opens what Arrow does not."""
    folder = Folder(f"file://{tmp_path}")
    assert folder.local == tmp_path
    assert folder.publish("x", b"1")
    assert not folder.publish("x", b"2")
    assert folder.read("x") == b"1"
    memory = Folder("memory://some/folder")  # only in fsspec
    memory.make()
    assert memory.publish("x", b"1")
    assert not memory.publish("x", b"2")
    assert [file.name for file in memory.files()] == ["x"]
    with pytest.raises(StorageError, match="nonsense"):
        Folder("nonsense://x")


def test_a_tampered_manifest_writes_and_deletes_nothing_elsewhere(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Names that lead out of the folder are refused before any action."""
    folder, victim = tmp_path / "index", tmp_path / "victim"
    frame = spark.createDataFrame(ROWS, "id long, expression string")
    ts.compile(frame, folder)
    ts.compile(frame, folder)
    victim.write_text("kept")
    manifest = folder / "index-1.json"
    text = manifest.read_text()
    (name,) = (path.name for path in folder.glob("segment-*"))
    for tampered in (
        text.replace(name, "../victim"),
        text.replace(f'"file": "{name}"', f'"file": "{name}", "file": "../victim"'),
        text.replace('"files": []', '"files": ["../victim"]'),
    ):
        assert tampered != text
        manifest.write_text(tampered)
        with pytest.raises(StorageError, match=r"index-1\.json"):
            ts.vacuum(folder)
        with pytest.raises(StorageError, match=r"index-1\.json"):
            ts.match(spark.range(1), folder, version=1)
    assert victim.read_text() == "kept"
    with pytest.raises(StorageError, match="not the name of a file"):
        Folder(folder).delete("../victim")
    manifest.write_text(text)
    assert ts.vacuum(folder) == ["index-1.json"]


def test_answers_come_from_the_index_that_is_there(spark: SparkSession, tmp_path: Path) -> None:
    """An index may be replaced by another one of the same name."""
    folder = tmp_path / "index"
    events = spark.createDataFrame([(1,)], "a long").coalesce(1)

    def found() -> list[int]:
        return sorted(row["subscription"] for row in ts.match(events, folder).collect())

    for id in range(3):
        index = Index()
        index.add(id, "a = 1")
        index.save(folder)
        assert found() == [id]
    unseen = Index()
    unseen.add(9, "a = 1")
    unseen.save(folder)
    late = ts.match(events, folder)
    Index().save(folder)
    with pytest.raises(Exception, match="the index was replaced since this job began"):
        late.collect()
    for id in range(3):
        shutil.rmtree(folder)
        ts.compile(spark.createDataFrame([(id, "a = 1")], "id long, expression string"), folder)
        assert found() == [id]


def test_damaged_files_on_a_local_disk_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    """Workers verify the files that they map."""
    ts.compile(spark.createDataFrame(ROWS, "id long, expression string"), tmp_path)
    (segment,) = tmp_path.glob("segment-*")
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.unlink()
    segment.write_bytes(content)
    events = spark.createDataFrame([(1,)], "a long")
    with pytest.raises(Exception, match="checksum does not match"):
        ts.match(events, tmp_path).collect()
