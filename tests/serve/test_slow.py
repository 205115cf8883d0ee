"""Slow requests are stopped on every path, and do not delay other clients."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import tamis
from tamis import xml
from tamis.serve import Settings
from tamis.serve.answers import MATCH
from tamis.serve.events import _answer_stream
from tamis.serve.settings import Bounds

from .server import Running, running, wait_until

NDJSON = {"content-type": "application/x-ndjson"}
BOUNDS = Bounds(seconds=0.3, batch_seconds=0.4)
LATE = 2.0  # seconds of CPU time, which other processes do not affect
PATIENT = 20.0  # seconds of delay allowed on a busy machine
EVENT = {"text": "abcnopqrstuvwxyz " * 50_000}


def unfiltered(number: int) -> str:
    """A regular expression that requires no literal."""
    first, second = divmod(number, 50)
    return f"[a-m]{{{first + 1}}}[n-z]{{{second + 1}}}\\d"


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with patterns that take seconds on a long text."""
    index: tamis.Index[int] = tamis.Index()
    index.add_many((n, f"text matches '{unfiltered(n)}'") for n in range(1_500))
    long = " or ".join(f"text matches '{unfiltered(n)}'" for n in range(500))
    index.add(-1, f"never = 1 and ({long})")
    folder = tmp_path_factory.mktemp("slow")
    index.save(folder)
    with running(folder, Settings(bounds=BOUNDS)) as server, server.client() as client:
        for path in ("/match", "/top", "/first"):  # patterns are compiled when they are first tried
            wait_until(lambda path=path: client.post(path, json={"text": "an1"}).is_success)
        yield server


@pytest.fixture
def client(slow: Running) -> Iterator[httpx.Client]:
    with slow.client() as client:
        yield client


@pytest.mark.parametrize(
    ("path", "params"),
    [("/match", {}), ("/top", {}), ("/first", {}), ("/explain", {}), ("/explain", {"id": "-1"})],
)
def test_one_event_and_lists(
    slow: Running, client: httpx.Client, path: str, params: dict[str, str]
) -> None:
    for body in (EVENT, [EVENT] * 3):
        began = time.process_time()
        response = client.post(path, json=body, params=params)
        taken = time.process_time() - began
        assert response.status_code == 504, response.text[:500]
        assert response.json()["error"]["kind"] == "MatchTimeoutError"
        assert taken < BOUNDS.batch_seconds + LATE
    wait_until(lambda: client.post(path, json={"text": "an1"}, params=params).is_success)


@pytest.mark.parametrize("path", ["/match", "/top", "/first", "/explain"])
def test_of_a_stream_one_slow_event_costs_itself(client: httpx.Client, path: str) -> None:
    lines = [{"text": "an1"}, EVENT, {"text": "ann1"}, EVENT, {}]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    began = time.process_time()
    response = client.post(path, content=body.encode(), headers=NDJSON)
    assert time.process_time() - began < 4 * BOUNDS.seconds + LATE
    answers = [json.loads(line) for line in response.text.splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3, 4, 5]
    kinds = [answer.get("error", {}).get("kind") for answer in answers]
    assert kinds == [None, "MatchTimeoutError", None, "MatchTimeoutError", None]


def test_others_are_served_meanwhile(slow: Running, client: httpx.Client) -> None:
    done = threading.Event()

    def ask() -> None:
        with slow.client() as other:
            while not done.is_set():
                other.post("/top", json=[EVENT] * 2)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        worst = 0.0
        for _ in range(40):
            began = time.monotonic()
            assert client.post("/match", json={"text": "an1"}).json()["matches"] == [0]
            worst = max(worst, time.monotonic() - began)
            time.sleep(0.02)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert worst < PATIENT


def test_terms_are_computed_within_the_time(tmp_path: Path) -> None:
    """Short events with many computed terms, which count as reading the event."""
    index: tamis.Index[int] = tamis.Index()
    # A number times a text has no value, so the limit on values is not reached.
    index.add_many((n, f"(a + {n}) * b = -1") for n in range(4_900))
    index.save(tmp_path / "index")
    event = {"a": list(range(100)), "b": ["text"] * 100}
    bounds = Bounds(seconds=0.1, batch_seconds=0.4)
    with running(tmp_path / "index", Settings(bounds=bounds)) as server, server.client() as client:
        done: list[int] = []

        def ask() -> None:
            with server.client() as other:
                done.extend(other.post("/match", json=event).status_code for _ in range(3))

        thread = threading.Thread(target=ask)
        thread.start()
        worst = 0.0
        while thread.is_alive():
            began = time.monotonic()
            assert client.get("/healthz").is_success
            worst = max(worst, time.monotonic() - began)
            time.sleep(0.01)
        thread.join()
        assert done == [504] * 3
        assert worst < PATIENT


def test_graphs(tmp_path: Path) -> None:
    graph = tamis.Graph()
    parts = " or ".join(f"text matches '{unfiltered(n)}'" for n in range(300))
    graph.add_many(
        [(n, f"text = '{n}' or {parts}") for n in range(20)], [("s", n) for n in range(20)]
    )
    graph.save(tmp_path / "graph")
    with running(tmp_path / "graph", Settings(bounds=BOUNDS)) as server, server.client() as client:
        for path, target in (("/match", {}), ("/top", {}), ("/explain", {"target": "3"})):
            for body in (EVENT, [EVENT] * 2):
                began = time.process_time()
                response = client.post(path, json=body, params={"source": "s", **target})
                assert response.status_code == 504, (path, response.text[:500])
                assert time.process_time() - began < BOUNDS.batch_seconds + LATE


def test_explanations_of_xml(tmp_path: Path) -> None:
    filters: xml.Filter[str] = xml.Filter()
    filters.add("slow", "count(//a[count(following-sibling::a) > 3]) > 0")
    filters.save(tmp_path / "filters")
    document = "<r>" + "<a/>" * 6_000 + "</r>"
    bounds = Bounds(seconds=0.05)
    settings = Settings(bounds=bounds)
    with running(tmp_path / "filters", settings) as server, server.client() as client:
        response = client.post("/explain", json=document, params={"id": "slow"})
        assert response.status_code == 504, response.text[:500]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """An index in which every event has many matches."""
    index: tamis.Index[int] = tamis.Index()
    index.add_many((n, "x = 1" if n % 2 else "true") for n in range(2_000))
    index.save(tmp_path / "many")
    return tmp_path / "many"


def test_answers_have_bounds(many: Path) -> None:
    """A list with too long an answer is refused; a stream is answered in pieces."""
    settings = Settings(bounds=Bounds(answer=100_000))
    with running(many, settings) as server, server.client() as client:
        for path in ("/match", "/top?n=1000", "/first?n=1000", "/explain?limit=100"):
            response = client.post(path, json=[{"x": 1}] * 300)
            assert response.status_code == 413, path
            assert response.json()["error"]["allowed"] == 100_000
            assert client.post(path, json=[{"x": 1}] * 2).status_code == 200
            body = b'{"x": 1}\n' * 300
            lines = client.post(path, content=body, headers=NDJSON).text.splitlines()
            assert [json.loads(line)["line"] for line in lines] == list(range(1, 301))
            assert all('"error"' not in line for line in lines)
        bad = b'{"x": 1}\n' * 50 + b"5\n" + b'{"x": 1}\n' * 50
        lines = client.post("/match", content=bad, headers=NDJSON).text.splitlines()
        wrong = [number for number, line in enumerate(lines, 1) if '"error"' in line]
        assert (len(lines), wrong) == (101, [51])


def test_explanations_of_long_lists_are_short(tmp_path: Path) -> None:
    """Every predicate sees the list, but the explanation does not repeat it in full."""
    index: tamis.Index[str] = tamis.Index()
    index.add("a", " or ".join(f"x = {n}" for n in range(500_000, 500_400)))
    index.save(tmp_path / "index")
    with running(tmp_path / "index") as server, server.client() as client:
        event = {"x": list(range(10_000))}
        response = client.post("/explain", json=event, params={"id": "a"})
        (explanation,) = response.json()["explanations"]
        (child, *_) = explanation["tree"].get("children", [explanation["tree"]])
        assert child["seen"] == list(range(100))
        assert len(response.content) < 1_000_000


def test_a_reader_with_a_slow_expression_stops_nobody(many: Path) -> None:
    pattern = " or ".join(f"event.text matches '{unfiltered(n)}'" for n in range(200))
    with running(many) as server, server.client() as client:
        got: list[bytes] = []

        def read() -> None:
            where = {"where": pattern}
            with server.client() as reader, reader.stream("GET", "/stream", params=where) as told:
                got.extend(told.iter_bytes())

        thread = threading.Thread(target=read)
        thread.start()
        wait_until(lambda: server.service.tail.readers)
        began = time.monotonic()
        event = {"x": 1, "text": "abcnopqrstuvwxyz " * 800}
        assert client.post("/match", json=[event] * 200).status_code == 200
        assert client.get("/healthz").is_success
        assert time.monotonic() - began < PATIENT
        wait_until(lambda: b"missed" in b"".join(got))
        server.service.loop.call_soon_threadsafe(server.service.announce_stop)
        thread.join(30)


def test_a_line_that_comes_byte_by_byte(many: Path) -> None:
    """A long line is not searched again for every piece that arrives."""
    sizes: list[int] = []

    class Piece(bytes):
        def rfind(self, *arguments: Any) -> int:
            sizes.append(len(self))
            return bytes.rfind(self, *arguments)

    sent: list[bytes] = []

    class FakeRequest:
        id = b"1"

        async def pieces(self) -> Any:
            line = b'{"x": 1, "y": "' + b"z" * 5_000 + b'"}\n'
            for at in range(len(line)):
                yield Piece(line[at : at + 1])

        async def send(self, message: dict[str, Any]) -> None:
            sent.append(message.get("body", b""))

    with running(many) as server:
        request: Any = FakeRequest()
        call: Callable[..., Any] = _answer_stream
        service = server.service
        coroutine = call(service, request, MATCH, service.plain)
        asyncio.run_coroutine_threadsafe(coroutine, service.loop).result(60)
    assert sum(sizes) <= 10
    assert json.loads(b"".join(sent))["line"] == 1
