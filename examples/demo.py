"""The pipeline on a local Spark: subscriptions are compiled, and events matched against them.

Workers generate audiences and page views from a seed. The audiences are compiled into an index of
two shards, each by a separate task. Then every worker process maps the index, sharing its pages
with the others, and passes Arrow batches of events directly to the engine.

Run it with `make demo`; Spark's own log goes to build/demo.log.
"""

import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import tamis
from tamis import spark as ts
from tamis.spark.session import local_session

SEED = 7
SUBSCRIPTIONS = 100_000
EVENTS = 200_000
LOG = Path(__file__).resolve().parents[1] / "build" / "demo.log"

STATES = ["AZ", "CA", "CO", "NV", "NY", "OR", "TX", "WA"]
TOPICS = ["arts", "finance", "food", "music", "politics", "science", "sports", "travel"]
SYSTEMS = ["android", "ios", "linux", "macos", "windows"]


# ---------------------------------------------------------------- generated data


def subscription(draw: random.Random) -> str:
    """Return the expression of one audience."""
    age, price = draw.randint(16, 60), draw.randint(5, 95)
    state, topic, system = draw.choice(STATES), draw.choice(TOPICS), draw.choice(SYSTEMS)
    states = ", ".join(f"'{name}'" for name in draw.sample(STATES, 2))
    first, second = draw.sample(TOPICS, 2)
    topics = f"'{first}'^{draw.randint(2, 5)}, '{second}'"  # the first weighs more
    page = f"page = {draw.randint(1, 2000)}"
    shapes = [
        f"{page} and age between {age} and {age + 8} and user.state in ({states})",
        f"{page} and topics in ({topics}) and not user.state in ({states}) and price < {price / 2}",
        f"{page} and member and device = '{system}' and (price > {price} or topics = '{topic}')",
        f"{page} and (age < {age} xor member) and user.state = '{state}'",
        f"{page} and missing(age) and topics != '{topic}' and device like '{system[0]}%'",
    ]
    return draw.choice(shapes)


def event(draw: random.Random) -> str:
    """Return one page view as JSON; one in ten has no age."""
    view: dict[str, object] = {
        "page": min(draw.randint(1, 2000), draw.randint(1, 2000)),
        "user": {"state": draw.choice(STATES)},
        "topics": draw.sample(TOPICS, draw.randint(1, 3)),
        "device": draw.choice(SYSTEMS),
        "member": draw.random() < 0.3,
        "price": round(draw.uniform(1, 100), 2),
    }
    if draw.random() < 0.9:
        view["age"] = draw.randint(16, 75)
    return json.dumps(view)


def generate(
    spark: SparkSession, count: int, make: Callable[[random.Random], str], names: list[str]
) -> DataFrame:
    """Return numbered texts, the same for any number of tasks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            texts = [make(random.Random(f"{SEED} {names[1]} {number}")) for number in numbers]
            yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(texts)], names)

    return spark.range(count).mapInArrow(run, f"{names[0]} long, {names[1]} string")


# ---------------------------------------------------------------- the job


def timed(do: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    return do(), time.perf_counter() - started


def run(folder: Path) -> None:
    spark, seconds = timed(lambda: local_session(cores=2, log=LOG))
    print(f"Spark {spark.version} started in {seconds:.1f} s")

    generate(spark, SUBSCRIPTIONS, subscription, ["id", "expression"]).write.parquet(
        str(folder / "subscriptions")
    )
    generate(spark, EVENTS, event, ["number", "event"]).write.parquet(str(folder / "events"))
    subscriptions = spark.read.parquet(str(folder / "subscriptions"))
    events = spark.read.parquet(str(folder / "events"))
    print(f"\n{SUBSCRIPTIONS:,} subscriptions and {EVENTS:,} events generated, such as\n")
    for row in subscriptions.orderBy("id").limit(5).collect():
        print(f"  {row['id']}  {row['expression']}")

    path = folder / "index"
    compiled, seconds = timed(lambda: ts.compile(subscriptions, path, shards=2))
    print(f"\n{compiled.subscriptions:,} compiled into {compiled.shards} shards in {seconds:.1f} s")

    matches = ts.match(events, path, event="event", output="lists")
    count, seconds = timed(lambda: total(matches))
    print(f"{EVENTS:,} events matched in {seconds:.1f} s: {count:,} matches")
    again, seconds = timed(lambda: total(matches))
    print(f"{EVENTS:,} events once more in {seconds:.1f} s: {EVENTS / seconds:,.0f} per second")
    assert again == count
    best = ts.top(events, path, 3, event="event", keep=["number"])
    ranked, seconds = timed(best.count)
    print(f"{EVENTS:,} events ranked in {seconds:.1f} s: {ranked:,} in the best three\n")

    first = matches.where("number < 100").orderBy("number").cache()
    first.selectExpr(
        "number",
        "get_json_object(event, '$.page') as page",
        "get_json_object(event, '$.user.state') as state",
        "get_json_object(event, '$.age') as age",
        "get_json_object(event, '$.price') as price",
        "get_json_object(event, '$.topics') as topics",
        "size(subscriptions) as count",
        "slice(subscriptions, 1, 4) as first_subscriptions",
    ).limit(8).show(truncate=False)
    sample = first.collect()
    spark.stop()

    index = tamis.open(path)  # an index compiled on Spark opens anywhere
    assert [row["subscriptions"] for row in sample] == index.match_batch(
        [row["event"] for row in sample]
    )
    row = next(row for row in sample if row["subscriptions"])
    print(f"Why event {row['number']} matches {row['subscriptions'][0]}:\n")
    print(index.explain(row["subscriptions"][0], json.loads(row["event"])))


def total(matches: DataFrame) -> int:
    """Return the number of matches."""
    (count,) = matches.selectExpr("sum(size(subscriptions))").collect()[0]
    return int(count)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
