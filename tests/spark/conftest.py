"""One Spark session for all tests of the pipeline, which therefore run in one process."""

import os
import platform
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tamis.spark.session import local_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def _snappy(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make every Java process of the tests load the Snappy for this system's C library.

    If musl's loader is installed next to glibc, snappy-java assumes a musl system.
    """
    machine = platform.machine()
    if not Path(f"/lib/ld-musl-{machine}.so.1").exists() or platform.libc_ver()[0] != "glibc":
        return
    folder, name = tmp_path_factory.mktemp("snappy"), "libsnappyjava.so"
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("snappy-java-*.jar")
    with zipfile.ZipFile(jar) as content:
        library = content.read(f"org/xerial/snappy/native/Linux/{machine}/{name}")
    (folder / name).write_bytes(library)
    prefix = "-Dorg.xerial.snappy.lib"
    options = f"{prefix}.path={folder} {prefix}.name={name}"
    os.environ["JAVA_TOOL_OPTIONS"] = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {options}".strip()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    os.environ["TAMIS_CACHE"] = str(folder / "cache")
    session = local_session(
        cores=2,
        log=folder / "spark.log",
        options={
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.local.dir": str(folder),
            # The log of a file sink is read batch by batch.
            "spark.sql.streaming.fileSink.log.compactInterval": "1000",
            "spark.sql.streaming.stopTimeout": "20s",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        },
    )
    yield session
    session.stop()
