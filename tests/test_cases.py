"""Every case of `testdata/`, through Python: the same files as the engine's own tests read.

One test per file lists all of its cases that fail.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from ipaddress import ip_address
from pathlib import Path
from typing import Any, get_args

import pytest

import tamis
from oracle import Matcher, Missing
from tamis import EventError, Expression, Index, LimitError

TESTDATA = Path(__file__).parent.parent / "testdata"
SEMANTICS = sorted((TESTDATA / "semantics").glob("*.toml"))
MODES: list[Missing] = ["unknown", "false"]
MATCHERS: tuple[Matcher, ...] = get_args(Matcher)

ERRORS: dict[str, set[type[tamis.TamisError]]] = {
    "syntax": {tamis.ExpressionSyntaxError},
    "expression": {tamis.ExpressionError},
    "limit": {tamis.LimitError},
    "any": {tamis.ExpressionSyntaxError, tamis.ExpressionError},
}


def cases(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    return found


def check_all(path: Path, check: Callable[[dict[str, Any]], Iterator[str]]) -> None:
    """Run a check, which yields problems, on every case of a file."""
    failures = []
    for case in cases(path):
        try:
            failures += [f"{case['name']}: {failure}" for failure in check(case)]
        except (tamis.TamisError, LookupError, TypeError, ValueError) as error:
            failures.append(f"{case['name']}: {type(error).__name__}: {error}")
    assert not failures, "\n".join([f"{len(failures)} failures in {path.name}", *failures])


def differs(what: str, found: object, wanted: object) -> Iterator[str]:
    if found != wanted:
        yield f"{what} is {found!r}, not {wanted!r}"


def as_mapping(text: str) -> dict[str, Any] | None:
    """The event as Python objects, if these are equivalent to the JSON."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError("a dict cannot hold a key twice")
        return dict(pairs)

    def number(digits: str) -> Decimal | float:
        exact = Decimal(digits)
        return exact if len(exact.as_tuple().digits) <= 38 else float(digits)

    try:
        event = json.loads(text, object_pairs_hook=once, parse_float=number)
    except (ValueError, InvalidOperation):
        return None
    return event if isinstance(event, dict) else None


def test_there_are_cases() -> None:
    paths = list(TESTDATA.rglob("*.toml"))
    assert len(paths) > 10
    assert sum(len(cases(path)) for path in paths) >= 250


# Semantics


def accepts(index: Index, id: str | int, expression: str, matcher: Matcher) -> bool:
    """Add a subscription, unless its normal form is too large for the matcher."""
    try:
        index.add(id, expression)
    except LimitError as error:
        if error.limit != "normal_form" or matcher not in ("kindex", "cnf"):
            raise
        return False
    return True


def zone_of(case: dict[str, Any]) -> str:
    zone: str = case.get("time_zone", "UTC")
    return zone


def now_of(case: dict[str, Any]) -> datetime | None:
    """The value of `now()` for a case; the clock's by default."""
    return datetime.fromisoformat(case["now"]) if "now" in case else None


@pytest.mark.parametrize("path", SEMANTICS, ids=lambda path: path.stem)
def test_semantics(path: Path) -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        for mode in MODES:
            matched = ["case"] if case[mode] == "true" else []
            forms = {"JSON": case["event"], "bytes": case["event"].encode()}
            mapping = as_mapping(case["event"])
            assert mapping is not None
            for matcher in MATCHERS:
                index = Index(matcher=matcher, missing=mode, time_zone=zone_of(case))
                if not accepts(index, "case", case["expression"], matcher):
                    continue
                for form, event in {**forms, "mapping": mapping}.items():
                    place = f"{matcher}, missing={mode}, {form}"
                    truth = index.explain("case", event, now=now_of(case)).truth
                    yield from differs(f"{place}: truth", truth, case[mode])
                    found = index.match(event, now=now_of(case))
                    yield from differs(f"{place}: match", found, matched)

    check_all(path, check)


@pytest.mark.parametrize("matcher", MATCHERS)
def test_changes(matcher: Matcher) -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        index = Index(matcher=matcher)
        for number, step in enumerate(case["steps"], 1):
            if "add" in step:
                index.add(step["add"], step["expression"])
            elif "remove" in step:
                index.remove(step["remove"])
            else:
                yield from differs(f"step {number}", index.match(step["event"]), step["matches"])

    for path in sorted((TESTDATA / "changes").glob("*.toml")):
        check_all(path, check)


@pytest.mark.parametrize("path", SEMANTICS, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", MODES)
def test_matches_among_many_are_what_explanations_say(path: Path, mode: Missing) -> None:
    for zone in sorted({zone_of(case) for case in cases(path)}):
        together = [case for case in cases(path) if zone_of(case) == zone]
        indexes = {
            matcher: Index(matcher=matcher, missing=mode, time_zone=zone) for matcher in MATCHERS
        }
        for matcher, index in indexes.items():
            for position, case in enumerate(together):
                accepts(index, position, case["expression"], matcher)
        complete = indexes["auto"]
        for case in together:
            event, now = case["event"], now_of(case)
            try:
                complete.match(event, now=now)
            except EventError:  # an attribute that one case ignores may be an error in another
                continue
            explained = {id for id in complete if complete.explain(id, event, now=now).matched}
            for matcher, index in indexes.items():
                wanted = [id for id in index if id in explained]
                assert index.match(event, now=now) == wanted, f"{case['name']}: {matcher}"


# Language


@pytest.mark.parametrize("file", ["print.toml", "checked-print.toml"])
def test_printing(file: str) -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        expression = tamis.parse(case["text"])
        yield from differs("text", str(expression), case["print"])
        form = case.get("json", expression.to_json())
        yield from differs("JSON form", json.loads(expression.to_json()), json.loads(form))
        yield from differs("parsed again", tamis.parse(case["print"]), expression)
        yield from differs("from JSON", Expression.from_json(form), expression)
        yield from differs("there and back", Expression.from_json(expression.to_json()), expression)

    check_all(TESTDATA / "language" / file, check)


@pytest.mark.parametrize("file", ["errors.toml", "checked-errors.toml"])
def test_language_errors(file: str) -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        try:
            expression = tamis.parse(case["text"])
        except tamis.TamisError as error:
            if type(error) not in ERRORS[case["kind"]]:
                yield f"class is {type(error).__name__}, not {case['kind']}"
            for name in ("line", "column", "suggestion"):
                if name in case:
                    yield from differs(name, getattr(error, name, None), case[name])
            for part in (case.get("message", ""), case.get("suggestion", "")):
                if part not in str(error):
                    yield f"message lacks {part!r}: {error}"
        else:
            yield f"read as {expression}"

    check_all(TESTDATA / "language" / file, check)


# Events


def forms_of(text: str) -> Iterator[tuple[str, Any]]:
    """An event in every form that can represent it, by name."""
    yield "JSON", text
    yield "bytes", text.encode()
    mapping = as_mapping(text)
    if mapping is not None:
        yield "mapping", mapping


def test_events_that_are_refused() -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        index = Index()
        index.add("case", case["expression"])
        for form, event in forms_of(case["event"]):
            for ask in (index.match, lambda event: index.explain("case", event)):
                try:
                    answer = ask(event)
                except tamis.TamisError as error:
                    yield from differs(f"{form}: class", type(error), EventError)
                    if case.get("message", "") not in str(error):
                        yield f"{form}: message lacks {case['message']!r}: {error}"
                else:
                    yield f"{form}: accepted as {answer}"

    check_all(TESTDATA / "events" / "errors.toml", check)


def test_events_that_are_accepted() -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        index = Index()
        index.add("case", case["expression"])
        for form, event in forms_of(case["event"]):
            explanation = index.explain("case", event)
            yield from differs(f"{form}: truth", explanation.truth, case["truth"])

    check_all(TESTDATA / "events" / "accepted.toml", check)


# Values of types that JSON lacks


def literal(text: str) -> Any:
    """The Python object for a literal."""
    if text in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[text]
    word, _, rest = text.partition(" ")
    if not rest:
        return Decimal(text)
    quoted, _, unit = rest.removeprefix("'").rpartition("'")
    match word:
        case "timestamp":
            return datetime.fromisoformat(quoted)
        case "date":
            return date.fromisoformat(quoted)
        case "interval":
            return timedelta(**{f"{unit.strip()}s": float(quoted)})
        case _:
            return ip_address(quoted)


def typed_event(case: dict[str, Any]) -> dict[str, Any]:
    def value(given: Any) -> Any:
        return [literal(item) for item in given] if isinstance(given, list) else literal(given)

    return {name: value(given) for name, given in case["event"].items()}


@pytest.mark.parametrize("path", sorted((TESTDATA / "values").glob("*.toml")), ids=lambda p: p.stem)
@pytest.mark.parametrize("missing", MODES)
def test_values_of_all_types(path: Path, missing: Missing) -> None:
    def check(case: dict[str, Any]) -> Iterator[str]:
        index = Index(missing=missing, time_zone=zone_of(case))
        index.add("case", case["expression"])
        event = typed_event(case)
        explanation = index.explain("case", event)
        yield from differs("truth", explanation.truth, case[missing])
        yield from differs("match", index.match(event), ["case"] * (case[missing] == "true"))
        printed = str(tamis.parse(case["expression"]))
        yield from differs("printed", str(tamis.parse(printed)), printed)
        form = tamis.parse(case["expression"]).to_json()
        yield from differs("JSON form", str(Expression.from_json(form)), printed)

    check_all(path, check)
