"""`tamis check`: are these expressions valid and, if not, where are they wrong?"""

import os.path
from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from tamis._tamis import Expression, Index
from tamis.cli.arguments import File, Json
from tamis.cli.output import (
    INVALID,
    VALID,
    CommandError,
    encode,
    on_one_line,
    report,
    write,
    write_json,
)
from tamis.cli.progress import progress
from tamis.cli.reading import Source
from tamis.cli.rules.languages import From, Language, read_rules, report_refused
from tamis.cli.subscriptions import Records, read_expression
from tamis.errors import TamisError

USAGE = "Usage: tamis check EXPRESSION... | --file FILE [--json]"
EXAMPLES = """
Examples:

    tamis check "age between 18 and 25 and not state = 'CA'"
    tamis check --file subscriptions.jsonl
    tamis check --file - --json < expressions.txt
"""


def check(
    *expressions: str,
    file: Annotated[File | None, Parameter(name=["--file", "-f"])] = None,
    language: From = None,
    as_json: Json = False,
) -> int:
    """Say whether expressions are valid and, where not, at which line and column.

    Valid expressions are written in their canonical form; of a file, only their number. The exit
    code is 0 when all are valid and 1 when some are not.

    Args:
        expressions: Expressions, as text or in the JSON form.
        file: A file to check instead, `-` for standard input: subscriptions as JSON lines, or one
            expression per line, where lines that begin with `--` are comments.
        language: The language of the rules that `--file` names, a file or a folder.
        as_json: Write a JSON object for every expression.
    """
    if (file is None) == (not expressions):
        raise CommandError("check takes expressions or --file, one of the two")
    if file is None:
        return _check_arguments(expressions, as_json)
    if language is not None:
        return _check_rules(file, language, as_json)
    return _check_file(file, as_json)


def _check_arguments(expressions: tuple[str, ...], as_json: bool) -> int:
    for text in expressions:
        if os.path.isfile(text):  # noqa: PTH113 -- false, not an error, where the text is no path
            raise CommandError(f"{text} is a file; to check what it holds: --file {text}")
    code = VALID
    for number, text in enumerate(expressions, 1):
        place = {"argument": number}
        try:
            expression = read_expression(text)
        except TamisError as error:
            code = INVALID
            _write_invalid(place, error, as_json, f"argument {number}: {error}")
        else:
            _write_valid(place, expression, as_json)
    return code


def _check_file(file: File, as_json: bool) -> int:
    count = invalid = 0
    with Source(file) as source, progress(source, "checking", writes=as_json) as show:
        for place, result in _check_lines(source):
            count += 1
            if isinstance(result, TamisError):
                invalid += 1
                _write_invalid(place, result, as_json, _message(source.name, place, result))
            elif as_json:
                _write_valid(place, result, as_json)
            if count % 1000 == 0:
                show()
    if not as_json:
        write(f"{source.name}: {count - invalid} valid, {invalid} invalid")
    return INVALID if invalid else VALID


def _check_rules(file: File, language: Language, as_json: bool) -> int:
    read = read_rules(language, file)
    if as_json:
        for subscription in read.subscriptions:
            _write_valid({"id": subscription.id}, subscription.expression, as_json)
        for refused in read.refused:
            write_json({**refused._asdict(), "valid": False})
    else:
        report_refused(read)
        write(f"{file}: {len(read.subscriptions)} valid, {len(read.refused)} refused")
    return INVALID if read.refused else VALID


def _check_lines(source: Source) -> Iterator[tuple[dict[str, Any], Expression | TamisError]]:
    """The place of every expression of a file, and the expression or what is wrong with it."""
    records = Records()
    for number, line in source.lines():
        beginning = line.lstrip()
        if beginning.startswith("--"):
            continue
        place: dict[str, Any] = {"line": number}
        try:
            if beginning.startswith("{"):
                record = records.read(number, line)
                place["id"] = record.id
                arguments = record.arguments()
                expression = arguments["expression"]
                Index().add(**arguments)  # judges the id and the boost, too
            else:
                expression = Expression.parse(line)
        except TamisError as error:
            yield place, error
        else:
            yield place, expression


def _message(name: str, place: dict[str, Any], error: TamisError) -> str:
    if "id" in place:
        return f"{name}:{place['line']}: id {encode(place['id'])}: {error}"
    return f"{name}:{place['line']}: {on_one_line(error)}"


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
