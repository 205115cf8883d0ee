"""The example of detections on Spark: its rules pass their tests, and its logs are detected."""

import json
import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis.rules import sigma

EXAMPLES = Path(__file__).parents[2] / "examples"

pytest.importorskip("sigma.collection")


def test_the_rules_pass_their_tests() -> None:
    """The rules of the example pass their own tests."""
    tests = sigma.read_tests(EXAMPLES / "sigma")
    assert tests.refused == []
    assert len(tests.rules) == 4
    assert all(rule.examples for rule in tests.rules)
    assert [str(failure) for failure in tests.run()] == []


def test_a_stream_of_logs_gives_detections(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its stream finds the attacks in its logs and nothing else."""
    example = runpy.run_path(str(EXAMPLES / "sigma.py"))
    logs, index, out = tmp_path / "logs", tmp_path / "index", tmp_path / "out"
    logs.mkdir()
    example["compile_rules"](spark, EXAMPLES / "sigma", index)
    assert "4 rules compiled, 0 refused" in capsys.readouterr().out

    def arrive(name: str, events: list[dict[str, object]]) -> None:
        lines = [json.dumps(event) + "\n" for event in events]
        (logs / name).write_text("".join(lines) + "not JSON\n")

    arrive("first.json", example["LOGS"])
    example["detect"](spark, logs, index, out / "detections")
    found = spark.read.json(str(out / "detections")).collect()
    assert sorted((row.level, row.title.split()[0]) for row in found) == [
        ("critical", "Connection"),
        ("high", "Encoded"),
        ("low", "Failed"),
        ("medium", "Account"),
    ]
    assert all(row.explanation.startswith("true") for row in found), found[0].explanation
    arrive("second.json", example["LOGS"][:1])
    example["detect"](spark, logs, index, out / "detections")
    assert spark.read.json(str(out / "detections")).count() == 5
