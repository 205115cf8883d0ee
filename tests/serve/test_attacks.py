"""Attacks that take a while: `make serve` runs them, `make test` does not.

Requests generated from the OpenAPI document, ten thousand connections, floods of bodies: there are
no server errors, memory is bounded, and other clients are served.
"""

import json
import random
import resource
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from longer import LONG, long_test
from tamis.serve.openapi import document

from .process import process

CONNECTIONS = 10_000


def memory(pid: int) -> int:
    """The memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@long_test
def test_requests_made_from_the_document(tmp_path: Path) -> None:
    """Hundreds of valid and invalid requests per operation cause no server error."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings
    from hypothesis.errors import Unsatisfiable

    with process(tmp_path / "index", "--own") as server:
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        asked = 0
        for result in schema.get_all_operations():
            operation = result.ok()
            if operation.path == "/stream":
                continue
            for mode in (
                schemathesis.GenerationMode.POSITIVE,
                schemathesis.GenerationMode.NEGATIVE,
            ):

                @given(case=operation.as_strategy(generation_mode=mode))
                @settings(
                    max_examples=50,
                    deadline=None,
                    database=None,
                    derandomize=True,
                    suppress_health_check=list(HealthCheck),
                )
                def ask(case: object) -> None:
                    nonlocal asked
                    asked += 1
                    response = case.call(base_url=server.url)  # type: ignore[attr-defined]
                    assert response.status_code < 500, response.text

                with suppress(
                    Unsatisfiable
                ):  # an operation without parameters has no invalid requests
                    ask()
        assert asked > 500
        assert not [line for line in server.log if "Fault" in line or "trace" in line]


def test_random_bytes(tmp_path: Path) -> None:
    """Bodies of random bytes, and of pieces of JSON, to every path that takes one."""
    chance = random.Random(21)
    pieces = [
        *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"\n", b"null", b"1e999", b"-0", b'"id"'),
        *(b'"expression"', b'"a = 1"', b"\xff", b"\x00", b"\xed\xa0\x80", b'"\\ud800"', b"<a>"),
        *(b"9" * 50, b'"deleted": true', b'"metadata"', b"\\", b" " * 100),
    ]
    types = ["application/json", "application/x-ndjson", "application/xml", ""]
    paths = [path for path, methods in document("0")["paths"].items() if "post" in methods]
    with process(tmp_path / "index", "--own") as server:
        with httpx.Client(base_url=server.url, timeout=60, verify=False) as client:
            for _ in range(5_000 if LONG else 300):
                body = b"".join(chance.choices(pieces, k=chance.randrange(12)))
                path = chance.choice([*paths, "/subscriptions/x"])
                method = "PUT" if path == "/subscriptions/x" else "POST"
                headers = {"content-type": chance.choice(types)}
                response = client.request(method, path, content=body, headers=headers)
                assert response.status_code < 500, (path, body, response.text)
                if response.status_code >= 400:
                    assert response.json()["error"]["message"]
        assert not [line for line in server.log if "trace" in line]


@long_test
def test_ten_thousand_connections(tmp_path: Path) -> None:
    """Half are idle, half send an endless request; other clients are served."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CONNECTIONS + 500:
        pytest.skip(f"only {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with (
        process(tmp_path / "index", "--own") as server,
        ExitStack() as stack,
        httpx.Client(base_url=server.url, timeout=60, verify=False) as client,
    ):
        client.put("/subscriptions/a", json={"expression": "x = 1"})
        before = memory(server.pid)
        host, port = server.url.removeprefix("http://").split(":")
        head = b"POST /match HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60000\r\n\r\n"
        for number in range(CONNECTIONS):
            connection = socket.create_connection((host, int(port)), timeout=60)
            stack.enter_context(connection)
            if number % 2:
                connection.sendall(head + b" " * 2_000)
            if number % 500 == 0:
                assert client.post("/match", json={"x": 1}).json()["matches"] == ["a"]
        text = client.get("/metrics").text
        assert int(text.partition("\ntamis_connections ")[2].split()[0]) > 1_000
        assert memory(server.pid) - before < 600 << 20
        assert client.post("/match", json={"x": 1}).json()["matches"] == ["a"]


@long_test
def test_large_bodies_at_once(tmp_path: Path) -> None:
    """Bodies of 16 MiB from 64 clients that are slow to finish: memory stays bounded."""
    with process(tmp_path / "index", "--own") as server, ExitStack() as stack:
        host, port = server.url.removeprefix("http://").split(":")
        before = memory(server.pid)
        size = 16 << 20
        head = f"POST /match HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n"
        most = 0
        for _ in range(64):
            connection = socket.create_connection((host, int(port)), timeout=60)
            stack.enter_context(connection)
            try:
                connection.sendall(head.encode() + b" " * (size - 1))
            except ConnectionError:
                continue
            most = max(most, memory(server.pid))
        with httpx.Client(base_url=server.url, timeout=60, verify=False) as client:
            assert client.get("/healthz").is_success
            assert client.post("/match", content=json.dumps({"x": 1})).status_code in (200, 503)
        time.sleep(0.5)
        assert most - before < 800 << 20
