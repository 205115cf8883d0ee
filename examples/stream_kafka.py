r"""Percolation in a stream: events from one Kafka topic, matches to another, rules that change.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0 \
        examples/stream_kafka.py BROKER:PORT WORK_FOLDER [--once]

The stream reads the topic `orders` and writes the topic `matches`. Each micro-batch is matched
with the version of the rules that is current when it begins, so `change_rules` takes effect
between two micro-batches, without a restart. Messages that are not events go to `dead-letters`.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tamis import spark as ts

RULES = [
    ("vip", "total > 500 and customer.tier = 'gold'"),
    ("fragile", "any(items, kind = 'glass' and quantity > 3)"),
    ("export", "ship.country not in ('DE', 'AT') and total >= 150"),
]


def change_rules(spark: SparkSession, index: Path, rules: list[tuple[str, str]]) -> int:
    """Compile the rules, or add them to the existing ones; return the new version."""
    rows = spark.createDataFrame(rules, "id string, expression string")
    if not ts.versions(index):
        return ts.compile(rows, index, shards=1).version
    return ts.update(index, rows.selectExpr("*", "'upsert' as operation")).version


def start(spark: SparkSession, broker: str, folder: Path, *, once: bool = False) -> None:
    """Match until stopped, or with `once` all current messages; a restart continues there."""
    kafka = {"kafka.bootstrap.servers": broker}
    orders = (
        spark.readStream.format("kafka")
        .options(**kafka, subscribe="orders", startingOffsets="earliest")
        .load()
    )

    def write(batch: DataFrame, _: int) -> None:
        found = ts.match(
            batch, folder / "rules", event="value", keep=["key", "value"], on_error="collect"
        ).persist()
        found.where("event_error is null").selectExpr(
            "key", "to_json(named_struct('rule', subscription, 'order', string(value))) as value"
        ).write.format("kafka").options(**kafka, topic="matches").save()
        found.where("event_error is not null").selectExpr(
            "key", "to_json(named_struct('error', event_error, 'order', string(value))) as value"
        ).write.format("kafka").options(**kafka, topic="dead-letters").save()
        found.unpersist()

    writer = orders.writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer = (
        writer.trigger(availableNow=True) if once else writer.trigger(processingTime="1 second")
    )
    writer.start().awaitTermination()


def main(broker: str, work: str, *options: str) -> None:
    spark = SparkSession.builder.appName("orders").getOrCreate()
    folder = Path(work).resolve()
    print("rules at version", change_rules(spark, folder / "rules", RULES))
    start(spark, broker, folder, once="--once" in options)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
