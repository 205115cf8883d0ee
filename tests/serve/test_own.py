"""Changes are accepted, durable and atomic."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

import tamis
from tamis import StorageError
from tamis.serve import Settings, create
from tamis.serve.log import ChangeLog, Entry, Read
from tamis.serve.own import apply
from tamis.serve.settings import Bounds

from .server import PATIENCE, running, wait_until

OWN = Settings(own=True)


def test_put_get_delete(tmp_path: Path) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        put = client.put("/subscriptions/a%2Fb", json={"expression": "x = 1", "metadata": {"k": 1}})
        assert put.status_code == 201
        assert put.json() == {"id": "a/b", "version": "1"}
        assert client.put("/subscriptions/a%2Fb", json={"expression": "x = 2"}).status_code == 200
        assert client.put("/subscriptions/5?type=integer", json={"expression": "true"}).is_success
        assert client.put("/subscriptions/6", json={"id": 6, "expression": "true"}).is_success
        assert client.post("/match", json={"x": 2}).json()["matches"] == ["a/b", 5, 6]
        assert client.get("/subscriptions/a%2Fb").json()["expression"] == "x = 2"
        assert client.delete("/subscriptions/5").json() == {"id": 5, "version": "5"}
        assert client.delete("/subscriptions/5").status_code == 404
        shutil.copytree(tmp_path / "new", tmp_path / "killed")
    for folder, replayed in ((tmp_path / "new", 0), (tmp_path / "killed", 5)):
        with running(folder, OWN) as server, server.client() as client:
            found = client.post("/match", json={"x": 2}).json()
            assert (found["matches"], found["version"]) == (["a/b", 6], "5")
            assert server.lines("replay")[0]["changes"] == replayed


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"expression": "x ="}, 422),
        ({"expression": 5}, 400),
        ({}, 400),
        ({"expression": "x = 1", "boost": -1}, 422),
        ({"expression": "x = 1", "id": "other"}, 400),
        ({"expression": "x = 1", "more": 1}, 400),
        ({"expression": "x = 1", "weights": {"x": "much"}}, 400),
        ({"expression": "x matches '(y{1000}){1000}'"}, 422),
    ],
)
def test_what_is_refused_changes_nothing(
    tmp_path: Path, body: dict[str, object], status: int
) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        response = client.put("/subscriptions/a", json=body)
        assert response.status_code == status, response.text
        assert client.get("/subscriptions").json()["total"] == 0
    log = next((tmp_path / "new/changes").iterdir())
    assert log.read_bytes() == b""


def test_bulk(tmp_path: Path) -> None:
    items: list[object] = [{"id": n, "expression": f"x = {n}"} for n in range(1_200)]
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        answer = client.post("/subscriptions", json=items).json()
        assert answer == {"put": 1_200, "removed": 0, "refused": [], "version": "1"}
        bad = [{"id": "a", "expression": "x"}, {"id": "b", "expression": "("}, 5, {"id": "c"}]
        refused = client.post("/subscriptions", json=bad)
        assert refused.status_code == 422
        assert refused.json()["error"]["item"] == 1
        assert "a" not in server.service.held.engine
        collected = client.post("/subscriptions", json=bad, params={"on_error": "collect"}).json()
        assert [one["item"] for one in collected["refused"]] == [1, 2, 3]
        assert (collected["put"], collected["version"]) == (1, "2")
        lines = '{"id": 1, "deleted": true}\n\n{"id": 2, "expression": "x = 3"}\n'
        lines += '{"id": 2, "expression": "x = 4"}\n{"id": "none", "deleted": true}'
        headers = {"content-type": "application/x-ndjson"}
        changed = client.post("/subscriptions", content=lines.encode(), headers=headers).json()
        assert (changed["put"], changed["removed"]) == (1, 1)
        assert client.post("/match", json={"x": 4}).json()["matches"] == [4, 2]
        assert client.post("/match", json={"x": 1}).json()["matches"] == []


def test_pages(tmp_path: Path) -> None:
    items = [
        {"id": f"s{n}", "expression": f"x = {n}", "metadata": {"tier": n % 3}} for n in range(700)
    ]
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        client.post("/subscriptions", json=items)

        def pages(**params: str | int) -> list[str]:
            found: list[str] = []
            after: dict[str, str] = {}
            while True:
                page = client.get("/subscriptions", params={**params, **after}).json()
                found += [one["id"] for one in page["subscriptions"]]
                if page["next"] is None:
                    return found
                after = {"after": page["next"]}

        everything = [item["id"] for item in items]
        assert pages(limit=101) == everything
        assert pages(limit=1_000) == everything
        some = [item["id"] for item in items if item["metadata"] == {"tier": 2}]
        assert pages(limit=50, where="tier = 2") == some
        assert pages(limit=3, text="S69") == ["s69", *(f"s69{n}" for n in range(10))]
        first = client.get("/subscriptions", params={"limit": 10}).json()
        for name in ("s3", "s9"):  # before the cursor, and at it
            client.delete(f"/subscriptions/{name}")
        after = {"limit": 2, "after": first["next"]}
        rest = client.get("/subscriptions", params=after).json()["subscriptions"]
        assert [one["id"] for one in rest] == ["s10", "s11"]
        for bad in ({"limit": 0}, {"limit": 10_000}, {"after": "x"}, {"after": "[-1,1]"}):
            assert client.get("/subscriptions", params=bad).status_code == 400
        assert client.get("/subscriptions", params={"where": "("}).status_code == 422


def test_concurrent_writers(tmp_path: Path) -> None:
    """All acknowledged changes are applied, even while the log is folded."""
    count = 60

    def write(url: str, name: str) -> None:
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            for n in range(count):
                body = {"expression": f"x = {n}"}
                assert client.put(f"/subscriptions/{name}-{n}", json=body).is_success
                if n % 3 == 0:
                    assert client.delete(f"/subscriptions/{name}-{n}").is_success

    with running(tmp_path / "new", Settings(own=True, fold=50)) as server:
        threads = [
            threading.Thread(target=write, args=(server.url, name)) for name in ("a", "b", "c", "d")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_until(lambda: server.lines("fold"))
        version = server.service.held.version
    wanted = {f"{name}-{n}" for name in "abcd" for n in range(count) if n % 3}
    for _ in range(2):
        with running(tmp_path / "new", OWN) as server:
            assert set(server.service.held.engine) == wanted
            assert server.service.held.version == version


def test_an_answer_can_be_put_back(tmp_path: Path) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        first = {"expression": "x = 1", "metadata": {"k": 1}, "priority": 3, "boost": 2.5}
        first |= {"active_from": "2026-01-01", "active_until": "2027-01-01", "weights": {"x": 2}}
        assert client.put("/subscriptions/a", json=first).is_success
        answer = client.get("/subscriptions/a").json()
        assert client.put("/subscriptions/a", json=answer).is_success
        again = client.get("/subscriptions/a").json()
        assert (answer.pop("version"), again.pop("version")) == ("1", "2")
        assert again == answer
        # Members that are left out are removed.
        assert client.put("/subscriptions/a", json={"expression": "x = 1"}).is_success
        assert client.get("/subscriptions/a").json().get("metadata") is None


def test_nothing_is_saved_over_changes_that_a_killed_server_left(tmp_path: Path) -> None:
    """Also if it was killed after it started a new log file and before it saved."""
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        assert client.put("/subscriptions/a", json={"expression": "x = 1"}).is_success
        shutil.copytree(tmp_path / "new", tmp_path / "killed")
    killed = tmp_path / "killed"
    (killed / "changes" / f"changes-{2:020}.log").touch()
    with pytest.raises(StorageError, match="start it once more"):
        tamis.Index().save(killed)
    with running(killed, OWN):
        pass
    index = tamis.open(killed)
    assert list(index) == ["a"]
    index.save(killed)


def test_one_owner(tmp_path: Path) -> None:
    with running(tmp_path / "new", OWN), pytest.raises(StorageError, match="another server owns"):
        create(tmp_path / "new", OWN)
    with running(tmp_path / "new", OWN):
        pass


def test_what_cannot_be_owned(tmp_path: Path) -> None:
    graph = tamis.Graph()
    graph.add_edge("a", "b")
    graph.save(tmp_path / "graph")
    with pytest.raises(StorageError, match="only an index"):
        create(tmp_path / "graph", OWN)
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark/index-3.json").write_text("{}")
    with pytest.raises(StorageError, match="without --own"):
        create(tmp_path / "spark", OWN)
    with pytest.raises(StorageError, match="only a local folder"):
        create("s3://bucket/index", OWN)


def log_of(folder: Path) -> Path:
    return max((folder / "changes").iterdir())


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with three changes in its log, as left by a killed server."""
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        for n in range(3):
            client.put(f"/subscriptions/s{n}", json={"expression": f"x = {n}"})
        shutil.copytree(tmp_path / "new", tmp_path / "killed")
    return tmp_path / "killed"


def test_a_server_that_stops_saves_what_its_log_has(tmp_path: Path) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        client.put("/subscriptions/adult", json={"expression": "age >= 18"})
        with pytest.raises(StorageError, match="not an index"):
            tamis.open(tmp_path / "new")
    assert list(tamis.open(tmp_path / "new")) == ["adult"]
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        client.put("/subscriptions/child", json={"expression": "age < 18"})
        assert server.service.held.version == "2"
    assert list(tamis.open(tmp_path / "new")) == ["adult", "child"]


SAVE = """
import sys, tamis
index = tamis.Index()
index.add("other", "true")
try:
    index.save(sys.argv[1])
except tamis.StorageError as error:
    print(error)
"""


def test_nobody_else_saves_into_a_folder_that_is_owned(tmp_path: Path) -> None:
    save = [sys.executable, "-c", SAVE, str(tmp_path / "new")]
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        client.put("/subscriptions/adult", json={"expression": "age >= 18"})
        told = subprocess.run(save, check=True, capture_output=True, text=True).stdout
        assert "a server owns the folder; send changes to the server, or stop it first" in told
    assert list(tamis.open(tmp_path / "new")) == ["adult"]
    assert subprocess.run(save, check=True, capture_output=True, text=True).stdout == ""
    assert list(tamis.open(tmp_path / "new")) == ["other"]


def test_a_torn_tail_goes(written: Path) -> None:
    """Wherever the last line is cut, the lines before it are kept and writing continues."""
    whole = log_of(written).read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole)):
        log_of(written).write_bytes(whole[:end])
        service = create(written, OWN)
        assert set(service.held.engine) == {"s0", "s1"}
        source = service.source
        source._changes.append([Entry(3, [{"id": "s9", "expression": "x = 9"}], [])])  # type: ignore[attr-defined]
        source._changes.close()  # type: ignore[attr-defined]
        os.close(source._lock)  # type: ignore[attr-defined]
        again = list(ChangeLog(written / "changes").read(Read()))
        assert [entry.number for group in again for entry in group] == [1, 2, 3]


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_damaged_line_is_an_error(written: Path, line: int) -> None:
    whole = log_of(written).read_bytes()
    begins = [0, *(at + 1 for at, byte in enumerate(whole) if byte == 10)]
    for at in (begins[line], begins[line] + 12):
        log_of(written).write_bytes(whole[:at] + b"#" + whole[at + 1 :])
        with pytest.raises(StorageError, match=f"line {line + 1}, at byte {begins[line]}"):
            create(written, OWN)
    log_of(written).write_bytes(whole)
    with running(written, OWN) as server:
        assert len(server.service.held.engine) == 3


def test_a_missing_file_is_an_error(written: Path) -> None:
    log = log_of(written)
    log.rename(log.with_name("changes-00000000000000000007.log"))
    with pytest.raises(StorageError, match="change 1 instead of 7"):
        create(written, OWN)


def test_a_change_that_turns_out_to_be_impossible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that is valid alone may be invalid in the index; it is void, also on replay."""
    from tamis.serve import own

    real = own._change

    def change(index: tamis.Index, puts: list[dict[str, object]], removes: object) -> None:
        if any(put["id"] == "bad" for put in puts):
            raise tamis.LimitError("index_patterns: 2 is more than 1")
        real(index, puts, removes)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "_change", change)
        with running(tmp_path / "new", OWN) as server, server.client() as client:
            good = {"expression": "x = 1"}
            assert client.put("/subscriptions/good", json=good).is_success
            refused = client.put("/subscriptions/bad", json={"expression": "x = 2"})
            assert refused.status_code == 422
            assert client.put("/subscriptions/later", json=good).is_success
    with running(tmp_path / "new", OWN) as server:
        assert set(server.service.held.engine) == {"good", "later"}
        assert server.service.held.version == "4"


def test_a_full_disk_refuses_changes_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        real = os.write
        full = True

        def write(file: int, content: bytes) -> int:
            if full and content[8:9] == b" ":
                real(file, content[: len(content) // 2])
                raise OSError(28, "No space left on device")
            return real(file, content)

        monkeypatch.setattr(os, "write", write)
        refused = client.put("/subscriptions/a", json={"expression": "x = 1"})
        assert refused.status_code == 500
        assert "No space left" in refused.json()["error"]["message"]
        assert client.post("/match", json={"x": 1}).json()["matches"] == []
        full = False
        assert client.put("/subscriptions/b", json={"expression": "x = 1"}).is_success
    with running(tmp_path / "new", OWN) as server:
        assert list(server.service.held.engine) == ["b"]


def test_a_disk_that_fails_ends_changes_but_not_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        assert client.put("/subscriptions/a", json={"expression": "x = 1"}).is_success

        def fsync(file: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fsync)
        assert client.put("/subscriptions/b", json={"expression": "x = 1"}).status_code == 500
        monkeypatch.undo()
        assert client.put("/subscriptions/c", json={"expression": "x = 1"}).status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.post("/match", json={"x": 1}).json()["matches"] == ["a"]


def test_too_many_changes_are_told_to_come_back(tmp_path: Path) -> None:
    settings = Settings(own=True, bounds=Bounds(requests=0))
    with running(tmp_path / "new", settings) as server, server.client() as client:
        response = client.put("/subscriptions/a", json={"expression": "x = 1"})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"


def test_applying_changes_twice_is_applying_them_once() -> None:
    entries = [
        Entry(1, [{"id": "a", "expression": "x = 1"}, {"id": "b", "expression": "x = 1"}], []),
        Entry(2, [{"id": "a", "expression": "x = 1 or y = 1"}], []),
        Entry(3, [{"id": "c", "expression": "x = 1"}], ["b"]),
        Entry(4, [{"id": "b", "expression": "x = 1"}], ["c"]),
    ]
    once, twice, one_by_one = tamis.Index(), tamis.Index(), tamis.Index()
    assert apply(once, entries) == []
    for _ in range(2):
        apply(twice, entries)
    for entry in entries:
        apply(one_by_one, [entry])
    assert once.match({"x": 1}) == twice.match({"x": 1}) == one_by_one.match({"x": 1}) == ["a", "b"]


def test_the_log_is_lines_of_json(written: Path) -> None:
    for line in log_of(written).read_bytes().splitlines():
        (entry,) = json.loads(line[9:])
        assert entry[1][0]["expression"].startswith("x = ")


def test_priorities_conditions_and_validity(tmp_path: Path) -> None:
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        items = [
            {"id": "low", "expression": "x = 1", "priority": 1, "metadata": {"tenant": "a"}},
            {"id": "high", "expression": "x = 1", "priority": 9, "metadata": {"tenant": "b"}},
            {"id": "later", "expression": "x = 1", "active_from": "2030-01-01T00:00Z"},
        ]
        assert client.post("/subscriptions", json=items).json()["put"] == 3
        event, early = {"x": 1}, {"now": "2026-01-01T00:00Z"}
        assert client.post("/first", json=event, params=early).json()["first"] == ["high"]
        two = client.post("/first", json=[event, 5], params={**early, "n": 2}).json()["results"]
        assert two[0] == {"first": ["high", "low"]}
        assert "error" in two[1]
        where = {**early, "where": "tenant = 'a'"}
        for path, key in (("/match", "matches"), ("/first", "first")):
            assert client.post(path, json=event, params=where).json()[key] == ["low"]
            results = client.post(path, json=[event], params=where).json()["results"]
            assert results == [{key: ["low"]}]
        top = client.post("/top", json=event, params=where).json()["top"]
        assert [one["id"] for one in top] == ["low"]
        assert client.post("/match", json=event, params=early).json()["matches"] == ["low", "high"]
        late = client.post("/match", json=event, params={"now": "2031-01-01T00:00Z"}).json()
        assert late["matches"] == ["low", "high", "later"]
        assert client.get("/subscriptions/later").json()["active_from"].startswith("2030-01-01")
        assert client.get("/subscriptions/high").json()["priority"] == 9
        assert client.post("/match", json=event, params={"where": "("}).status_code == 422
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        assert client.post("/first", json=event, params=early).json()["first"] == ["high"]


def test_metadata_that_could_not_be_read_again_is_refused(tmp_path: Path) -> None:
    """Metadata that a request thread can read may be too deep to read again at startup."""
    deep: object = 1
    for _ in range(900):
        deep = [deep]
    with running(tmp_path / "new", OWN) as server, server.client() as client:
        body = {"expression": "x = 1", "metadata": deep}
        refused = client.put("/subscriptions/a", json=body)
        assert refused.status_code == 422, refused.text
        assert "nested deeper" in refused.json()["error"]["message"]
        items = [
            {"id": "b", **body},
            {"id": "c", "expression": "("},
            {"id": "d", "expression": "x"},
        ]
        answer = client.post("/subscriptions", json=items, params={"on_error": "collect"}).json()
        assert [one["item"] for one in answer["refused"]] == [0, 1]
        assert client.get("/subscriptions").json()["total"] == 1
        shallow = {"expression": "x = 1", "metadata": [[[{"a": [[]]}]]]}
        assert client.put("/subscriptions/e", json=shallow).is_success


def test_what_cannot_be_written_leaves_the_log_as_it_is(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path)
    log.begin(1)
    for bad in (object(), "half of a pair \ud800"):
        with pytest.raises(StorageError, match="cannot be written"):
            log.append([Entry(1, [{"id": "a", "metadata": bad}], [])])
    log.append([Entry(1, [{"id": "a"}], [])])
    log.close()
    assert [[entry.number for entry in group] for group in log.read(Read())] == [[1]]


def test_links_and_pipes_are_no_log(written: Path, tmp_path: Path) -> None:
    log = log_of(written)
    elsewhere = log.rename(tmp_path / "elsewhere")
    log.symlink_to(elsewhere)
    with pytest.raises(StorageError, match=r"changes-0.*\.log"):
        create(written, OWN)
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(StorageError, match="not a regular file"):
        create(written, OWN)
    log.unlink()
    (written / "changes").rename(tmp_path / "changes")
    (written / "changes").symlink_to(tmp_path / "changes")
    with pytest.raises(StorageError, match="this is a link"):
        create(written, OWN)
