"""The laboratory's workloads as DataFrames.

Each item depends only on the workload, the size, the seed and its number, so the rows are the same
on any cluster and for any number of tasks.
"""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tamis._tamis import Workload
from tamis.spark import worker
from tamis.spark.shipping import on_worker


def generate_subscriptions(
    spark: SparkSession,
    workload: str,
    count: int,
    *,
    seed: int = 0,
    size: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The first expressions of a workload, in the format of `compile`.

    Args:
        spark: The session.
        workload: `"conjunctive"`, `"dense"`, `"abe-gen"`, `"ads-like"`, `"whang"`, `"whang-cnf"` or
            `"fontoura"`.
        count: The number of items.
        seed: The seed of all random choices.
        size: The number of expressions that the workload is designed for; `count` by default.
        parameters: Parameters of the workload to change.

    Returns:
        The columns `id` (the number) and `expression`.
    """
    return _generate(spark, workload, "expressions", count, seed, size or count, parameters)


def generate_events(
    spark: SparkSession,
    workload: str,
    count: int,
    *,
    size: int,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The first events of a workload, as JSON.

    Args:
        spark: The session.
        workload: As in `generate_subscriptions`.
        count: The number of items.
        size: The number of expressions that the workload is designed for.
        seed: The seed of all random choices.
        parameters: Parameters of the workload to change.

    Returns:
        The columns `number` and `event`.
    """
    return _generate(spark, workload, "events", count, seed, size, parameters)


def _generate(
    spark: SparkSession,
    workload: str,
    kind: str,
    count: int,
    seed: int,
    size: int,
    parameters: Mapping[str, Any] | None,
) -> DataFrame:
    given = json.dumps(dict(parameters or {}))
    Workload(
        workload, size=0, seed=seed, parameters=given
    )  # so that unknown names raise an error on the driver
    columns = ("id", "expression") if kind == "expressions" else ("number", "event")
    settings = {"workload": workload, "seed": seed, "size": size, "parameters": given}
    task = on_worker(worker.generate, kind=kind, names=columns, **settings)
    return spark.range(count).mapInArrow(task, f"{columns[0]} bigint, {columns[1]} string")
