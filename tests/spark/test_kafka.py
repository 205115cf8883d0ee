"""Events from Kafka, matches to Kafka: with a separate broker from Maven's jars."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from longer import long_test

ROOT = Path(__file__).parents[2]
JARS = ROOT / "build" / "kafka"
KAFKA = "3.9.2"
# The connector of this Spark version or, if the repository lacks it, one that works with it.
CONNECTORS = [(pyspark.__version__, pyspark.__version__), ("4.2.0", "4.1.0-preview1")]
POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tamis</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
ALONE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)
SERVER = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=2
"""
JOB = """
import json, sys
from pathlib import Path
from tamis import spark as ts
from tamis.spark.session import local_session
broker, folder, jars = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
spark = local_session(cores=2, log=folder / "log", options={"spark.jars": jars})
kafka = {"kafka.bootstrap.servers": broker}

def produce(first, count):
    rows = spark.range(first, first + count).selectExpr(
        "to_json(named_struct('number', id, 'a', id % 10)) as value")
    rows.write.format("kafka").options(**kafka, topic="events").save()

def subscribe(first, count):
    rows = spark.range(first, first + count).selectExpr(
        "id", "concat('a = ', id % 10) as expression", "'upsert' as operation")
    path = folder / "index"
    ts.update(path, rows) if ts.versions(path) else ts.compile(rows, path, shards=2)

def stream():
    events = spark.readStream.format("kafka").options(**kafka, subscribe="events")
    events = events.option("startingOffsets", "earliest").load()
    found = ts.match(events, folder / "index", event="value", keep=["value"], add_version=True)
    found = found.selectExpr("to_json(struct(get_json_object(cast(value as string), '$.number')"
                             " as number, subscription, version)) as value")
    query = found.writeStream.format("kafka").options(**kafka, topic="matches")
    query = query.option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()

subscribe(0, 10); produce(0, 100); stream()
subscribe(10, 10); produce(100, 100); stream()
rows = spark.read.format("kafka").options(**kafka, subscribe="matches").load()
print("[" + ",".join(row[0] for row in rows.selectExpr("cast(value as string)").collect()) + "]")
spark.stop()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def fetch_jars() -> list[Path]:
    """Jars of the broker and the connector, by Maven, kept in build/kafka."""
    if shutil.which("mvn") is None:
        pytest.skip("Kafka needs Maven (mvn) to fetch its jars")
    if (JARS / "complete").exists():
        return sorted(JARS.glob("*.jar"))
    failure = ""
    for connector, token in CONNECTORS:
        wanted = [
            ("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector, ALONE),
            ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", token, ALONE),
            ("org.apache.commons", "commons-pool2", "2.12.1", ""),
            ("org.apache.kafka", "kafka_2.13", KAFKA, ""),
        ]
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version>{more}</dependency>"
            for group, name, version, more in wanted
        )
        JARS.mkdir(parents=True, exist_ok=True)
        (JARS / "pom.xml").write_text(POM.format(dependencies))
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=."]
        done = subprocess.run(command, cwd=JARS, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            (JARS / "complete").touch()
            return sorted(JARS.glob("*.jar"))
        failure = next((line for line in done.stdout.splitlines() if "ERROR" in line), "")
    pytest.skip(f"Maven cannot fetch the jars of Kafka: {failure}")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """A single node of Kafka without ZooKeeper."""
    jars = fetch_jars()
    port, controller = free_port(), free_port()
    settings = tmp_path / "server.properties"
    settings.write_text(SERVER.format(port=port, controller=controller, folder=tmp_path))
    java = ["java", "-Xmx300m", "-cp", ":".join(map(str, jars))]
    identity = ["-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(settings)]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", *identity], check=True)
    with subprocess.Popen([*java, "kafka.Kafka", str(settings)], start_new_session=True) as server:
        try:
            until = time.monotonic() + 180
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert server.poll() is None
                    assert time.monotonic() < until, "the broker does not start"
                    time.sleep(0.2)
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)


RECIPE = """
import json, runpy, sys
from pathlib import Path
from tamis.spark.session import local_session
script, broker, folder, jars = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
spark = local_session(cores=2, log=folder / "log", options={"spark.jars": jars})
recipe = runpy.run_path(script)
kafka = {"kafka.bootstrap.servers": broker}

def order(*values):
    rows = [(str(number), value) for number, value in enumerate(values)]
    rows = spark.createDataFrame(rows, "key string, value string")
    rows.write.format("kafka").options(**kafka, topic="orders").save()

def read(topic):
    rows = spark.read.format("kafka").options(**kafka, subscribe=topic).load()
    return [json.loads(row[0]) for row in rows.selectExpr("cast(value as string)").collect()]

vip = {"total": 900, "customer": {"tier": "gold"}, "ship": {"country": "FR"}}
recipe["change_rules"](spark, folder / "rules", recipe["RULES"])
order(json.dumps(vip), "not JSON")
recipe["start"](spark, broker, folder, once=True)
assert recipe["change_rules"](spark, folder / "rules", [("all", "exists(total)")]) == 2
order(json.dumps({"total": 1}))
recipe["start"](spark, broker, folder, once=True)
print(json.dumps([[row["rule"] for row in read("matches")], len(read("dead-letters"))]))
spark.stop()
"""


@long_test
def test_the_recipe(broker: str, tmp_path: Path) -> None:
    """The cookbook's stream uses a changed rule; messages that are not JSON are dead letters."""
    ours = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")
    jars = ",".join(str(jar) for jar in fetch_jars() if jar.name.startswith(ours))
    script = str(ROOT / "examples" / "stream_kafka.py")
    command = [sys.executable, "-c", RECIPE, script, broker, str(tmp_path), jars]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    rules, dead = json.loads(done.stdout.splitlines()[-1])
    assert sorted(rules) == ["all", "export", "vip"]
    assert dead == 1


@long_test
def test_kafka_to_kafka(broker: str, tmp_path: Path) -> None:
    """Each match is written once, using the version of its micro-batch."""
    ours = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")
    jars = ",".join(str(jar) for jar in fetch_jars() if jar.name.startswith(ours))
    command = [sys.executable, "-c", JOB, broker, str(tmp_path), jars]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads(done.stdout.splitlines()[-1])
    found = {(int(row["number"]), row["subscription"], row["version"]) for row in rows}
    assert len(found) == len(rows)
    old = {(n, n % 10, 1) for n in range(100)}
    new = {(n, id, 2) for n in range(100, 200) for id in (n % 10, n % 10 + 10)}
    assert found == old | new
