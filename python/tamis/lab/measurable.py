"""What can be measured? The workloads, matchers and options that the native module knows."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any

from tamis import _tamis
from tamis.lab.experiment import Experiment, Plan, Series
from tamis.lab.tables import ExperimentError


@cache
def measurable() -> dict[str, Any]:
    """Workloads with their families and parameters, and the matchers of each family."""
    known: dict[str, Any] = json.loads(_tamis.measurable())
    return known


def is_foreign(matcher: str) -> bool:
    """Whether it is `module:factory`, from elsewhere."""
    return all(matcher.partition(":"))


def check(experiment: Experiment) -> None:
    """Whether everything that an experiment names is there.

    Raises:
        ExperimentError: Something is not; says what, in which file, and what there is.
    """
    for plan in experiment.plans.values():
        workloads = measurable()["workloads"]
        _known(experiment, "workload.name", plan.workload, workloads)
        for series in experiment.series:
            _check_series(experiment, plan, series, workloads[plan.workload])


def _check_series(experiment: Experiment, plan: Plan, series: Series, workload: Any) -> None:
    parameters = {**plan.parameters, **series.parameters}
    if plan.varied is not None:
        parameters[plan.varied] = None
    for name in parameters:
        _known(experiment, f"{plan.workload}.{name}", name, [*workload["parameters"], "seed"])
    matchers = measurable()["matchers"][workload["family"]]
    for matcher, options in ((series.matcher, series.options), series.judge):
        if is_foreign(matcher):
            continue
        _known(experiment, "series.matcher", matcher, matchers)
        for option in options:
            _known(experiment, f"{matcher}.options", option, matchers[matcher]["options"])


def _known(experiment: Experiment, key: str, name: str, names: Iterable[str]) -> None:
    names = list(names)
    if name in names:
        return
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
    raise ExperimentError(f"{experiment.name}.toml: `{key}` cannot be {name!r}; {hint}")
