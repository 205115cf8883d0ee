"""Single events, lists and streams; errors are reported at the position of the bad event."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import tamis
from tamis import xml
from tamis.serve import Settings
from tamis.serve.settings import Bounds

from .server import Running, running

NDJSON = {"content-type": "application/x-ndjson"}
EVENT = {"age": 21, "state": "CA", "tags": "new"}


def lines(response: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in response.text.splitlines()]


def test_one_event(client: httpx.Client) -> None:
    response = client.post("/match", json=EVENT)
    assert response.status_code == 200
    assert response.json()["matches"] == ["young-west", "sale", 7]
    assert response.headers["tamis-version"] == response.json()["version"]
    assert response.headers["x-request-id"]
    assert client.post("/match", json={}).json()["matches"] == []


def test_a_list_tells_what_is_bad_at_its_place(client: httpx.Client) -> None:
    body = b'[{"age": 21}, 3, {"age": 19, "state": "OR"}, {"age": {"a": [1, {}]}}]'
    results = client.post("/match", content=body).json()["results"]
    assert results[0] == {"matches": [7]}
    assert results[1]["error"]["kind"] == "EventError"
    assert results[2] == {"matches": ["young-west"]}
    assert client.post("/match", json=[]).json()["results"] == []


def test_lines_are_answered_in_their_order(client: httpx.Client) -> None:
    body = b'{"age": 21}\n\n{"age": \n{"age": 19, "state": "OR"}\r\n[1]'
    response = client.post("/match", content=body, headers=NDJSON)
    assert response.headers["content-type"] == "application/x-ndjson"
    first, bad, good, array = lines(response)
    assert first == {"line": 1, "matches": [7]}
    assert bad["line"] == 3
    assert "error" in bad
    assert good == {"line": 4, "matches": ["young-west"]}
    assert (array["line"], "error" in array) == (5, True)


def test_lines_are_answered_while_others_are_still_to_come(served: Running) -> None:
    """Every second line is sent only after the previous one was answered."""
    import socket

    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = "POST /match HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n"
        head += "content-type: application/x-ndjson\r\n\r\n"
        connection.sendall(head.encode())
        received = b""
        for number in range(3):
            connection.sendall(b"c\r\n" + b'{"age": 21}\n' + b"\r\n")
            while received.count(b'"matches":[7]') <= number:
                piece = connection.recv(65536)
                assert piece
                received += piece
        connection.sendall(b"0\r\n\r\n")
        while not received.endswith(b"0\r\n\r\n"):
            received += connection.recv(65536)


def test_many_lines_equal_a_batch(client: httpx.Client, folder: Path) -> None:
    events = [{"age": n % 40, "state": "CA", "tags": ["new"] * (n % 2)} for n in range(20_000)]
    body = "".join(json.dumps(event) + "\n" for event in events)
    answers = lines(client.post("/match", content=body.encode(), headers=NDJSON))
    index = tamis.open(folder)
    assert [answer["matches"] for answer in answers] == index.match_batch(events)
    assert [answer["line"] for answer in answers] == list(range(1, 20_001))


def test_top(client: httpx.Client) -> None:
    top = client.post("/top", json=EVENT, params={"n": 2}).json()["top"]
    assert top == [{"id": 7, "score": 3.0}, {"id": "sale", "score": 2.5}]
    weights = json.dumps({"age": 0.5})
    top = client.post("/top", json=[EVENT, 1], params={"n": 1, "weights": weights}).json()
    assert top["results"][0]["top"] == [{"id": "sale", "score": 2.5}]
    assert "error" in top["results"][1]


def test_explain(client: httpx.Client) -> None:
    response = client.post("/explain", json={"age": 30}, params={"id": "young-west"}).json()
    (explanation,) = response["explanations"]
    assert explanation["matched"] is False
    assert [child["truth"] for child in explanation["tree"]["children"]] == ["false", "unknown"]
    by_default = client.post("/explain", json=EVENT).json()["explanations"]
    assert [one["id"] for one in by_default] == ["young-west", "sale", 7]
    both = client.post("/explain", json=EVENT, params={"id": ["7", "sale"]}).json()
    assert [one["id"] for one in both["explanations"]] == [7, "sale"]
    assert client.post("/explain", json={}, params={"id": "none"}).status_code == 404


def test_explain_says_that_a_subscription_is_inactive(tmp_path: Path) -> None:
    index = tamis.Index()
    index.add("old", "age > 3", active_until="2026-01-01")
    index.save(tmp_path / "index")
    with running(tmp_path / "index") as served, httpx.Client(base_url=served.url) as client:
        for now, end in (("2025-12-31", None), ("2026-01-01", "2026-01-01 00:00:00Z")):
            given = {"id": "old", "now": now}
            told = client.post("/explain", json={"age": 5}, params=given).json()["explanations"][0]
            assert (told["matched"], told["tree"]["truth"]) == (end is None, "true")
            assert told["tree"].get("inactive", {}).get("active_until") == end


def test_an_unknown_name_in_where_selects_nothing(client: httpx.Client) -> None:
    for where, matches in (("owner = 'ada'", ["sale"]), ("ownr = 'ada'", [])):
        found = client.post("/match", json=EVENT, params={"where": where})
        assert (found.status_code, found.json()["matches"]) == (200, matches)


def test_check(client: httpx.Client) -> None:
    good = client.post("/check", json={"expression": "b = 2 AND (a=1)"}).json()
    assert good["valid"]
    assert good["expression"] == "b = 2 and a = 1"
    assert good["attributes"] == ["b", "a"]
    bad = client.post("/check", json={"expression": "a = 1 nd b = 2"}).json()
    assert not bad["valid"]
    assert (bad["error"]["line"], bad["error"]["column"]) == (1, 7)
    large = client.post("/check", json={"expression": "a matches '(x{1000}){1000}'"}).json()
    assert not large["valid"]


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        ("", b"", 422),
        ("", b"{", 422),
        ("", b"\xff\xfe", 422),
        ("", b"[1, ", 400),
        ("", b'[{"a": 1}, \xff]', 400),
        ("", b"[" * 100_000, 400),
        ("?n=5", b"{}", 400),
        ("?now=tomorrow", b"{}", 400),
        ("?now=2026-01-02T05:00Z", b"{}", 200),
        ("?%ff=1", b"{}", 400),
        ("?document=doc", b'{"doc": "<a>"}', 422),
        ("?document=doc", b'{"doc": 5}', 422),
        ("?document=doc", b'{"doc": "<a/>"}', 200),
    ],
)
def test_what_cannot_be_read(client: httpx.Client, query: str, body: bytes, status: int) -> None:
    response = client.post(f"/match{query}", content=body)
    assert response.status_code == status, response.text
    if status != 200:
        assert response.json()["error"]["message"]


def test_other_content_types(client: httpx.Client) -> None:
    response = client.post("/match", content=b"a", headers={"content-type": "image/png"})
    assert response.status_code == 415


@pytest.fixture
def filters(tmp_path: Path) -> Iterator[httpx.Client]:
    filters = xml.Filter()
    filters.add("cheap", "//price[. < 300]")
    filters.add("final", "not(//draft)")
    filters.save(tmp_path / "filters")
    with running(tmp_path / "filters") as server, server.client() as client:
        yield client


def test_xml_filters(filters: httpx.Client) -> None:
    document = b"<a><price>1</price></a>"
    headers = {"content-type": "application/xml"}
    response = filters.post("/match", content=document, headers=headers)
    assert response.json()["matches"] == ["cheap", "final"]
    texts = [document.decode(), "<draft/>", "<a>"]
    results = filters.post("/match", json=texts).json()["results"]
    assert results[0]["matches"] == ["cheap", "final"]
    assert results[1]["matches"] == []
    assert results[2]["error"]["kind"] == "DocumentError"
    streamed = "\n".join(json.dumps(text) for text in [*texts, 5])
    answers = lines(filters.post("/match", content=streamed.encode(), headers=NDJSON))
    assert [("error" in answer) for answer in answers] == [False, False, True, True]
    why = filters.post("/explain", content=document, headers=headers, params={"id": "cheap"})
    assert why.json()["explanations"][0]["matched"]
    assert filters.post("/top", content=document, headers=headers).status_code == 409
    assert filters.get("/subscriptions/cheap").json()["xpath"] == "//price[. < 300]"
    assert filters.post("/check", json={"expression": "//a["}).json()["valid"] is False
    assert filters.get("/stats").json()["kind"] == "filter"


def test_documents_for_an_index(tmp_path: Path) -> None:
    index = tamis.Index()
    index.add("cheap", "xpath('//price[. < 300]')")
    index.save(tmp_path / "index")
    with running(tmp_path / "index") as server, server.client() as client:
        headers = {"content-type": "application/xml"}
        body = b"<a><price>1</price></a>"
        response = client.post("/match", content=body, headers=headers)
        assert response.json()["matches"] == ["cheap"]
        events = [{"text": "<price>5</price>"}, {"text": "<price>500</price>"}, {}]
        results = client.post("/match", json=events, params={"document": "text"}).json()["results"]
        assert [result["matches"] for result in results] == [["cheap"], [], []]


def test_graphs(tmp_path: Path) -> None:
    graph = tamis.Graph()
    graph.add_node("net1", "age > 30")
    graph.add_edge("pub1", "net1")
    graph.add_edge("net1", "adv7", cost=0.2)
    graph.save(tmp_path / "graph")
    with running(tmp_path / "graph") as server, server.client() as client:
        source = {"source": "pub1"}
        old = {"age": 35}
        matches = client.post("/match", json=old, params=source).json()["matches"]
        assert matches == ["net1", "adv7"]
        sinks = {**source, "sinks_only": "true"}
        assert client.post("/match", json=old, params=sinks).json()["matches"] == ["adv7"]
        results = client.post("/match", json=[old, {"age": 3}, 4], params=source).json()["results"]
        assert [result.get("matches") for result in results] == [["net1", "adv7"], [], None]
        top = client.post("/top", json=old, params=source).json()["top"]
        assert top[0]["path"] == ["pub1", "net1"]
        why = client.post("/explain", json={"age": 3}, params={**source, "target": "adv7"}).json()
        assert why["explanations"][0]["cut"][0]["at"] == "net1"
        assert client.post("/match", json=old).status_code == 400
        for params, kind in (({}, "BadRequest"), ({"source": "x"}, "UnknownIdError")):
            streamed = client.post("/match", content=b"{}\n{}", headers=NDJSON, params=params)
            assert [line["error"]["kind"] for line in lines(streamed)] == [kind, kind]
        assert client.post("/match", json=old, params={"source": "x"}).status_code == 404


def test_a_match_that_takes_too_long_is_stopped(folder: Path) -> None:
    index = tamis.Index(matcher="scan")
    index.add_many((n, f"not a = {n} and not b = {n} and c > 1") for n in range(50_000))
    index.save(folder)
    bounds = Bounds(seconds=0.0, batch_seconds=0.0)
    with running(folder, Settings(bounds=bounds)) as server, server.client() as client:
        one = client.post("/match", json={"a": -1, "b": -1, "c": 0})
        many = client.post("/match", json=[{"a": -1, "b": -1, "c": 0}] * 3)
        stream = client.post("/match", content=b'{"a": 1}\n', headers=NDJSON)
        assert (one.status_code, many.status_code) == (504, 504)
        assert one.json()["error"]["kind"] == "MatchTimeoutError"
        assert json.loads(stream.text)["error"]["kind"] == "MatchTimeoutError"
        assert client.get("/healthz").status_code == 200
