"""Requests that are too large, too slow or not allowed are refused; others are served."""

import json
import re
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tamis.serve import Settings
from tamis.serve.auth import Tokens
from tamis.serve.lists import items_of, lines_of
from tamis.serve.problem import RequestError
from tamis.serve.running import run
from tamis.serve.settings import Bounds

from .server import Running, running, wait_until

READ, WRITE = "r" * 20, "w" * 20
TOKENS = f"read ada {READ}\nwrite bob {WRITE}  # may change things"


@contextmanager
def connected(served: Running) -> Iterator[socket.socket]:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        yield connection


def received(connection: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    all = b""
    try:
        while piece := connection.recv(65536):
            all += piece
    except ConnectionResetError:
        pass
    return all


def test_bodies(folder: Path) -> None:
    bounds = Bounds(body=1_000, batch=3, line=100)
    with running(folder, Settings(bounds=bounds)) as server, server.client() as client:
        large = client.post("/match", content=b" " * 1_001)
        assert large.status_code == 413
        assert large.json()["error"]["found"] == 1_001
        assert large.json()["error"]["allowed"] == 1_000

        def pieces() -> Iterator[bytes]:
            for _ in range(100):
                yield b" " * 100

        assert client.post("/match", content=pieces()).status_code == 413
        with connected(server) as whole:  # no declared length, and all of it in one packet
            head = b"POST /match HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
            body = b"transfer-encoding: chunked\r\n\r\n3e9\r\n" + b" " * 1_001 + b"\r\n0\r\n\r\n"
            whole.sendall(head + body)
            assert received(whole).startswith(b"HTTP/1.1 413 ")
        assert client.post("/match", json=[{}] * 4).status_code == 413
        headers = {"content-type": "application/x-ndjson"}
        answer = client.post("/match", content=b"{}\n" + b"x" * 101, headers=headers)
        first, second = answer.text.splitlines()
        assert json.loads(first) == {"line": 1, "matches": []}
        assert json.loads(second)["error"]["kind"] == "TooLarge"
        assert client.post("/match", json={"age": 21}).json()["matches"] == [7]


def test_all_bodies_together(folder: Path) -> None:
    with running(folder, Settings(bounds=Bounds(bodies=1_000))) as server:
        with connected(server) as slow, server.client() as client:
            slow.sendall(b"POST /match HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1100\r\n\r\n")
            slow.sendall(b" " * 950)
            wait_until(lambda: server.service.bodies.held == 950)
            busy = client.post("/match", content=b" " * 100)
            assert busy.status_code == 503
            assert busy.headers["retry-after"] == "1"
            assert client.get("/healthz").is_success
        wait_until(lambda: server.service.bodies.held == 0)


def test_waiting_requests(folder: Path) -> None:
    with running(folder, Settings(bounds=Bounds(requests=0))) as server, server.client() as client:
        response = client.post("/top", json={})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert client.post("/match", json={}).status_code == 200


def test_connections(folder: Path) -> None:
    with running(folder, Settings(bounds=Bounds(connections=2))) as server:
        with connected(server), connected(server):
            wait_until(lambda: _connections(server) == 2)
            with connected(server) as third:
                assert received(third).startswith(b"HTTP/1.1 503 ")
        wait_until(lambda: _connections(server) == 0)
        with server.client() as client:
            assert client.get("/healthz").is_success


def _connections(server: Running) -> int:
    gauges = server.service.metrics
    return len(gauges.connections)


def test_slow_headers_bodies_and_readers(folder: Path) -> None:
    bounds = Bounds(header_seconds=0.5, body_seconds=0.5, write_seconds=0.5)
    with (
        running(folder, Settings(bounds=bounds)) as server,
        server.client() as client,
        connected(server) as silent,
        connected(server) as headers,
        connected(server) as body,
    ):
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.1):
                try:
                    headers.sendall(b"x-more: 1\r\n")
                    body.sendall(b" ")
                except OSError:
                    return

        headers.sendall(b"POST /match HTTP/1.1\r\nhost: localhost\r\n")
        start = b"POST /match HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n"
        body.sendall(start)
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            for connection in (silent, headers, body):
                assert received(connection) == b""
                assert client.post("/match", json={"age": 21}).json()["matches"] == [7]
        finally:
            stop.set()
            thread.join()


def test_headers_without_end(folder: Path) -> None:
    with running(folder, Settings(bounds=Bounds(header_bytes=10_000))) as server:
        for flood in (b"x" * 20_000, b"x: " + b"y" * 20_000, b"x: y\r\n" * 5_000):
            with connected(server) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\n")
                try:
                    connection.sendall(flood[:12_000])
                    time.sleep(0.05)
                    connection.sendall(flood[12_000:])
                except ConnectionError:
                    pass
                assert re.match(rb"HTTP/1.1 4(31|00) |$", received(connection))
        with connected(server) as connection:
            connection.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert received(connection).startswith(b"HTTP/1.1 400 ")


def test_a_large_body_after_its_headers_is_no_large_header(folder: Path) -> None:
    settings = Settings(bounds=Bounds(header_bytes=2_000))
    with running(folder, settings) as server, server.client() as client:
        for _ in range(3):
            body = json.dumps({"age": 21, "text": "x" * 500_000})
            assert client.post("/match", content=body.encode()).json()["matches"] == [7]


def test_tokens(folder: Path) -> None:
    with running(folder, Settings(tokens=TOKENS, log_requests=True)) as server:
        for token, status in ((READ, 200), (WRITE, 200), ("x" * 20, 401), (None, 401)):
            headers = {"authorization": f"Bearer {token}"} if token else {}
            with server.client(headers=headers) as client:
                response = client.post("/match", json={"age": 21})
                assert response.status_code == status
                if status == 401:
                    assert "Bearer" in response.headers["www-authenticate"]
                assert client.get("/healthz").is_success
                assert client.get("/readyz").is_success
                assert client.get("/metrics").status_code == status
        with server.client(headers={"authorization": f"Bearer {READ}"}) as client:
            assert client.put("/subscriptions/a", json={"expression": "x"}).status_code == 403
        with server.client(headers={"authorization": f"bearer {WRITE}"}) as client:
            assert client.put("/subscriptions/a", json={"expression": "x"}).status_code == 405
        log = server.log.getvalue()
        assert "ada" in log
        assert READ not in log
        assert WRITE not in log


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "there are none"),
        ("# nothing", "there are none"),
        (f"admin x {READ}", "line 1"),
        ("read x", "line 1"),
        ("\nread x short", "line 2: the token has 5 characters"),
        (f"read x {READ}é", "characters beyond base64"),
    ],
)
def test_tokens_that_cannot_be_read(lines: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Tokens(lines)
    assert READ not in str(caught.value)


def test_what_is_commented_out_is_no_token() -> None:
    tokens = Tokens(
        f"read ada {READ}, read eve {'e' * 20}  # was: read x {'x' * 20},write y {WRITE}"
    )
    assert tokens.check(b"Bearer " + b"e" * 20, "read") == "eve"
    for token in ("x" * 20, WRITE):
        with pytest.raises(RequestError):
            tokens.check(f"Bearer {token}".encode(), "read")


def test_others_can_reach_it_only_with_tokens(folder: Path) -> None:
    with pytest.raises(ValueError, match="tokens are needed"):
        run(folder, Settings(host="0.0.0.0", port=0))


def test_pages_of_other_sites(served: Running, client: httpx.Client) -> None:
    body = {"age": 21}
    host = served.url.removeprefix("http://")
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": served.url}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:8080"}, 421),
        ({"host": host.replace("127.0.0.1", "localhost")}, 200),
        ({"host": "[::1]:8080"}, 200),
    ):
        assert client.post("/match", json=body, headers=headers).status_code == status, headers


def test_request_ids(served: Running, client: httpx.Client) -> None:
    given = client.get("/healthz", headers={"x-request-id": "from-me.1"})
    assert given.headers["x-request-id"] == "from-me.1"
    bad = client.get("/healthz", headers={"x-request-id": "a b<script>"})
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", bad.headers["x-request-id"])


def test_paths_and_methods(client: httpx.Client) -> None:
    assert client.get("/none").status_code == 404
    assert client.get("/subscriptions/").status_code == 404
    response = client.get("/match")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert client.head("/healthz").status_code == 200
    assert client.get("/stats", params={"x": 1}).status_code == 400
    assert client.get("/stats?" + "&".join("x=1" for _ in range(500))).status_code == 400
    assert client.get("/match%00").status_code == 404


def test_a_fault_is_told_and_logged(served: Running, client: httpx.Client) -> None:
    def broken() -> None:
        raise ZeroDivisionError("secret")

    served.service.run = broken  # type: ignore[method-assign, assignment]
    response = client.post("/top", json={})
    assert response.status_code == 500
    assert "secret" not in response.text
    wait_until(lambda: served.lines("request"))  # written after the response
    (line,) = served.lines("request")
    assert "TypeError" in line["trace"]
    assert line["request"] == response.json()["request"]
    assert client.post("/match", json={"age": 21}).json()["matches"] == [7]


def test_metrics(client: httpx.Client) -> None:
    client.post("/match", json={"age": 21, "tags": "new"})
    client.post("/match", json=[{"age": 21}, 5])
    client.post("/match", content=b"{")
    text = client.get("/metrics").text
    assert 'tamis_requests_total{route="POST /match",status="200"} 2' in text
    assert 'tamis_requests_total{route="POST /match",status="422"} 1' in text
    assert 'tamis_request_seconds_bucket{route="POST /match",le="+Inf"} 3' in text
    for line in ("tamis_events_total 2", "tamis_matches_total 3", "tamis_subscriptions 3"):
        assert line in text.splitlines()
    assert "tamis_refused_events_total 1" in text
    wait_until(lambda: client.get("/stats").json()["series"])
    stats = client.get("/stats").json()
    assert stats["most"][0] == {"id": 7, "matches": 2}
    assert stats["never"] == ["young-west"]


def test_it_stops_in_order(folder: Path) -> None:
    """Running requests are finished, and streams end."""
    answers: list[httpx.Response] = []
    with running(folder) as server:

        def follow() -> None:
            with server.client() as client:
                answers.append(client.get("/stream"))

        thread = threading.Thread(target=follow)
        thread.start()
        wait_until(lambda: server.service.tail.readers)
    thread.join(30)
    assert answers[0].status_code == 200
    assert server.lines("stopped")


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * 4_000_000 + b"1]",
        b"[" + b'"\\",[{",' * 500_000 + b'1,"' * 500_000 + b"]",
        b"[" + b'{"a":[1,2]},' * 700_000 + b"{}]",
    ],
    ids=["numbers", "texts with brackets", "objects"],
)
def test_millions_of_items_take_no_memory(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(RequestError) as caught:
            items_of(body, msgspec.Raw, 10_000, "items")
        assert caught.value.status == 413
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_items_are_counted_where_they_are() -> None:
    inner = [list(range(60_000)), {"a": "[[[{,,,", "b": list(range(60_000))}]
    body = json.dumps(inner).encode()
    assert items_of(body, list[int] | dict[str, Any], 2, "items") == inner  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="2 is more than the 1"):
        items_of(body, msgspec.Raw, 1, "items")
    endless = b"[" + b"[1,2]," * 5 + b'"' + b'\\"' * 200_000 + b"," * 150_000
    with pytest.raises(RequestError, match="cannot be read"):
        items_of(endless, msgspec.Raw, 10, "items")


def test_lines_are_counted_before_they_are_made() -> None:
    assert lines_of(b"a\n\n  \nb\r\nc", 3, "lines") == [b"a", b"b\r", b"c"]
    with pytest.raises(RequestError, match="4 is more than the 3"):
        lines_of(b"\n" * 100_000 + b"1\n" * 4_000_000, 3, "lines")


def test_a_list_that_is_too_long_blocks_nobody(served: Running, client: httpx.Client) -> None:
    body = b"[" + b"1," * 4_000_000 + b"1]"
    for path in ("/match", "/top"):
        response = client.post(path, content=body)
        assert response.status_code == 413
        assert response.json()["error"]["allowed"] == 10_000


def test_cursors_beyond_all_numbers(client: httpx.Client) -> None:
    for after in ("[99999999999999999999, 1]", "[9223372036854775807, 1]", "[1.5, 1]", "[true, 1]"):
        response = client.get("/subscriptions", params={"after": after})
        assert response.status_code == 400, (after, response.text)
    far = client.get("/subscriptions", params={"after": "[4611686018427387904, 1]"})
    assert far.is_success
