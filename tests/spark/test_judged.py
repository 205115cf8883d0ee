"""Columns of Spark: Tamis finds the rows that Spark SQL's own WHERE finds, on every shard."""

from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

import tamis
from judge.campaign import a_round
from judge.evaluator import Truth
from judge.events import to_json
from judge.language import Not, text
from judge.tables import Table, tables
from tamis import spark as ts

from .test_judge import EXPRESSIONS, ROWS, asked_of_spark
from .test_properties import PLACEMENTS, found


def asked_of_tamis(spark: SparkSession, table: Table, folder: Path) -> list[list[Truth]]:
    """The truths of rows: unknown if neither an expression nor its negation holds."""
    asked = [text(node) for node in table.nodes] + [text(Not(node)) for node in table.nodes]
    frame = spark.createDataFrame(list(enumerate(asked)), "id long, expression string")
    done = ts.compile(frame, folder, shards=2, time_zone=table.zone)
    assert (done.subscriptions, done.error_count) == (len(asked), 0)
    rows, expressions = range(table.data.num_rows), len(table.nodes)
    truths: list[list[Truth]] = [["unknown" for _ in rows] for _ in table.nodes]
    matches = ts.match(spark.createDataFrame(table.data), folder, keep=["row"])
    for match in matches.collect():
        expression, row = match["subscription"], match["row"]
        assert truths[expression % expressions][row] == "unknown"
        truths[expression % expressions][row] = "true" if expression < expressions else "false"
    return truths


def test_columns_are_as_spark_has_them(spark: SparkSession, tmp_path: Path) -> None:
    """For random conditions on columns, `match` finds the rows that Spark's own WHERE finds."""
    for table in tables(Random(EXPRESSIONS + 1), EXPRESSIONS, ROWS):
        ours = asked_of_tamis(spark, table, tmp_path / table.zone.replace("/", "-"))
        wrong = list(table.differences(ours, asked_of_spark(spark, table)))
        assert not wrong, f"{len(wrong)} differ\n{wrong[0]}"


def test_shards_find_what_one_index_finds(spark: SparkSession, tmp_path: Path) -> None:
    """With either placement, shards together give the matches of one local index."""
    for seed in range(3):
        given = a_round(Random(seed), json=True)
        asked = [(id, text(node)) for id, node in enumerate(given.nodes)]
        asked = [(id, written) for id, written in asked if "now(" not in written]
        index = tamis.Index(missing=given.setting.missing, time_zone=given.setting.time_zone)
        index.add_many(asked)
        events = [to_json(event) for event in given.events]
        expected = {(row, id) for row, event in enumerate(events) for id in index.match(event)}
        frame = spark.createDataFrame(asked, "id long, expression string")
        folder = tmp_path / str(seed)
        ts.compile(
            frame,
            folder,
            shards=3,
            missing=given.setting.missing,
            time_zone=given.setting.time_zone,
        )
        given_events = spark.createDataFrame(list(enumerate(events)), "number long, event string")
        for placement in PLACEMENTS:
            matches = ts.match(
                given_events, folder, event="event", placement=placement, keep=["number"]
            )
            assert found(matches) == expected
