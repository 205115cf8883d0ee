"""A server in a separate process, which can be killed."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Process:
    """A running `tamis serve`."""

    def __init__(self, folder: Path | str, *options: str) -> None:
        command = [sys.executable, "-m", "tamis", "serve", str(folder), "--port", "0", *options]
        self._process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self.pid = self._process.pid
        assert self._process.stderr is not None
        self._errors = self._process.stderr
        for line in self._errors:
            self.log.append(line)
            if '"serving"' in line:
                self.url: str = json.loads(line)["url"]
                break
        else:
            raise AssertionError("".join(self.log))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        self.log.extend(self._errors)

    def kill(self) -> None:
        """Kill it, without a chance to clean up."""
        self._process.kill()
        self._end()

    def stop(self) -> int:
        """Stop it; returns its exit code."""
        self._process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self._process.wait(60)
        self._reader.join(60)
        self._errors.close()
        return code


@contextmanager
def process(folder: Path | str, *options: str) -> Iterator[Process]:
    """A server that is killed afterwards, if it is still running."""
    server = Process(folder, *options)
    try:
        yield server
    finally:
        server.kill()
