"""A real server in this process, on a free port, for the tests of `tamis serve`."""

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from tamis.serve import Service, Settings, create
from tamis.serve.logs import Log
from tamis.serve.running import Server, listen

PATIENCE = 60.0  # seconds to wait before a test fails


@dataclass
class Running:
    """A running server."""

    url: str
    service: Service
    log: io.StringIO = field(default_factory=io.StringIO)

    def client(self, **options: Any) -> httpx.Client:
        # Without certificates: reading them takes longer than most tests.
        return httpx.Client(base_url=self.url, timeout=PATIENCE, verify=False, **options)

    def lines(self, happening: str) -> list[dict[str, Any]]:
        read = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in read if line["happening"] == happening]


@contextmanager
def running(folder: Path | str, settings: Settings | None = None) -> Iterator[Running]:
    """A server for a folder; stopped gracefully afterwards."""
    settings = replace(settings or Settings(poll=0.05), port=0)
    log = io.StringIO()
    with closing(listen(settings.host, 0)) as listener:
        service = create(folder, settings, Log(log))
        server = Server(service, listener)
        thread = threading.Thread(target=server.serve_until_told)
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            yield Running(server.url, service, log)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
        assert not thread.is_alive()


def wait_until(happened: Any) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
