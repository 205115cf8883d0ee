"""Values: numbers, texts, times, durations, addresses, versions; equality and order.

This is independent of the engine: times are nanoseconds and days counted by `datetime`, numbers are
`decimal`, addresses are `ipaddress`, zones are `zoneinfo`.
"""

import decimal
import ipaddress
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

EXACT = decimal.Context(prec=400, Emax=10**6, Emin=-(10**6), rounding=decimal.ROUND_HALF_UP)
DIGITS = 38
SECOND = 10**9
DAY = 86_400 * SECOND
EPOCH = date(1970, 1, 1).toordinal()


class Unspecified(Exception):  # noqa: N818 - not an error: the language does not define it
    """The language leaves this open, so the engine is not compared here."""


@dataclass(frozen=True)
class Number:
    """A number by its decimal; a float, which is its shortest decimal, calculates as IEEE does."""

    value: Decimal
    floating: bool = False


@dataclass(frozen=True)
class Instant:
    nanoseconds: int


@dataclass(frozen=True)
class Day:
    ordinal: int


@dataclass(frozen=True)
class Span:
    nanoseconds: int


@dataclass(frozen=True)
class Version:
    """Its parts, then a key that sorts pre-releases first, identifier by identifier."""

    parts: tuple[int, int, int]
    release: bool
    identifiers: tuple[tuple[bool, int, str], ...]

    @property
    def key(self) -> tuple[Any, ...]:
        return self.parts, self.release, self.identifiers


Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Value: TypeAlias = str | bool | Number | Instant | Day | Span | Version | Address
TIMES = (Instant, Day)


def number(value: int | Decimal) -> Number:
    return Number(Decimal(value))


def from_float(value: float) -> Number:
    return Number(Decimal(repr(value)), floating=True)


def value_of(raw: Any, zone: ZoneInfo) -> Value | None:
    """The value of one field of an event; None for a null."""
    match raw:
        case None:
            return None
        case bool() | str():
            return raw
        case int() | Decimal():
            return number(raw)
        case float():
            return None if raw != raw else from_float(raw)
        case datetime():
            return instant_of(raw, zone)
        case date():
            return Day(raw.toordinal())
        case timedelta():
            return Span((raw // timedelta(microseconds=1)) * 1000)
        case ipaddress.IPv4Address() | ipaddress.IPv6Address():
            return raw
    raise AssertionError(f"no value: {raw!r}")


# Times


def instant_of(moment: datetime, zone: ZoneInfo) -> Instant:
    """In a repeated hour the earlier time counts; in a skipped one the earlier offset: fold 0."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone, fold=0)
    offset = moment.utcoffset()
    assert offset is not None
    clock = moment.time()
    seconds = (clock.hour * 60 + clock.minute) * 60 + clock.second
    days = moment.toordinal() - EPOCH
    shift = offset // timedelta(seconds=1)
    return Instant((days * 86_400 + seconds - shift) * SECOND + clock.microsecond * 1000)


def midnight(day: Day, zone: ZoneInfo) -> Instant:
    return instant_of(datetime.combine(date.fromordinal(day.ordinal), time()), zone)


def local(moment: Instant, zone: ZoneInfo) -> datetime:
    """The local time in a zone, truncated to microseconds."""
    try:
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment.nanoseconds // 1000)
        return utc.astimezone(zone)
    except OverflowError:
        raise Unspecified("clocks beyond the years 1 to 9999") from None


TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
DOUBTFUL_TIME = re.compile(r"\s*\d{4}-\d\d-\d\d(.*([tz]|\d[+-]\d\d|[+-]\d{4}|\s[Z+-].*))?\s*")


def read_time(text: str, zone: ZoneInfo) -> Instant | Day | None:
    """Parse a time: `YYYY-MM-DD`, a time of day, an offset; None if it is not a time."""
    found = TIME.fullmatch(text)
    if found is None:
        if DOUBTFUL_TIME.fullmatch(text):
            raise Unspecified("a form of time that is not named")
        return None
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    try:
        whole = date(int(year), int(month), int(day))
        if hour is None:
            return Day(whole.toordinal())
        clock = time(int(hour), int(minute), int(second or 0))
    except ValueError:
        if second == "60":
            raise Unspecified("a leap second") from None
        return None
    moment = datetime.combine(whole, clock)
    nanoseconds = int((fraction or "0").ljust(9, "0"))
    if offset is None:
        return Instant(instant_of(moment, zone).nanoseconds + nanoseconds)
    shift = 0
    if offset != "Z":
        hours, minutes = int(offset[1:3]), int(offset[4:])
        if hours > 14 or minutes > 59:
            raise Unspecified("an offset that no place has")
        shift = (hours * 60 + minutes) * (-60 if offset[0] == "-" else 60)
    seconds = (whole.toordinal() - EPOCH) * 86_400
    seconds += (clock.hour * 60 + clock.minute) * 60 + clock.second - shift
    return Instant(seconds * SECOND + nanoseconds)


UNITS = {
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3600 * SECOND,
    "day": DAY,
    "week": 7 * DAY,
}


def read_span(text: str, unit: str) -> Span:
    exact = EXACT.multiply(Decimal(text), Decimal(UNITS[unit.removesuffix("s")]))
    return Span(int(exact))


# Addresses and versions


def read_address(text: str) -> Address | None:
    if "%" in text:
        raise Unspecified("an address with a scope")
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


VERSION = re.compile(
    r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)


def read_version(text: str) -> Version | None:
    found = VERSION.fullmatch(text)
    if found is None:
        if text != text.strip() or text.startswith("V"):
            raise Unspecified("a version with more around it")
        return None
    *parts, before, build = found.groups()
    numbers = [part or "0" for part in parts]
    identifiers = before.split(".") if before is not None else []
    if "" in identifiers or (build is not None and "" in build.split(".")):
        return None
    numeric = [part for part in numbers + identifiers if part.isdigit()]
    if any(len(part) > 1 and part.startswith("0") for part in numeric):
        raise Unspecified("leading zeros of a version")
    major, minor, patch = map(int, numbers)
    keys = tuple(
        (False, int(part), "") if part.isdigit() else (True, 0, part) for part in identifiers
    )
    return Version((major, minor, patch), before is None, keys)


# Equality and order


def kind(value: Value) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case Number():
            return "number"
        case Instant() | Day():
            return "time"
        case Span():
            return "duration"
        case Version():
            return "version"
        case _:
            return "address"


def alike(left: Value, right: Value, zone: ZoneInfo) -> tuple[Any, Any] | None:
    """Convert two values for comparison, a string to the other's type; None if they differ."""
    if isinstance(left, str) and not isinstance(right, str):
        read = read_as(left, right, zone)
        return None if read is None else alike(read, right, zone)
    if isinstance(right, str) and not isinstance(left, str):
        read = read_as(right, left, zone)
        return None if read is None else alike(left, read, zone)
    if kind(left) != kind(right):
        return None
    match left, right:
        case str(), str():
            return left.encode(), right.encode()
        case Number(), Number():
            return left.value, right.value
        case Day(), Day():
            return left.ordinal, right.ordinal
        case ((Instant() | Day()), (Instant() | Day())):
            return moment_of(left, zone), moment_of(right, zone)
        case Span(), Span():
            return left.nanoseconds, right.nanoseconds
        case Version(), Version():
            return left.key, right.key
    return left, right


def moment_of(value: Instant | Day, zone: ZoneInfo) -> int:
    return (midnight(value, zone) if isinstance(value, Day) else value).nanoseconds


def read_as(text: str, met: Value, zone: ZoneInfo) -> Value | None:
    match met:
        case Instant() | Day():
            return read_time(text, zone)
        case Version():
            return read_version(text)
        case ipaddress.IPv4Address() | ipaddress.IPv6Address():
            return read_address(text)
    return None


def holds(left: Value, operator: str, right: Value, zone: ZoneInfo) -> bool:
    """A comparison of two values; if their types cannot be compared, only `!=` holds."""
    compared = alike(left, right, zone)
    if operator == "!=":
        return not holds(left, "=", right, zone)
    if compared is None:
        return False
    first, second = compared
    if operator == "=":
        return bool(first == second)
    if isinstance(first, bool):
        return False
    if isinstance(first, ipaddress.IPv4Address | ipaddress.IPv6Address):
        raise Unspecified("the order of addresses")
    match operator:
        case "<":
            return bool(first < second)
        case "<=":
            return bool(first <= second)
        case ">":
            return bool(first > second)
        case _:
            return bool(first >= second)


def canonical(value: Value) -> str:
    """The text of a value, as `values()`, `bucket` and `cast(... as string)` use it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case Number(exact):
            if not exact.is_finite():
                raise Unspecified("the text of an infinity")
            if exact == 0:
                return "0"
            if exact.adjusted() < -6 or exact.adjusted() >= DIGITS:
                sign, digits, _ = exact.normalize(EXACT).as_tuple()
                first, *rest = map(str, digits)
                point = "." if rest else ""
                return f"{'-' * sign}{first}{point}{''.join(rest)}e{exact.adjusted()}"
            plain = f"{exact:f}"
            return plain.rstrip("0").rstrip(".") if "." in plain else plain
    raise Unspecified("the text of times, durations and addresses")
