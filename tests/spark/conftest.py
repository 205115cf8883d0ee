"""One Spark session for all tests of the pipeline, which therefore run in one process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis.spark.session import local_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


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
