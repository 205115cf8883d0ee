"""`tamis match`: which subscriptions does each event of a file satisfy?"""

from tamis.batches import OnError
from tamis.cli.answering import Question, answer
from tamis.cli.answering import count as count_matches
from tamis.cli.arguments import File, Missing, Now, Where
from tamis.cli.rules.languages import From

USAGE = "Usage: tamis match SUBSCRIPTIONS EVENTS [OPTIONS]"
EXAMPLES = """
Examples:

    tamis match subscriptions.jsonl events.jsonl.gz > matches.jsonl
    tail -f events.log | tamis match subscriptions.jsonl - --on-error skip
    tamis match subscriptions.jsonl events.jsonl --where "tenant = 'a'" --count
"""


def match(
    subscriptions: File,
    events: File,
    /,
    *,
    where: Where = None,
    count: bool = False,
    missing: Missing = "unknown",
    now: Now = None,
    on_error: OnError = "raise",
    language: From = None,
) -> int:
    """Write, for every event, the ids of the subscriptions it satisfies.

    Both files are JSON lines, compressed with gzip or not. For every line of events, a JSON object
    with its number and the ids, in the order of the subscriptions, is written as soon as it is
    known. The exit code is 1 when some line is invalid.

    Args:
        subscriptions: The subscriptions, `-` for standard input.
        events: The events, `-` for standard input.
        where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those that
            satisfy it are looked for.
        count: Write, instead, one object per subscription that matches, with the number of events,
            in the order of the subscriptions.
        missing: What a predicate is on an attribute without a value: `unknown`, and so is its
            negation, or `false`, and its negation is true.
        now: The moment that `now()` is, such as `2026-01-02T05:00Z`; by default the clock's when
            events are read.
        on_error: What to do about an event that is invalid: `raise` stops there, `skip` reports it
            and goes on, `collect` writes an object with `error` in its place and goes on.
        language: The language of the rules that `subscriptions` names, a file or a folder, where
            they are not subscriptions as JSON lines.
    """
    if count:
        return count_matches(
            lambda index, chunk: index.match_batch(
                chunk, where=where, count=True, on_error="collect", now=now
            ),
            subscriptions,
            events,
            missing,
            on_error,
            language,
        )
    question = Question[list[str | int]](
        doing="matching",
        many=lambda index, chunk: index.match_batch(
            chunk, where=where, on_error="collect", now=now
        ),
        describe=lambda ids: {"matches": ids},
    )
    return answer(question, subscriptions, events, missing, on_error, language)
