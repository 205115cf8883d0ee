"""`tamis top` and `tamis first`: which subscriptions matter most for each event of a file?"""

from functools import partial
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from tamis._tamis import Index
from tamis.cli.answering import DEFAULT, Options, Query, answer
from tamis.cli.arguments import File

TOP_USAGE = "Usage: tamis top SUBSCRIPTIONS EVENTS [OPTIONS]"
TOP_EXAMPLES = """
Examples:

    tamis top subscriptions.jsonl events.jsonl -n 3 > best.jsonl
    tamis top subscriptions.jsonl events.csv --with event.user,metadata.owner
"""
FIRST_USAGE = "Usage: tamis first SUBSCRIPTIONS EVENTS [OPTIONS]"
FIRST_EXAMPLES = """
Examples:

    tamis first subscriptions.jsonl events.jsonl > decisions.jsonl
    tamis first subscriptions.jsonl events.jsonl -n 3 --where "stage = 'live'"
"""

_Count = Annotated[int, Parameter(alias="-n", validator=Number(gte=0))]


def top(subscriptions: File, events: File, /, *, n: _Count = 10, options: Options = DEFAULT) -> int:
    """Write, for every event, the subscriptions it matches best.

    Writes one JSON object per event, with the number of its line and its best matches, each with an
    id and a score. Expressions may have weights, and a subscription may have a `boost`. The exit
    code is 1 if an event or a subscription is invalid.

    Args:
        subscriptions: The subscriptions, as for `tamis match`.
        events: The events, as for `tamis match`.
        n: The maximum number of matches per event.
        options: The options that `match`, `top` and `first` share.
    """
    query = Query("top", "ranking", partial(Index.top_batch, n=n), is_scored=True)
    return answer(query, subscriptions, events, options)


def first(
    subscriptions: File, events: File, /, *, n: _Count = 1, options: Options = DEFAULT
) -> int:
    """Write, for every event, the matching subscriptions of the highest priority.

    A subscription may have a `priority`, an integer; the default is 0. Among equal priorities, the
    one that comes first in the file wins. Writes one JSON object per event, with the number of its
    line and the ids. The exit code is 1 if an event or a subscription is invalid.

    Args:
        subscriptions: The subscriptions, as for `tamis match`.
        events: The events, as for `tamis match`.
        n: The maximum number of matches per event.
        options: The options that `match`, `top` and `first` share.
    """
    query = Query("first", "matching", partial(Index.first_batch, n=n))
    return answer(query, subscriptions, events, options)
