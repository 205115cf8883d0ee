"""The last step of the tutorial: its Spark blocks run in order."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
FENCES = re.MULTILINE | re.DOTALL


def test_the_steps_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the tutorial run and print what the page shows."""
    for name, content in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```', TUTORIAL, FENCES):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.setattr("tamis.spark.session.local_session", lambda **_: spark)
    steps = re.findall(r"^```py\n(.*?)^```", TUTORIAL, FENCES)
    assert len(steps) == 2
    names: dict[str, Any] = {}
    exec("import tamis", names)
    for step in steps:
        # The session was started in another folder.
        code = re.sub(r'"((?:audiences|visits)\.\w+)"', rf'"{tmp_path}/\1"', step)
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(code, "tutorial.md", "exec"), names)
        printed = [line for line in output.getvalue().splitlines() if line[:1] not in "|+"]
        assert printed == re.findall(r"^# (.*)$", step, re.MULTILINE)
    counts = names["matches"].groupBy("subscription").count().collect()
    assert {row["subscription"]: row["count"] for row in counts}["runners"] == 2
