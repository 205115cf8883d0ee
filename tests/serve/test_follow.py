"""Following a folder: committed versions are served, damaged ones are not."""

import threading
from pathlib import Path

import httpx
import pytest

import tamis
from tamis import StorageError
from tamis.serve import Settings, create

from .server import Running, running, wait_until


def save(folder: Path, value: int) -> None:
    index = tamis.Index()
    index.add("it", f"a = {value}")
    index.add(value, "true")
    index.save(folder)


def test_another_save_is_served(served: Running, client: httpx.Client, folder: Path) -> None:
    before = client.get("/readyz").json()["version"]
    save(folder, 5)
    wait_until(lambda: client.get("/readyz").json()["version"] != before)
    assert client.post("/match", json={"a": 5}).json()["matches"] == ["it", 5]
    (swap,) = served.lines("swap")
    assert swap["before"] == before


def test_what_cannot_be_opened_is_not_served(
    served: Running, client: httpx.Client, folder: Path
) -> None:
    manifest = folder / "index.json"
    text = manifest.read_bytes()
    manifest.write_bytes(text.replace(b"format", b"farmat"))
    wait_until(lambda: client.get("/stats").json()["source"]["complaint"])
    assert client.post("/match", json={"age": 21}).json()["matches"] == [7]
    assert len(served.lines("follow")) == 1, "the same complaint is written once"
    manifest.write_bytes(text)
    wait_until(lambda: client.get("/stats").json()["source"]["complaint"] is None)


def test_a_uri_is_served_from_a_copy(folder: Path, tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/served", recursive=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAMIS_CACHE", str(tmp_path / "cache"))
        with running("memory://served") as server, server.client() as client:
            assert client.post("/match", json={"age": 21}).json()["matches"] == [7]
    assert list((tmp_path / "cache").iterdir())


def test_requests_see_one_version(folder: Path) -> None:
    """While versions are swapped, every answer comes from the one version that it names."""
    save(folder, 1)
    done = threading.Event()
    seen: dict[str, set[int]] = {}
    failed: list[object] = []

    def ask(server: Running) -> None:
        with server.client() as client:
            while not done.is_set():
                response = client.post("/match", json=[{"a": n} for n in range(1, 8)])
                if response.status_code != 200:
                    failed.append(response.text)
                    return
                found = response.json()
                its = {n for n, one in enumerate(found["results"], 1) if "it" in one["matches"]}
                always = {one["matches"][-1] for one in found["results"]}
                if its != always:
                    failed.append(found)
                seen.setdefault(found["version"], set()).update(its)

    with running(folder, Settings(poll=0.02)) as server:
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for value in range(2, 8):
            swaps = server.service.metrics.swaps
            save(folder, value)
            wait_until(lambda swaps=swaps: server.service.metrics.swaps > swaps or failed)
            wait_until(lambda: server.service.held.version in seen or failed)
        done.set()
        for thread in threads:
            thread.join()
    assert not failed
    assert all(len(values) == 1 for values in seen.values())
    assert len(seen) >= 6


def test_nothing_to_serve(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not an index"):
        create(tmp_path)
    with pytest.raises(StorageError, match="not an index"):
        create(tmp_path / "none")
