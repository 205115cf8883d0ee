"""Starting for the first time: other interpreters, systems and versions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from longer import long_test
from tamis import spark as ts
from tamis.spark.requirements import explain_import_error
from tamis.spark.session import use_this_python
from tamis.storage import cache, folder

STRANGER = """
import sys
from pyspark.sql import SparkSession
from tamis import spark as ts
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rules = spark.createDataFrame([("x", "a = 1")], "id string, expression string")
ts.compile(rules, sys.argv[1])
events = spark.range(3).withColumnRenamed("id", "a")
assert [row["subscription"] for row in ts.match(events, sys.argv[1]).collect()] == ["x"]
ts.register(spark, {"rules": sys.argv[1]})
found = events.selectExpr("tamis_match(struct(*), 'rules') as hits").collect()
assert [row["hits"] for row in found] == [[], ["x"], []]
spark.stop()
"""


def test_workers_here_run_this_interpreter(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `PYSPARK_PYTHON`, local workers run the Python of the driver."""
    context = spark.sparkContext
    monkeypatch.setattr(context, "pythonExec", "/nowhere/python3")
    use_this_python()
    assert context.pythonExec == "/nowhere/python3"  # from PYSPARK_PYTHON
    monkeypatch.delenv("PYSPARK_PYTHON")
    ts.compile(spark.sql("select 'x' as id, 'a = 1' as expression"), tmp_path, shards=1)
    assert context.pythonExec == sys.executable
    monkeypatch.setattr(context, "pythonExec", "/nowhere/python3")
    assert ts.match(spark.range(2).selectExpr("id as a"), tmp_path).count() == 1
    assert context.pythonExec == sys.executable
    monkeypatch.setattr(context, "pythonExec", "/nowhere/python3")
    assert spark.range(2).selectExpr("id as a").select(ts.match_column(tmp_path)).count() == 2
    assert context.pythonExec == sys.executable


@long_test
def test_a_session_of_a_new_user(tmp_path: Path) -> None:
    """The first `python3` on the path is another one, without any of the packages."""
    other = tmp_path / "bin"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True
    )
    other.mkdir()
    (other / "python3").symlink_to(tmp_path / "env" / "bin" / "python3")
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment["PATH"] = f"{other}:{environment['PATH']}"
    command = [sys.executable, "-W", "ignore", "-c", STRANGER, str(tmp_path / "index")]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_system_without_numbers_of_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no user ids, folder modes and some flags of `open`."""
    monkeypatch.setenv("TAMIS_CACHE", "")
    monkeypatch.setenv("USERNAME", "somebody")
    monkeypatch.setenv("LOGNAME", "somebody")
    monkeypatch.delattr(os, "getuid")
    assert cache.cache_folder().name == "tamis-cache-somebody"
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o777)
    assert cache.own_folder() == tmp_path / "cache"
    for flag in ("O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, flag)
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    place = folder.Folder(tmp_path)
    assert place.read("file") == b"content"
    with pytest.raises(Exception, match="link"):
        place.read("link")


@pytest.mark.parametrize("path", [r"C:\data\campaigns", "C:/data/campaigns", r"\\host\share\x"])
def test_paths_of_windows_are_no_uris(path: str) -> None:
    """A drive letter is not a URI scheme."""
    assert folder.Folder(path).local is not None


@pytest.mark.parametrize("version", ["3.5.7", "4.0.1"])
def test_an_old_pyspark_is_refused_by_its_number(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the installed version and the required one."""
    monkeypatch.setattr("importlib.metadata.version", lambda _: version)
    error = ImportError("cannot import name 'arrow_udf'", name="pyspark.sql.pandas.functions")
    message = str(explain_import_error(error))
    assert message.startswith(f"tamis.spark needs PySpark 4.1 or newer, and this is {version}:")
    missing = explain_import_error(ModuleNotFoundError("No module", name="pyspark"))
    assert str(missing) == "tamis.spark needs pyspark: pip install 'tamis[spark]'"
