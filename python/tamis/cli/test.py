"""`tamis test`: check that rules match their examples."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis.cli.arguments import Json, Now
from tamis.cli.output import INVALID, VALID, CommandError, report, write, write_json
from tamis.rules import examples, sigma
from tamis.rules.result import RuleError

USAGE = "Usage: tamis test RULES [OPTIONS]"
EXAMPLES = """
Examples:

    tamis test rules.yaml
    tamis test --from sigma rules/windows
"""


def run_examples(
    rules: Path,
    /,
    *,
    language: Annotated[Literal["sigma"] | None, Parameter(name="--from")] = None,
    missing: Literal["unknown", "false"] | None = None,
    now: Now = None,
    as_json: Json = False,
) -> int:
    """Run the examples that rules contain, and explain those that fail.

    The exit code is 0 if all examples pass and all rules are valid, and 1 otherwise.

    Args:
        rules: A rules file, YAML or JSON; with `--from sigma`, a file or folder of Sigma rules.
        language: Read the rules as rules of this language.
        missing: The truth of a predicate on an attribute without a value; overrides the file.
        now: The value of `now()`, such as `2026-01-02T05:00Z`.
        as_json: Write a JSON object for every example that fails and every rule that is refused.
    """
    try:
        tests = sigma.read_tests(rules) if language else examples.read(rules)
    except RuleError as error:
        message = str(error)
        if str(rules) not in message:
            message = f"{rules}: {message}"
        raise CommandError(message, INVALID) from error
    if missing is not None:
        tests.missing = missing
    if now is not None:
        tests.now = now
    failures = list(tests.run())
    for refused in tests.refused:
        if as_json:
            write_json({"refused": refused._asdict()})
        else:
            report(str(refused))
    for failure in failures:
        if as_json:
            write_json(_record(failure))
        else:
            write(str(failure))
    if not as_json:
        write(_summary(tests, failures))
    return INVALID if failures or tests.refused else VALID


def _record(failure: examples.Failure) -> dict[str, object]:
    return {
        "id": failure.rule.id,
        "file": failure.rule.file,
        "line": failure.example.line or failure.rule.line,
        "example": failure.number,
        "must_match": failure.example.must_match,
        "explanation": failure.explanation,
    }


def _summary(tests: examples.Tests, failures: list[examples.Failure]) -> str:
    total = sum(len(rule.examples) for rule in tests.rules)
    without = sum(not rule.examples for rule in tests.rules)
    good = total - len(failures)
    parts = [f"{len(tests.rules)} rules", f"{good} of {total} examples pass"]
    if without:
        parts.append(f"{without} rules without examples")
    if tests.refused:
        parts.append(f"{len(tests.refused)} rules refused")
    return ", ".join(parts)
