"""How many requests are there, how long do they take, what do they find?

Counters for Prometheus, and a series of the last minutes for the console. Only the event loop's
thread changes them.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from time import time
from typing import Any

BUCKETS = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01),
    *(0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_REMEMBERED = 900  # seconds of the series
_MOST_HITS = 1_000_000  # ids whose matches are counted
_TOGETHER = 256  # events whose matches are counted together


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
    events: int = 0
    refused: int = 0
    matches: int = 0
    busy: int = 0
    invalid_http: int = 0
    swaps: int = 0
    swap_failures: int = 0
    changes: int = 0
    connections: set[Any] = field(default_factory=set)
    _hits: Counter[str | int] = field(default_factory=Counter)
    _uncounted: list[list[Any]] = field(default_factory=list)
    series: deque[dict[str, float]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _before: tuple[int, int, int, int, list[int]] | None = None

    def route(self, name: str) -> RouteMetrics:
        """The figures of a route."""
        return self.routes.setdefault(name, RouteMetrics(name))

    def found(self, ids: list[Any]) -> None:
        """Count an event and what it matched."""
        self.events += 1
        self.matches += len(ids)
        self._uncounted.append(ids)
        if len(self._uncounted) >= _TOGETHER or len(ids) >= _TOGETHER:
            self._count()

    def _count(self) -> None:
        """Count matches by id: together, which takes half of the time that one by one takes."""
        uncounted, self._uncounted = self._uncounted, []
        if len(self._hits) < _MOST_HITS:
            self._hits.update(chain.from_iterable(uncounted))

    def hits(self) -> Counter[str | int]:
        """The number of matches by id."""
        self._count()
        return self._hits.copy()

    def found_many(self, many: Iterable[list[Any]], refused: int) -> None:
        """Count the events of a batch; those that were refused matched nothing."""
        for ids in many:
            self.found(ids)
        self.events -= refused
        self.refused += refused

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
            gauges: More figures, as they are now.
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
