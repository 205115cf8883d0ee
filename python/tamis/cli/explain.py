"""`tamis explain`: why does an event satisfy a subscription, or not?"""

import os.path
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tamis._tamis import Explanation, Expression, Index
from tamis.cli.arguments import FileOrText, Json, Missing, Now
from tamis.cli.output import INVALID, VALID, CommandError, encode, write, write_json
from tamis.cli.reading import Source
from tamis.cli.rules.languages import From, Language, read_rules
from tamis.cli.subscriptions import read_expression, read_records
from tamis.errors import TamisError

USAGE = """Usage: tamis explain SUBSCRIPTIONS ID EVENT [OPTIONS]
       tamis explain --expression TEXT EVENT [OPTIONS]"""
EXAMPLES = """
Examples:

    tamis explain subscriptions.jsonl young-west '{"age": 30, "state": "CA"}'
    tamis explain subscriptions.jsonl young-west @event.json --json
    tamis explain --expression "age > 18" '{"age": 12}'
"""


def explain(
    subscriptions: FileOrText,
    id: str | None = None,
    event: FileOrText | None = None,
    /,
    *,
    expression: Annotated[str | None, Parameter(name=["--expression", "-e"])] = None,
    missing: Missing = "unknown",
    now: Now = None,
    language: From = None,
    as_json: Json = False,
) -> int:
    """Say which predicates of a subscription held, failed or were unknown for an event.

    The exit code is 0 whether the event satisfies the subscription or not.

    Args:
        subscriptions: The subscriptions as JSON lines, `-` for standard input. Left out with
            `--expression`.
        id: The id of one of them. Left out with `--expression`.
        event: The event: JSON, or `@` and the name of a file, or `-` for standard input.
        expression: An expression to explain, instead of one from a file.
        missing: What a predicate is on an attribute without a value.
        now: The moment that `now()` is, such as `2026-01-02T05:00Z`; by default the clock's.
        language: The language of the rules that `subscriptions` names, where they are not
            subscriptions as JSON lines.
        as_json: Write the explanation as a JSON object.
    """
    given = [argument for argument in (subscriptions, id, event) if argument is not None]
    if len(given) != (3 if expression is None else 1):
        raise CommandError("explain takes SUBSCRIPTIONS ID EVENT, or --expression TEXT EVENT")
    if given[0] == given[-1] == "-" and expression is None:
        raise CommandError("subscriptions and event cannot both come from standard input")
    index = Index(missing=missing)
    if expression is None:
        index.add(0, _find(Path(given[0]), given[1], language))
    else:
        index.add(0, _read_expression(expression))
    explanation = _explain(index, given[-1], now)
    if as_json:
        write_json(explanation.to_dict())
    else:
        write(str(explanation))
    return VALID


def _find(path: Path, wanted: str, language: Language | None) -> Expression:
    """The expression of a subscription; the id is that string or else that integer."""
    if language is not None:
        return _find_rule(path, wanted, language)
    as_string = as_integer = None
    ids = list[str]()
    with Source(path) as source:
        for number, record in read_records(source):
            if record.id == wanted:
                as_string = number, record
            elif type(record.id) is int and str(record.id) == wanted:
                as_integer = number, record
            ids.append(str(record.id))
    found = as_string or as_integer
    if found is None:
        raise _unknown(source.name, wanted, ids)
    try:
        return found[1].expression()
    except TamisError as error:
        raise CommandError(f"{source.name}:{found[0]}: {error}", INVALID) from error


def _find_rule(path: Path, wanted: str, language: Language) -> Expression:
    read = read_rules(language, path)
    for subscription in read.subscriptions:
        if subscription.id == wanted:
            return subscription.expression
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


def _explain(index: Index, event: str, now: str | None) -> Explanation:
    """Why the one subscription of an index matches an event or not."""
    where = "event"
    text: str | bytes = event
    if event == "-" or event.startswith("@"):
        with Source(Path(event.removeprefix("@"))) as source:
            where, text = source.name, source.read()
    elif os.path.isfile(event):  # noqa: PTH113 -- false, not an error, where it is no path
        raise CommandError(f"{event} is a file; to read the event from it: @{event}")
    try:
        return index.explain(0, text, now=now)
    except TamisError as error:
        raise CommandError(f"{where}: {error}", INVALID) from error
