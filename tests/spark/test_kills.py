"""If a worker is killed, the job gives the right result; if a job is, the index is unchanged."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tamis
from longer import long_test
from tamis import spark as ts

JOB = """
import sys, time
from pathlib import Path
from tamis.spark.session import local_session
from tamis import spark as ts
spark = local_session(cores=2, log=Path(sys.argv[2]))
rows = spark.range(200_000).selectExpr("id", "concat('a = ', id % 9) as expression")
print("ready", flush=True)
ts.compile(rows, sys.argv[1], shards=40)
print("done", flush=True)
"""


def kill_one_worker(done: threading.Event, killed: list[int]) -> None:
    """Kill the first busy worker process of this session's JVM, as the system would."""
    while not done.is_set() and not killed:
        for process in busy_workers():
            try:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            except ProcessLookupError:
                continue
            break
        time.sleep(0.02)


def busy_workers() -> list[int]:
    """The busy PySpark worker processes below this process."""
    children: dict[int, list[int]] = {}
    commands: dict[int, tuple[str, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        commands[int(entry.name)] = (fields[0], command)
    below, waiting = list[int](), [os.getpid()]
    while waiting:
        below += (found := children.get(waiting.pop(), []))
        waiting += found
    # The daemon forks the workers: both have its command line, and a worker is a child of it.
    daemons = {process for process in below if "pyspark.daemon" in commands[process][1]}
    return [
        worker
        for daemon in daemons
        for worker in children.get(daemon, [])
        if worker in daemons and commands[worker][0] == "R"
    ]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
@pytest.mark.parametrize("stage", ["compile", "match"])
def test_a_killed_worker(spark: SparkSession, tmp_path: Path, stage: str) -> None:
    """If a busy worker process is killed, its task is repeated and no result is lost."""
    rows = spark.range(30_000).selectExpr(
        "id", "concat('a = ', id % 100, ' and b > ', id) as expression"
    )
    events = spark.range(0, 60_000, 1, 8).selectExpr("id as b", "id % 100 as a")
    if stage == "match":
        ts.compile(rows, tmp_path, shards=2)
    done, killed = threading.Event(), list[int]()
    killer = threading.Thread(target=kill_one_worker, args=(done, killed))
    killer.start()
    try:
        result: Any = None
        if stage == "compile":
            result = ts.compile(rows, tmp_path, shards=4).subscriptions
        else:
            result = (
                ts.match(events, tmp_path, output="lists")
                .selectExpr("sum(size(subscriptions))")
                .collect()[0][0]
            )
    finally:
        done.set()
        killer.join()
    assert killed
    if stage == "compile":
        assert result == 30_000
        assert sorted(tamis.open(tmp_path)) == list(range(30_000))
    else:
        # Every event b has a = b % 100 and matches the ids below b with the same remainder.
        assert result == sum(min(b // 100, 300) for b in range(60_000))


@long_test
def test_a_killed_job_leaves_the_version_before(spark: SparkSession, tmp_path: Path) -> None:
    """A driver killed after writing segments and before committing changes nothing."""
    index = tmp_path / "index"
    ts.compile(spark.createDataFrame([(1, "a = 1")], "id long, expression string"), index)
    command = [sys.executable, "-c", JOB, str(index), str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == b"ready\n"
        while len(list(index.glob("segment-*"))) < 3:
            assert job.poll() is None
            time.sleep(0.02)
        os.killpg(job.pid, signal.SIGKILL)
        assert b"done" not in job.stdout.read()
    assert ts.versions(index) == [1]
    assert list(tamis.open(index)) == [1]
    events = spark.createDataFrame([(1,)], "a long")
    assert ts.match(events, index).count() == 1
