"""`tamis lab compare`: which matcher is fastest on your data?"""

import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tamis import lab
from tamis.batches import on_one_line
from tamis.cli.arguments import File, Json, Missing
from tamis.cli.lab.files import read_events, read_subscriptions
from tamis.cli.lab.table import table
from tamis.cli.output import (
    INVALID,
    VALID,
    CommandError,
    report,
    write,
    write_json,
)
from tamis.cli.reading import is_standard_input
from tamis.cli.rules.languages import From
from tamis.errors import DocumentError, EventError, SubscriptionError

USAGE = "Usage: tamis lab compare SUBSCRIPTIONS EVENTS [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab compare subscriptions.jsonl events.jsonl
    tamis lab compare rules.csv customers.csv --text zip
    tamis lab compare data/subscriptions.parquet data/events.parquet --matchers compiled kindex
"""

Matchers = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]


def compare(
    subscriptions: File,
    events: File,
    /,
    *,
    matchers: Matchers = None,
    missing: Missing = "unknown",
    language: From = None,
    text: tuple[str, ...] = (),
    number: Annotated[int, Parameter(name="--events")] = 1000,
    time_limit: float = 60.0,
    memory_limit: int | None = None,
    sample: int = 100,
    seed: int = 0,
    record: Path | None = None,
    json: Json = False,
) -> int:
    """Measure every matcher on the same data and recommend one.

    Each matcher runs in its own process. Its matches on a sample of the events are first compared
    with those of `scan`; a matcher with other matches is reported without a time.

    Args:
        subscriptions: JSON lines, CSV or Parquet as for `tamis match`; to compare XML filters, JSON
            lines or Parquet with `id` and `xpath`.
        events: JSON lines, CSV or Parquet as for `tamis match`, or Parquet with the events' JSON in
            a column `event`; XML documents in `document`.
        matchers: The matchers to compare, all by default; `module:factory` names an external one.
        missing: The truth of a predicate on an attribute without a value.
        language: The language of the rules that `subscriptions` names, if they are not
            subscriptions.
        text: Columns of a CSV file to read as text, even if a cell looks like a number.
        number: The number of events to use, from the start of the file.
        time_limit: Seconds for each matcher, including building.
        memory_limit: MiB for each matcher; half of the machine's memory by default.
        sample: The number of events whose matches are compared.
        seed: The seed that selects these events.
        record: A folder in which to store the figures, with versions and machine.
        json: Write JSON lines: one per matcher, then the recommendation.
    """
    if number < 1 or (memory_limit is not None and memory_limit < 1):
        raise CommandError("--events and --memory-limit must be above 0")
    if is_standard_input(subscriptions) and is_standard_input(events):
        raise CommandError("subscriptions and events cannot both come from standard input")
    family, pairs = read_subscriptions(subscriptions, language)
    lines = list(islice(read_events(events, family, text), number))
    try:
        found = lab.compare(
            pairs,
            [text for _, text in lines],
            family=family,
            matchers=matchers,
            missing=missing,
            time_limit=time_limit,
            memory_limit=None if memory_limit is None else memory_limit << 20,
            sample=sample,
            seed=seed,
            show=_show,
        )
    except (EventError, DocumentError) as error:
        where = f"{events}:{lines[error.item or 0][0]}"
        raise CommandError(f"{where}: {on_one_line(error)}", INVALID) from error
    except SubscriptionError as error:
        raise CommandError(f"{subscriptions}: {error.message}", INVALID) from error
    except ValueError as error:
        raise CommandError(str(error)) from error
    kept = None if record is None else lab.record(found, record)
    if json:
        write_json(*map(asdict, found.measurements))
        write_json({"recommended": found.recommended, **found.settings})
        return VALID
    write(table(found))
    write(f"\n{found.recommendation}")
    if kept is not None:
        write(f"recorded in {kept}")
    return VALID


def _show(matcher: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        report(f"measuring {matcher} ...")
