"""How fast is matching on Spark, compared with Spark itself and with other ways to match?

Rules have four predicates, events twenty columns and about one match. Every way of matching must
find the same number of matches before its time is reported. Run by
`make bench-full`; `TAMIS_BENCH_COMPILE` is the number of subscriptions that are compiled, and
`SIGMA` the folder of public rules (see `spark_detections`).
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import spark_detections
import spark_partitions
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import tamis
from tamis import spark as ts
from tamis.spark.session import local_session

CORES = 2
COLUMNS = 20
EVENTS = 100_000
COMPILED = int(os.environ.get("TAMIS_BENCH_COMPILE", "500000"))
LOG = Path(__file__).resolve().parents[1] / "build" / "bench-spark.log"


# ---------------------------------------------------------------- rules and events


class Rules:
    """Conjunctions of four predicates: equalities, or two equalities, a range and a set.

    Attributes:
        columns: For every rule, the columns that it tests.
        low: The lowest value that each predicate accepts.
        high: The highest.
        values: The number of values per column, chosen so that an event matches about one rule.
    """

    def __init__(self, count: int, mixed: bool) -> None:
        draw = np.random.default_rng(count + mixed)
        # One in v^4 matches; a range and a set, each of a quarter of the values, make it 16 times
        # as likely.
        self.values = round((16 * count if mixed else count) ** 0.25)
        self.columns = np.argsort(draw.random((count, COLUMNS)), axis=1)[:, :4].astype(np.int32)
        self.low = draw.integers(0, self.values, (count, 4)).astype(np.int32)
        self.high = self.low.copy()
        if mixed:
            width = max(1, self.values // 4)
            self.low[:, 2:] = draw.integers(0, self.values - width + 1, (count, 2))
            self.high[:, 2:] = self.low[:, 2:] + width - 1
        self.mixed = mixed

    def text(self, rule: int) -> str:
        """Return the rule as an expression, which is also valid SQL."""
        parts = []
        for place in range(4):
            name = f"a{self.columns[rule, place]}"
            low, high = int(self.low[rule, place]), int(self.high[rule, place])
            if place == 3 and self.mixed:
                parts.append(f"{name} in ({', '.join(map(str, range(low, high + 1)))})")
            elif low == high:
                parts.append(f"{name} = {low}")
            else:
                parts.append(f"{name} between {low} and {high}")
        return " and ".join(parts)

    def __len__(self) -> int:
        return len(self.columns)


def write_events(spark: SparkSession, path: Path, values: int) -> DataFrame:
    draw = np.random.default_rng(1)
    table = {f"a{n}": draw.integers(0, values, EVENTS).astype(np.int32) for n in range(COLUMNS)}
    frame = spark.createDataFrame(pa.table({"number": np.arange(EVENTS), **table}))
    frame.repartition(2 * CORES).write.parquet(str(path))
    return spark.read.parquet(str(path))


# ---------------------------------------------------------------- ways of matching


def read_only(events: DataFrame) -> int:
    """Spark's own cost: the same columns reach a worker, and nothing comes back."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from ()

    return events.mapInArrow(run, "number long").count()


def with_numpy(events: DataFrame, rules: Rules) -> int:
    """NumPy over the rules, for every event."""
    columns, low, high = rules.columns, rules.low, rules.high

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = np.stack([np.asarray(batch.column(f"a{n}")) for n in range(COLUMNS)], axis=1)
            numbers, found = [], []
            for number, row in zip(batch.column("number").to_pylist(), rows, strict=True):
                alive = np.flatnonzero(row[columns[:, 0]] == low[:, 0])
                for place in range(1, 4):
                    seen = row[columns[alive, place]]
                    alive = alive[(seen >= low[alive, place]) & (seen <= high[alive, place])]
                numbers += [number] * len(alive)
                found += alive.tolist()
            yield pa.RecordBatch.from_pydict(
                {"number": pa.array(numbers, pa.int64()), "rule": pa.array(found, pa.int64())}
            )

    return events.mapInArrow(run, "number long, rule long").count()


def rule_table(spark: SparkSession, rules: Rules) -> DataFrame:
    table: dict[str, Any] = {"rule": np.arange(len(rules))}
    for place in range(4):
        table |= {
            f"c{place}": rules.columns[:, place],
            f"l{place}": rules.low[:, place],
            f"h{place}": rules.high[:, place],
        }
    return spark.createDataFrame(pa.table(table))


def _holds(place: int) -> Any:
    value = sf.element_at("v", sf.col(f"c{place}") + 1)
    return (value >= sf.col(f"l{place}")) & (value <= sf.col(f"h{place}"))


def _as_array(events: DataFrame) -> DataFrame:
    return events.select("number", sf.array(*(f"a{n}" for n in range(COLUMNS))).alias("v"))


def with_nested_loop(events: DataFrame, rules: Rules) -> int:
    """A broadcast nested-loop join."""
    table = sf.broadcast(rule_table(events.sparkSession, rules))
    condition = _holds(0) & _holds(1) & _holds(2) & _holds(3)
    return _as_array(events).join(table, condition).count()


def with_signature_join(events: DataFrame, rules: Rules) -> int:
    """Join on two equalities that every rule has, and test the rest afterwards."""
    table = rule_table(events.sparkSession, rules)
    first, second = sf.least("c0", "c1"), sf.greatest("c0", "c1")
    low = sf.when(sf.col("c0") < sf.col("c1"), sf.struct("l0", "l1"))
    low = low.otherwise(sf.struct(sf.col("l1").alias("l0"), sf.col("l0").alias("l1")))
    signature = sf.concat_ws("|", first, second, low["l0"], low["l1"])
    table = table.withColumn("signature", signature)
    pairs = [(one, two) for one in range(COLUMNS) for two in range(one + 1, COLUMNS)]
    packed = _as_array(events).withColumn(
        "signature",
        sf.explode(
            sf.array(
                *(
                    sf.concat_ws("|", sf.lit(one), sf.lit(two), sf.col("v")[one], sf.col("v")[two])
                    for one, two in pairs
                )
            )
        ),
    )
    return packed.join(sf.broadcast(table), "signature").where(_holds(2) & _holds(3)).count()


def with_explode(events: DataFrame, rules: Rules) -> int:
    """Join predicates with pairs, and count matches."""
    spark = events.sparkSession
    rows = []
    for place in range(4):
        for rule in range(len(rules)):
            low, high = int(rules.low[rule, place]), int(rules.high[rule, place])
            column = int(rules.columns[rule, place])
            rows += [(rule, column, value) for value in range(low, high + 1)]
    names = ["rule", "column", "value"]
    columns = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    table = spark.createDataFrame(pa.table(columns))
    pairs = _as_array(events).select("number", sf.posexplode("v").alias("column", "value"))
    counted = pairs.join(sf.broadcast(table), ["column", "value"]).groupBy("number", "rule").count()
    return counted.where("count = 4").count()


# ---------------------------------------------------------------- the benchmark


def timed(do: Callable[[], Any], times: int = 7) -> tuple[Any, float]:
    """Return the result and the best time of several."""
    best, result = float("inf"), None
    for _ in range(times):
        started = time.perf_counter()
        result = do()
        best = min(best, time.perf_counter() - started)
    return result, best


def prepared(
    spark: SparkSession, folder: Path, count: int, mixed: bool
) -> tuple[Rules, DataFrame, Path]:
    """The rules, the events and the index, created once."""
    rules, kind = Rules(count, mixed), "mixed" if mixed else "equalities"
    events, index = folder / f"events-{count}-{kind}", folder / f"index-{count}-{kind}"
    if not events.exists():
        write_events(spark, events, rules.values)
        rows = [(rule, rules.text(rule)) for rule in range(count)]
        ts.compile(spark.createDataFrame(rows, "id long, expression string"), index, shards=1)
    return rules, spark.read.parquet(str(events)), index


def compare(spark: SparkSession, folder: Path, count: int, mixed: bool) -> None:
    kind = "mixed" if mixed else "equalities"
    rules, events, index = prepared(spark, folder, count, mixed)
    timed(lambda: read_only(events), 1)
    _, floor = timed(lambda: read_only(events))
    matches = ts.match(events, index, keep=["number"])
    found, ours = timed(matches.count)
    table = events.toArrow().drop_columns("number")
    opened = tamis.open(index)
    local, alone = timed(lambda: opened.match_batch(table, threads=CORES).num_rows)
    assert local == found, (local, found)
    print(f"\n{count:,} rules ({kind}), {EVENTS:,} events, {found / EVENTS:.2f} matches per event")
    report("mapInArrow that reads", EVENTS, floor)
    report("tamis.spark.match", EVENTS, ours, f"{ours / floor:.2f}x the reading")
    report("match_batch, no Spark", EVENTS, alone, f"{ours / (floor + alone):.2f}x of both")
    others = {
        "NumPy in mapInArrow": (with_numpy, 400_000_000, 3),
        "signature join": (with_signature_join, 50_000_000, 1),
        "broadcast nested loop": (with_nested_loop, 200_000_000, 1),
        "explode and count": (with_explode, 5_000_000, 1),
    }
    best = 0.0
    for name, (way, work, times) in others.items():
        size = min(EVENTS, max(200, work // count))
        some = events.where(sf.col("number") < size)
        wanted = ts.match(some, index, keep=["number"]).count()
        result, seconds = timed(lambda way=way, some=some: way(some, rules), times)  # type: ignore[misc]
        assert result == wanted, (name, result, wanted)
        best = max(best, size / seconds)
        report(name, size, seconds)
    print(f"  {'ours over the best of these':30}{EVENTS / ours / best:10.1f}x")


def report(name: str, events: int, seconds: float, more: str = "") -> None:
    print(f"  {name:30}{events / seconds:12,.0f} events/s  {seconds:7.2f} s  {more}")


def measure_functions(spark: SparkSession, folder: Path) -> None:
    """Compare `tamis_match` in SQL with `match`, both with a list of ids per event.

    Rounds alternate, so that other load slows both.
    """
    _, frame, index = prepared(spark, folder, 10_000, mixed=True)
    frame.createOrReplaceTempView("events")
    ts.register(spark, {"rules": index})
    columns = ", ".join(name for name in frame.columns if name != "number")
    query = f"select number, tamis_match(struct({columns}), 'rules') as ids from events"
    lists = ts.match(frame, index, output="lists", keep=["number"]).toDF("number", "ids")
    column = frame.select(
        "number", ts.match_column(index, sf.expr(f"struct({columns})")).alias("ids")
    )
    ways = {"match, lists": lists, "tamis_match in SQL": spark.sql(query), "match_column": column}
    best, found = dict.fromkeys(ways, float("inf")), dict[str, Any]()
    for _ in range(8):
        for name, way in ways.items():
            asked = way.selectExpr("sum(size(ids))")
            result, seconds = timed(asked.first, 1)
            best[name], found[name] = min(best[name], seconds), result
    assert len(set(found.values())) == 1, found
    print(f"\n10,000 rules (mixed), a list for each of {EVENTS:,} events")
    for name, seconds in best.items():
        report(name, EVENTS, seconds, f"{seconds / best['match, lists']:.2f}x")


def measure_compile(spark: SparkSession, folder: Path) -> None:
    """Measure compiling, relative to the sum of the shards over the cores, and driver memory."""
    source = folder / "subscriptions"
    ts.generate_subscriptions(spark, "conjunctive", COMPILED).write.parquet(str(source))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shards = max(CORES, -(-COMPILED // 250_000))
    frame = spark.read.parquet(str(source))
    done, seconds = timed(
        lambda: ts.compile(frame, folder / "large", shards=shards, missing="false"), 1
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert done.subscriptions == COMPILED
    ideal = done.seconds / CORES
    print(
        f"\n{COMPILED:,} subscriptions compiled in {seconds:.1f} s, {shards} shards; their sum "
        f"over {CORES} cores is {ideal:.1f} s: {seconds / ideal:.2f}x; the driver grew by "
        f"{grown / 1024:.0f} MiB"
    )


def measure_follow(spark: SparkSession, folder: Path) -> None:
    """Measure how a stream follows a table of 100,000 rules, some of which change.

    Every micro-batch refreshes the index and matches. An event that arrives after a change must be
    matched with the changed rules in the same micro-batch.
    """
    count, shards = 100_000, 64
    rules, path, incoming = Rules(count, mixed=True), folder / "followed", folder / "incoming"
    incoming.mkdir()
    rows = [(rule, rules.text(rule)) for rule in range(count)]
    original = spark.createDataFrame(rows, "id long, expression string").cache()
    table = original
    follower = ts.follow(spark, lambda: table, path, shards=shards)
    size = sum(file.stat().st_size for file in path.glob("segment-*"))
    print(f"\n{count:,} rules in {shards} shards of {size:,} bytes: a stream follows the table")
    seen = list[tuple[Any, float, int, int]]()

    def batch(events: DataFrame, _: int) -> None:
        started = time.perf_counter()
        done = follower.refresh()
        seconds = time.perf_counter() - started
        found = ts.match(events, path, add_version=True).select("version").collect()
        (version,) = {row["version"] for row in found}
        seen.append((done, seconds, version, len(found)))

    stream = spark.readStream.schema("marker long").json(str(incoming))
    query = stream.writeStream.foreachBatch(batch).start()
    changes = {
        "no rule": "id = 5",
        "1 %, in all shards": "id % 100 = 0",
        "1 %, in one shard": f"pmod(xxhash64(id), {shards}) = 3 and id % 3 < 2",
        "one rule": "id = 700",
    }
    for number, (name, condition) in enumerate(changes.items()):
        table = original
        follower.refresh()
        text = sf.when(sf.expr(condition), sf.lit(f"marker = {number}"))
        table = original.withColumn("expression", text.otherwise(sf.col("expression"))).cache()
        wanted = table.where(condition).count()
        if number == 0:
            follower.refresh()
        write_whole(incoming / f"{number}.json", f'{{"marker": {number}}}')
        query.processAllAvailable()
        done, seconds, version, matches = seen[-1]
        assert matches == wanted, (name, matches, wanted)
        rows_changed = wanted if done else 0
        built, size = (done.built, done.built_bytes) if done else (0, 0)
        print(
            f"  {name:20}{rows_changed:6,} rows: {built:3} shards, {size:12,} bytes built, "
            f"{seconds:6.2f} s, version {version} in its own micro-batch"
        )
    query.stop()


def write_whole(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(text)
    temporary.rename(path)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        spark = local_session(cores=CORES, log=LOG, options={"spark.driver.memory": "3g"})
        spark.range(1000).mapInArrow(lambda batches: batches, "id long").count()
        wanted = sys.argv[1:] or [
            *("10000", "100000", "functions", "detections", "partitions", "compile", "follow")
        ]
        for count in (10_000, 100_000):
            if str(count) in wanted:
                compare(spark, folder, count, mixed=False)
                compare(spark, folder, count, mixed=True)
        if "functions" in wanted:
            measure_functions(spark, folder)
        if "detections" in wanted:
            if sigma := os.environ.get("SIGMA"):
                spark_detections.measure(spark, folder, Path(sigma), CORES)
            else:
                print("\n-- no SIGMA=FOLDER: public Sigma rules are not measured")
        if "partitions" in wanted:
            _, _, index = prepared(spark, folder, 10_000, mixed=False)
            spark_partitions.measure(spark, index, CORES)
        if "compile" in wanted:
            measure_compile(spark, folder)
        if "follow" in wanted:
            measure_follow(spark, folder)
        spark.stop()


if __name__ == "__main__":
    main()
