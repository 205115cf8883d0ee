"""`tamis match`: which subscriptions does each event of a file satisfy?"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from tamis._tamis import Index
from tamis.cli.arguments import File, Missing
from tamis.cli.output import INVALID, VALID, CommandError, on_one_line, report, write_json
from tamis.cli.progress import progress
from tamis.cli.reading import Source, enumerate_lines, is_standard_input
from tamis.cli.subscriptions import read_records
from tamis.errors import TamisError

USAGE = "Usage: tamis match SUBSCRIPTIONS EVENTS [OPTIONS]"
EXAMPLES = """
Examples:

    tamis match subscriptions.jsonl events.jsonl.gz > matches.jsonl
    tail -f events.log | tamis match subscriptions.jsonl - --on-error skip
"""


def match(
    subscriptions: File,
    events: File,
    /,
    *,
    missing: Missing = "unknown",
    on_error: Literal["fail", "skip"] = "fail",
) -> int:
    """Write, for every event, the ids of the subscriptions it satisfies.

    Both files are JSON lines, compressed with gzip or not. For every line of events, a JSON object
    with its number and the ids, in the order of the subscriptions, is written as soon as it is
    known. The exit code is 1 when some line is invalid.

    Args:
        subscriptions: The subscriptions, `-` for standard input.
        events: The events, `-` for standard input.
        missing: What a predicate is on an attribute without a value: `unknown`, and so is its
            negation, or `false`, and its negation is true.
        on_error: What to do about an event that is invalid: `fail` stops there, `skip` reports it
            and goes on.
    """
    if is_standard_input(subscriptions) and is_standard_input(events):
        raise CommandError("subscriptions and events cannot both come from standard input")
    index = Index(missing=missing)
    with Source(subscriptions) as source:
        load(index, source)
    skipped = 0
    with Source(events) as source, progress(source, "matching", writes=True) as show:
        for first, chunk in source.chunks():
            try:
                write_json(*_match(index, first, chunk))
            except TamisError:
                skipped += _match_one_by_one(index, source.name, first, chunk, on_error)
            show()
    if skipped:
        report(f"{source.name}: {skipped} invalid, skipped")
    return INVALID if skipped else VALID


def load(index: Index, source: Source) -> None:
    """Add the subscriptions of a file to an index."""
    number = 0

    def items() -> Iterator[dict[str, Any]]:
        nonlocal number
        for number, record in read_records(source):
            if number % 1000 == 0:
                show()
            yield record.arguments()

    with progress(source, "reading", writes=False) as show:
        try:
            index.add_many(items())
        except TamisError as error:
            raise CommandError(f"{source.name}:{number}: {error.message}", INVALID) from error


def _match(index: Index, first: int, chunk: bytes) -> Iterator[dict[str, Any]]:
    """The output for a chunk of events, all of which must be valid."""
    batch = index.match_batch(chunk)
    lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
    numbers: Iterable[int] = range(first, first + lines)
    if len(batch) < lines:  # some are blank
        numbers = (number for number, _ in enumerate_lines(first, chunk))
    for number, ids in zip(numbers, batch, strict=True):
        yield {"line": number, "matches": ids}


def _match_one_by_one(
    index: Index, name: str, first: int, chunk: bytes, on_error: Literal["fail", "skip"]
) -> int:
    """Match a chunk in which some event is invalid; returns how many are."""
    invalid = 0
    for number, line in enumerate_lines(first, chunk):
        try:
            write_json({"line": number, "matches": index.match(line)})
        except TamisError as error:
            message = f"{name}:{number}: {on_one_line(error)}"
            if on_error == "fail":
                raise CommandError(message, INVALID) from error
            report(message)
            invalid += 1
    return invalid
