"""For every event of a file, what an index says: what `tamis match` and `tamis top` share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from tamis._tamis import Index
from tamis.cli.arguments import File, Missing
from tamis.cli.output import INVALID, VALID, CommandError, on_one_line, report, write_json
from tamis.cli.progress import progress
from tamis.cli.reading import Source, enumerate_lines, is_standard_input
from tamis.cli.subscriptions import read_records
from tamis.errors import TamisError

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """What is asked about every event.

    Attributes:
        doing: What the command is doing, as its progress says.
        one: The answer for one event.
        many: The answers for the events of a chunk of lines.
        describe: What is written of an answer, beside the number of its line.
    """

    doing: str
    one: Callable[[Index, bytes], Answer]
    many: Callable[[Index, bytes], list[Answer]]
    describe: Callable[[Answer], dict[str, Any]]

    def write(self, numbers: Iterable[int], answers: Iterable[Answer]) -> None:
        """Write the answers for the events of these lines."""
        lines = zip(numbers, answers, strict=True)
        write_json(*({"line": number, **self.describe(answer)} for number, answer in lines))


def answer(
    question: Question[Any],
    subscriptions: File,
    events: File,
    missing: Missing,
    on_error: Literal["fail", "skip"],
) -> int:
    """Write the answers for all events; returns the exit code."""
    if is_standard_input(subscriptions) and is_standard_input(events):
        raise CommandError("subscriptions and events cannot both come from standard input")
    index = Index(missing=missing)
    with Source(subscriptions) as source:
        _load(index, source)
    skipped = 0
    with Source(events) as source, progress(source, question.doing, writes=True) as show:
        for first, chunk in source.chunks():
            try:
                answers = question.many(index, chunk)
            except TamisError:
                skipped += _one_by_one(question, index, source.name, first, chunk, on_error)
            else:
                question.write(_numbers(first, chunk, len(answers)), answers)
            show()
    if skipped:
        report(f"{source.name}: {skipped} invalid, skipped")
    return INVALID if skipped else VALID


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


def _one_by_one(
    question: Question[Any],
    index: Index,
    name: str,
    first: int,
    chunk: bytes,
    on_error: Literal["fail", "skip"],
) -> int:
    """Answer for a chunk in which some event is invalid; returns how many are."""
    invalid = 0
    for number, line in enumerate_lines(first, chunk):
        try:
            question.write([number], [question.one(index, line)])
        except TamisError as error:
            message = f"{name}:{number}: {on_one_line(error)}"
            if on_error == "fail":
                raise CommandError(message, INVALID) from error
            report(message)
            invalid += 1
    return invalid
