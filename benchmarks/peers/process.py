"""Calls engines that are not in Python: lines over the pipes of a separate process.

The first line is the number of expressions, which follow, one per line. Then every line is an
event, answered by a line of numbers. Fields are separated by tabs. An expression is written in
Polish notation, in its `normal_form`:

    & 2 ...   all of the next two        | 3 ...   any of the next three
    ? attribute operator negated absent values value ...

Texts start with `s`, numbers with `n`, and booleans are `b1` and `b0`.
"""

import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.normal import Group, Node, Scalar, normal_form, refuse

BUILD = Path(__file__).parents[2] / "build" / "peers"


class Process:
    """An engine behind a command."""

    def __init__(self, missing: str, command: Sequence[str], cwd: Path) -> None:
        self._missing = missing
        self._ids = list[str | int]()
        self._process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def add_many(self, items: Iterable[tuple[str | int, str]], /) -> None:
        """Send all, and wait until they are compiled."""
        lines = list[str]()
        for id, text in items:
            lines.append("\t".join(_write(normal_form(text, self._missing))))
            self._ids.append(id)
        answer = self._ask("\n".join([str(len(lines)), *lines]))
        if answer != "ready":
            raise refuse(answer)

    def match(self, event: bytes, /) -> Sequence[Any]:
        """The ids that an event matches."""
        fields = list[str]()
        for name, value in json.loads(event).items():
            if value is not None:
                fields += [name, _value(value)]
        return [self._ids[int(number)] for number in self._ask("\t".join(fields)).split()]

    @property
    def peak_bytes(self) -> int:
        """The peak memory of the process."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) << 10

    def cpu_ns(self) -> int:
        """The CPU time of this process and of the engine's, from its Linux clock."""
        return time.process_time_ns() + time.clock_gettime_ns(~self._process.pid << 3 | 2)

    def _ask(self, text: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{text}\n".encode())
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise refuse(f"this: the process ended with {self._process.wait()}")
        return answer.decode().rstrip("\n")

    def __del__(self) -> None:
        self._process.kill()
        self._process.communicate()


def _write(node: Node) -> list[str]:
    if isinstance(node, Group):
        head = ["&" if node.every else "|", str(len(node.members))]
        return head + [token for member in node.members for token in _write(member)]
    flags = [str(int(flag)) for flag in (node.negated, node.absent)]
    values = [_value(value) for value in node.values]
    return ["?", node.attribute, node.operator, *flags, str(len(values)), *values]


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return f"b{int(value)}"
    if isinstance(value, int | float):
        return f"n{value!r}"
    if not isinstance(value, str) or "\t" in value or "\n" in value:
        raise refuse(f"the value {value!r}")
    return f"s{value}"
