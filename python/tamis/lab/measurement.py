"""What was measured of each matcher, and which one it speaks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

_AS_FAST = 1.1  # what the default matcher may take longer than the fastest, and still be advised


@dataclass(frozen=True)
class Measurement:
    """One matcher on the data. Only one that was `measured` has figures.

    Attributes:
        matcher: Its name.
        status: `measured`; `differs` from `scan`; `refused` the data; `late`: beyond the time
            limit; `failed` otherwise, such as beyond the memory limit.
        reason: Why there are no figures.
        uses: The algorithm at work, which `"auto"` chose.
        build_seconds: Reading the expressions and compiling them.
        bytes: What matching needs in memory, if the matcher tells.
        peak_bytes: By how much the process grew at most, in building and matching; told on Linux.
        best_us: Microseconds per event, on average over the fastest repetition.
        median_us: Of the single events of that repetition.
        p99_us: Likewise, the 99th percentile.
        events_per_second: By `best_us`.
        matches_per_event: On average.
        timed: How many events were matched per repetition.
        repetitions: How often.
    """

    matcher: str
    status: Literal["measured", "differs", "refused", "late", "failed"]
    reason: str | None = None
    uses: str | None = None
    build_seconds: float | None = None
    bytes: int | None = None
    peak_bytes: int | None = None
    best_us: float | None = None
    median_us: float | None = None
    p99_us: float | None = None
    events_per_second: float | None = None
    matches_per_event: float | None = None
    timed: int | None = None
    repetitions: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Every matcher on the same data.

    Attributes:
        measurements: In the order of the matchers.
        settings: What was compared: numbers of subscriptions and events, limits, the seed.
    """

    measurements: Sequence[Measurement]
    settings: dict[str, Any]

    @property
    def ranking(self) -> list[Measurement]:
        """Those measured, the fastest first."""
        measured = [each for each in self.measurements if each.best_us is not None]
        return sorted(measured, key=lambda each: each.best_us or 0.0)

    @property
    def recommended(self) -> str | None:
        """The fastest matcher, or `"auto"` where it is hardly slower; None if none was measured."""
        if not self.ranking:
            return None
        fastest = self.ranking[0]
        for each in self.ranking:
            if each.matcher == "auto" and _times(each, fastest) <= _AS_FAST:
                return "auto"
        return fastest.matcher

    @property
    def recommendation(self) -> str:
        """The advice as a sentence, with its numbers."""
        ranking = self.ranking
        if not ranking:
            return "no matcher could be measured"
        chosen = next(each for each in ranking if each.matcher == self.recommended)
        text = f"use {chosen.matcher}: {chosen.best_us:,.1f} us per event"
        if chosen is not ranking[0]:
            return (
                f"{text}, {_times(chosen, ranking[0]):.2f} times the {ranking[0].matcher} matcher's"
            )
        others = [each for each in ranking[1:] if each.uses != chosen.uses]
        if others:
            text += (
                f"; {others[0].matcher}, the next, takes {_times(others[0], chosen):.2f} times that"
            )
        return text


def _times(one: Measurement, other: Measurement) -> float:
    return (one.best_us or 0.0) / (other.best_us or 1.0)
