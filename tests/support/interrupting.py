"""Tests Ctrl-C in a separate process."""

import signal
import subprocess
import sys
import time

import pytest

interrupts = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent there")

# Sets up an index whose matches an interrupted call must not change.
INDEX = """
index = tamis.Index()
index.add("kept", "a = 1")

def answers():
    return list(index), index.match({"a": 1})

"""


def interrupt(setup: str, call: str, *, timeout: float = 30) -> None:
    """Start a long call, interrupt it, and check that it ends soon and changes nothing.

    `setup` defines `answers`, which is called before the call and after the interrupt.
    """
    script = f"""
import itertools, json, signal, tamis

signal.signal(signal.SIGINT, signal.default_int_handler)
{setup}
before = answers()
print("ready", flush=True)
try:
    {call}
    print("not interrupted")
except KeyboardInterrupt:
    print("as before" if answers() == before else "changed")
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
    assert (output, process.returncode) == ("as before\n", 0)
