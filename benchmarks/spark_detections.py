"""How fast does Spark match public Sigma rules, compared with plain SQL conditions?

Without Tamis, one writes a column `array(when(condition, id), ...)`, in one query per 200 rules,
since the code generator gives up on more. Both sides get the same JSON log events and the same
rules: those that `to_sql` can write. The ids of every event are compared before anything is timed.
Part of `benchmarks/spark.py`; `SIGMA` names a folder with `rules/` and `events.jsonl` (one object
per line with the key `event`).
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructField, StructType

from tamis import rules
from tamis import spark as ts
from tamis.errors import ExpressionError

CHUNK = 200
EVENTS = 100_000
FEW, MORE = 500, 20_500  # events on which Spark's own conditions are timed
ROUNDS = 7
TYPES: dict[str, DataType] = {
    "string": StringType(),
    "integer": LongType(),
    "boolean": BooleanType(),
}

Tree = dict[str, Any]  # by name: the word for a type, or the tree of an object


def measure(spark: SparkSession, folder: Path, sigma: Path, cores: int) -> None:
    """Print events per second of both sides.

    Args:
        spark: The session.
        folder: The folder for the index and the events.
        sigma: The rules and events.
        cores: The number of cores of the session.
    """
    read = rules.sigma.read(str(sigma / "rules"))
    lines = (sigma / "events.jsonl").read_text(encoding="utf-8").splitlines()
    originals = [json.loads(line)["event"] for line in lines]
    columns = columns_of([each.expression for each in read.subscriptions], originals)
    conditions = dict[Any, str]()
    for each in read.subscriptions:
        try:
            conditions[each.id] = each.expression.to_sql("spark", columns=columns, missing="false")
        except ExpressionError:
            continue  # it has no exact translation to SQL
    kept = [(each.id, str(each.expression)) for each in read.subscriptions if each.id in conditions]
    table = spark.createDataFrame(kept, "id string, expression string")
    index = folder / "sigma"
    ts.compile(table, index, shards=1, missing="false", strict=True)
    logs = [folder / "logs", folder / "some-logs"]
    for path, count in zip(logs, (EVENTS, MORE), strict=True):
        write_events(originals, path, count, 2 * cores)
    events, some = (spark.read.parquet(str(path)) for path in logs)
    print(
        f"\n{len(kept):,} of {len(read.subscriptions):,} public Sigma rules, those that SQL can "
        f"express, on JSON logs of {sum(map(len, lines)) / len(lines):,.0f} bytes; {cores} cores",
        flush=True,
    )
    # Names that differ only in case are different attributes.
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        queries = todays(some, conditions, schema_of(columns))
        ours = check(spark, events, index, queries)
        measure_both(ours, queries)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def todays(events: DataFrame, conditions: Mapping[str, str], schema: StructType) -> list[DataFrame]:
    """Plain SQL: for each 200 rules, every event with the ids of the rules that hold."""
    row = sf.from_json("value", schema).alias("event")
    read = events.select("number", row).select("number", "event.*")
    named = [sf.when(sf.expr(condition), sf.lit(id)) for id, condition in conditions.items()]
    chunks = [named[start : start + CHUNK] for start in range(0, len(named), CHUNK)]
    return [read.select("number", sf.array_compact(sf.array(*c)).alias("ids")) for c in chunks]


def check(
    spark: SparkSession, events: DataFrame, index: Path, queries: list[DataFrame]
) -> dict[str, DataFrame]:
    """Our ways, after checking that each finds the same rules as the conditions."""
    ts.register(spark, {"sigma": index})
    events.createOrReplaceTempView("logs")
    lists = ts.match(events, index, event="value", output="lists", keep=["number"])
    asked = spark.sql("select number, tamis_match(value, 'sigma') as ids from logs")
    ways = {"match, lists": lists.toDF("number", "ids"), "tamis_match in SQL": asked}
    wanted = dict[int, list[str]]()
    for query in queries:
        for number, ids in query.collect():
            wanted.setdefault(number, []).extend(ids)
    pairs = sum(map(len, wanted.values()))
    assert len(wanted) == MORE, len(wanted)
    assert pairs > MORE, pairs
    for name, way in ways.items():
        found = dict(map(tuple, way.where(sf.col("number") < MORE).collect()))
        for number, ids in wanted.items():
            assert sorted(found[number]) == sorted(ids), (name, number, found[number], ids)
    print(f"  both sides find the same {pairs:,} matches of {MORE:,} events", flush=True)
    return ways


def measure_both(ours: Mapping[str, DataFrame], queries: list[DataFrame]) -> None:
    """Print the time of both ways for the same events."""
    times = dict.fromkeys(ours, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ours.items():
            times[name] = min(times[name], timed(way.selectExpr("sum(size(ids))").first))
    for name, seconds in times.items():
        report(name, seconds)
    short, long = (
        sum(
            min(
                timed(query.where(sf.col("number") < size).selectExpr("sum(size(ids))").first)
                for _ in range(2)
            )
            for query in queries
        )
        for size in (FEW, MORE)
    )
    each, best = (long - short) / (MORE - FEW), min(times.values())
    fixed = short - FEW * each
    report("array(when(...)), 200 rules", fixed + EVENTS * each, "extrapolated:")
    print(
        f"    {MORE:,} events took {long:.1f} s, {FEW:,} of them {short:.1f} s: "
        f"{each * 1e6:,.0f} us per event, and {fixed:.1f} s to plan {len(queries)} queries\n"
        f"  {'ours over that':30}{(fixed + EVENTS * each) / best:12.1f}x; "
        f"{EVENTS * each / best:.1f}x if planning took no time"
    )


def report(name: str, seconds: float, more: str = "") -> None:
    print(f"  {name:30}{EVENTS / seconds:12,.0f} events/s  {seconds:7.2f} s  {more}", flush=True)


def timed(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


# ---------------------------------------------------------------- events and their columns


def write_events(originals: list[dict[str, Any]], path: Path, count: int, parts: int) -> None:
    """Write the events repeatedly, each time with another command line."""
    path.mkdir()
    for part in range(parts):
        numbers = range(part, count, parts)
        texts = []
        for number in numbers:
            event = dict(originals[number % len(originals)])
            if number >= len(originals) and "CommandLine" in event:
                event["CommandLine"] += f" {number}"
            texts.append(json.dumps(event))
        table = pa.table({"number": pa.array(numbers, pa.int64()), "value": texts})
        pa.parquet.write_table(table, path / f"{part}.parquet")


def columns_of(expressions: Iterable[Any], events: list[dict[str, Any]]) -> Tree:
    """The columns that rules mention, with the type that most events have, or text."""
    names = {name for expression in expressions for name in expression.attributes}
    tree: Tree = {}
    for name in sorted(names):
        *path, last = name.split(".")
        place = tree
        for part in path:
            if not isinstance(place.get(part), dict):
                place[part] = {}
            place = place[part]
        if not isinstance(place.get(last), dict):
            place[last] = _word([event[name] for event in events if name in event])
    return tree


def _word(values: list[Any]) -> str:
    integers = sum(isinstance(value, int) for value in values)
    return "integer" if integers > len(values) / 2 else "string"


def schema_of(tree: Tree) -> StructType:
    """The columns as a Spark schema."""
    fields = [
        StructField(name, schema_of(below) if isinstance(below, dict) else TYPES[below])
        for name, below in tree.items()
    ]
    return StructType(fields)
