"""Rules with examples: events that must match them, and events that must not.

A rules file is YAML or JSON: a list of rules, or an object with `rules` and options of the index.

    missing: "false"
    rules:
      - id: young-west
        expression: age between 18 and 25 and state in ('CA', 'OR')
        match: [{age: 21, state: CA}]
        not_match: [{age: 30, state: CA}, {age: 21}]

Instead of `expression` a rule may have `eventbridge`, `mongo` or `sql`. Sigma rules have the same
two lists in the attribute `tests`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tamis._tamis import Expression, Index
from tamis.errors import TamisError
from tamis.rules import eventbridge, files, json_input, mongo, sql, yaml_input
from tamis.rules.result import Refused, RuleError, one_line

Missing = Literal["unknown", "false"]

_OPTIONS = ("missing", "time_zone", "now")
_KEYS = ("id", "expression", "eventbridge", "mongo", "sql", "metadata", "match", "not_match")
_SQL = partial(sql.parse, dialect="spark")


@dataclass(frozen=True)
class Example:
    """An event that must match a rule, or must not."""

    event: Any
    must_match: bool
    line: int | None = None


@dataclass(frozen=True)
class TestedRule:
    """A rule with its examples."""

    id: str
    expression: Expression
    examples: list[Example]
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Failure:
    """An example that fails.

    Attributes:
        rule: The rule.
        number: Which of its examples, from 1.
        example: The example.
        explanation: Why the event matches or does not; the error, if it cannot be read.
    """

    rule: TestedRule
    number: int
    example: Example
    explanation: str

    def __str__(self) -> str:
        line = self.example.line or self.rule.line
        place = f"{self.rule.file or 'text'}:{line or 1}"
        wanted = "must match" if self.example.must_match else "must not match"
        event = json.dumps(self.example.event, ensure_ascii=False, default=str)
        shown = event if len(event) <= 500 else event[:500] + "..."
        explained = "\n".join("  " + each for each in self.explanation.splitlines())
        return f"{place}: {self.rule.id}: example {self.number} {wanted}: {shown}\n{explained}"


@dataclass
class Tests:
    """Rules with examples, and the options under which they are matched."""

    rules: list[TestedRule] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    missing: Missing = "unknown"
    time_zone: str = "UTC"
    now: str | None = None

    def run(self) -> Iterator[Failure]:
        """The examples that fail."""
        for rule in self.rules:
            index = Index(missing=self.missing, time_zone=self.time_zone)
            index.add(rule.id, rule.expression)
            for number, example in enumerate(rule.examples, 1):
                try:
                    found = index.explain(rule.id, example.event, now=self.now)
                except TamisError as error:
                    yield Failure(rule, number, example, f"the event cannot be read: {error}")
                    continue
                if found.matched != example.must_match:
                    yield Failure(rule, number, example, str(found))


def read(source: str | Path) -> Tests:
    """Read a rules file, or its text. A rule that cannot be read does not affect the others.

    Raises:
        RuleError: The file cannot be read, or is not a rules file.
    """
    text, file = files.read_text(source)
    node = None
    if (file or "").endswith((".json", ".jsonl")) or text.lstrip()[:1] in ("{", "["):
        content = json_input.load(text)
        json_input.check_depth(content)
    else:
        content, node = yaml_input.load(text)
    tests, rules, rules_node = Tests(), content, node
    if isinstance(content, dict):
        rules, rules_node = content.get("rules"), yaml_input.member(node, "rules")
        _read_options(tests, content)
    if not isinstance(rules, list):
        raise RuleError(
            "a rules file must be a list of rules, or an object with the member `rules`"
        )
    nodes = list(yaml_input.items(rules_node)) or [None] * len(rules)
    seen = set[str]()
    for number, (rule, at) in enumerate(zip(rules, nodes, strict=True), 1):
        line = yaml_input.line(at)
        name = rule.get("id") if isinstance(rule, dict) else None
        name = str(name) if isinstance(name, str | int) else None
        try:
            found = _read_rule(rule, at, file, line)
            if found.id in seen:
                raise RuleError("the id is already used")
            seen.add(found.id)
            tests.rules.append(found)
        except TamisError as error:
            reason = one_line(str(error))
            tests.refused.append(Refused(name or f"rule {number}", file, line or 1, reason))
    return tests


def _read_options(tests: Tests, content: dict[str, Any]) -> None:
    for key, value in content.items():
        if key == "rules":
            continue
        if key not in _OPTIONS:
            raise RuleError(f"a rules file has no option {key!r}; known are {', '.join(_OPTIONS)}")
        # YAML reads `false` as a boolean and times as datetimes.
        setattr(tests, key, str(value).lower() if isinstance(value, bool) else str(value))
    if tests.missing not in ("unknown", "false"):
        raise RuleError(f"`missing` must be unknown or false, not {tests.missing!r}")
    try:
        Index(time_zone=tests.time_zone).match({}, now=tests.now)
    except ValueError as error:
        raise RuleError(str(error)) from error


def _read_rule(rule: Any, node: Any, file: str | None, line: int | None) -> TestedRule:
    if not isinstance(rule, dict):
        raise RuleError("a rule must be an object with `id`, `expression`, `match` and `not_match`")
    if unknown := [key for key in rule if key not in _KEYS]:
        raise RuleError(f"a rule has no member {unknown[0]!r}; known are {', '.join(_KEYS)}")
    if not isinstance(rule.get("id"), str | int) or isinstance(rule["id"], bool):
        raise RuleError("a rule must have an `id`: a string or an integer")
    written = [key for key in _PARSERS if key in rule]
    if len(written) != 1:
        raise RuleError(f"a rule must have exactly one of {', '.join(_PARSERS)}")
    expression = _PARSERS[written[0]](rule[written[0]])
    return TestedRule(str(rule["id"]), expression, read_examples(rule, node), file, line)


def _expression(written: Any) -> Expression:
    if isinstance(written, str):
        return Expression.parse(written)
    return Expression.from_json(json.dumps(written, default=str))


def _sql(written: Any) -> Expression:
    if not isinstance(written, str):
        raise RuleError("a SQL condition must be a string")
    return _SQL(written)


_PARSERS: dict[str, Callable[[Any], Expression]] = {
    "expression": _expression,
    "eventbridge": eventbridge.parse,
    "mongo": mongo.parse,
    "sql": _sql,
}


def read_examples(written: Any, node: Any = None) -> list[Example]:
    """The examples of a rule: the members `match` and `not_match`.

    Raises:
        RuleError: They are not lists of events.
    """
    found = []
    for key, must_match in (("match", True), ("not_match", False)):
        events = written.get(key)
        if events is None:
            continue
        if not isinstance(events, list) or not all(isinstance(each, dict) for each in events):
            raise RuleError(f"`{key}` must be a list of events, which are objects")
        nodes = list(yaml_input.items(yaml_input.member(node, key))) or [None] * len(events)
        found += [
            Example(event, must_match, yaml_input.line(at))
            for event, at in zip(events, nodes, strict=True)
        ]
    return found
