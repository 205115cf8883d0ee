"""`tamis first`: which subscriptions of the highest priorities does each event match?"""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from tamis.batches import OnError
from tamis.cli.answering import Question, answer
from tamis.cli.arguments import File, Missing, Now, Where
from tamis.cli.rules.languages import From

USAGE = "Usage: tamis first SUBSCRIPTIONS EVENTS [OPTIONS]"
EXAMPLES = """
Examples:

    tamis first subscriptions.jsonl events.jsonl > decisions.jsonl
    tamis first subscriptions.jsonl events.jsonl -n 3 --where "stage = 'live'"
"""


def first(
    subscriptions: File,
    events: File,
    /,
    *,
    n: Annotated[int, Parameter(alias="-n", validator=Number(gte=0))] = 1,
    where: Where = None,
    missing: Missing = "unknown",
    now: Now = None,
    on_error: OnError = "raise",
    language: From = None,
) -> int:
    """Write, for every event, the subscriptions of the highest priorities that it satisfies.

    Both files are JSON lines, compressed with gzip or not. A subscription may have a `priority`, an
    integer that is 0 by default; of equal priorities the one that stands first comes first. For
    every line of events, a JSON object with its number and the ids is written as soon as it is
    known. The exit code is 1 when some line is invalid.

    Args:
        subscriptions: The subscriptions, `-` for standard input.
        events: The events, `-` for standard input.
        n: How many matches of an event are written at most.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it are looked for.
        missing: What a predicate is on an attribute without a value: `unknown`, and so is its
            negation, or `false`, and its negation is true.
        now: The moment that `now()` is, such as `2026-01-02T05:00Z`; by default the clock's when
            events are read.
        on_error: What to do about an event that is invalid: `raise` stops there, `skip` reports it
            and goes on, `collect` writes an object with `error` in its place and goes on.
        language: The language of the rules that `subscriptions` names, a file or a folder, where
            they are not subscriptions as JSON lines.
    """
    question = Question[list[str | int]](
        doing="matching",
        many=lambda index, chunk: index.first_batch(
            chunk, n, where=where, on_error="collect", now=now
        ),
        describe=lambda ids: {"first": ids},
    )
    return answer(question, subscriptions, events, missing, on_error, language)
