"""Feature flags: a flag is a condition, and a rollout is a bucket of users.

Each flag has rules. The first rule that holds, by priority, decides the variant; no rule means
that the flag is off. `bucket` puts a user into one of 100 buckets, always the same one for the
same user and salt, so a rollout from 20 to 50 percent keeps everybody it had.
"""

import tamis

RULES = [
    # flag, variant, priority, who
    ("checkout", "new", 30, "user.id in ('qa-1', 'qa-2')"),
    ("checkout", "off", 20, "app < version '2.10.0' or country in ('BR', 'IN')"),
    ("checkout", "new", 10, "bucket(user.id, 100, 'checkout') < 20"),
    ("banner", "winter", 10, "country in ('SE', 'NO', 'FI')"),
]
WINTER = ("2026-12-01", "2027-03-01")
Decisions = dict[str, tuple[int, str, str]]


def build() -> tamis.Index:
    """Return an index of all rules; `metadata_columns` makes queries for one flag cheap."""
    flags = tamis.Index(metadata_columns=["flag"])
    for number, (flag, variant, priority, who) in enumerate(RULES):
        start, end = WINTER if variant == "winter" else (None, None)
        flags.add(
            f"{flag}-{number}",
            who,
            metadata={"flag": flag, "variant": variant},
            priority=priority,
            active_from=start,
            active_until=end,
        )
    return flags


def variant(flags: tamis.Index, flag: str, context: dict[str, object], now: str) -> str:
    """Return the variant of one flag for a context."""
    rules = flags.first(context, where=tamis.attr.flag == flag, now=now)
    return str(flags[rules[0]].metadata["variant"]) if rules else "off"


def decisions(flags: tamis.Index) -> Decisions:
    """Return the decision of each rule, to be read once instead of for every visitor."""
    rules = [flags[id] for id in flags]
    return {r.id: (r.priority, r.metadata["flag"], r.metadata["variant"]) for r in rules}


def variants(
    flags: tamis.Index, decided: Decisions, context: dict[str, object], now: str
) -> dict[str, str]:
    """Return the variants of all flags that are on: one match, the highest priority of each."""
    matched = sorted(decided[id] for id in flags.match(context, now=now))
    return {flag: variant for _, flag, variant in matched}  # the last one of a flag wins


def why(flags: tamis.Index, flag: str, context: dict[str, object], now: str) -> None:
    """Print the rules of a flag, the highest priority first, down to the one that decides."""
    rules = [flags[id] for id in flags if flags[id].metadata["flag"] == flag]
    for rule in sorted(rules, key=lambda rule: -rule.priority):
        told = flags.explain(rule.id, context, now=now)
        print(f"{rule.id} ({rule.metadata['variant']})", "decides" if told.matched else "is out")
        print(told)
        if told.matched:
            break


def main() -> None:
    flags = build()
    decided = decisions(flags)  # again when the metadata of a rule changes
    visitors: list[dict[str, object]] = [
        {"user": {"id": "qa-1"}, "app": "2.9.4", "country": "SE"},
        {"user": {"id": "zoe"}, "app": "2.9.4", "country": "US"},
        {"user": {"id": "zoe"}, "app": "2.11.0", "country": "US"},
        {"user": {"id": "eve"}, "app": "2.11.0", "country": "NO"},
        {"user": {"id": "eve"}, "app": "2.11.0", "country": "IN"},
    ]
    for context in visitors:
        chosen = {"checkout": "off", "banner": "off"}
        chosen |= variants(flags, decided, context, "2026-12-24")
        assert chosen["checkout"] == variant(flags, "checkout", context, "2026-12-24")
        print(context["user"], context["app"], context["country"], "->", chosen)

    why(flags, "checkout", visitors[2], "2026-12-24")
    why(flags, "banner", visitors[3], "2027-03-01")

    def share() -> float:
        users = [{"user": {"id": f"user-{n}"}, "app": "3.0.0"} for n in range(10_000)]
        rollout = flags.match_batch(users, where="flag = 'checkout'", count=True)
        return rollout["checkout-2"] / len(users)

    print(f"rolled out to {share():.1%}")
    flags.add(  # replaces the whole rule, so repeat its metadata and priority
        "checkout-2",
        "bucket(user.id, 100, 'checkout') < 50",
        metadata={"flag": "checkout", "variant": "new"},
        priority=10,
    )
    print(f"rolled out to {share():.1%}")


if __name__ == "__main__":
    main()
