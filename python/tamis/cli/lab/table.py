"""A comparison as text."""

from tamis.lab import Comparison, Measurement

_HEADS = (
    *("matcher", "build s", "MiB", "best us", "median us", "p99 us"),
    *("events/s", "matches", "timed"),
)


def table(comparison: Comparison) -> str:
    """One line per matcher, then a summary of the data."""
    rows = [_figures(each) for each in comparison.measurements if each.status == "measured"]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    first = max([widths[0], *(len(each.matcher) for each in comparison.measurements)])
    lines = [_line(_HEADS, [first, *widths[1:]])]
    for each in comparison.measurements:
        if each.status == "measured":
            lines.append(_line(_figures(each), [first, *widths[1:]]))
        else:
            lines.append(f"{each.matcher:<{first}}  {each.status}: {each.reason}")
    about = comparison.settings
    lines.append(
        f"\n{about['subscriptions']:,} subscriptions, {about['events']:,} events; "
        f"matches of {about['checked']:,} of them compared with scan"
    )
    return "\n".join(lines)


def _figures(found: Measurement) -> tuple[str, ...]:
    size = "-" if found.bytes is None else f"{found.bytes / 2**20:,.1f}"
    return (
        found.matcher if found.uses == found.matcher else f"{found.matcher} ({found.uses})",
        f"{found.build_seconds:,.2f}",
        size,
        f"{found.best_us:,.1f}",
        f"{found.median_us:,.1f}",
        f"{found.p99_us:,.1f}",
        f"{found.events_per_second:,.0f}",
        f"{found.matches_per_event:,.1f}",
        f"{found.timed:,}",
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (
        f"{cell:<{width}}" if place == 0 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others])
