"""`tamis check`: are these expressions valid, and do they mean what their author intended?"""

import os.path
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from tamis._tamis import Expression, Index
from tamis.batches import on_one_line
from tamis.cli.arguments import PLAIN_TABLE, File, Json, Missing, Table
from tamis.cli.formats import Format, format_of, is_saved
from tamis.cli.indexes import open_saved
from tamis.cli.items import name_place, read_items, refuse_renamed
from tamis.cli.linting import Ignored, Places, kinds_of, lint
from tamis.cli.output import (
    INVALID,
    VALID,
    CommandError,
    encode,
    report,
    write,
    write_json,
)
from tamis.cli.progress import progress
from tamis.cli.reading import Source, is_standard_input
from tamis.cli.rules.languages import From, Language, read_rules, report_refused
from tamis.cli.subscriptions import read_expression
from tamis.errors import TamisError

USAGE = "Usage: tamis check EXPRESSION... | --file FILE [--format FORMAT] [--events FILE] [OPTIONS]"
EXAMPLES = """
Examples:

    tamis check "age between 18 and 25 and not state = 'CA'"
    tamis check --file subscriptions.jsonl
    tamis check --file expressions.txt
    tamis check --file - --format text --json < expressions
    tamis check --file subscriptions.jsonl --events sample.jsonl
    tamis check --file subscriptions.jsonl --events sample.jsonl --ignore equal,subsumed
    tamis check --file saved-index/ --events sample.jsonl --json
"""


_Checked: TypeAlias = tuple[dict[str, Any], Expression | TamisError, str]
"""The place of an expression, the expression or its error, and the error's message."""


class _Valid:
    """Collects the valid expressions, to check them together."""

    def __init__(self, missing: Missing) -> None:
        self._subscriptions = list[tuple[str | int, Expression]]()
        self.missing = missing
        self.places = Places()

    def keep(self, place: dict[str, Any], expression: Expression) -> None:
        """Add an expression under its id or, without one, under its place."""
        name, number = next(iter(place.items()))
        id = place.get("id", f"{name} {number}")
        self._subscriptions.append((id, expression))
        self.places.note(id, place, "id" in place)

    def index(self) -> Index:
        index = Index(missing=self.missing)
        index.add_many(self._subscriptions)
        return index


def check(
    *expressions: str,
    file: Annotated[File | None, Parameter(name=["--file", "-f"])] = None,
    format: Literal["jsonl", "text", "csv", "parquet"] | None = None,
    events: Annotated[File | None, Parameter(name=["--events", "-e"])] = None,
    ignore: Ignored = (),
    missing: Missing | None = None,
    table: Table = PLAIN_TABLE,
    language: From = None,
    as_json: Json = False,
) -> int:
    """Check whether expressions are valid; for those that are not, show the line and column.

    Prints valid expressions in canonical form; for a file, prints only how many are valid. Then
    reports probable mistakes, the most serious first: times, numbers, versions and networks written
    as text, and expressions that are never or always true. With `--events`, also attributes and
    types that no event of the sample has, and subscriptions that equal others or imply them.

    The exit code is 0 if all are valid and nothing was found, and 1 otherwise.

    Args:
        expressions: Expressions, as text or in the JSON form.
        file: A file to check instead, `-` for standard input, or the folder of a saved index.
        format: What the file holds: subscriptions (`jsonl`, `csv`, `parquet`), or one expression
            per line (`text`), where lines that begin with `--` are comments. By default, the name
            of the file decides: `.jsonl`, `.csv`, `.parquet`, or `.txt` and `.sql` for text.
        events: A sample of events: JSON lines, CSV or Parquet, as the name of the file says.
        ignore: Kinds of findings to leave out, separated by commas, such as `equal,subsumed`.
        missing: The truth of a predicate on an attribute without a value: `unknown`, the default,
            or `false`. A saved index has its own setting.
        table: How to read columns.
        language: The language of the rules that `--file` names, a file or a folder.
        as_json: Write a JSON object per expression and per finding.
    """
    if (file is None) == (not expressions):
        raise CommandError("check takes either expressions or --file")
    ignored = kinds_of(ignore)
    if file is not None:
        if events is not None and is_standard_input(file) and is_standard_input(events):
            raise CommandError("subscriptions and events cannot both come from standard input")
        if language is not None or (format is None and is_saved(file)):
            refuse_renamed(file, table.renamed())
        if language is None and format is None and is_saved(file):
            return _code(lint(open_saved(file, missing), events, as_json, ignored))
    valid = _Valid(missing or "unknown")
    if file is None:
        invalid = _check_arguments(expressions, as_json, valid)
    elif language is not None:
        invalid = _check_rules(file, language, as_json, valid)
    else:
        invalid = _check_file(file, format or _format(file), as_json, valid, table.renamed())
    return _code(invalid + lint(valid.index(), events, as_json, ignored, valid.places))


def _code(count: int) -> int:
    return INVALID if count else VALID


def _format(file: File) -> Format:
    """The format that the name of a file implies."""
    format = format_of(file)
    if format is None or format == "xml":
        name = "standard input" if is_standard_input(file) else file
        raise CommandError(
            f"say what {name} holds: --format jsonl (subscriptions as JSON lines), "
            "text (an expression per line), csv or parquet"
        )
    return format


def _check_arguments(expressions: tuple[str, ...], as_json: bool, valid: _Valid) -> int:
    for text in expressions:
        if os.path.isfile(text):  # noqa: PTH113 -- false, not an error, for a text that is not a path
            raise CommandError(f"{text} is a file; to check what it holds: --file {text}")
    invalid = 0
    for number, text in enumerate(expressions, 1):
        place = {"argument": number}
        try:
            expression = read_expression(text)
        except TamisError as error:
            invalid += 1
            _write_invalid(place, error, as_json, f"argument {number}: {error}")
        else:
            valid.keep(place, expression)
            _write_valid(place, expression, as_json)
    return invalid


def _check_file(
    file: File, format: Format, as_json: bool, valid: _Valid, renamed: Mapping[str, str]
) -> int:
    name = "<stdin>" if is_standard_input(file) else str(file)
    valid.places.name = name
    count = invalid = 0
    items = _check_lines(file) if format == "text" else _check_items(file, format, renamed)
    for checked in items:
        place, result, message = checked
        count += 1
        if isinstance(result, TamisError):
            invalid += 1
            _write_invalid(place, result, as_json, f"{name_place(name, place)}: {message}")
        else:
            valid.keep(place, result)
            if as_json:
                _write_valid(place, result, as_json)
    if not as_json:
        write(f"{name}: {count - invalid} valid, {invalid} invalid")
    return invalid


def _check_rules(file: File, language: Language, as_json: bool, valid: _Valid) -> int:
    read = read_rules(language, file)
    for subscription in read.subscriptions:
        valid.keep({"id": subscription.id}, subscription.expression)
    if as_json:
        for subscription in read.subscriptions:
            _write_valid({"id": subscription.id}, subscription.expression, as_json)
        for refused in read.refused:
            write_json({**refused._asdict(), "valid": False})
    else:
        report_refused(read)
        write(f"{file}: {len(read.subscriptions)} valid, {len(read.refused)} refused")
    return len(read.refused)


def _check_lines(file: File) -> Iterator[_Checked]:
    """Check a file with one expression per line."""
    with Source(file) as source, progress(source, "checking", writes=False) as show:
        for number, line in source.lines():
            if line.lstrip().startswith("--"):
                continue
            if number % 1000 == 0:
                show()
            try:
                yield {"line": number}, Expression.parse(line), ""
            except TamisError as error:
                yield {"line": number}, error, on_one_line(error)


def _check_items(file: File, format: Format, renamed: Mapping[str, str]) -> Iterator[_Checked]:
    """Check the expressions of a file of subscriptions."""
    for where, item in read_items(file, format, renamed):
        place: dict[str, Any] = {**where}
        if isinstance(item, TamisError):
            yield place, item, item.message
            continue
        place["id"] = item.id
        try:
            arguments = item.arguments()
            Index().add(**arguments)  # also checks the id and the boost
        except TamisError as error:
            yield place, error, f"id {encode(item.id)}: {item.explain(error)}"
        else:
            yield place, arguments["expression"], ""


def _write_valid(place: dict[str, Any], expression: Expression, as_json: bool) -> None:
    if as_json:
        write_json({**place, "valid": True, "expression": str(expression)})
    else:
        write(str(expression))


def _write_invalid(place: dict[str, Any], error: TamisError, as_json: bool, message: str) -> None:
    if as_json:
        write_json({**place, "valid": False, "error": error.to_dict()})
    else:
        report(message)
