"""Opens an index from the arguments of a command.

The source is a file of subscriptions (JSON lines, CSV, Parquet), rules of another language, or a
saved index.
"""

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis._tamis import Index
from tamis.batches import OnError
from tamis.cli.arguments import File, Missing
from tamis.cli.formats import Format, is_saved
from tamis.cli.items import Place, name_place, read_items, refuse_renamed
from tamis.cli.output import INVALID, CommandError, encode, report
from tamis.cli.progress import steps
from tamis.cli.reading import is_standard_input
from tamis.cli.rules.languages import Language, read_rules, report_refused
from tamis.errors import SubscriptionError, TamisError

if TYPE_CHECKING:
    from tamis.cli.subscriptions import WrittenSubscription


GO_ON = "stopped here; --on-error skip reports invalid subscriptions and continues with the others"


def open_index(
    path: File,
    missing: Missing | None,
    language: Language | None,
    on_error: OnError = "raise",
    renamed: Mapping[str, str] | None = None,
    time_zone: str | None = None,
) -> tuple[Index, int]:
    """Open an index from a path; also returns the number of subscriptions left out.

    Args:
        path: A file of subscriptions, `-`, rules, or the folder of a saved index.
        missing: The truth of a predicate on an attribute without a value; a saved index has its own
            setting.
        language: The language of the rules, if these are not subscriptions.
        on_error: Whether an invalid subscription ends the command, or is reported and left out.
        renamed: The names of a table's columns, mapped to the arguments that they hold.
        time_zone: The zone of times without an offset; a saved index has its own.

    Raises:
        CommandError: The path cannot be read, or its content is invalid.
    """
    if language is not None or is_saved(path):
        refuse_renamed(path, renamed)
    if language is None and is_saved(path):
        return open_saved(path, missing, time_zone), 0
    index = new_index(missing, time_zone)
    if language is not None:
        add_rules(index, path, language)
        return index, 0
    if on_error == "raise":
        _load(index, path, renamed)
        return index, 0
    return index, len(add_valid(index, path, renamed=renamed))


def new_index(missing: Missing | None, time_zone: str | None) -> Index:
    """Create an empty index.

    Raises:
        CommandError: The time zone is unknown.
    """
    try:
        return Index(missing=missing or "unknown", time_zone=time_zone or "UTC")
    except (TamisError, ValueError) as error:
        raise CommandError(str(error)) from error


def open_saved(path: File, missing: Missing | None, time_zone: str | None = None) -> Index:
    """Open a saved index.

    Raises:
        CommandError: It cannot be opened, or has another `missing` or time zone.
    """
    try:
        index = Index.open(path)
    except TamisError as error:
        raise CommandError(str(error)) from error
    if missing not in (None, index.missing):
        raise CommandError(
            f'{path} was saved with missing="{index.missing}", which --missing cannot change'
        )
    if time_zone not in (None, index.time_zone):
        raise CommandError(
            f'{path} was saved with time_zone="{index.time_zone}", which --time-zone cannot change'
        )
    folder = path if path.is_dir() else path.parent
    if has_unfolded_changes(folder):
        report(
            f"{folder}: changes that `tamis serve --own` accepted are not in this index yet; the "
            "server saves them when it stops, and after a kill when it was started and stopped "
            "once more"
        )
    return index


def has_unfolded_changes(folder: Path) -> bool:
    """Whether a server left changes in the log of a folder; a save there is refused."""
    return any(log.stat().st_size > 0 for log in (folder / "changes").glob("changes-*.log"))


def _load(index: Index, path: File, renamed: Mapping[str, str] | None) -> None:
    """Add the subscriptions of a file to an index, or none of them."""
    name = "<stdin>" if is_standard_input(path) else str(path)
    place: Place = {}
    subscription: WrittenSubscription | None = None

    def items() -> Iterator[dict[str, Any]]:
        nonlocal place, subscription
        for where, item in read_items(path, None, renamed):
            place, subscription = where, None
            if isinstance(item, TamisError):
                raise item
            subscription = item
            yield item.arguments()

    try:
        index.add_many(items())
    except TamisError as error:
        message = error.message
        if subscription is not None:
            message = f"id {encode(subscription.id)}: {subscription.explain(error)}"
        message = f"{name_place(name, place)}: {message}\n{GO_ON}"
        raise CommandError(message, INVALID) from error


def add_valid(
    index: Index,
    path: File,
    format: Format | None = None,
    renamed: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Add the valid subscriptions of a file to an index, and report the others.

    Args:
        index: The index.
        path: The file, or `-`.
        format: Its format; by default the one its name implies, or JSON lines.
        renamed: The names of a table's columns, mapped to the arguments that they hold.

    Returns:
        The refused subscriptions: line or row, id and error of each.

    Raises:
        CommandError: The file cannot be read.
    """
    name = "<stdin>" if is_standard_input(path) else str(path)
    numbers, key = array("q"), "line"
    ids: dict[int, Any] = {}

    def items() -> Iterator[Any]:  # an error is refused with its own message
        nonlocal key
        for place, item in read_items(path, format, renamed):
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
        id = ids.get(each.row, each.id)
        named = "" if id is None else f"id {encode(id)}: "
        report(f"{name_place(name, place)}: {named}{each.message}")
        refused.append({**place, "id": id, "message": each.message})
    if refused:
        report(f"{name}: {len(refused)} invalid, skipped")
    return refused


def add_rules(index: Index, path: File, language: Language) -> list[dict[str, Any]]:
    """Add rules of another language to an index, and report those that are refused.

    Returns:
        The refused rules: file, line, id and reason of each.
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


def _arguments(subscription: "WrittenSubscription") -> dict[str, Any] | TamisError:
    """The arguments of `Index.add` for a subscription, or its error."""
    try:
        return subscription.arguments()
    except TamisError as error:
        return SubscriptionError(subscription.explain(error))
