"""`tamis explain`: why does an event satisfy a subscription, or not?"""

import os.path
import re
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from tamis._tamis import Explanation, Expression, Index
from tamis.batches import on_one_line
from tamis.cli.arguments import PLAIN_TABLE, FileOrText, Json, Missing, Now, Table
from tamis.cli.events import find_event
from tamis.cli.formats import format_of, is_saved
from tamis.cli.indexes import new_index, open_saved
from tamis.cli.items import name_place, read_items, refuse_renamed
from tamis.cli.output import (
    INVALID,
    VALID,
    CommandError,
    encode,
    write,
    write_json,
)
from tamis.cli.reading import Source, is_standard_input
from tamis.cli.rules.languages import From, Language, read_rules
from tamis.cli.subscriptions import read_expression
from tamis.errors import TamisError

USAGE = """Usage: tamis explain SUBSCRIPTIONS ID EVENT [OPTIONS]
       tamis explain --expression TEXT EVENT [OPTIONS]"""
EXAMPLES = """
Examples:

    tamis explain subscriptions.jsonl young-west '{"age": 30, "state": "CA"}'
    tamis explain subscriptions.jsonl young-west @event.json --json
    tamis explain saved-index/ young-west events.jsonl --line 17
    tamis explain --expression "age > 18" '{"age": 12}'
"""


def explain(
    subscriptions: FileOrText,
    id: str | None = None,
    event: FileOrText | None = None,
    /,
    *,
    line: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    expression: Annotated[str | None, Parameter(name=["--expression", "-e"])] = None,
    missing: Missing | None = None,
    now: Now = None,
    time_zone: str | None = None,
    table: Table = PLAIN_TABLE,
    language: From = None,
    as_json: Json = False,
) -> int:
    """Show which predicates of a subscription are true, false or unknown for an event.

    The exit code is 0 whether the event satisfies the subscription or not.

    Args:
        subscriptions: The subscriptions, as for `tamis match`. Not used with `--expression`.
        id: The id of one of them. Not used with `--expression`.
        event: The event: JSON, or `@` and the name of a file, or `-` for standard input. With
            `--line`, a file of events.
        line: Which event of the file to explain: the number of its line, or of its row in Parquet.
        expression: An expression to explain, instead of one from a file.
        missing: The truth of a predicate on an attribute without a value: `unknown`, the default,
            or `false`. A saved index has its own setting.
        now: The value of `now()`, such as `2026-01-02T05:00Z`; by default the current time.
        time_zone: The zone of times without an offset, such as `Europe/Paris`; UTC by default. A
            saved index has its own setting.
        table: How to read columns.
        language: Read `subscriptions` as rules of this language.
        as_json: Write the explanation as a JSON object.
    """
    given = [argument for argument in (subscriptions, id, event) if argument is not None]
    if len(given) != (3 if expression is None else 1):
        raise CommandError("explain takes SUBSCRIPTIONS ID EVENT, or --expression TEXT EVENT")
    if given[0] == given[-1] == "-" and expression is None:
        raise CommandError("subscriptions and event cannot both come from standard input")
    known: str | int = 0
    if expression is not None or language is not None or is_saved(Path(given[0])):
        refuse_renamed(Path(given[0]), table.renamed())
    if expression is not None:
        index = new_index(missing, time_zone)
        index.add(0, _read_expression(expression))
    elif language is None and is_saved(Path(given[0])):
        index = open_saved(Path(given[0]), missing, time_zone)
        known = _find_id(given[0], index, given[1])
    else:
        index = new_index(missing, time_zone)
        index.add(**_find(Path(given[0]), given[1], language, table.renamed()) | {"id": 0})
    explanation = _explain(index, known, given[-1], line, now)
    if as_json:
        write_json(explanation.to_dict())
    else:
        write(str(explanation))
    return VALID


def _find_id(name: str, index: Index, wanted: str) -> str | int:
    """Find an id in a saved index: as a string, or else as an integer."""
    if wanted in index:
        return wanted
    if re.fullmatch(r"-?[0-9]{1,19}", wanted) and int(wanted) in index:
        return int(wanted)
    raise _unknown(name, wanted, [str(id) for id in islice(index, 100_000)])


def _find(
    path: Path, wanted: str, language: Language | None, renamed: Mapping[str, str]
) -> dict[str, Any]:
    """The arguments of `Index.add` for the subscription with this string or integer id."""
    if language is not None:
        return _find_rule(path, wanted, language)
    name = "<stdin>" if is_standard_input(path) else str(path)
    as_string = as_integer = None
    ids, broken = list[str](), None
    for place, item in read_items(path, None, renamed):
        if isinstance(item, TamisError):  # may be the wanted one; reported if no other is
            broken = broken or CommandError(f"{name_place(name, place)}: {item}", INVALID)
            continue
        if item.id == wanted:
            as_string = place, item
        elif type(item.id) is int and str(item.id) == wanted:
            as_integer = place, item
        ids.append(str(item.id))
    found = as_string or as_integer
    if found is None:
        raise broken or _unknown(name, wanted, ids)
    try:
        return found[1].arguments()
    except TamisError as error:
        message = found[1].explain(error)
        raise CommandError(f"{name_place(name, found[0])}: {message}", INVALID) from error


def _find_rule(path: Path, wanted: str, language: Language) -> dict[str, Any]:
    read = read_rules(language, path)
    for subscription in read.subscriptions:
        if subscription.id == wanted:
            return {"expression": subscription.expression}
    for refused in read.refused:
        if refused.id == wanted:
            raise CommandError(str(refused), INVALID)
    raise _unknown(str(path), wanted, [subscription.id for subscription in read.subscriptions])


def _unknown(name: str, wanted: str, ids: list[str]) -> CommandError:
    close = get_close_matches(wanted, ids, 1)
    hint = f"; did you mean {encode(close[0])}?" if close else ""
    return CommandError(f"{name}: no subscription has the id {encode(wanted)}{hint}")


def _read_expression(text: str) -> Expression:
    try:
        return read_expression(text)
    except TamisError as error:
        raise CommandError(f"--expression: {error}", INVALID) from error


def _explain(
    index: Index, id: str | int, event: str, line: int | None, now: str | None
) -> Explanation:
    """Explain why a subscription of an index matches an event or does not."""
    where, document = "event", None
    text: str | bytes = event
    path = Path(event.removeprefix("@"))
    if line is not None:
        where, text = f"{path}:{line}", find_event(path, None, line)
    elif event.startswith("@") and format_of(path) == "xml":
        where, text, document = str(path), "{}", path
    elif event == "-" or event.startswith("@"):
        with Source(path) as source:
            where, text = source.name, source.read()
    elif os.path.isfile(event):  # noqa: PTH113 -- false, not an error, for a text that is not a path
        raise CommandError(
            f"{event} is a file; to read the event from it: @{event}, or with --line one of many"
        )
    try:
        return index.explain(id, text, document=document, now=now)
    except (TamisError, OSError) as error:
        message = str(error)
        if line is not None and isinstance(error, TamisError):
            message = on_one_line(error)
        elif isinstance(text, bytes) and _has_events_on_lines(text):
            message += "\nto explain one of the events on its lines: --line NUMBER"
        raise CommandError(f"{where}: {message}", INVALID) from error


def _has_events_on_lines(text: bytes) -> bool:
    """Whether a text is JSON lines, judging by its first two lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all(line.startswith(b"{") for line in lines[:2])
