"""How much of a server's time goes into matching?

Compares `POST /match` with a handler of the same server that reads the same body and returns a
constant of the same size, at 1, 16 and 256 connections. Compares a stream of lines with
`match_batch` and writing its JSON to a pipe. Measures requests while an index is swapped. Both
sides of each comparison take turns in one run, and the best of several rounds counts.

Needs `wrk`. Run as `python benchmarks/serve.py [--subscriptions N] [--seconds S] [--swap N]`.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec

from tamis import Index
from tamis._tamis import Workload
from tamis.serve import Settings, app, routes
from tamis.serve.response import Response
from tamis.serve.running import Server, listen

EVENTS = 200
ROUNDS = 3
SAVE = "import sys, tamis; tamis.Index.open(sys.argv[1]).save(sys.argv[2])"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--swap", type=int, default=0, help="size of an index to swap under load")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve))
        return
    if shutil.which("wrk") is None:
        sys.exit("benchmarks/serve.py needs wrk (on Debian: apt-get install wrk)")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        events = build(folder, given.subscriptions)
        requests(folder, events, given.seconds)
        lines(folder, events)
        if given.swap:
            swap(folder, events, given.swap)


def build(folder: Path, size: int) -> list[bytes]:
    """Save an index of a published workload; returns events for it."""
    workload = Workload("conjunctive", size=size)
    index = Index()
    index.add_many(list(enumerate(workload.expression_texts(0, size))))
    index.settle()
    index.save(folder)
    return [text.encode() for text in workload.event_texts(0, EVENTS)]


def serve(folder: Path) -> None:
    """Serve, with one more path: `POST /constant`, which returns `x-size` bytes."""
    real = routes.routes
    constants: dict[int, bytes] = {}

    async def constant(_: app.Service, request: "app.Request") -> Response:
        await request.body()
        size = int(request.headers[b"x-size"])
        return Response(200, constants.setdefault(size, b"x" * size))

    routes.routes = lambda: {**real(), ("POST", "/constant"): (constant, "read")}
    settings = Settings(poll=0.2)
    listener = listen(settings.host, 0)
    server = Server(app.create(folder, settings), listener)
    print(server.url, flush=True)
    server.serve_until_told()


class Served:
    """A server in a separate process."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self.host, port = self.url.removeprefix("http://").split(":")
        self.port = int(port)

    def __enter__(self) -> "Served":
        connection = self.connect()
        for _ in range(600):
            try:
                connection.request("GET", "/readyz")
                connection.getresponse().read()
                break
            except OSError:
                time.sleep(0.1)
                connection = self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def processor_seconds(self) -> float:
        """The processor time of the server so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it."""
        return http.client.HTTPConnection(self.host, self.port, timeout=120)


def ask(connection: http.client.HTTPConnection, body: bytes, type: str = "") -> bytes:
    connection.request("POST", "/match", body, {"content-type": type or "application/json"})
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer
    return answer


def requests(folder: Path, events: list[bytes], seconds: int) -> None:
    index = Index.open(folder)
    with Served(folder) as served, tempfile.TemporaryDirectory() as place:
        connection = served.connect()
        for event in events:  # checked before it is timed
            assert json.loads(ask(connection, event))["matches"] == index.match(event)
        body = sorted(events, key=lambda event: len(index.match(event)))[len(events) // 2]
        size = len(ask(connection, body))
        connection.close()
        script = Path(place) / "post.lua"
        script.write_text(
            f"wrk.method = 'POST'\nwrk.body = {json.dumps(body.decode())}\n"
            f"wrk.headers['Content-Type'] = 'application/json'\nwrk.headers['x-size'] = '{size}'\n"
        )
        print(f"{len(index)} subscriptions, body {len(body)} B, response {size} B")
        for connections in (1, 16, 256):
            best: dict[str, tuple[float, str, str]] = {}
            busy: dict[str, float] = {}  # microseconds of processors per request
            for _ in range(ROUNDS):
                for path in ("/constant", "/match"):
                    before = served.processor_seconds()
                    found = wrk(served.url + path, connections, seconds, script)
                    taken = (served.processor_seconds() - before) / (found[0] * seconds) * 1e6
                    busy[path] = min(busy.get(path, taken), taken)
                    best[path] = max(best.get(path, found), found)
            share = best["/match"][0] / best["/constant"][0]
            for path, (rate, median, worst) in best.items():
                print(
                    f"  {connections:3} {path:9} {rate:8.0f}/s  p50 {median} p99 {worst}  "
                    f"{busy[path]:.0f} us of processors"
                )
            cost = busy["/constant"] / busy["/match"]
            print(
                f"  {connections:3} connections: {share:.0%} of the requests/s, {cost:.0%} by cost"
            )


def wrk(url: str, connections: int, seconds: int, script: Path) -> tuple[float, str, str]:
    """Requests per second, and the median and 99th percentile of their time."""
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--latency",
        "-s",
        str(script),
        url,
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in told, told
    rate, median, worst = (
        re.search(pattern, told)
        for pattern in (r"Requests/sec:\s+([\d.]+)", r"50%\s+(\S+)", r"99%\s+(\S+)")
    )
    assert rate is not None
    assert median is not None
    assert worst is not None
    return float(rate[1]), median[1], worst[1]


def lines(folder: Path, events: list[bytes]) -> None:
    """Compare a stream of lines with `match_batch` and writing its JSON to a pipe."""
    index = Index.open(folder)
    body = b"\n".join(events * 50) + b"\n"
    with Served(folder) as served:
        connection = served.connect()
        wanted = [{"line": n, "matches": ids} for n, ids in enumerate(index.match_batch(body), 1)]
        answer = ask(connection, body, "application/x-ndjson")
        assert [json.loads(line) for line in answer.splitlines()] == wanted
        best = [float("inf")] * 2
        for _ in range(ROUNDS + 2):
            began = time.perf_counter()
            to_pipe(index, body)
            best[0] = min(best[0], time.perf_counter() - began)
            began = time.perf_counter()
            ask(connection, body, "application/x-ndjson")
            best[1] = min(best[1], time.perf_counter() - began)
    count = len(events) * 50
    print(f"{count} lines: match_batch and writing its JSON to a pipe {count / best[0]:.0f}/s")
    print(f"  a stream {count / best[1]:.0f}/s: {best[0] / best[1]:.0%}")


def to_pipe(index: Index, body: bytes) -> None:
    read, write = os.pipe()

    def drain() -> None:
        while os.read(read, 1 << 16):
            pass

    thread = threading.Thread(target=drain)
    thread.start()
    encode = msgspec.json.Encoder().encode_lines
    answers = [{"line": n, "matches": ids} for n, ids in enumerate(index.match_batch(body), 1)]
    with os.fdopen(write, "wb") as pipe:
        pipe.write(encode(answers))
    thread.join()
    os.close(read)


def swap(folder: Path, events: list[bytes], size: int) -> None:
    """The time of requests while a large index replaces another.

    Another process saves it, as a Spark job would. Saving on the same machine is not part of the
    swap, so the time of requests during the save is reported separately.
    """
    other = folder.with_name("other")
    build(other, size)
    save = [sys.executable, "-c", SAVE, str(other), str(folder)]
    times: list[tuple[float, float]] = []
    versions: dict[str, float] = {}
    stop = threading.Event()
    with Served(folder) as served:

        def load() -> None:
            connection = served.connect()
            at = 0
            while not stop.is_set():
                began = time.perf_counter()
                version = json.loads(ask(connection, events[at % len(events)]))["version"]
                end = time.perf_counter()
                versions.setdefault(version, end)
                times.append((began, end - began))
                at += 1

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(5)
        begin = time.perf_counter()
        subprocess.run(save, check=True)
        saved = time.perf_counter()
        while len(versions) < 2:
            time.sleep(0.05)
        swapped = max(versions.values())
        time.sleep(2)
        stop.set()
        for thread in threads:
            thread.join()
    normal = worst([taken for began, taken in times if began < begin])
    saving = worst([taken for began, taken in times if begin <= began < saved])
    swapping = worst([taken for began, taken in times if saved <= began < swapped])
    print(f"swap of {size}: {len(times)} requests, none failed; {swapped - saved:.2f} s")
    print(f"  p99 before {normal:.2f} ms, during {swapping:.2f} ms: {swapping / normal:.2f}x")
    print(f"  while another process saved it, {saved - begin:.1f} s: {saving:.2f} ms")


def worst(times: list[float]) -> float:
    """The 99th percentile, in milliseconds."""
    return statistics.quantiles(times, n=100)[98] * 1e3


if __name__ == "__main__":
    main()
