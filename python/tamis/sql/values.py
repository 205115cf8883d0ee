"""Reads constants, and converts them to the type of a column."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tamis.errors import ExpressionError
from tamis.sql.types import (
    BOOLEAN,
    DATE,
    SPAN,
    STRING,
    TIMESTAMP,
    Type,
    exact,
)

EXACT = Context(prec=20_000)
MICROSECOND = 1000
_EPOCH = date(1970, 1, 1).toordinal()
_UNITS = {
    "week": 604_800_000_000_000,
    "day": 86_400_000_000_000,
    "hour": 3_600_000_000_000,
    "minute": 60_000_000_000,
    "second": 1_000_000_000,
    "millisecond": 1_000_000,
    "microsecond": 1000,
    "nanosecond": 1,
}
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)


@dataclass(frozen=True)
class Constant:
    """A constant: its type and its value.

    Numbers are decimals, timestamps nanoseconds since 1970, dates days, spans nanoseconds.
    """

    type: Type
    value: Any


def zone_of(name: str) -> tzinfo:
    """The time zone of this name or offset.

    Raises:
        ExpressionError: The time zone is unknown.
    """
    found = re.fullmatch(r"([+-])(\d\d):(\d\d)", name)
    if found:
        length = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-length if found[1] == "-" else length)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ExpressionError(f"there is no time zone {name!r}") from error


def read(value: Any, zone: tzinfo) -> Constant:
    """A constant of the JSON form.

    Raises:
        ExpressionError: SQL has no such type.
    """
    if isinstance(value, bool):
        return Constant(BOOLEAN, value)
    if isinstance(value, str):
        return Constant(STRING, value)
    if isinstance(value, int | Decimal):
        return _number(Decimal(value))
    (word, text), *_ = value.items()
    match word:
        case "timestamp":
            return Constant(TIMESTAMP, _moment(text, zone))
        case "date":
            return Constant(DATE, date.fromisoformat(text).toordinal() - _EPOCH)
        case "interval":
            return Constant(SPAN, _span(text))
    raise ExpressionError(f"SQL has no {_WORDS.get(word, word)}")


_WORDS = {"ip": "addresses", "cidr": "networks", "version": "versions"}


def _number(value: Decimal) -> Constant:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    return Constant(exact(max(len(digits) + max(exponent, 0), scale), scale), value)


def _moment(text: str, zone: tzinfo) -> int:
    found = _TIME.fullmatch(text)
    if found is None:  # a day
        day, clock, nanoseconds, offset = date.fromisoformat(text), (0, 0, 0), 0, None
    else:
        day = date.fromisoformat(found[1])
        clock = (int(found[2]), int(found[3]), int(found[4] or 0))
        nanoseconds = int((found[5] or "0").ljust(9, "0"))
        offset = found[6]
    seconds = (day.toordinal() - _EPOCH) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    if offset is None:
        local = datetime(day.year, day.month, day.day, *clock, tzinfo=zone)
        shift = local.utcoffset() or timedelta()
        return seconds * 1_000_000_000 + nanoseconds - shift // timedelta(microseconds=1) * 1000
    if offset != "Z":
        sign = -1 if offset[0] == "-" else 1
        seconds -= sign * (int(offset[1:3]) * 3600 + int(offset[4:]) * 60)
    return seconds * 1_000_000_000 + nanoseconds


def midnight(day: int, zone: tzinfo) -> int:
    """The time at which a day begins."""
    return _moment(date.fromordinal(day + _EPOCH).isoformat(), zone)


def _span(text: str) -> int:
    words = text.split()
    total = Decimal(0)
    for number, unit in zip(words[::2], words[1::2], strict=True):
        length = _UNITS[unit.removesuffix("s")]
        total = EXACT.add(total, EXACT.multiply(Decimal(number), Decimal(length)))
    return int(total)


def rounded(value: Decimal, scale: int, *, up: bool) -> Decimal:
    """The nearest number with this many decimals that is not below, or not above."""
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    return value.quantize(Decimal(1).scaleb(-scale), rounding=rounding, context=EXACT)


def timestamp_text(microseconds: int) -> str | None:
    """A moment in UTC, as text; None outside the years that SQL has."""
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return moment.isoformat(sep=" ")


def date_text(days: int) -> str:
    """A day, as text."""
    return date.fromordinal(days + _EPOCH).isoformat()
