"""Measures one cell. Runs in a process of its own; the cell comes as JSON on standard input."""

import json
import sys
from typing import Any

from tamis import _tamis
from tamis.lab import foreign
from tamis.lab.measurable import is_foreign
from tamis.lab.process import answer, limit_memory


def main() -> None:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    limit_memory(job["memory_limit"])
    try:
        outcome = {"status": "measured", **measure(job["spec"])}
    except MemoryError:
        outcome = {"status": "failed", "reason": "out of memory"}
    except ValueError as error:
        outcome = {"status": "refused", "reason": str(error)}
    except Exception as error:  # of a matcher that is not ours
        outcome = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    answer(outcome)


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """The figures of one matcher on one workload."""
    if is_foreign(spec["matcher"]):
        return foreign.measure(spec)
    found: dict[str, Any] = json.loads(_tamis.measure(json.dumps(spec)))
    return found
