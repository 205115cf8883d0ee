"""`tamis match`: which subscriptions does each event of a file satisfy?"""

from functools import partial

from tamis._tamis import Index
from tamis.cli.answering import DEFAULT, Options, Query, answer
from tamis.cli.answering import count as count_matches
from tamis.cli.arguments import File

USAGE = "Usage: tamis match SUBSCRIPTIONS EVENTS [OPTIONS]"
EXAMPLES = """
Examples:

    tamis match subscriptions.jsonl events.jsonl.gz > matches.jsonl
    tamis match saved-index/ events.parquet --with event,metadata --only-matched
    tail -f events.log | tamis match subscriptions.jsonl - --on-error skip
    tamis match subscriptions.csv events.csv --where "tenant = 'a'" --count
"""


def match(
    subscriptions: File,
    events: File,
    /,
    *,
    count: bool = False,
    options: Options = DEFAULT,
) -> int:
    """Write, for every event, the ids of the subscriptions it satisfies.

    Writes one JSON object per event, with the number of its line and the ids, in the order of the
    subscriptions. Each is written as soon as it is known. The exit code is 1 if an event or a
    subscription is invalid.

    Args:
        subscriptions: The subscriptions: JSON lines, CSV, Parquet, the folder of a saved index, or
            `-` for JSON lines from standard input.
        events: The events: JSON lines, CSV, Parquet, an XML document or a folder of documents, or
            `-` for standard input.
        count: Write one object per subscription that matches instead, with its number of events.
        options: The options that `match`, `top` and `first` share.
    """
    if count:
        ask = partial(Index.match_batch, count=True)
        return count_matches(ask, subscriptions, events, options)
    query = Query("matches", "matching", Index.match_batch)
    return answer(query, subscriptions, events, options)
