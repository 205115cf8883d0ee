"""An index follows a Delta table, by its versions and its change feed, with the real package.

Delta is published for Spark 4.1, so the test creates a separate environment in build/delta:
PySpark 4.1 from PyPI and Delta's jars from Maven. `JOB` runs in it and reads commands, one per
line: SQL for the table of rules, or actions on the stream of events that follows it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from longer import long_test

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "delta"
PYSPARK = "4.1.*"
DELTA = ("delta-spark_4.1_2.13", "4.4.0")
POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tamis</groupId><artifactId>delta</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>io.delta</groupId><artifactId>{}</artifactId><version>{}</version>
  </dependency></dependencies>
</project>
"""
OURS = ("delta-", "RoaringBitmap", "shims", "unitycatalog", "jts")  # not shipped with PySpark
JOB = """
import json, sys
from pathlib import Path
import tamis
from pyspark.errors import PySparkException
from tamis import spark as ts
from tamis.spark.session import local_session
from tamis.storage import manifest
from tamis.storage.folder import Folder

folder, jars = Path(sys.argv[1]), sys.argv[2]
index = folder / "index"
spark = local_session(cores=2, log=folder / "log", options={
    "spark.jars": jars,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
})
rules, alerts = f"delta.`{folder}/rules`", f"delta.`{folder}/alerts`"
spark.sql(f"create table if not exists {rules} (id bigint, expression string, priority int, "
          "operation string) using delta tblproperties (delta.enableChangeDataFeed = true)")
follower = ts.follow(spark, rules, index, shards=4)
rounds = []

def write(events, number):
    done = follower.refresh()
    rounds.append(None if done is None else done.built)
    found = ts.match(events, index, add_version=True)
    found.write.mode("overwrite").parquet(str(folder / "out" / f"batch={number}"))

def ask(text):
    return spark.sql(text.replace("rules", rules).replace("alerts", alerts))

events = spark.readStream.schema("number long, a long").json(str(folder / "in"))
query = events.writeStream.foreachBatch(write)
query = query.option("checkpointLocation", str(folder / "checkpoint")).start()
print("ready", flush=True)
for line in sys.stdin:
    command, _, rest = line.strip().partition(" ")
    answer = None
    if command == "sql":
        answer = [list(row) for row in ask(rest).collect()]
    elif command == "refused":
        try:
            ask(rest)
        except PySparkException as error:
            answer = error.getCondition()
    elif command == "register":
        ts.register(spark, {rest: index})
    elif command == "wait":
        query.processAllAvailable()
        answer, rounds[:] = list(rounds), []
    elif command == "refresh":
        done = follower.refresh()
        answer = None if done is None else [done.built, done.error_count]
    elif command == "same":
        # What the index holds, beside what compiling the table makes of it.
        ts.compile(rules, folder / rest, shards=4)
        one, other = tamis.open(index), tamis.open(folder / rest)
        texts = [{id: (str(i[id].expression), i[id].priority) for id in i} for i in (one, other)]
        answer = [texts[0] == texts[1], len(texts[0])]
    elif command == "match":
        # With the table itself, instead of the index.
        found = ts.match(spark.sql(f"select {rest} as a"), rules)
        answer = sorted(row["subscription"] for row in found.collect())
    elif command == "source":
        answer = manifest.read(Folder(index)).content["source"]["version"]
    print(json.dumps(answer), flush=True)
"""


def environment() -> tuple[Path, str]:
    """A Python with PySpark 4.1, and Delta's jars, kept in build/delta."""
    if shutil.which("mvn") is None:
        pytest.skip("Delta needs Maven (mvn) to fetch its jars")
    python = PLACE / "env" / "bin" / "python"
    if not (PLACE / "complete").exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        (PLACE / "pom.xml").write_text(POM.format(*DELTA))
        copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
        done = subprocess.run(copy, cwd=PLACE, capture_output=True, text=True, check=False)
        if done.returncode:
            failure = next((line for line in done.stdout.splitlines() if "ERROR" in line), "")
            pytest.skip(f"Maven cannot fetch the jars of Delta: {failure}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", PLACE / "env"], check=True)
        wanted = [f"pyspark=={PYSPARK}", "pandas>=2.2,<3", "pyarrow>=18"]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
        (PLACE / "complete").touch()
    jars = [jar for jar in (PLACE / "jars").glob("*.jar") if jar.name.startswith(OURS)]
    return python, ",".join(map(str, sorted(jars)))


class Job:
    """A process that follows a table of rules while events flow."""

    def __init__(self, folder: Path) -> None:
        python, jars = environment()
        self.folder = folder
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        variables.pop("PYSPARK_PYTHON", None)
        self._process = subprocess.Popen(
            [python, "-c", JOB, folder, jars],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=variables,
        )
        assert self._read() == "ready\n"

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            pytest.fail((self.folder / "log").read_text()[-3000:])
        return line

    def send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def do(self, command: str) -> Any:
        self.send(command)
        return json.loads(self._read())

    def events(self, first: int) -> None:
        """Events first ... first + 99, of which number n has a = n % 10."""
        lines = [json.dumps({"number": n, "a": n % 10}) for n in range(first, first + 100)]
        temporary = self.folder / "in" / f".{first}"
        temporary.write_text("\n".join(lines))
        temporary.rename(self.folder / "in" / f"{first}.json")

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


def found(folder: Path) -> dict[int, set[int]]:
    """The rules found per hundred events, each with the right number of matches."""
    import pyarrow.parquet

    rows = list[dict[str, Any]]()
    for batch in (folder / "out").iterdir():
        if (batch / "_SUCCESS").exists():
            rows += pyarrow.parquet.read_table(batch, partitioning=None).to_pylist()
    pairs = [(row["number"], row["subscription"]) for row in rows]
    assert len(pairs) == len(set(pairs))
    hundreds: dict[int, set[int]] = {}
    for number, rule in pairs:
        hundreds.setdefault(number // 100, set()).add(rule)
    return hundreds


@long_test
def test_a_stream_follows_a_delta_table(tmp_path: Path) -> None:
    """Rules are added, changed and removed while events flow and the job is killed.

    Events that arrive after a change are matched with it in the same micro-batch. Every match is
    written once.
    """
    (tmp_path / "in").mkdir()
    job = Job(tmp_path)
    try:
        job.do("sql insert into rules select id, concat('a = ', id), 1, 'delete' from range(10)")
        job.events(0)
        assert job.do("wait") == [4]  # all four shards are new
        job.do("sql insert into rules values (10, 'a = 0', 1, 'x')")
        job.events(100)
        assert job.do("wait") == [1]  # the shard of the new rule
        job.do("sql delete from rules where id = 1")
        job.do("sql update rules set expression = 'a = 99' where id = 2")
        job.events(200)
        assert job.do("wait")[0] in (1, 2)
        # Killed at a random point: the rule is added before the events.
        job.do("sql insert into rules values (11, 'a = 5', 1, 'x')")
        job.events(300)
    finally:
        job.kill()
    job = Job(tmp_path)
    try:
        job.do("wait")
        job.do("sql delete from rules where id = 11")
        job.events(400)
        job.do("wait")
        assert found(tmp_path) == {
            0: set(range(10)),
            1: set(range(11)),
            2: {0, 3, 4, 5, 6, 7, 8, 9, 10},
            3: {0, 3, 4, 5, 6, 7, 8, 9, 10, 11},
            4: {0, 3, 4, 5, 6, 7, 8, 9, 10},
        }
        assert job.do("same compiled") == [True, 10]  # 0 and 2 to 10
        assert job.do("match 0") == [0, 10]
    finally:
        job.kill()


@long_test
def test_the_index_is_what_compiling_the_table_makes(tmp_path: Path) -> None:
    """After any change of the table: contradicting, refused, repeated and overwritten rows."""
    (tmp_path / "in").mkdir()
    job = Job(tmp_path)
    try:
        for number, (change, size) in enumerate(
            [
                ("insert into rules select id, 'a = 1', 1, 'x' from range(20)", 20),
                # Equal rows count once; two contradicting rows are both refused.
                ("insert into rules values (1, 'a = 1', 1, 'x'), (2, 'a = 2', 1, 'x')", 19),
                # Once one of the two is deleted, the other counts.
                ("delete from rules where id = 2 and expression = 'a = 2'", 20),
                ("update rules set expression = 'a = =' where id < 3", 17),
                ("insert overwrite rules select id, 'a = 3', 2, 'y' from range(5, 12)", 7),
                ("alter table rules set tblproperties (delta.enableChangeDataFeed = false)", 7),
                ("insert into rules values (50, 'a = 1', 1, 'x')", 8),
                ("alter table rules set tblproperties (delta.enableChangeDataFeed = true)", 8),
                ("insert into rules values (51, 'a = 1', 1, 'x')", 9),
                ("restore table rules to version as of 2", 19),
                ("delete from rules", 0),
            ]
        ):
            job.do(f"sql {change}")
            job.do("refresh")
            assert job.do(f"same compiled-{number}") == [True, size], change
            assert job.do("refresh") is None
        assert job.do("source") == 11
        # Moving data changes nothing.
        job.do("sql insert into rules values (1, 'a = 1', 1, 'x')")
        assert job.do("refresh") == [1, 0]
        job.do("sql optimize rules")
        assert job.do("refresh") is None
    finally:
        job.kill()


@long_test
def test_merge_takes_what_the_function_finds(tmp_path: Path) -> None:
    """`tamis_match` can be used in the source of a `MERGE`, in its conditions and in its values.

    It also works in `UPDATE` and `DELETE`. A condition with columns of both tables is refused.
    """
    (tmp_path / "in").mkdir()
    job = Job(tmp_path)
    source, target = (f"tamis_match(struct({side}.a), 'campaigns')" for side in "et")

    def events(*rows: tuple[int, int]) -> str:
        return f"(select * from values {', '.join(map(str, rows))} as e(number, a)) e"

    def alerts() -> Any:
        return job.do("sql select * from alerts order by number")

    try:
        job.do("sql insert into rules select id, concat('a = ', id), 1, 'x' from range(10)")
        job.do("refresh")
        job.do("register campaigns")
        job.do("sql create table alerts (number bigint, a bigint, hits array<bigint>) using delta")
        job.do("sql insert into alerts values (1, 3, array(3)), (2, 5, array(5))")
        matched = f"select *, {source} as hits from {events((1, 4), (2, 77), (3, 6), (4, 88))}"
        job.do(
            f"sql merge into alerts t using ({matched}) e on t.number = e.number "
            "when matched and size(e.hits) = 0 then delete when matched then update set * "
            "when not matched and size(e.hits) > 0 then insert *"
        )
        assert alerts() == [[1, 4, [4]], [3, 6, [6]]]
        job.do(
            f"sql merge into alerts t using {events((1, 77), (3, 7), (5, 88), (6, 8))} "
            f"on t.number = e.number and size({target}) > 0 "
            f"when matched and size({source}) = 0 then delete "
            f"when matched then update set a = e.a, hits = {source} "
            f"when not matched and size({source}) > 0 "
            f"then insert (number, a, hits) values (e.number, e.a, {source})"
        )
        assert alerts() == [[3, 7, [7]], [6, 8, [8]]]
        both = "size(tamis_match(struct(e.a + t.a as a), 'campaigns')) > 0"
        refused = job.do(
            f"refused merge into alerts t using {events((3, 1))} on t.number = e.number and {both} "
            "when matched then delete"
        )
        assert refused == "UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE"
        eighth = "array_contains(tamis_match(struct(a), 'campaigns'), 8)"
        job.do(f"sql update alerts set a = 99 where {eighth}")
        job.do("sql delete from alerts where size(tamis_match(struct(a), 'campaigns')) = 0")
        assert alerts() == [[3, 7, [7]]]
    finally:
        job.kill()
