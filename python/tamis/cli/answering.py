"""The common part of `match`, `top` and `first`: answers for every event of a file."""

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from tamis._tamis import Index
from tamis.batches import OnError, on_one_line
from tamis.checking import member_names
from tamis.cli.arguments import PLAIN_TABLE, File, Missing, Now, Table, Where, split
from tamis.cli.events import Batch, EventFormat, pick, pick_from_text, read_batches
from tamis.cli.indexes import GO_ON, open_index
from tamis.cli.output import (
    INVALID,
    VALID,
    CommandError,
    encode,
    report,
    write_json,
    write_lines,
)
from tamis.cli.reading import is_standard_input
from tamis.cli.rules.languages import From
from tamis.errors import MetadataWarning

_SHOWN = ("event", "metadata")
_LOOKED_AT = 10_000  # subscriptions searched for the names in `--with`


def _check_shown(_: object, shown: tuple[str, ...]) -> None:
    for name in split(shown):
        if name not in _SHOWN and not name.startswith(("event.", "metadata.")):
            close = get_close_matches(name, _SHOWN, 1)
            raise ValueError(
                f"{name!r} is neither `event`, `metadata`, nor one of their members: "
                + (
                    f"did you mean `{close[0]}`?"
                    if close
                    else f"write event.{name} or metadata.{name}"
                )
            )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `match`, `top` and `first`.

    Attributes:
        where: Match only subscriptions whose metadata satisfies this expression, such as
            `tenant = 'a'`.
        shown: What else to write, separated by commas: `event`, `metadata` of the subscriptions, or
            members of either, such as `event.age` or `metadata.owner`.
        only_matched: Leave out events that match nothing.
        missing: The truth of a predicate on an attribute without a value: `unknown` (its negation
            is unknown, too) or `false` (its negation is true). The default is `unknown`; a saved
            index has its own setting.
        now: The value of `now()`, such as `2026-01-02T05:00Z`; by default the current time.
        on_error: What to do with an invalid event or subscription: `raise` stops there; `skip`
            reports it and continues without it; `collect` does the same, but writes an object with
            `error` in place of an invalid event.
        format: The format of the events. By default, the name of the file decides: `.csv`,
            `.parquet` or `.xml`; everything else is JSON lines.
        text: Columns of a CSV file to read as text, even if a cell looks like a number.
        time_zone: The zone of times without an offset, such as `Europe/Paris`; UTC by default. A
            saved index has its own setting.
        table: How to read columns of subscriptions.
        language: Read `subscriptions`, a file or a folder, as rules of this language.
    """

    where: Where = None
    shown: Annotated[tuple[str, ...], Parameter(name="--with", validator=_check_shown)] = ()
    only_matched: bool = False
    missing: Missing | None = None
    now: Now = None
    on_error: OnError = "raise"
    format: EventFormat | None = None
    text: tuple[str, ...] = ()
    time_zone: str | None = None
    table: Table = PLAIN_TABLE
    language: From = None


DEFAULT = Options()


Ask: TypeAlias = Callable[..., Any]
"""A batch method of an index: takes the index, events, and options, with `on_error="collect"`."""


@dataclass(frozen=True)
class Query:
    """The query to run for every event.

    Attributes:
        key: The key of the results in the output.
        doing: The text of the progress bar.
        ask: Returns the results for a batch of events, and the events that cannot be read.
        is_scored: Whether a result is a list of `Match` instead of ids.
    """

    key: str
    doing: str
    ask: Ask
    is_scored: bool = False


def answer(query: Query, subscriptions: File, events: File, options: Options) -> int:
    """Write the results for all events; returns the exit code."""
    index, left_out = _open(subscriptions, events, options)
    writer = _Writer(query, index, options)
    invalid = 0
    for batch in read_batches(events, options.format, options.text, query.doing, writes=True):
        answers, errors = _ask(query.ask, index, batch, options)
        writer.write(batch, answers, errors)
        invalid += len(errors)
    return _finish(events, invalid, options) or (INVALID if left_out else VALID)


def count(ask: Ask, subscriptions: File, events: File, options: Options) -> int:
    """Write how many events each subscription matches; returns the exit code."""
    index, left_out = _open(subscriptions, events, options)
    counts, invalid = Counter[Any](), 0
    for batch in read_batches(events, options.format, options.text, "counting", writes=False):
        found, errors = _ask(ask, index, batch, options)
        counts.update(found)
        for position in sorted(errors):
            message = f"{batch.where(position)}: {errors[position]}"
            if options.on_error == "raise":
                raise CommandError(f"{message}\n{GO_ON}", INVALID)
            report(message)
        invalid += len(errors)
    write_json(*({"id": id, "count": counts[id]} for id in index if counts[id]))
    code = _finish(events, invalid, replace(options, on_error="skip"))
    return code or (INVALID if left_out else VALID)


class _Writer:
    """Writes the results for every event, with the requested members."""

    def __init__(self, query: Query, index: Index, options: Options) -> None:
        self._query = query
        self._options = options
        shown = split(options.shown)
        self._event = "event" in shown
        self._members = [name[6:] for name in shown if name.startswith("event.")]
        self._metadata = "metadata" in shown
        self._named = [name[9:] for name in shown if name.startswith("metadata.")]
        self._find = lru_cache(maxsize=1 << 16)(lambda id: self._pick(index[id].metadata))

    def write(self, batch: Batch, answers: list[Any], errors: dict[int, str]) -> None:
        """Write the results of a batch in order, and report its invalid events."""
        texts = batch.texts() if self._event or self._members else []
        lines = list[str]()
        for position, found in enumerate(answers):
            if position in errors and self._options.on_error != "collect":
                write_lines(lines)
                lines.clear()
                message = f"{batch.where(position)}: {errors[position]}"
                if self._options.on_error == "raise":
                    raise CommandError(f"{message}\n{GO_ON}", INVALID)
                report(message)
            elif position in errors:
                event = {"event": encode(texts[position])} if self._event else {}
                lines.append(self._line(batch, position, **event, error=encode(errors[position])))
            elif found or not self._options.only_matched:
                event = self._show(batch, position, texts[position]) if texts else {}
                answer = {self._query.key: encode(self._describe(found))}
                lines.append(self._line(batch, position, **event, **answer))
        write_lines(lines)

    def _line(self, batch: Batch, position: int, **members: str) -> str:
        parts = {batch.key: encode(batch.places[position]), **members}
        return "{" + ", ".join(f'"{key}": {text}' for key, text in parts.items()) + "}"

    def _show(self, batch: Batch, position: int, text: str) -> dict[str, str]:
        if self._event:
            return {"event": text}
        try:
            return {"event": pick_from_text(text, self._members)}
        except ValueError as error:
            raise CommandError(f"{batch.where(position)}: --with: {error}", INVALID) from error

    def _describe(self, found: list[Any]) -> list[Any]:
        if self._query.is_scored:
            entries = [match._asdict() for match in found]
        elif not (self._metadata or self._named):
            return found
        else:
            entries = [{"id": id} for id in found]
        if self._metadata or self._named:
            for entry in entries:
                entry["metadata"] = self._find(entry["id"])
        return entries

    def _pick(self, metadata: Any) -> Any:
        return metadata if self._metadata else pick(metadata, self._named)


def _open(subscriptions: File, events: File, options: Options) -> tuple[Index, int]:
    if is_standard_input(subscriptions) and is_standard_input(events):
        raise CommandError("subscriptions and events cannot both come from standard input")
    index, left_out = open_index(
        subscriptions,
        options.missing,
        options.language,
        options.on_error,
        options.table.renamed(),
        options.time_zone,
    )
    if options.where is not None:
        _warn_of_metadata(index, options.where)
    shown = [name[9:] for name in split(options.shown) if name.startswith("metadata.")]
    if shown and len(index):
        _report_absent(index, shown)
    return index, left_out


def _report_absent(index: Index, shown: list[str]) -> None:
    """Report members of metadata in `--with` that none of the first subscriptions has."""
    metadata = [index[id].metadata for id in islice(index, _LOOKED_AT)]
    known = {member for each in metadata for member in member_names(each)}
    for name in shown:
        if not any(pick(each, [name]) for each in metadata):
            close = get_close_matches(name, known, 1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            report(f"--with metadata.{name}: no metadata has `{name}`{hint}")


def _warn_of_metadata(index: Index, where: str) -> None:
    """Report names in `--where` that no subscription has in its metadata."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MetadataWarning)
        index.match({}, where=where)
    for warning in caught:
        report(str(warning.message))


def _ask(ask: Ask, index: Index, batch: Batch, options: Options) -> tuple[Any, dict[int, str]]:
    """The results for a batch, and the errors of its invalid events by position."""
    asked = {"where": options.where, "now": options.now, "on_error": "collect"}
    answers, refused = ask(index, batch.events, documents=batch.documents, **asked)
    return answers, {event.row: on_one_line(event) for event in refused} | batch.broken


def _finish(events: File, invalid: int, options: Options) -> int:
    if not invalid:
        return VALID
    name = "<stdin>" if is_standard_input(events) else events
    report(f"{name}: {invalid} invalid{', skipped' if options.on_error == 'skip' else ''}")
    return INVALID
