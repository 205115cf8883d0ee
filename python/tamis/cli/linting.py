"""Finds likely mistakes in subscriptions for `tamis check`, optionally with sample events."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, get_args

from cyclopts import Parameter

from tamis._tamis import Index
from tamis.checking import Finding, Kind
from tamis.cli.arguments import File, split
from tamis.cli.events import read_batches
from tamis.cli.items import name_place
from tamis.cli.output import CommandError, encode, write, write_json

_NAMED = 3  # ids written per finding; the JSON has more
_SHOWN = 20  # findings written per kind; the JSON has all


_KINDS: tuple[str, ...] = get_args(Kind)
_MOST_SERIOUS_FIRST = (
    "unseen-attribute",
    "unseen-type",
    "quoted-name",
    "text-case",
    "text-network",
    "text-order",
    "empty-range",
    "never",
    "always",
    "event",
    "bound",
    "equal",
    "subsumed",
)


# Findings of comparing subscriptions with each other, which is slow and often finds no mistakes.
_OF_SEVERAL = ("equal", "subsumed", "bound")


def _check_kinds(_: object, names: tuple[str, ...]) -> None:
    for kind in kinds_of(names):
        if kind not in _KINDS:
            raise ValueError(f"there is no kind {kind!r}; the kinds are {', '.join(_KINDS)}")


Ignored = Annotated[tuple[str, ...], Parameter(name="--ignore", validator=_check_kinds)]


def kinds_of(names: Sequence[str]) -> set[str]:
    """The kinds of findings in comma-separated texts."""
    return set(split(names))


class Places:
    """The places of the subscriptions of a file, by id.

    Attributes:
        name: The name of the file in messages.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._places: dict[str | int, Mapping[str, Any]] = {}
        self._nameless = set[str | int]()

    def note(self, id: str | int, place: Mapping[str, Any], has_id: bool) -> None:
        """Record the place of a subscription; one without an id is named after its place."""
        self._places[id] = place
        if not has_id:
            self._nameless.add(id)

    def number(self, id: str | int) -> dict[str, int]:
        """The line or row of a subscription, if it has one."""
        found = self._places.get(id, {})
        return {key: found[key] for key in ("line", "row") if key in found}

    def describe(self, id: str | int) -> str:
        """The file and the line or row of a subscription, if known."""
        found = self.number(id)
        return name_place(self.name, found) if self.name and found else ""

    def has_id(self, id: str | int) -> bool:
        """Whether a subscription has an id in its file."""
        return id not in self._nameless


def lint(
    index: Index,
    events: File | None,
    as_json: bool,
    ignored: Collection[str] = (),
    places: Places | None = None,
) -> int:
    """Write the findings about the subscriptions of an index, the most serious first.

    Args:
        index: The subscriptions.
        events: The sample. Without one, subscriptions are not compared with each other.
        as_json: Whether to write JSON.
        ignored: The kinds of findings to leave out.
        places: The places of the subscriptions in their file; None for a saved index.

    Returns:
        The number of findings.
    """
    has_summary = events is not None or places is None
    places = places or Places()
    sample = _Sample()
    if events is None:
        found = index.check(comparisons=0)
        ignored = {*ignored, *_OF_SEVERAL}
    else:
        found = [*index.check(sample.read(events)), *sample.broken]
    findings = [finding for finding in found if finding.kind not in ignored]
    findings.sort(key=lambda finding: _MOST_SERIOUS_FIRST.index(finding.kind))
    shown = Counter[str]()
    for finding in findings:
        event = sample.place(finding)
        if as_json:
            where = event
            if finding.subscriptions:
                where = places.number(finding.subscriptions[0])
            written = asdict(finding)
            write_json({"finding": written.pop("kind"), **where, **written})
            continue
        shown[finding.kind] += 1
        if shown[finding.kind] <= _SHOWN:
            write(_describe(finding, sample.name, event, places))
    for kind, count in () if as_json else shown.items():
        if count > _SHOWN:
            write(f"{count - _SHOWN:,} more of the kind {kind}; --json writes all")
    if not as_json and (findings or has_summary):
        write(_summary(findings))
    return len(findings)


class _Sample:
    """The events of a file, with their places.

    Attributes:
        name: The name of the file in messages.
        broken: The rows of a CSV file that are not events.
    """

    def __init__(self) -> None:
        self.name = ""
        self.broken = list[Finding]()
        self._key = "line"
        self._numbers = list[int | str]()

    def read(self, file: File) -> Iterator[Any]:
        """The events, in the format that the file name implies."""
        for batch in read_batches(file, None, (), "reading", writes=False):
            if batch.documents is not None:
                raise CommandError(f"{file}: a sample must be events: JSON lines, CSV or Parquet")
            self.name, self._key = batch.name, batch.key
            for position, event in enumerate(batch.each()):
                self._numbers.append(batch.places[position])
                if position in batch.broken:  # an empty event keeps the positions of the others
                    message, row = batch.broken[position], len(self._numbers) - 1
                    self.broken.append(Finding("event", message, position=row))
                yield event

    def place(self, finding: Finding) -> dict[str, Any]:
        """The line or row of the event that a finding is about, if it is about one."""
        if finding.kind != "event" or finding.position is None:
            return {}
        # After the first hundred, unreadable events are counted, at a position after the last row.
        return {self._key: self._numbers[min(finding.position, len(self._numbers) - 1)]}


def _summary(findings: Sequence[Finding]) -> str:
    count = f"{len(findings)} findings" if len(findings) != 1 else "1 finding"
    kinds = Counter(finding.kind for finding in findings)
    if len(kinds) < 2:
        return count
    return f"{count}: " + ", ".join(f"{number} {kind}" for kind, number in kinds.items())


def _describe(finding: Finding, events: str, event: dict[str, Any], places: Places) -> str:
    where = _ids(finding, places)
    message = finding.message
    if event:
        where = name_place(events, event)
        # The line number already identifies the event.
        message = re.sub(r"^event \d+ cannot be read: ", "", message)
        message = message.replace("line 1, column ", "column ", 1)
    elif finding.position is not None and finding.subscriptions and _has_column(finding, places):
        where += f", column {finding.position + 1}"
    return f"{where}: {message} [{finding.kind}]" if where else message


def _has_column(finding: Finding, places: Places) -> bool:
    """Whether to give the column, which counts in the canonical text, not in a line of a file."""
    id = finding.subscriptions[0]
    return places.has_id(id) or not places.describe(id)


def _ids(finding: Finding, places: Places) -> str:
    """The place of the first subscription, if it has one, and the ids."""
    ids = list(finding.subscriptions[:_NAMED])
    place = places.describe(ids[0]) if ids else ""
    if place and len(ids) == 1 and not places.has_id(ids[0]):
        return place
    named = ", ".join(encode(id) for id in ids)
    if finding.count > _NAMED:
        named += f" and {finding.count - _NAMED} more"
    return f"{place}: {named}" if place else named
