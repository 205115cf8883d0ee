"""Conditions that `to_sql` writes and that `rules.sql` reads, compared with Spark's results."""

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import longer
from judge import rows
from judge.sql import SparkSql
from rules.sql_cases import Written, matching, table, written
from tamis.rules import RuleError, sql

from .test_judge import time_zone

EXPRESSIONS, ROWS = (150, 100) if longer.LONG else (10, 60)
SEED = 17


def asked_of_spark(
    spark: SparkSession, conditions: list[str], data: pa.Table, zone: str
) -> list[set[int]]:
    """The rows for which conditions are true; few at a time, since Spark plans slowly."""
    frame = spark.createDataFrame(data).coalesce(1).cache()
    found: list[set[int]] = []
    with time_zone(spark, zone):
        for start in range(0, len(conditions), 40):
            part = conditions[start : start + 40]
            asked = [f"coalesce({each}, false) as q{number}" for number, each in enumerate(part)]
            answers = frame.selectExpr("row", *asked).collect()
            found += [
                {answer["row"] for answer in answers if answer[number + 1]}
                for number in range(len(part))
            ]
    frame.unpersist()
    return found


@pytest.mark.parametrize("missing", ["unknown", "false"])
def test_spark_finds_the_rows_that_match(spark: SparkSession, missing: Any) -> None:
    """Spark's WHERE with the output of `to_sql` selects the rows that match."""
    random, refused, pairs = Random(SEED), Counter[str](), 0
    for zone in rows.ZONES:
        data = table(random, ROWS)
        made = list(written(random, EXPRESSIONS, "spark", zone, missing, data.schema))
        refused.update(each for each in made if isinstance(each, str))
        good = [each for each in made if isinstance(each, Written)]
        wanted = matching([each.expression for each in good], data, zone, missing)
        found = asked_of_spark(spark, [each.condition for each in good], data, zone)
        for each, ours, theirs in zip(good, wanted, found, strict=True):
            wrong = [data.to_pylist()[row] for row in sorted(ours ^ theirs)[:1]]
            assert ours == theirs, f"{each.expression}\n{each.condition}\n{zone} {wrong}"
        pairs += len(good) * data.num_rows
    assert pairs > EXPRESSIONS * ROWS, refused


def test_conditions_that_are_read_find_sparks_own_rows(spark: SparkSession) -> None:
    """Spark conditions read by `rules.sql` match the rows that Spark selects."""
    random, pairs = Random(SEED), 0
    for zone in rows.ZONES:
        data = rows.table(random, ROWS)
        conditions, read = [], []
        for _ in range(EXPRESSIONS):
            condition = SparkSql().node(rows.Expressions(random).node())
            try:
                read.append(sql.parse(condition, "spark"))
            except RuleError:
                continue
            conditions.append(condition)
        found = asked_of_spark(spark, conditions, data, zone)
        for condition, ours, theirs in zip(
            conditions, matching(read, data, zone, "unknown"), found, strict=True
        ):
            assert ours == theirs, f"{condition}\n{zone}"
        pairs += len(read) * ROWS
    assert pairs > EXPRESSIONS * ROWS
