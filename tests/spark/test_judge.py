"""Checks the judge of the language: Spark SQL gives the same results on rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from pyspark.sql import SparkSession

import longer
from judge.evaluator import Truth
from judge.sql import SparkSql
from judge.tables import Table, columns, tables

EXPRESSIONS, ROWS = (600, 200) if longer.LONG else (40, 50)


@contextmanager
def time_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    assert before is not None
    spark.conf.set(name, zone)
    try:
        yield
    finally:
        spark.conf.set(name, before)


def asked_of_spark(spark: SparkSession, table: Table) -> list[list[Truth]]:
    """The truths of all expressions; few at a time, since Spark plans long queries slowly."""
    frame = spark.createDataFrame(table.data).coalesce(1).cache()
    found: list[list[Truth]] = []
    with time_zone(spark, table.zone):
        for start in range(0, len(table.nodes), 50):
            part = table.nodes[start : start + 50]
            written = [f"{SparkSql().node(node)} as q{number}" for number, node in enumerate(part)]
            answers = frame.selectExpr("row", *written).collect()
            found += columns([tuple(answer)[1:] for answer in sorted(answers)])
    frame.unpersist()
    return found


def test_spark_agrees_with_the_judge(spark: SparkSession) -> None:
    """On rows that Spark can hold, its own SQL and the judge agree about random conditions."""
    for table in tables(Random(EXPRESSIONS), EXPRESSIONS, ROWS):
        wrong = list(table.differences(asked_of_spark(spark, table), table.judged()))
        assert not wrong, f"{len(wrong)} differ\n{wrong[0]}"
