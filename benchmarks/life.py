"""How much faster than `match` are `first` and a selective `where`, if thousands match?

    python benchmarks/life.py [SUBSCRIPTIONS]

`first` is compared with `match`. `where`, which selects one tenant of a hundred, is compared with
filtering the result of `match` by a prepared set of ids, which is the cheapest way to filter.
Results are compared before anything is timed. Times are CPU times of this process, the best of
five rounds.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tamis import Index

TENANTS = 100
EVENTS = 40
ROUNDS = 5


def subscriptions(count: int) -> list[dict[str, Any]]:
    chance = random.Random(1)
    return [
        {
            "id": number,
            "expression": (
                f"country = 'c{chance.randrange(20)}' and age > {chance.randrange(15, 80)} "
                f"and device in ('d{chance.randrange(4)}', 'd{chance.randrange(4)}')"
            ),
            "metadata": {"tenant": f"t{chance.randrange(TENANTS)}", "name": f"rule {number}"},
            "priority": chance.randrange(1_000_000),
        }
        for number in range(count)
    ]


def events() -> list[dict[str, Any]]:
    chance = random.Random(2)
    return [
        {
            "country": f"c{chance.randrange(20)}",
            "age": chance.randrange(30, 60),
            "device": f"d{chance.randrange(4)}",
        }
        for _ in range(EVENTS)
    ]


def best(work: Callable[[dict[str, Any]], Any], asked: Sequence[dict[str, Any]]) -> float:
    """The CPU microseconds per event."""
    rounds = list[float]()
    for _ in range(ROUNDS):
        started = time.process_time()
        for event in asked:
            work(event)
        rounds.append((time.process_time() - started) / len(asked) * 1e6)
    return min(rounds)


def main(count: int) -> None:
    rules, asked = subscriptions(count), events()
    index = Index(metadata_columns=["tenant"])
    started = time.perf_counter()
    index.add_many(rules)
    index.settle()
    for event in asked * 10:
        index.match(event)
    index.settle()
    print(f"{count:,} subscriptions, loaded in {time.perf_counter() - started:.1f} s")
    where = "tenant = 't7'"
    chosen = {rule["id"] for rule in rules if rule["metadata"]["tenant"] == "t7"}

    def filtered(event: dict[str, Any]) -> list[int]:
        return [id for id in index.match(event) if id in chosen]

    found = 0
    for event in asked:
        matches = index.match(event)
        found += len(matches)
        ranked = sorted(matches, key=lambda id: -rules[id]["priority"])
        assert index.first(event, 10) == ranked[:10]
        assert index.match(event, where=where) == filtered(event)
    for _ in range(10):  # until the selected subscriptions are compiled separately
        for event in asked:
            index.match(event, where=where)
    whole = best(index.match, asked)
    print(f"match                {whole:10.1f} us, {found / len(asked):,.0f} matches on average")
    for n in (1, 10):
        first = best(lambda event, n=n: index.first(event, n), asked)
        print(f"first, n={n:<3}         {first:10.1f} us, {whole / first:.1f}x faster than match")
    after = best(filtered, asked)
    selected = best(lambda event: index.match(event, where=where), asked)
    print(f"filtering the result {after:10.1f} us, {len(chosen) / count:.1%} selected")
    print(
        f"where                {selected:10.1f} us, {after / selected:.1f}x faster than filtering"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
