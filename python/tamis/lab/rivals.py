"""In which recorded settings was another matcher faster than the default one?"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tamis.lab.records import Row

# What the default is called in records: by what an index, a filter or a graph chooses itself.
DEFAULTS = ("auto", "compiled", "tamis:Index", "tamis.xml:Filter", "tamis:Graph")


@dataclass(frozen=True)
class Rival:
    """A matcher that was faster than the default.

    Attributes:
        workload: What was matched.
        parameters: The setting of the workload.
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
        """How many times as fast it was, in the run where it gained least."""
        return min(a / b for a, b in zip(self.default_us, self.rival_us, strict=True))


@dataclass(frozen=True)
class Rivals:
    """What the records say about the default.

    Attributes:
        rivals: Matchers that were faster by the factor asked for in every run, fastest first.
        compared: Settings with the default and something else.
        incomparable: Settings where the default was not measured.
    """

    rivals: list[Rival]
    compared: int
    incomparable: int


def find(rows: Iterable[Row], factor: float = 1.15, runs: int = 1) -> Rivals:
    """Compare the default with everything else that was measured in the same setting.

    Args:
        rows: Records, of one machine.
        factor: How many times as fast as the default a rival must be.
        runs: In how many of the latest runs it must be that; a matcher with fewer is left out.
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
            rivals = (_rival(default, by_matcher[each], runs) for each in others)
            found += [each for each in rivals if each is not None and each.factor > factor]
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
