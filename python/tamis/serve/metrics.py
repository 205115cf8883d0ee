"""Counts requests, their times and their matches.

Counters for Prometheus, and a series of the last minutes for the console. Only the event loop's
thread changes them, except for the matches, which the engine counts.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import time
from typing import Any

from tamis._tamis import Hits

BUCKETS = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01),
    *(0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_REMEMBERED = 900  # seconds of the series


@dataclass
class RouteMetrics:
    """The requests of one route."""

    name: str
    statuses: Counter[int] = field(default_factory=Counter)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def observe(self, status: int, seconds: float) -> None:
        """Count a request."""
        self.statuses[status] += 1
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


@dataclass
class Metrics:
    """The metrics since the server started."""

    began: float = field(default_factory=time)
    routes: dict[str, RouteMetrics] = field(default_factory=dict)
    ranked: int = 0
    refused: int = 0
    busy: int = 0
    invalid_http: int = 0
    swaps: int = 0
    swap_failures: int = 0
    changes: int = 0
    connections: set[Any] = field(default_factory=set)
    hits: Hits = field(default_factory=Hits)
    series: deque[dict[str, float]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _before: tuple[int, int, int, int, list[int]] | None = None

    def route(self, name: str) -> RouteMetrics:
        """The figures of a route."""
        return self.routes.setdefault(name, RouteMetrics(name))

    @property
    def events(self) -> int:
        """The number of events, without those that were refused or explained."""
        return self.hits.events + self.ranked

    @property
    def matches(self) -> int:
        """The number of matches of all events."""
        return self.hits.matches

    def tick(self) -> None:
        """Add a second to the series."""
        requests = sum(sum(route.statuses.values()) for route in self.routes.values())
        failed = sum(
            count
            for route in self.routes.values()
            for status, count in route.statuses.items()
            if status >= 500
        )
        buckets = [sum(counts) for counts in zip(*self._all_buckets(), strict=True)]
        now = (requests, failed, self.events, self.matches, buckets)
        before = self._before or (0, 0, 0, 0, [0] * len(buckets))
        self._before = now
        new = [after - earlier for after, earlier in zip(buckets, before[4], strict=True)]
        self.series.append(
            {
                "time": round(time(), 3),
                "requests": now[0] - before[0],
                "failed": now[1] - before[1],
                "events": now[2] - before[2],
                "matches": now[3] - before[3],
                "p50": quantile(new, 0.5),
                "p99": quantile(new, 0.99),
            }
        )

    def _all_buckets(self) -> list[list[int]]:
        return [[0] * (len(BUCKETS) + 1), *(route.buckets for route in self.routes.values())]

    def write(self, gauges: dict[str, float], version: str) -> Iterator[str]:
        """The lines of the Prometheus text format.

        Args:
            gauges: Current values of further metrics.
            version: The version that is served.
        """
        yield "# TYPE tamis_requests_total counter"
        for route in self.routes.values():
            for status, count in sorted(route.statuses.items()):
                labels = f'route="{route.name}",status="{status}"'
                yield f"tamis_requests_total{{{labels}}} {count}"
        yield "# TYPE tamis_request_seconds histogram"
        for route in self.routes.values():
            total = 0
            for bound, count in zip((*BUCKETS, "+Inf"), route.buckets, strict=True):
                total += count
                labels = f'route="{route.name}",le="{bound}"'
                yield f"tamis_request_seconds_bucket{{{labels}}} {total}"
            yield f'tamis_request_seconds_sum{{route="{route.name}"}} {route.seconds:.6f}'
            yield f'tamis_request_seconds_count{{route="{route.name}"}} {total}'
        counters = {
            "events": self.events,
            "refused_events": self.refused,
            "matches": self.matches,
            "busy": self.busy,
            "invalid_http": self.invalid_http,
            "swaps": self.swaps,
            "swap_failures": self.swap_failures,
            "changes": self.changes,
        }
        for name, value in counters.items():
            yield f"# TYPE tamis_{name}_total counter"
            yield f"tamis_{name}_total {value}"
        for name, gauge in {**gauges, "start_time_seconds": self.began}.items():
            yield f"# TYPE tamis_{name} gauge"
            yield f"tamis_{name} {gauge}"
        escaped = version.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        yield "# TYPE tamis_version gauge"
        yield f'tamis_version{{version="{escaped}"}} 1'


def quantile(buckets: list[int], share: float) -> float:
    """The upper bound, in seconds, of the bucket that a share of the requests stays below."""
    wanted = share * sum(buckets)
    if not wanted:
        return 0.0
    total = 0
    for bound, count in zip(BUCKETS, buckets, strict=False):
        total += count
        if total >= wanted:
            return bound
    return BUCKETS[-1]
