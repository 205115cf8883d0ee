"""Detections on Spark: Sigma rules are compiled, and a stream of JSON logs is matched against them.

The rules of a folder are compiled to an index. Each micro-batch of logs gives detections with the
title and level of the rule and an explanation. Logs that arrive later are matched, too.

    python examples/sigma.py [RULES] [LOGS] [OUT]

Without arguments it matches built-in logs against the rules in examples/sigma.
"""

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tamis import rules
from tamis import spark as ts
from tamis.spark.session import local_session

RULES = Path(__file__).resolve().parent / "sigma"
LOG = Path(__file__).resolve().parents[1] / "build" / "sigma.log"
MOST = 100_000  # detections of one micro-batch that are explained

LOGS = [
    {"Image": "C:\\Windows\\System32\\whoami.exe", "CommandLine": "whoami /all"},
    {"Image": "C:\\Windows\\System32\\svchost.exe", "CommandLine": "svchost -k netsvcs"},
    {"Image": "C:\\ps\\pwsh.exe", "CommandLine": "pwsh -enc aGVsbG8=", "User": "LAB\\ada"},
    {"Image": "C:\\Office\\EXCEL.EXE", "DestinationIp": "203.0.113.9", "DestinationPort": 8443},
    {"Image": "C:\\Office\\EXCEL.EXE", "DestinationIp": "192.168.7.1", "DestinationPort": 8443},
    {"message": "Failed password for root from 203.0.113.9 port 22", "user": "root"},
]  # fmt: skip


def compile_rules(spark: SparkSession, folder: Path, index: Path) -> None:
    """Read the rules of a folder and compile them; refused rules are reported."""
    read = rules.sigma.read(folder)
    for refused in read.refused:
        print(f"refused: {refused}")
    rows = [
        (rule.id, str(rule.expression), json.dumps(rule.metadata)) for rule in read.subscriptions
    ]
    subscriptions = spark.createDataFrame(rows, "id string, expression string, metadata string")
    # In Sigma, a test of a missing field is false and its negation true.
    ts.compile(subscriptions, index, missing="false")
    print(f"{len(rows)} rules compiled, {len(read.refused)} refused")


def detect(spark: SparkSession, logs: Path, index: Path, out: Path) -> None:
    """Match all logs that have arrived since the last run."""

    def write(batch: DataFrame, _: int) -> None:
        found = ts.match(batch, index, event="value", metadata=True, on_error="skip")
        explained = ts.explain(found, index, event="value", limit=MOST)
        detections = explained.select(
            "subscription",
            sf.get_json_object("metadata", "$.title").alias("title"),
            sf.get_json_object("metadata", "$.level").alias("level"),
            sf.col("value").alias("event"),
            "explanation",
        )
        detections.write.mode("append").json(str(out))

    stream = spark.readStream.text(str(logs))
    query = (
        stream.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(out.parent / "state"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, logs, out = RULES, Path(scratch, "logs"), Path(scratch, "out", "detections")
        if arguments:
            folder, logs, out = map(Path, arguments)
        else:
            logs.mkdir()
            lines = [json.dumps(event) + "\n" for event in LOGS]
            (logs / "first.json").write_text("".join(lines), encoding="utf-8")
        spark = local_session(log=LOG)
        index = Path(scratch, "index")
        compile_rules(spark, folder, index)
        detect(spark, logs, index, out)
        for row in spark.read.json(str(out)).orderBy("title").collect():
            print(f"\n{row.level}: {row.title}\n{row.event}\n{row.explanation}")
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
