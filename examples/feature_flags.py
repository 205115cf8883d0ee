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


def build() -> tamis.Index:
    """Return an index of all rules; `metadata_columns` makes asking for one flag cheap."""
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
    """Return the variant of a flag for whoever asks."""
    rules = flags.first(context, where=tamis.attr.flag == flag, now=now)
    return str(flags[rules[0]].metadata["variant"]) if rules else "off"


def main() -> None:
    flags = build()
    visitors: list[dict[str, object]] = [
        {"user": {"id": "qa-1"}, "app": "2.9.4", "country": "SE"},
        {"user": {"id": "zoe"}, "app": "2.9.4", "country": "US"},
        {"user": {"id": "zoe"}, "app": "2.11.0", "country": "US"},
        {"user": {"id": "eve"}, "app": "2.11.0", "country": "NO"},
        {"user": {"id": "eve"}, "app": "2.11.0", "country": "IN"},
    ]
    for context in visitors:
        chosen = {
            flag: variant(flags, flag, context, "2026-12-24") for flag in ("checkout", "banner")
        }
        print(context["user"], context["app"], context["country"], "->", chosen)

    def share() -> float:
        users = [{"user": {"id": f"user-{n}"}, "app": "3.0.0"} for n in range(10_000)]
        rollout = flags.match_batch(users, where="flag = 'checkout'", count=True)
        return rollout["checkout-2"] / len(users)

    print(f"rolled out to {share():.1%}")
    flags.add(
        "checkout-2",
        "bucket(user.id, 100, 'checkout') < 50",
        metadata={"flag": "checkout", "variant": "new"},
        priority=10,
    )
    print(f"rolled out to {share():.1%}")


if __name__ == "__main__":
    main()
