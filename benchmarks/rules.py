"""How many rules per second does each importer read?

Uses generated rules. Reports CPU time, the best of several runs. For Sigma, the parsing by pySigma
is reported separately from the importer. Run by `make bench-full`.
"""

import json
import random
import time
from collections.abc import Callable

from sigma.collection import SigmaCollection

from tamis import rules

COUNT = 2_000
WORDS = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta"]


def best(run: Callable[[], object], repeat: int = 3) -> float:
    """The CPU seconds of the fastest of several runs."""
    times = []
    for _ in range(repeat):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def pattern(draw: random.Random) -> dict[str, object]:
    """Return one pattern of EventBridge."""
    matchers: list[object] = [
        {"prefix": draw.choice(WORDS)},
        {"anything-but": draw.sample(WORDS, 2)},
        {"numeric": [">", draw.randint(0, 9), "<=", draw.randint(10, 99)]},
        {"equals-ignore-case": draw.choice(WORDS)},
        draw.choice(WORDS),
    ]
    detail = {f"field{n}": draw.sample(matchers, 2) for n in draw.sample(range(20), 3)}
    return {"source": draw.sample(WORDS, 2), "detail": detail}


def condition(draw: random.Random) -> dict[str, object]:
    """Return one MongoDB-style condition."""
    return {
        f"field{draw.randint(0, 20)}": {"$gte": draw.randint(0, 9), "$lt": draw.randint(10, 99)},
        "country": {"$in": draw.sample(WORDS, 3)},
        "$or": [{"tags": {"$elemMatch": {"$eq": draw.choice(WORDS)}}}, {"vip": True}],
    }


def clause(draw: random.Random) -> str:
    """Return one WHERE clause of Spark."""
    return (
        f"field{draw.randint(0, 20)} BETWEEN {draw.randint(0, 9)} AND {draw.randint(10, 99)} "
        f"AND lower(name) LIKE '{draw.choice(WORDS)}%' AND (state IN ('CA', 'OR') OR vip IS NULL)"
    )


def detection(draw: random.Random, number: int) -> str:
    """Return one Sigma rule."""
    first, second, third = draw.sample(WORDS, 3)
    return (
        f"title: rule {number}\nid: 00000000-0000-4000-8000-{number:012}\n"
        "logsource: {category: process_creation, product: windows}\n"
        "detection:\n"
        f"  tools: {{Image|endswith: ['\\{first}.exe', '\\{second}.exe']}}\n"
        f"  words: {{CommandLine|contains|all: ['{third}', ' -{first}', '{number}']}}\n"
        f"  filter: {{ParentImage|startswith: 'C:\\Program Files\\{third}'}}\n"
        "  condition: tools and words and not filter\nlevel: high\n"
    )


def main() -> None:
    draw = random.Random(7)
    patterns = json.dumps({str(n): pattern(draw) for n in range(COUNT)})
    conditions = json.dumps({str(n): condition(draw) for n in range(COUNT)})
    clauses = json.dumps({str(n): clause(draw) for n in range(COUNT)})
    detections = [detection(draw, number) for number in range(COUNT // 4)]
    for reader, text in (
        (rules.eventbridge.read, patterns),
        (rules.mongo.read, conditions),
        (rules.sql.read, clauses),
        (rules.sigma.read, "---\n".join(detections)),
    ):
        read = reader(text)
        assert not read.refused, read.refused[0]
    seconds = {
        "eventbridge": best(lambda: rules.eventbridge.read(patterns)) / COUNT,
        "mongo": best(lambda: rules.mongo.read(conditions)) / COUNT,
        "sql (sqlglot included)": best(lambda: rules.sql.read(clauses)) / COUNT,
    }
    parsed = [rule for text in detections for rule in SigmaCollection.from_yaml(text).rules]
    for rule in parsed:  # pySigma parses conditions lazily
        assert [item.parsed for item in rule.detection.parsed_condition]
    seconds["sigma (after pySigma)"] = best(lambda: list(map(rules.sigma.convert, parsed))) / len(
        parsed
    )
    for name, each in seconds.items():
        print(f"{name:28} {1 / each:>9,.0f} rules/s")
    together = len(seconds) / sum(seconds.values())
    print(f"{'together':28} {together:>9,.0f} rules/s")
    whole = best(lambda: rules.sigma.read("---\n".join(detections)), 1) / len(detections)
    print(f"{'sigma with pySigma parsing':28} {1 / whole:>9,.0f} rules/s")


if __name__ == "__main__":
    main()
