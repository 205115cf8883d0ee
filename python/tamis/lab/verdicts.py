"""Decides which claims of the papers hold, and where the default matcher is not fastest.

A claim is about the series of an experiment: their order, growth, change or share, or which of them
give up. It is judged by the experiment's first metric, over all values at which each series was
measured.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import exp, log
from typing import Any

from tamis.lab.experiments import Claim, Series
from tamis.lab.records import Results, Row, number

ALIKE = 1.1  # figures closer than this factor count as equal
STEADY = 1.5  # a figure that changes by no more than this factor counts as steady

CONFIRMED, PARTLY, EQUAL = "confirmed", "partly", "no difference"
REFUTED, OPEN = "not confirmed", "not measured"
WORDS = (CONFIRMED, PARTLY, EQUAL, REFUTED, OPEN)

# The names of the default in records: `auto`, its choice, and external calls of the API.
DEFAULTS = ("auto", "compiled", "tamis:Index", "tamis.xml:Filter", "tamis:Graph")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Attributes:
        claim: The paper's claim.
        word: One of `WORDS`.
        amount: The measured factors.
        why: Why our result differs, if known.
    """

    claim: Claim
    word: str
    amount: str
    why: str


def judge(results: Results) -> list[Verdict]:
    """The verdicts on all claims of an experiment."""
    return [_judge(results, claim) for claim in results.experiment.claims]


def _judge(results: Results, claim: Claim) -> Verdict:
    of = [_series(results, name) for name in claim.of]
    if claim.kind == "order":
        word, amount = _order(results, of, claim)
    else:
        word, amount = _KINDS[claim.kind](results, of)
    known = results.experiment.why if claim.kind in ("order", "alike") else ""  # explains orders
    why = "" if word == CONFIRMED else claim.why or known or "not examined"
    return Verdict(claim, word, amount, why)


def _series(results: Results, name: str) -> Series:
    return next(each for each in results.experiment.series if each.name == name)


def _order(results: Results, of: Sequence[Series], claim: Claim) -> tuple[str, str]:
    """Each series is lower than the next one, by about the paper's factor if it gives one."""
    places = range(len(results.values))
    if claim.last:
        places = range(max(_last(results, each) for each in of), len(results.values))
    words, texts = list[str](), list[str]()
    for less, more in pairwise(of):
        ratio = mean_ratio(results, more, less, places)
        if ratio is None:
            continue
        word = _compare(ratio)
        if word == CONFIRMED and claim.by and ratio < claim.by / 2:
            word = PARTLY
        words.append(word)
        texts.append(f"{more.label} {number(ratio)}x {less.label}")
    if claim.by:
        texts.append(f"paper: {claim.by:g}x")
    return _together(words), "; ".join(texts)


def _last(results: Results, series: Series) -> int:
    """The last value at which a series was measured."""
    line = results.line(series, results.experiment.drawing.metrics[0])
    return max((place for place, figure in enumerate(line) if figure is not None), default=0)


def _compare(ratio: float) -> str:
    return CONFIRMED if ratio > ALIKE else EQUAL if ratio >= 1 / ALIKE else REFUTED


def _together(words: Sequence[str]) -> str:
    """One word for several: the common one, or `PARTLY` if they differ."""
    if not words:
        return OPEN
    if len(set(words)) == 1:
        return words[0]
    return PARTLY


def _growth(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    """Each series grows less than the next one."""
    grown = [(each, _change(results, each)) for each in of]
    known = [(each, factor) for each, factor in grown if factor is not None]
    if len(known) < len(grown):
        return OPEN, ""
    words = [_compare(more / less) for (_, less), (_, more) in pairwise(known)]
    return _together(words), _factors(known)


def _factors(known: Sequence[tuple[Series, float]]) -> str:
    verbs = [(each, "grows" if factor >= 1 else "falls to", factor) for each, factor in known]
    return "; ".join(f"{each.label} {verb} {number(factor)}x" for each, verb, factor in verbs)


def _linear(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    """Each grows by about the same factor as the varied value."""
    return _beside_values(results, of, lambda factor: 1 / STEADY <= factor <= STEADY)


def _sublinear(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    """Each grows less than the varied value."""
    return _beside_values(results, of, lambda factor: factor < 1 / ALIKE)


def _beside_values(
    results: Results, of: Sequence[Series], test: Callable[[float], bool]
) -> tuple[str, str]:
    known = [(each, factor) for each in of if (factor := _change(results, each)) is not None]
    span = results.values[-1] / results.values[0]
    words = [CONFIRMED if test(factor / span) else REFUTED for _, factor in known]
    return _together(words), f"{_factors(known)}; {results.varied} grows {number(span)}x"


def _changes(test: Callable[[float], bool]) -> Callable[..., tuple[str, str]]:
    """All change in the same direction from the first value to the last."""

    def decide(results: Results, of: Sequence[Series]) -> tuple[str, str]:
        factors = [(each, _change(results, each)) for each in of]
        known = [(each, factor) for each, factor in factors if factor is not None]
        if not known:
            return OPEN, ""
        words = [CONFIRMED if test(factor) else REFUTED for _, factor in known]
        return _together(words), "; ".join(f"{each.label} {number(f)}x" for each, f in known)

    return decide


def _alike(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    one, other = of
    ratio = mean_ratio(results, one, other, range(len(results.values)))
    if ratio is None:
        return OPEN, ""
    held = 1 / STEADY <= ratio <= STEADY
    return (CONFIRMED if held else REFUTED), f"{one.label} {number(ratio)}x {other.label}"


def _minor(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    """The second figure is less than half of the first, at the last value."""
    word, text = _share(results, of)
    return {CONFIRMED: REFUTED, REFUTED: CONFIRMED}.get(word, word), text


def _share(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    """The second figure is most of the first, at the last value."""
    whole, part = results.experiment.drawing.metrics[:2]
    found = list[tuple[Series, float]]()
    for each in of:
        for value in reversed(range(len(results.values))):
            total, some = results.figure(each, value, whole), results.figure(each, value, part)
            if total and some is not None:
                found.append((each, some / total))
                break
    if not found:
        return OPEN, ""
    held = all(share > 0.5 for _, share in found)
    text = "; ".join(f"{each.label} {share:.0%}" for each, share in found)
    return (CONFIRMED if held else REFUTED), text


def _absent(results: Results, of: Sequence[Series]) -> tuple[str, str]:
    """Each gives up at some value."""
    texts, held = list[str](), 0
    for each in of:
        places = [
            place
            for place in range(len(results.values))
            if (row := results.rows.get((each.name, place))) and row["status"] != "measured"
        ]
        held += bool(places)
        where = f"gives up at {results.name(places[0])}" if places else "does not give up"
        texts.append(f"{each.label} {where}")
    word = CONFIRMED if held == len(of) else PARTLY if held else REFUTED
    return word, "; ".join(texts)


_KINDS: dict[str, Callable[[Results, Sequence[Series]], tuple[str, str]]] = {
    "growth": _growth,
    "linear": _linear,
    "sublinear": _sublinear,
    "rises": _changes(lambda factor: factor > ALIKE),
    "falls": _changes(lambda factor: factor < 1 / ALIKE),
    "steady": _changes(lambda factor: 1 / STEADY <= factor <= STEADY),
    "alike": _alike,
    "share": _share,
    "minor": _minor,
    "absent": _absent,
}


def _change(results: Results, series: Series) -> float | None:
    """The last figure divided by the first."""
    line = results.line(series, results.experiment.drawing.metrics[0])
    known = [figure for figure in line if figure is not None]
    return known[-1] / known[0] if len(known) > 1 and known[0] > 0 else None


def mean_ratio(results: Results, one: Series, other: Series, places: Sequence[int]) -> float | None:
    """The ratio of two series: its geometric mean over the values at which both were measured."""
    metric = results.experiment.drawing.metrics[0]
    lines = results.line(one, metric), results.line(other, metric)
    pairs = [(lines[0][place], lines[1][place]) for place in places]
    logs = [log(a / b) for a, b in pairs if a is not None and b is not None and a > 0 and b > 0]
    return exp(sum(logs) / len(logs)) if logs else None


@dataclass(frozen=True)
class Rival:
    """A matcher that was faster than the default.

    Attributes:
        workload: The workload.
        parameters: The parameters of the workload.
        matcher: The faster matcher.
        options: Its options.
        experiment: The experiment that measured it.
        default_us: Microseconds per event of the default, one figure per run, the latest first.
        rival_us: Those of the faster matcher.
    """

    workload: str
    parameters: dict[str, Any]
    matcher: str
    options: dict[str, Any]
    experiment: str
    default_us: tuple[float, ...]
    rival_us: tuple[float, ...]

    @property
    def factor(self) -> float:
        """How many times as fast it was, in the run with the smallest gain."""
        return min(a / b for a, b in zip(self.default_us, self.rival_us, strict=True))


@dataclass(frozen=True)
class Rivals:
    """A comparison of the default with all other matchers.

    Attributes:
        rivals: Matchers that were faster by the given factor in every run, fastest first.
        compared: Settings with the default and another matcher.
        incomparable: Settings where the default was not measured.
    """

    rivals: list[Rival]
    compared: int
    incomparable: int


def rivals(rows: Iterable[Row], factor: float = 1.15, runs: int = 1) -> Rivals:
    """Compare the default with every other matcher measured in the same setting.

    Args:
        rows: Records of one machine.
        factor: How many times as fast as the default a rival must be.
        runs: The number of latest runs in which it must be; matchers with fewer are left out.
    """
    measured = [row for row in rows if row["status"] == "measured" and row["best_us"]]
    measured.sort(key=lambda row: str(row["recorded"]), reverse=True)
    measured.sort(key=_setting)
    found, compared, incomparable = list[Rival](), 0, 0
    for _, group in groupby(measured, key=_setting):
        by_matcher = dict[tuple[str, str], list[Row]]()
        for row in group:
            by_matcher.setdefault((row["matcher"], row["options"]), []).append(row)
        defaults = [each for each in by_matcher if each[0] in DEFAULTS and each[1] == "{}"]
        others = [each for each in by_matcher if each[0] not in DEFAULTS]
        if not defaults:
            incomparable += 1
        elif others:
            compared += 1
            default = by_matcher[min(defaults, key=lambda each: DEFAULTS.index(each[0]))]
            faster = (_rival(default, by_matcher[each], runs) for each in others)
            found += [each for each in faster if each is not None and each.factor > factor]
    found.sort(key=lambda each: -each.factor)
    return Rivals(found, compared, incomparable)


def _setting(row: Row) -> tuple[str, str, str]:
    parameters = json.dumps(json.loads(row["parameters"]), sort_keys=True)
    return str(row["workload"]), parameters, str(row["effort"])


def _rival(default: Sequence[Row], other: Sequence[Row], runs: int) -> Rival | None:
    if min(len(default), len(other)) < runs:
        return None
    return Rival(
        workload=other[0]["workload"],
        parameters=json.loads(other[0]["parameters"]),
        matcher=other[0]["matcher"],
        options=json.loads(other[0]["options"]),
        experiment=other[0]["experiment"],
        default_us=tuple(row["best_us"] for row in default[:runs]),
        rival_us=tuple(row["best_us"] for row in other[:runs]),
    )
