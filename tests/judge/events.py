"""Random events, as Python objects or as JSON values."""

import ipaddress
import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

from judge.pools import (
    ADDRESSES,
    BAD_ADDRESSES,
    BAD_VERSIONS,
    FLOATS,
    INTERVALS,
    LITERAL_DATES,
    LITERAL_TIMES,
    NOWS,
    NUMBERS,
    RARE_FLOATS,
    RARE_NUMBERS,
    RARE_STRINGS,
    RARE_TIMES,
    STRINGS,
    TIMES,
    VERSIONS,
    ZONES,
    pick,
)
from judge.terms import Setting

KINDS = {
    "n": "number",
    "m": "number",
    "s": "string",
    "t": "string",
    "at": "time",
    "by": "time",
    "day": "time",
    "host": "address",
    "release": "version",
    "flag": "boolean",
    "age": "duration",
    "tags": "string",
    "box.width": "number",
    "box.name": "string",
}
ELEMENT = {"price": "number", "qty": "number", "sku": "string", "at": "time", "tags": "string"}
PART = {"code": "string", "weight": "number"}
LISTS = ["items", "tags", "nums", "n", "s", "box", "gone"]


@dataclass
class Events:
    """Events of one form: Python objects, or JSON values."""

    random: Random
    json: bool
    without: frozenset[str] = frozenset()
    """Kinds of values that are left out."""

    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = {}
        for name, kind in KINDS.items():
            if self.random.random() < 0.12:
                continue
            holder, _, field = name.rpartition(".")
            place = event.setdefault(holder, {}) if holder else event
            place[field] = self.field(kind, 0.6 if name == "tags" else 0.12)
        if self.random.random() < 0.8:
            event["nums"] = self.field("number", 0.8)
        if self.random.random() < 0.85:
            event["items"] = self.objects(self.element)
        if self.random.random() < 0.05:
            event["box"] = self.field("number", 0.2)
        return event

    def objects(self, make: Any) -> Any:
        roll = self.random.random()
        if roll < 0.06:
            return self.random.choice([None, [], [None], {}, [{}]])
        if roll < 0.14:
            return make()
        elements = [make() for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.1:
            elements.insert(self.random.randint(0, len(elements)), self.scalar("number"))
        if self.random.random() < 0.1:
            elements.append(None)
        return elements

    def element(self) -> Any:
        element = {
            name: self.field(kind, 0.4 if name == "tags" else 0.1)
            for name, kind in ELEMENT.items()
            if self.random.random() < 0.85
        }
        if self.random.random() < 0.5:
            element["parts"] = self.objects(self.part)
        return element

    def part(self) -> Any:
        return {
            name: self.field(kind, 0.1) for name, kind in PART.items() if self.random.random() < 0.9
        }

    def field(self, kind: str, lists: float) -> Any:
        roll = self.random.random()
        if roll < 0.05:
            return self.random.choice([None, [], [None]])
        if roll < 0.05 + lists:
            count = self.random.randint(1, 3)
            values = [self.scalar(kind) for _ in range(count)]
            return [*values, None] if self.random.random() < 0.15 else values
        return self.scalar(kind)

    def scalar(self, kind: str) -> Any:
        if self.random.random() < 0.06:
            kind = self.random.choice(["number", "string", "boolean", "time"])
        if kind in self.without:
            kind = "string"
        match kind:
            case "number":
                return self.number()
            case "string":
                return pick(self.random, STRINGS, RARE_STRINGS)
            case "boolean":
                return self.random.random() < 0.5
            case "time":
                return self.time()
            case "address":
                text = pick(self.random, ADDRESSES, BAD_ADDRESSES)
                native = not self.json and text in ADDRESSES and self.random.random() < 0.5
                return ipaddress.ip_address(text) if native else text
            case "version":
                return pick(self.random, VERSIONS, BAD_VERSIONS, 0.15)
            case _:
                amount, unit = self.random.choice(INTERVALS)
                span = timedelta(**{f"{unit}s": int(amount)})
                return f"{amount} {unit}" if self.json else span

    def number(self) -> Any:
        plain = "digits" in self.without
        text = pick(self.random, NUMBERS, RARE_NUMBERS, 0 if plain else 0.12)
        if plain:
            exact = Decimal(text)
            return int(exact) if exact == exact.to_integral_value() else float(text)
        if self.json or self.random.random() < 0.6:
            exact = Decimal(text)
            whole = exact == exact.to_integral_value() and self.random.random() < 0.8
            return int(exact) if whole and abs(exact) < 2**63 else exact
        return pick(self.random, FLOATS, RARE_FLOATS, 0.1)

    def time(self) -> Any:
        text = pick(self.random, TIMES, RARE_TIMES, 0.35)
        if self.json or self.random.random() < 0.5:
            return text
        if self.random.random() < 0.3:
            return date.fromisoformat(self.random.choice(LITERAL_DATES))
        moment = datetime.fromisoformat(self.random.choice(LITERAL_TIMES)[:19])
        if self.random.random() < 0.3:
            return moment
        offset = timedelta(minutes=self.random.choice([0, 0, 60, -300, 330]))
        if moment.year in (1, 9999):
            offset = timedelta(0)
        return moment.replace(tzinfo=timezone(offset))


def to_json(event: Any) -> str:
    """The JSON of an event, with decimals as they are written."""
    if isinstance(event, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {to_json(v)}" for k, v in event.items()) + "}"
    if isinstance(event, list):
        return "[" + ", ".join(map(to_json, event)) + "]"
    if isinstance(event, Decimal):
        return str(event).lower()
    return json.dumps(event)


def setting(random: Random) -> Setting:
    return Setting(
        missing="unknown" if random.random() < 0.6 else "false",
        time_zone="UTC" if random.random() < 0.4 else random.choice(ZONES),
        now=random.choice(NOWS),
    )
