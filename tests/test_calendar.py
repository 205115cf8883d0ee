"""Times over their whole range: days of every year, many time zones."""

from datetime import UTC, date, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from tamis import Index
from test_language_tables import all_hold

ZONES = [
    *("UTC", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "America/New_York"),
    *("America/Sao_Paulo", "America/St_Johns", "America/Los_Angeles", "Asia/Kolkata"),
    *("Asia/Kathmandu", "Asia/Tokyo", "Australia/Lord_Howe", "Australia/Sydney"),
    *("Pacific/Auckland", "Pacific/Apia", "Pacific/Chatham", "Africa/Lagos", "Atlantic/Azores"),
]


def test_the_calendar() -> None:
    index = Index()
    index.add("calendar", "year(t) = y and month(t) = m and day(t) = d and weekday(t) = w")
    days = [date.fromordinal(ordinal) for ordinal in range(1, date.max.toordinal(), 61)]
    days += [date(year, 3, 1) - timedelta(days=1) for year in range(1, 10_000)]
    days += [date(year, 12, 31) for year in range(1, 10_000, 7)] + [date.min, date.max]
    all_hold(
        index,
        [
            {"t": day.isoformat(), "y": day.year, "m": day.month, "d": day.day}
            | {"w": day.isoweekday()}
            for day in days
        ],
    )


def moments(zone: ZoneInfo, random: Random) -> list[datetime]:
    """Times in fifty years, including those around clock changes."""
    start = datetime(1975, 1, 1, tzinfo=UTC)
    found = [start + timedelta(seconds=random.randrange(50 * 365 * 86_400)) for _ in range(200)]
    hour = start
    for _ in range(50 * 365 * 4):
        later = hour + timedelta(hours=6)
        if hour.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            found += [hour + timedelta(minutes=15 * quarter) for quarter in range(24)]
        hour = later
    return found


@pytest.mark.parametrize("name", ZONES)
def test_clocks_of_a_zone(name: str) -> None:
    zone = ZoneInfo(name)
    index = Index(time_zone=name)
    index.add("shown", "hour(t) = h and minute(t) = n and day(t) = d and weekday(t) = w")
    index.add("date", "date(t) = cast(day as date)")
    index.add("naive", "cast(wall as timestamp) = cast(earlier as timestamp)")
    index.add("midnight", "cast(day as date) = cast(start as timestamp)")
    events = []
    for moment in moments(zone, Random(name)):
        shown = moment.astimezone(zone)
        wall = shown.replace(tzinfo=None)
        earlier = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
        midnight = datetime.combine(shown.date(), datetime.min.time(), zone).astimezone(UTC)
        events.append(
            {
                "t": moment.isoformat(),
                "h": shown.hour,
                "n": shown.minute,
                "d": shown.day,
                "w": shown.isoweekday(),
                "day": shown.date().isoformat(),
                "wall": wall.isoformat(sep=" "),
                "earlier": earlier.isoformat(),
                "start": midnight.isoformat(),
            }
        )
    all_hold(index, events)


@pytest.mark.parametrize("name", ZONES)
def test_hours_that_are_skipped(name: str) -> None:
    """For a local time that does not exist, the offset before the change counts."""
    zone = ZoneInfo(name)
    index = Index(time_zone=name)
    index.add("skipped", "cast(wall as timestamp) = cast(meant as timestamp)")
    events = []
    for moment in moments(zone, Random(name)):
        shown = moment.astimezone(zone).replace(tzinfo=None)
        for minutes in (-60, -30, 30, 60):
            wall = shown + timedelta(minutes=minutes)
            meant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
            events.append({"wall": wall.isoformat(), "meant": meant.isoformat()})
    all_hold(index, events)
