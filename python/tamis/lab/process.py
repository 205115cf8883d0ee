"""How is something measured with nothing beside it? In a process of its own, with limits."""

import json
import os
import signal
import subprocess
import sys
from typing import Any


def run(module: str, job: bytes, seconds: float) -> dict[str, Any]:
    """Call `main` of a module in a fresh process.

    Args:
        module: Its name.
        job: What stands on its standard input.
        seconds: How long it may take.

    Returns:
        What it wrote as JSON, the last line of its standard output; else a `status`, `late` or
        `failed`, and a `reason`.
    """
    command = [sys.executable, "-P", "-c", f"from {module} import main; main()"]
    try:
        done = subprocess.run(command, input=job, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "late", "reason": f"not done within {seconds:g} s"}
    try:
        outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"status": "failed", "reason": _end(done)}
    return outcome


def answer(outcome: dict[str, Any]) -> None:
    """Write what `run` returns, from within the process."""
    print("\n" + json.dumps(outcome), flush=True)


def limit_memory(limit: int) -> None:
    """Let this process have so many bytes of address space; without effect on Windows."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def half_of_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return None


def _end(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    if any(line.startswith("memory allocation of ") for line in lines):  # where Rust gives up
        return "out of memory"
    ended = f"ended with code {done.returncode}"
    if done.returncode < 0:
        ended = f"ended by {signal.Signals(-done.returncode).name}"
    return ": ".join([ended, *lines[-1:]])
