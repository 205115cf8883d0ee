"""Runs the command line in this process, for tests."""

import io
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tamis.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Result]


def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command with these arguments and this standard input."""

    def call(*arguments: str, stdin: str | bytes = b"") -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        buffer = io.BufferedReader(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
        code = main(arguments)
        written = capsys.readouterr()
        assert "Traceback" not in written.err
        return Result(code, written.out, written.err)

    return call
