"""How do the arguments of a command become an index?

A file of subscriptions (JSON lines, CSV, Parquet), rules of another language, or a saved index.
"""

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tamis._tamis import Index
from tamis.batches import OnError
from tamis.cli.arguments import File, Missing
from tamis.cli.formats import Format, is_saved
from tamis.cli.items import Place, name_place, read_items
from tamis.cli.output import INVALID, CommandError, encode, report
from tamis.cli.progress import steps
from tamis.cli.reading import is_standard_input
from tamis.cli.rules.languages import Language, read_rules, report_refused
from tamis.errors import SubscriptionError, TamisError

if TYPE_CHECKING:
    from tamis.cli.subscriptions import Record


GO_ON = "stopped here; with --on-error skip, what is invalid is reported and the rest is matched"


def open_index(
    path: File, missing: Missing | None, language: Language | None, on_error: OnError = "raise"
) -> tuple[Index, int]:
    """An index of what a path names, and how many subscriptions it leaves out.

    Args:
        path: A file of subscriptions, `-`, rules, or the folder of a saved index.
        missing: The truth of a predicate on an attribute without a value; a saved index has its own
            setting.
        language: The language of the rules, where these are no subscriptions.
        on_error: Whether an invalid subscription ends the command, or is reported and left out.

    Raises:
        CommandError: It cannot be read, or something in it is invalid.
    """
    if language is None and is_saved(path):
        return open_saved(path, missing), 0
    index = Index(missing=missing or "unknown")
    if language is not None:
        add_rules(index, path, language)
        return index, 0
    if on_error == "raise":
        _load(index, path)
        return index, 0
    return index, len(add_valid(index, path))


def open_saved(path: File, missing: Missing | None) -> Index:
    """A saved index.

    Raises:
        CommandError: It cannot be opened, or answers `missing` in another way.
    """
    try:
        index = Index.open(path)
    except TamisError as error:
        raise CommandError(str(error)) from error
    if missing not in (None, index.missing):
        raise CommandError(
            f'{path} was saved with missing="{index.missing}", which --missing cannot change'
        )
    return index


def _load(index: Index, path: File) -> None:
    """Add the subscriptions of a file to an index, or none of them."""
    name = "<stdin>" if is_standard_input(path) else str(path)
    place: Place = {}
    record: Record | None = None

    def items() -> Iterator[dict[str, Any]]:
        nonlocal place, record
        for where, item in read_items(path):
            place, record = where, None
            if isinstance(item, TamisError):
                raise item
            record = item
            yield item.arguments()

    try:
        index.add_many(items())
    except TamisError as error:
        message = error.message if record is None else record.explain(error)
        message = f"{name_place(name, place)}: {message}\n{GO_ON}"
        raise CommandError(message, INVALID) from error


def add_valid(index: Index, path: File, format: Format | None = None) -> list[dict[str, Any]]:
    """Add the valid subscriptions of a file to an index, and report the others.

    Args:
        index: The index.
        path: The file, or `-`.
        format: Its format; by default the one its name says, or JSON lines.

    Returns:
        What was refused: the line or row of each, its id and what is wrong with it.

    Raises:
        CommandError: The file cannot be read.
    """
    name = "<stdin>" if is_standard_input(path) else str(path)
    numbers, key = array("q"), "line"
    ids: dict[int, Any] = {}

    def items() -> Iterator[Any]:  # an error is refused as itself
        nonlocal key
        for place, item in read_items(path, format):
            ((key, number),) = place.items()
            given: Any = item
            if not isinstance(item, TamisError):
                given = _arguments(item)
                if isinstance(given, TamisError):
                    ids[len(numbers)] = item.id
            numbers.append(number)
            yield given

    with steps("compiling", at_once=False) as show:
        loaded = index.add_many(items(), on_error="collect", progress=show)
    refused = list[dict[str, Any]]()
    for each in loaded.refused:
        place = {key: numbers[each.row]}
        report(f"{name_place(name, place)}: {each.message}")
        id = ids.get(each.row, each.id)
        refused.append({**place, "id": id, "message": each.message})
    if refused:
        report(f"{name}: {len(refused)} invalid, skipped")
    return refused


def add_rules(index: Index, path: File, language: Language) -> list[dict[str, Any]]:
    """Add rules of another language to an index, and report those that are refused.

    Returns:
        What was refused: the file and line of each rule, its id and why.
    """
    read = read_rules(language, path)
    report_refused(read)
    with steps("compiling", at_once=False) as show:
        loaded = index.add_many(read.subscriptions, on_error="collect", progress=show)
    refused = [
        {"file": rule.file, "line": rule.line, "id": rule.id, "message": rule.reason}
        for rule in read.refused
    ]
    for each in loaded.refused:
        report(f"{path}: id {encode(each.id)}: {each.message}")
        refused.append({"id": each.id, "message": each.message})
    return refused


def _arguments(record: "Record") -> dict[str, Any] | TamisError:
    """The arguments of `Index.add` for a subscription, or what is wrong with it."""
    try:
        return record.arguments()
    except TamisError as error:
        return SubscriptionError(record.explain(error))
