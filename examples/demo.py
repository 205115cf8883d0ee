"""Match a stream of events against thousands of standing subscriptions, on local Spark.

The driver generates subscriptions and events from a seed, compiles the subscriptions into an index
and saves it. Every worker process maps the saved index once, sharing its pages with the others, and
keeps it for all batches and jobs that follow. Every Arrow batch of events goes to the engine at
once, as one column of JSON text: no event becomes a Python object on the way.

Run it with `make demo`; what Spark itself logs goes to build/demo.log.
"""

import contextlib
import functools
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import tamis

SEED = 7
SUBSCRIPTIONS = 3_000
EVENTS = 20_000
LOG = Path(__file__).resolve().parents[1] / "build" / "demo.log"

STATES = ["AZ", "CA", "CO", "NV", "NY", "OR", "TX", "WA"]
TOPICS = ["arts", "finance", "food", "music", "politics", "science", "sports", "travel"]
SYSTEMS = ["android", "ios", "linux", "macos", "windows"]


# ---------------------------------------------------------------- what runs on the workers


@functools.cache
def open_index(path: str) -> tamis.Index:
    """Map the index, once per process; the driver has just written it, so it is not verified."""
    index = tamis.open(path, verify=False)
    gc.freeze()  # a worker collects garbage after every task; the modules need not be walked again
    return index


def match_batches(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add to every event the ids of the subscriptions it satisfies."""
    index = open_index(path)
    for batch in batches:
        found = index.match_batch(batch, column="event", threads=1)
        counts = np.bincount(found.column("event"), minlength=batch.num_rows)
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
        ids = found.column("subscription").combine_chunks()
        yield batch.append_column("matches", pa.ListArray.from_arrays(offsets, ids))


# ---------------------------------------------------------------- what is generated


def generate_subscription(draw: random.Random) -> str:
    """Return one audience: who, where, and what about."""
    age, price = draw.randint(16, 60), draw.randint(5, 95)
    state, topic, system = draw.choice(STATES), draw.choice(TOPICS), draw.choice(SYSTEMS)
    states = ", ".join(f"'{name}'" for name in draw.sample(STATES, 2))
    topics = ", ".join(f"'{name}'" for name in draw.sample(TOPICS, 2))
    shapes = [
        f"age between {age} and {age + 8} and user.state in ({states})",
        f"topics in ({topics}) and not user.state in ({states}) and price < {price / 2}",
        f"member and device.system = '{system}' and (price > {price} or topics = '{topic}')",
        f"(age < {age} xor member) and topics in ({topics}) and user.state = '{state}'",
        f"missing(age) and topics not in ({topics}) and device.system starts with '{system[0]}'",
    ]
    return draw.choice(shapes)


def generate_event(draw: random.Random) -> dict[str, object]:
    """Return one page view; one in ten has no age."""
    event: dict[str, object] = {
        "user": {"state": draw.choice(STATES)},
        "topics": draw.sample(TOPICS, draw.randint(1, 3)),
        "device": {"system": draw.choice(SYSTEMS)},
        "member": draw.random() < 0.3,
        "price": round(draw.uniform(1, 100), 2),
    }
    if draw.random() < 0.9:
        event["age"] = draw.randint(16, 75)
    return event


# ---------------------------------------------------------------- the job


@contextlib.contextmanager
def stderr_to(path: Path) -> Iterator[None]:
    """Send stderr to a file; a process started meanwhile keeps writing there."""
    path.parent.mkdir(exist_ok=True)
    saved = os.dup(2)
    with path.open("wb") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def start_spark() -> SparkSession:
    """Start a quiet local session with two cores."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("tamis demo").config(map=options)
    with stderr_to(LOG):
        spark = builder.getOrCreate()
    spark.sparkContext.addPyFile(__file__)  # the workers import this file, and keep its cache
    return spark


def match(events: DataFrame, path: str) -> DataFrame:
    """Return the events with the column `matches`."""
    schema = "event_id long, event string, matches array<string>"
    return events.mapInArrow(lambda batches: match_batches(path, batches), schema)


def count_matches(events: DataFrame, path: str) -> tuple[int, float]:
    """Return the number of matches in all events, and the seconds it took."""
    started = time.perf_counter()
    count = match(events, path).selectExpr("sum(size(matches))").collect()[0][0]
    return count, time.perf_counter() - started


def run(folder: Path) -> None:
    draw = random.Random(SEED)
    subscriptions = [(f"s{n:04}", generate_subscription(draw)) for n in range(SUBSCRIPTIONS)]
    texts = [json.dumps(generate_event(draw)) for _ in range(EVENTS)]

    path = folder / "index"
    started = time.perf_counter()
    index = tamis.Index()
    index.add_many(subscriptions)
    index.save(path)
    seconds = time.perf_counter() - started
    print(f"{len(index):,} subscriptions compiled and saved in {seconds:.2f} s, such as\n")
    for id, expression in subscriptions[:5]:
        print(f"  {id}  {expression}")

    started = time.perf_counter()
    spark = start_spark()
    print(f"\nSpark {spark.version} started in {time.perf_counter() - started:.1f} s")

    events = spark.createDataFrame(pa.table({"event_id": range(EVENTS), "event": texts}))
    count, seconds = count_matches(events, str(path))
    print(
        f"{EVENTS:,} events matched in {seconds:.1f} s, while the workers start: {count:,} matches"
    )
    again, seconds = count_matches(events, str(path))
    print(f"{EVENTS:,} events once more in {seconds:.1f} s: {EVENTS / seconds:,.0f} per second\n")

    first = match(events.where("event_id < 100"), str(path)).orderBy("event_id").cache()
    first.selectExpr(
        "event_id",
        "get_json_object(event, '$.user.state') as state",
        "get_json_object(event, '$.age') as age",
        "get_json_object(event, '$.price') as price",
        "get_json_object(event, '$.topics') as topics",
        "size(matches) as count",
        "slice(matches, 1, 4) as first_matches",
    ).limit(8).show(truncate=False)
    sample = first.collect()
    spark.stop()

    assert again == count
    assert [row.matches for row in sample] == index.match_batch(
        texts[:100]
    )  # Spark changes nothing
    row = next(row for row in sample if row.matches)
    print(f"Why event {row.event_id} matches {row.matches[0]}:\n")
    print(index.explain(row.matches[0], json.loads(row.event)))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    # Under its own name, so that Spark sends references to these functions instead of copies.
    import demo

    demo.main()
