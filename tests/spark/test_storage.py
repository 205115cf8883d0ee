"""An index lies anywhere that Arrow or fsspec opens, and is mapped from a local copy."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs
from pyspark.sql import SparkSession

from tamis import Graph, StorageError
from tamis import spark as ts
from tamis.spark import manifest
from tamis.spark.cache import cache_folder, open_index
from tamis.spark.storage import Folder

ROWS = [(n, f"a = {n % 5}") for n in range(60)]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server that speaks S3, on loopback."""
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
        manifest.commit(Folder(uri), 2, {})
    assert "index-1.json" in ts.vacuum(uri, unfinished=timedelta(0))
    assert ts.versions(uri) == [2]
    names = {file.name for file in Folder(uri).files()}
    copies = {path.name for path in cache_folder().iterdir()}
    assert {name for name in names if name.startswith("segment-")} <= copies


def test_a_graph_in_an_object_store(spark: SparkSession, uri: str, tmp_path: Path) -> None:
    graph = Graph()
    graph.add_edge("pub", "net", expression="a < 3")
    events = spark.createDataFrame([(1,), (9,)], "a long")
    folder = Folder(uri)
    for expected in (1, 2):
        graph.save(tmp_path)
        (file,) = tmp_path.glob("graph-*")
        content = (tmp_path / "graph.json").read_bytes()
        folder.take(file)
        folder.delete("graph.json")
        assert folder.publish("graph.json", content)
        assert ts.match_graph(events, uri, "pub").count() == expected
        assert file.name in {path.name for path in cache_folder().iterdir()}
        graph.add_edge("pub", "adv", expression="a > 3")


def test_copies_are_checked_and_make_room(
    spark: SparkSession, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path))
    ts.compile(spark.createDataFrame(ROWS, "id long, expression string"), uri)
    folder = Folder(uri)
    index = open_index(uri, "index-1.json", None)
    assert index.match({"a": 3}) == list(range(3, 60, 5))
    (copy,) = tmp_path.glob("segment-*")
    content = bytearray(copy.read_bytes())
    open_index.cache_clear()
    assert len(open_index(uri, "index-1.json", None)) == 60  # from the copy that is there
    copy.unlink()
    copy.write_bytes(bytes(len(content)))  # which is no copy, so that it is fetched again
    open_index.cache_clear()
    assert len(open_index(uri, "index-1.json", None)) == 60

    open_index.cache_clear()
    monkeypatch.setenv("TAMIS_CACHE_BYTES", "100")
    copy.unlink()
    assert open_index(uri, "index-1.json", None).match({"a": 3}) == list(range(3, 60, 5))
    assert not list(tmp_path.glob("segment-*"))  # mapped, and gone

    content[len(content) // 2] ^= 64
    open_index.cache_clear()
    folder.delete(copy.name)
    (tmp_path / "damaged").mkdir()
    damaged = tmp_path / "damaged" / copy.name
    damaged.write_bytes(content)
    folder.take(damaged)
    with pytest.raises(StorageError, match=copy.name):
        open_index(uri, "index-1.json", None)
    assert not copy.exists()


def test_messages_hold_no_credentials(spark: SparkSession, uri: str) -> None:
    with pytest.raises(StorageError, match="this is no index") as caught:
        ts.match(spark.range(1), uri)
    assert "word" not in str(caught.value)
    with pytest.raises(StorageError, match=r"index-7\.json") as caught:
        Folder(uri).read("index-7.json")
    assert "word" not in str(caught.value)


def test_other_filesystems(tmp_path: Path) -> None:
    folder = Folder(f"file://{tmp_path}")
    assert folder.local == tmp_path
    assert folder.publish("x", b"1")
    assert not folder.publish("x", b"2")
    assert folder.read("x") == b"1"
    memory = Folder("memory://some/folder")  # which only fsspec has
    memory.make()
    assert memory.publish("x", b"1")
    assert not memory.publish("x", b"2")
    assert [file.name for file in memory.files()] == ["x"]
    with pytest.raises(StorageError, match="nonsense"):
        Folder("nonsense://x")
