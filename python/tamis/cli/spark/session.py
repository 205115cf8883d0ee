"""The session that a command runs in, and the files it reads and writes there."""

import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.cli.output import FAILED, INVALID, CommandError, encode
from tamis.errors import StorageError, TamisError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tamis.cli.rules.languages import Language

_LINES = ("json", "jsonl", "ndjson")
_COMPRESSED = ("gz", "bz2", "zst", "lz4")


@contextmanager
def session(name: str) -> "Iterator[SparkSession]":
    """A Spark session: that of spark-submit, or a new one on this machine.

    Errors become a message and an exit code.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        from tamis.spark.session import SETTINGS
    except ModuleNotFoundError as error:
        raise CommandError(
            f"this command needs {error.name}: pip install 'tamis[spark]'"
        ) from error
    settings: dict[str, Any] = {"spark.log.level": "ERROR", **SETTINGS}
    if not sys.stderr.isatty():
        settings["spark.ui.showConsoleProgress"] = "false"
    spark = SparkSession.builder.appName(f"tamis {name}").config(map=settings).getOrCreate()
    try:
        with _told():
            yield spark
    except PySparkException as error:
        raise CommandError(f"Spark: {_reason(error)}") from error
    finally:
        spark.stop()


@contextmanager
def storage_errors() -> "Iterator[None]":
    """Error handling for commands that only read files, without a session."""
    try:
        with _told():
            yield
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error


@contextmanager
def _told() -> "Iterator[None]":
    """Turn errors of Tamis into a message and an exit code."""
    try:
        yield
    except TamisError as error:
        code = FAILED if isinstance(error, StorageError) else INVALID
        raise CommandError(str(error), code) from error


def _reason(error: Exception) -> str:
    """The line of an error that says what happened, without stack traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for pattern in (
        r"tamis\.errors\.\w+: (.+)",
        r"(?!org|java|py4j)[\w.]+(?:Error|Exception): (.+)",
    ):
        if told := [found[1] for line in lines if (found := re.match(pattern, line))]:
            return told[-1]
    return lines[0] if lines else repr(error)


def format_of(path: str) -> str:
    """The format of files by their suffix: `lines`, or Spark's name for it."""
    words = path.rstrip("/").rpartition("/")[2].lower().split(".")
    if words[-1] in _COMPRESSED:
        words.pop()
    if words[-1] in _LINES:
        return "lines"
    return words[-1] if words[-1] in ("parquet", "orc", "csv", "avro") else "parquet"


def read_subscriptions(spark: "SparkSession", path: str) -> "DataFrame":
    """Subscriptions from JSON lines, as `tamis match` reads them, or from a columnar format."""
    if format_of(path) != "lines":
        return spark.read.format(format_of(path)).load(path)
    kinds = {field.name: field.dataType.simpleString() for field in spark.read.json(path).schema}
    numbers = ("bigint", "double")
    schema = [
        f"{name} {kinds[name] if name in _NUMBERS and kinds[name] in numbers else 'string'}"
        for name in _MEMBERS
        if name in kinds
    ]
    if not schema:
        raise CommandError(f"{path}: no line has the key `id` or `expression`", INVALID)
    return spark.read.schema(", ".join(schema)).json(path)


_NUMBERS = ("id", "boost", "priority", "sequence")
_TEXTS = ("expression", "metadata", "weights", "active_from", "active_until", "operation")
_MEMBERS = (*_NUMBERS, *_TEXTS)


def read_foreign_rules(
    spark: "SparkSession", path: str, language: "Language"
) -> "tuple[DataFrame, int]":
    """Read rules of another language on this machine; also returns the number refused."""
    from tamis.cli.rules.languages import read_rules, report_refused

    read = read_rules(language, Path(path))
    report_refused(read)
    rows = [
        (rule.id, str(rule.expression), None if rule.metadata is None else encode(rule.metadata))
        for rule in read.subscriptions
    ]
    schema = "id string, expression string, metadata string"
    return spark.createDataFrame(rows, schema), len(read.refused)


def read_events(spark: "SparkSession", path: str) -> "tuple[DataFrame, str | None]":
    """The events, and the column that holds them: lines are events, other columns attributes."""
    if format_of(path) == "lines":
        return spark.read.text(path).withColumnRenamed("value", "event"), "event"
    return spark.read.format(format_of(path)).load(path), None


def write(frame: "DataFrame", path: str) -> None:
    """Write a DataFrame in the format that the suffix implies."""
    kind = format_of(path)
    frame.write.mode("error").format("json" if kind == "lines" else kind).save(path)
