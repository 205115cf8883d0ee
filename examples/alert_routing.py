"""Alert routing: every JSON log line goes to the teams whose routes it satisfies.

Routes come from a file that teams edit, so one bad route must not stop the others, and a bad log
line must not stop the stream. `check` compares the routes with a sample of logs before they go
live: it finds names that no log line has.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import tamis

FOLDER = Path(__file__).resolve().parent / "alerts"


def route(index: tamis.Index, lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Yield a pair of recipient and line for every route that a line satisfies."""
    batch = list(lines)
    matches, refused = index.match_batch(batch, on_error="collect")
    for line, ids in zip(batch, matches, strict=True):
        for id in ids:
            yield index[id].metadata["to"], line.decode()
    for bad in refused:
        yield "chat:platform", f"line {bad.row + 1} is not an event: {bad.message}"


def main() -> None:
    index, loaded = tamis.Index.from_csv(FOLDER / "routes.csv", on_error="collect")
    for refused in loaded.refused:
        print(f"refused {refused.id}: {refused.message.splitlines()[0]}")
    lines = (FOLDER / "logs.jsonl").read_bytes().splitlines()
    for finding in index.check(lines):
        print(f"check ({finding.kind}): {finding.message}")
    for recipient, text in route(index, lines):
        print(f"{recipient:15} {text[:76]}")
    print(index.explain("slow-api", json.loads(lines[-1])))


if __name__ == "__main__":
    main()
