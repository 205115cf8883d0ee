"""A standalone master with two workers on this machine, and Spark Connect."""

import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet
import pyspark
import pytest

import tamis
from longer import long_test

SPARK = Path(pyspark.__file__).parent
CONNECT = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tamis import spark as ts
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
path = sys.argv[1]
rows = spark.createDataFrame([(n, f"a = {n % 5}") for n in range(50)] + [(99, "a = =")],
                             "id long, expression string")
done = ts.compile(rows, path, shards=2)
assert (done.subscriptions, done.errors.count()) == (50, 1)
events = spark.createDataFrame([(1, "x"), (9, "y")], "a long, name string")
for placement in ("replicated", "sharded"):
    for output in ("pairs", "lists"):
        found = ts.match(events, path, placement=placement, output=output).collect()
        ids = [row[-1] for row in found if row["a"] == 1]
        ids = ids if output == "pairs" else ids[0]
        assert sorted(ids) == list(range(1, 50, 5)), found
(row,) = ts.explain(ts.match(events, path), path, limit=1).collect()
assert row["explanation"].startswith("true")
ts.register(spark, {"rules": path})
events.createOrReplaceTempView("events")
query = (
    "select tamis_match(struct(*), 'rules') as hits, tamis_error('{', 'rules') as error, "
    "tamis_top(struct(*), 'rules', 1)[0].subscription as best from events where a = 1"
)
(row,) = spark.sql(query).collect()
assert sorted(row["hits"]) == list(range(1, 50, 5)), row
assert row["best"] in row["hits"]
assert "invalid JSON" in row["error"]
(row,) = events.where("a = 1").select(ts.match_column(path).alias("hits")).collect()
assert sorted(row["hits"]) == list(range(1, 50, 5)), row
listed = spark.sql("select * from tamis_matches(table(events), 'rules')")
assert listed.columns == ["a", "name", "subscription"]
assert listed.where("a = 1").count() == 10
assert ts.generate_events(spark, "dense", 10, size=100).count() == 10
schema = "id long, expression string, operation string"
changes = spark.createDataFrame([(1, None, "delete")], schema)
assert ts.update(path, changes).subscriptions == 49
print("done")
spark.stop()
"""


DEFINITIONS = """
from pyspark import pipelines
from pyspark.sql import SparkSession
from tamis import spark as ts


@pipelines.materialized_view
def matched():
    events = SparkSession.active().range(5).selectExpr("id as a")
    return events.select("a", ts.match_column({path!r}).alias("hits"))


@pipelines.materialized_view
def counted():
    return SparkSession.active().table("matched").selectExpr("sum(size(hits)) as matches")
"""
SPECIFICATION = """
name: tamis
storage: file://{folder}/storage
libraries:
  - glob: {{include: definitions/**}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK),
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    own = ["--host", "127.0.0.1", "--webui-port", "0"]
    start = [str(SPARK / "bin" / "spark-class")]
    deploy = "org.apache.spark.deploy"
    commands = [[*start, f"{deploy}.master.Master", *own, "--port", str(port)]]
    commands += [[*start, f"{deploy}.worker.Worker", *own, "-c", "1", "-m", "1g", address]] * 2
    with ExitStack() as stack, (tmp_path / "cluster.log").open("wb") as log:
        for command in commands:
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            stack.callback(process.wait)
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
        until = time.monotonic() + 180
        while (tmp_path / "cluster.log").read_text().count("Successfully registered") < 2:
            assert time.monotonic() < until, "the cluster does not start"
            time.sleep(0.2)
        yield address


def submit(master: str, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of `tamis spark` by spark-submit."""
    script = Path(tamis.__file__).parent / "spark" / "submit.py"
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master]
    for name, value in options.items():
        command += ["--conf", f"{name}={value}"]
    return subprocess.run(
        [*command, str(script), *arguments],
        env={**os.environ, "SPARK_HOME": str(SPARK)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@long_test
def test_a_standalone_cluster(master: str, tmp_path: Path) -> None:
    """`spark-submit` compiles and matches on two workers that get the package in an archive.

    Workers without the package report what is missing.
    """
    rules, events = tmp_path / "rules.jsonl", tmp_path / "events.jsonl"
    rules.write_text(
        "\n".join(json.dumps({"id": n, "expression": f"a = {n % 5}"}) for n in range(50))
    )
    events.write_text("\n".join(json.dumps({"a": n}) for n in range(10)))
    # Workers with the base Python of this environment, and its packages except Tamis.
    base = getattr(sys, "_base_executable", sys.executable)
    plain = {
        "spark_pyspark_python": base,
        "spark_pyspark_driver_python": sys.executable,
        "spark_executorEnv_PYTHONPATH": str(SPARK.parent),
    }
    index, out = str(tmp_path / "index"), tmp_path / "out.jsonl"
    without = submit(master, "compile", str(rules), index, **plain)
    assert without.returncode != 0
    # spark-submit sends all output of Python to its standard output.
    message = r"tamis: Spark: a Spark worker cannot import tamis: its Python, .*, needs the wheel"
    assert re.search(message, without.stdout), without.stdout + without.stderr
    # The package in an archive, unpacked next to every executor.
    archive = shutil.make_archive(
        str(tmp_path / "shipped"), "zip", Path(tamis.__file__).parents[1], "tamis"
    )
    plain["spark_executorEnv_PYTHONPATH"] = f"./wheel:{plain['spark_executorEnv_PYTHONPATH']}"
    shipped = {**plain, "spark_archives": f"{archive}#wheel"}
    done = submit(master, "compile", str(rules), index, "--shards", "2", **shipped)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "50 subscriptions in 2 shards" in done.stdout
    done = submit(
        master, "match", str(events), index, str(out), "--placement", "sharded", **shipped
    )
    assert done.returncode == 0, done.stderr[-3000:]
    parts = [part.read_text() for part in out.glob("part-*")]
    rows = [json.loads(line) for part in parts for line in part.splitlines()]
    found = sorted((json.loads(row["event"])["a"], row["subscription"]) for row in rows)
    assert found == [(a, id) for a in range(5) for id in range(a, 50, 5)]


@long_test
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="needs pyspark[connect]")
def test_spark_connect(tmp_path: Path) -> None:
    """Functions that need no JVM on the driver run over Connect, including the SQL functions."""
    command = [sys.executable, "-W", "ignore", "-c", CONNECT, str(tmp_path / "index")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "done"


@long_test
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="needs pyspark[connect]")
def test_declarative_pipelines(tmp_path: Path) -> None:
    """A materialized view has a column of matches, and another view reads it."""
    index = tamis.Index()
    index.add_many([(n, f"a = {n % 3}") for n in range(6)])
    index.save(tmp_path / "index")
    (tmp_path / "definitions").mkdir()
    definitions = DEFINITIONS.format(path=str(tmp_path / "index"))
    (tmp_path / "definitions" / "views.py").write_text(definitions)
    (tmp_path / "spark-pipeline.yml").write_text(SPECIFICATION.format(folder=tmp_path))
    done = subprocess.run(
        [str(SPARK / "bin" / "spark-pipelines"), "run"],
        env={**os.environ, "SPARK_HOME": str(SPARK), "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    def read(name: str) -> list[dict[str, object]]:
        parts = [*tmp_path.rglob(f"{name}/*.parquet")]
        rows: list[dict[str, object]] = pyarrow.parquet.read_table(parts).to_pylist()
        return rows

    found = {row["a"]: row["hits"] for row in read("matched")}
    assert found == {0: [0, 3], 1: [1, 4], 2: [2, 5], 3: [], 4: []}
    assert read("counted") == [{"matches": 6}]
