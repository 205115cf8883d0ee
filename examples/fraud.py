"""Fraud rules with money and times: exact decimals, time zones, arithmetic between fields.

Amounts are decimals, so `amount * rate` is exact to 38 digits. Times are compared as instants, and
`hour(at)` is the hour in the index's time zone. Each rule has a score in its metadata; a payment is
stopped if the scores of the rules it breaks add up to 100.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import tamis

RULES = {
    "over-limit": ("amount * rate > 1000.00", 60),
    "just-below-limit": ("amount * rate between 990.00 and 1000.00", 40),
    "night": ("hour(at) >= 22 or hour(at) < 6", 20),  # `between 22 and 6` would never hold
    "late-and-large": (
        "amount > 900 and (hour(at) * 60 + minute(at) >= 22 * 60 + 30 or hour(at) < 6)",
        10,  # from half past ten
    ),
    "new-account": ("at - opened < interval '2' day", 50),
    "far-away": ("card.country != ip.country and not ip.country in ('NL', 'BE')", 30),
    "same-payee-again": ("any(recent, payee = 'ACME' and amount = 999.99)", 40),
    "anonymous": ("client in (cidr '198.51.100.0/24') or missing(client)", 30),
}
ACTIONS = {  # the rule of the highest priority decides; 0 is the default
    "office": ("client in (cidr '192.0.2.0/24')", "allow", 3),
    "large": ("cast(amount as decimal) > 900", "ask", 2),  # also where amounts are texts
    "outside": ("client not in (cidr '192.0.2.0/24')", "ask", 1),
    "other": ("true", "allow", 0),
}


def build() -> tamis.Index:
    rules = tamis.Index(time_zone="Europe/Amsterdam")
    for name, (expression, score) in RULES.items():
        rules.add(name, expression, metadata={"score": score})
    return rules


def build_actions() -> tamis.Index:
    actions = tamis.Index()
    for name, (expression, action, priority) in ACTIONS.items():
        actions.add(name, expression, metadata={"action": action}, priority=priority)
    return actions


def assess(rules: tamis.Index, payment: dict[str, Any]) -> tuple[int, list[str]]:
    """Return the score of a payment, and the rules that it breaks."""
    broken = rules.match(payment)
    return sum(rules[name].metadata["score"] for name in broken), broken


def main() -> None:
    rules = build()
    at = datetime(2026, 11, 3, 1, 30, tzinfo=UTC)  # half past two in Amsterdam
    common = {"at": at, "rate": Decimal("1.0850"), "card": {"country": "NL"}}
    payments: list[dict[str, Any]] = [
        {
            **common,
            "amount": Decimal("12.50"),
            "opened": at - timedelta(days=900),
            "ip": {"country": "NL"},
            "client": "192.0.2.7",
        },
        {
            **common,
            "amount": Decimal("921.66"),  # 1,000.0011: one cent less would be below
            "opened": at - timedelta(hours=30),
            "ip": {"country": "NL"},
            "client": "192.0.2.7",
        },
        {
            **common,
            "amount": Decimal("921.65"),
            "opened": at - timedelta(days=90),
            "ip": {"country": "RO"},
            "recent": [{"payee": "ACME", "amount": Decimal("999.99")}],
        },
    ]
    for payment in payments:
        score, broken = assess(rules, payment)
        verdict = "stop" if score >= 100 else "allow"
        print(f"{payment['amount']:>7}  {verdict:5}  {score:3}  {', '.join(broken)}")
    print(rules.explain("over-limit", payments[2]))
    actions = build_actions()
    lines = [
        '{"amount": "950.00", "client": "192.0.2.7"}',
        '{"amount": "950.00", "client": "203.0.113.5"}',
        "not an event",
        '{"amount": 12}',
    ]
    first, refused = actions.first_batch(lines, on_error="collect")
    print([actions[ids[0]].metadata["action"] if ids else "refused" for ids in first])
    print([(event.row, event.message) for event in refused])


if __name__ == "__main__":
    main()
