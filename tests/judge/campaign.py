"""Compares the engine with the evaluator on many random cases."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, get_args

import tamis
from judge.evaluator import Truth, evaluate
from judge.events import Events, setting, to_json
from judge.generate import expressions
from judge.language import Node, Quantified, children, text
from judge.terms import Setting
from judge.values import Unspecified
from oracle import Matcher
from tamis import Index, LimitError

MATCHERS: tuple[Matcher, ...] = get_args(Matcher)
EXPRESSIONS, EVENTS = 20, 10


@dataclass(frozen=True)
class Case:
    node: Node
    event: dict[str, Any]
    json: bool
    setting: Setting

    @property
    def form(self) -> Any:
        """The event in the form that the engine gets."""
        return to_json(self.event) if self.json else self.event

    def judged(self) -> Truth | None:
        """The truth according to the judge; None if the language leaves it open."""
        try:
            return evaluate(self.node, self.event, self.setting)
        except Unspecified:
            return None

    def found(self, matcher: Matcher = "auto") -> Truth:
        """The truth according to the engine."""
        index = empty(self.setting, matcher)
        index.add("case", text(self.node))
        return index.explain("case", self.form, now=self.setting.now).truth

    def __str__(self) -> str:
        return (
            f"{text(self.node)}\n  on {self.form!r}\n  {self.setting}: "
            f"judged {self.judged()}, found {self.found()}"
        )


def empty(setting: Setting, matcher: Matcher) -> Index:
    return Index(matcher=matcher, missing=setting.missing, time_zone=setting.time_zone)


@dataclass
class Round:
    """Expressions and events to match with each other under one setting."""

    nodes: list[Node]
    events: list[dict[str, Any]]
    json: bool
    setting: Setting

    def cases(self) -> Iterator[tuple[int, int, Case]]:
        for row, event in enumerate(self.events):
            for number, node in enumerate(self.nodes):
                yield row, number, Case(node, event, self.json, self.setting)


def a_round(
    random: Random,
    dull: bool = False,
    json: bool | None = None,
    without: frozenset[str] = frozenset(),
) -> Round:
    if json is None:
        json = random.random() < 0.5
    events = Events(random, json, without)
    asked = expressions(random, dull, without)
    return Round(
        [asked.node() for _ in range(EXPRESSIONS)],
        [events.event() for _ in range(EVENTS)],
        json,
        setting(random),
    )


def differences(given: Round, matchers: tuple[Matcher, ...] = MATCHERS) -> Iterator[Case]:
    """The cases of a round in which some matcher differs from the judge."""
    judged = {(row, number): case.judged() for row, number, case in given.cases()}
    wrong: set[tuple[int, int]] = set()
    for matcher in matchers:
        index = empty(given.setting, matcher)
        added = {number for number, node in enumerate(given.nodes) if add(index, number, node)}
        for row, event in enumerate(given.events):
            form = Case(given.nodes[0], event, given.json, given.setting).form
            found = set(index.match(form, now=given.setting.now))
            for number in added:
                wanted = judged[row, number]
                if wanted is not None and (wanted == "true") != (number in found):
                    wrong.add((row, number))
                if matcher == "auto" and wanted is not None:
                    explained = index.explain(number, form, now=given.setting.now)
                    if explained.truth != wanted:
                        wrong.add((row, number))
    for row, number, case in given.cases():
        if (row, number) in wrong:
            yield case


def add(index: Index, number: int, node: Node) -> bool:
    """Add an expression, unless its normal form is too large for the matcher."""
    try:
        index.add(number, text(node, Random(number)))
    except LimitError as error:
        if error.limit != "normal_form":
            raise
        return False
    return True


# Smaller cases


def smaller(case: Case) -> Iterator[Case]:
    for child in children(case.node):
        yield replace(case, node=child)
    for name in list(case.event):
        yield replace(case, event={key: case.event[key] for key in case.event if key != name})
    for name, value in case.event.items():
        if isinstance(value, list):
            for position in range(len(value)):
                fewer = value[:position] + value[position + 1 :]
                yield replace(case, event={**case.event, name: fewer})
    if isinstance(case.node, Quantified):
        for child in children(case.node.inner):
            yield replace(case, node=replace(case.node, inner=child))
    if case.setting.time_zone != "UTC":
        yield replace(case, setting=replace(case.setting, time_zone="UTC"))
    if case.setting.missing == "false":
        yield replace(case, setting=replace(case.setting, missing="unknown"))


def differs(case: Case) -> bool:
    judged = case.judged()
    try:
        return judged is not None and judged != case.found()
    except tamis.TamisError:
        return False


def shrink(case: Case, holds: Callable[[Case], bool] = differs) -> Case:
    """Shrink a case as far as steps that keep the difference allow."""
    while True:
        for candidate in smaller(case):
            if holds(candidate):
                case = candidate
                break
        else:
            return case
