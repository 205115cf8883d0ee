"""`tamis top`: which subscriptions does each event of a file match best?"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tamis._tamis import Index
from tamis.cli.arguments import File, Missing
from tamis.cli.match import load
from tamis.cli.output import INVALID, VALID, CommandError, on_one_line, report, write_json
from tamis.cli.progress import progress
from tamis.cli.reading import Source, enumerate_lines, is_standard_input
from tamis.errors import TamisError
from tamis.ranking import Match

USAGE = "Usage: tamis top SUBSCRIPTIONS EVENTS [OPTIONS]"
EXAMPLES = """
Examples:

    tamis top subscriptions.jsonl events.jsonl -n 3 > best.jsonl
"""


def top(
    subscriptions: File,
    events: File,
    /,
    *,
    n: Annotated[int, Parameter(alias="-n", validator=Number(gte=0))] = 10,
    missing: Missing = "unknown",
    on_error: Literal["fail", "skip"] = "fail",
) -> int:
    """Write, for every event, the subscriptions it matches best.

    Both files are JSON lines, compressed with gzip or not. For every line of events, a JSON object
    with its number and the best matches, each an id and a score, is written as soon as it is known.
    Weights stand in the expressions, and a subscription may have a `boost`. The exit code is 1 when
    some line is invalid.

    Args:
        subscriptions: The subscriptions, `-` for standard input.
        events: The events, `-` for standard input.
        n: How many matches of an event are written at most.
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
    with Source(events) as source, progress(source, "ranking", writes=True) as show:
        for first, chunk in source.chunks():
            try:
                numbers = (number for number, _ in enumerate_lines(first, chunk))
                write_json(*_describe(numbers, index.top_batch(chunk, n)))
            except TamisError:
                skipped += _rank_one_by_one(index, n, source.name, first, chunk, on_error)
            show()
    if skipped:
        report(f"{source.name}: {skipped} invalid, skipped")
    return INVALID if skipped else VALID


def _describe(numbers: Iterable[int], rankings: Iterable[list[Match]]) -> Iterator[dict[str, Any]]:
    for number, ranking in zip(numbers, rankings, strict=True):
        yield {"line": number, "top": [match._asdict() for match in ranking]}


def _rank_one_by_one(
    index: Index,
    n: int,
    name: str,
    first: int,
    chunk: bytes,
    on_error: Literal["fail", "skip"],
) -> int:
    """Rank a chunk in which some event is invalid; returns how many are."""
    invalid = 0
    for number, line in enumerate_lines(first, chunk):
        try:
            write_json(*_describe([number], [index.top(line, n)]))
        except TamisError as error:
            message = f"{name}:{number}: {on_one_line(error)}"
            if on_error == "fail":
                raise CommandError(message, INVALID) from error
            report(message)
            invalid += 1
    return invalid
