"""For every event of a file, what an index says: what `match`, `top` and `first` share."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tamis._tamis import Index
from tamis.batches import Collected, OnError
from tamis.cli.arguments import File, Missing
from tamis.cli.output import INVALID, VALID, CommandError, on_one_line, report, write_json
from tamis.cli.progress import progress
from tamis.cli.reading import Source, enumerate_lines, is_standard_input
from tamis.cli.rules.languages import Language, read_rules, report_refused
from tamis.cli.subscriptions import read_records
from tamis.errors import TamisError

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """What is asked about every event.

    Attributes:
        doing: What the command is doing, as its progress says.
        many: The answers for the events of a chunk of lines, and those that cannot be read.
        describe: What is written of an answer, beside the number of its line.
    """

    doing: str
    many: Callable[[Index, bytes], Collected[list[Answer]]]
    describe: Callable[[Answer], dict[str, Any]]


def answer(
    question: Question[Any],
    subscriptions: File,
    events: File,
    missing: Missing,
    on_error: OnError,
    language: Language | None = None,
) -> int:
    """Write the answers for all events; returns the exit code."""
    index = _open(subscriptions, events, missing, language)
    invalid = 0
    with Source(events) as source, progress(source, question.doing, writes=True) as show:
        for first, chunk in source.chunks():
            invalid += _answer_chunk(question, index, source.name, first, chunk, on_error)
            show()
    if invalid:
        report(f"{source.name}: {invalid} invalid{', skipped' if on_error == 'skip' else ''}")
    return INVALID if invalid else VALID


def count(
    many: Callable[[Index, bytes], Collected[dict[Any, int]]],
    subscriptions: File,
    events: File,
    missing: Missing,
    on_error: OnError,
    language: Language | None = None,
) -> int:
    """Write how many events each subscription matches; returns the exit code."""
    index = _open(subscriptions, events, missing, language)
    counts, invalid = Counter[Any](), 0
    with Source(events) as source, progress(source, "counting", writes=False) as show:
        for first, chunk in source.chunks():
            found, refused = many(index, chunk)
            counts.update(found)
            for event in refused:
                number = first + (event.line or 1) - 1
                message = f"{source.name}:{number}: {on_one_line(event)}"
                if on_error == "raise":
                    raise CommandError(message, INVALID) from event.error
                report(message)
            invalid += len(refused)
            show()
    write_json(*({"id": id, "count": counts[id]} for id in index if counts[id]))
    if invalid:
        report(f"{source.name}: {invalid} invalid, skipped")
    return INVALID if invalid else VALID


def _open(subscriptions: File, events: File, missing: Missing, language: Language | None) -> Index:
    """An index of the subscriptions of a file."""
    if is_standard_input(subscriptions) and is_standard_input(events):
        raise CommandError("subscriptions and events cannot both come from standard input")
    index = Index(missing=missing)
    if language is not None:
        read = read_rules(language, subscriptions)
        report_refused(read)
        index.add_many(read.subscriptions)
    else:
        with Source(subscriptions) as source:
            _load(index, source)
    return index


def _load(index: Index, source: Source) -> None:
    """Add the subscriptions of a file to an index."""
    number = 0

    def items() -> Iterator[dict[str, Any]]:
        nonlocal number
        for number, record in read_records(source):
            if number % 1000 == 0:
                show()
            yield record.arguments()

    with progress(source, "reading", writes=False) as show:
        try:
            index.add_many(items())
        except TamisError as error:
            raise CommandError(f"{source.name}:{number}: {error.message}", INVALID) from error


def _numbers(first: int, chunk: bytes, events: int) -> Iterable[int]:
    """The numbers of the lines of a chunk that hold its events."""
    lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
    if events == lines:
        return range(first, first + lines)
    return (number for number, _ in enumerate_lines(first, chunk))  # some are blank


def _answer_chunk(
    question: Question[Any],
    index: Index,
    name: str,
    first: int,
    chunk: bytes,
    on_error: OnError,
) -> int:
    """Write the answers for a chunk; returns how many events are invalid."""
    answers, refused = question.many(index, chunk)
    errors = {event.row: event for event in refused}
    written = list[dict[str, Any]]()
    for row, number in enumerate(_numbers(first, chunk, len(answers))):
        error = errors.get(row)
        if error is None:
            written.append({"line": number, **question.describe(answers[row])})
        elif on_error == "collect":
            written.append({"line": number, "error": on_one_line(error)})
        else:
            write_json(*written)
            written.clear()
            message = f"{name}:{number}: {on_one_line(error)}"
            if on_error == "raise":
                raise CommandError(message, INVALID) from error.error
            report(message)
    write_json(*written)
    return len(refused)
