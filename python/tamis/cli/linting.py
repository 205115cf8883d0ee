"""What is worth a look in subscriptions, given a sample of events: `tamis check --events`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tamis._tamis import Index
from tamis.checking import Finding
from tamis.cli.arguments import File
from tamis.cli.output import encode, write, write_json
from tamis.cli.reading import Source, enumerate_lines

_NAMED = 3  # ids of a finding that are written; the JSON has more


def lint(index: Index, events: File, as_json: bool) -> int:
    """Write what is found in the subscriptions of an index; returns how many findings there are."""
    numbers = list[int]()

    def lines(source: Source) -> Iterator[bytes]:
        for first, chunk in source.chunks():
            for number, line in enumerate_lines(first, chunk):
                numbers.append(number)
                yield line

    with Source(events) as source:
        findings = index.check(lines(source))
    for finding in findings:
        line = None
        if finding.kind == "event" and finding.position is not None:
            # What cannot be read beyond the first hundred is counted, behind the last row.
            line = numbers[min(finding.position, len(numbers) - 1)]
        if as_json:
            where = {} if line is None else {"line": line}
            written = asdict(finding)
            write_json({"finding": written.pop("kind"), **where, **written})
        else:
            write(_describe(finding, source.name, line))
    if not as_json:
        write(f"{len(findings)} findings" if len(findings) != 1 else "1 finding")
    return len(findings)


def _describe(finding: Finding, events: str, line: int | None) -> str:
    where = _ids(finding.subscriptions, finding.count)
    message = finding.message
    if line is not None:
        where = f"{events}:{line}"
        # The number of the line says which event it is.
        message = re.sub(r"^event \d+ cannot be read: ", "", message)
        message = message.replace("line 1, column ", "column ", 1)
    elif finding.position is not None:
        where += f", column {finding.position + 1}"
    return f"{where}: {message} [{finding.kind}]" if where else message


def _ids(ids: Sequence[str | int], count: int) -> str:
    named = ", ".join(encode(id) for id in ids[:_NAMED])
    return f"{named} and {count - _NAMED} more" if count > _NAMED else named
