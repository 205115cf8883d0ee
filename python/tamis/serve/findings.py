"""Finds subscriptions that may be mistakes: equal, constant, or never matching.

Checks as many as its time limit allows, and reports how many.
"""

import time
from typing import Any

from tamis._tamis import Filter, Hits
from tamis.serve.held import Held

_SECONDS = 1.0
_MOST = 200  # findings
_CONSTANTS = {"true": "always matches", "false": "never matches"}


def find(held: Held, hits: Hits, events: int) -> dict[str, Any]:
    """Findings about the served subscriptions.

    Args:
        held: The served version.
        hits: The number of matches by id.
        events: The number of events.
    """
    end = time.monotonic() + _SECONDS
    findings: list[dict[str, Any]] = []
    seen: dict[str, str | int] = {}
    examined = 0
    what = "xpath" if isinstance(held.engine, Filter) else "expression"
    for id in held.engine:
        if time.monotonic() > end or len(findings) >= _MOST:
            break
        try:
            text = held.describe(id)[what]
        except KeyError:  # removed meanwhile
            continue
        examined += 1
        if text is None:  # a node without an expression
            continue
        if text in _CONSTANTS:
            findings.append({"id": id, "kind": "constant", "message": _CONSTANTS[text]})
        elif seen.setdefault(text, id) != id and held.kind != "graph":
            message = f"has the same expression as {seen[text]!r}"
            findings.append({"id": id, "kind": "duplicate", "message": message})
        if events and held.kind != "graph" and not hits.get(id):
            message = f"matched none of {events} events since the server started"
            findings.append({"id": id, "kind": "silent", "message": message})
    return {
        "findings": findings,
        "examined": examined,
        "total": len(held.engine),
        "version": held.version,
    }
