"""One matcher on one workload, measured natively."""

import json
from pathlib import Path
from typing import Any

import pytest

from tamis import lab
from tamis._tamis import Workload, measurable, measure


def measured(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(measure(json.dumps(spec)))
    return found


def test_matchers_agree_and_times_are_told() -> None:
    for workload in ("whang", "fontoura"):
        digests = set()
        for matcher in ("scan", "interval", "bop"):
            found = measured(
                workload=workload, parameters={"size": 200, "seed": 3}, matcher=matcher, events=25
            )
            digests.add(found["digest"])
            assert len(found["counts"]) == 20
            assert found["events"] == 25
            assert 0 < found["median_us"] <= found["p99_us"]
            assert found["build_seconds"] > 0
            assert found["bytes"] > 0
            pairs = found["statistics"]["pairs per event"]
            assert pairs["measured"] == pytest.approx(pairs["requested"], rel=0.05)
        assert len(digests) == 1


@pytest.mark.parametrize("matcher", ["compiled", "auto"])
def test_the_default_matcher_tells_what_it_looked_at(matcher: str) -> None:
    found = measured(workload="conjunctive", parameters={"size": 2000}, matcher=matcher, events=25)
    counters = found["counters"]
    assert counters["entries"] >= counters["candidates"] >= found["matches"] > 0
    assert counters["lists"] > 0


def test_the_digest_can_be_computed_elsewhere() -> None:
    spec = {"workload": "dense", "parameters": {"size": 5}, "matcher": "scan", "sample": 3}
    found = measured(**spec, events=3)
    assert found["counts"] == [0, 0, 0]
    value = 0xCBF29CE484222325
    for byte in b"\n\n\n":  # the numbers of an event's matches, with commas, would come first
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    assert found["digest"] == f"{value:016x}"


def test_what_is_measurable_has_names() -> None:
    known = json.loads(measurable())
    assert known["workloads"]["whang"]["parameters"]["months"] == 1
    assert "propagation_on_demand" in known["matchers"]["expressions"]["atree"]["options"]
    for name, workload in known["workloads"].items():
        if workload["family"] == "expressions":
            parameters = {k: v for k, v in workload["parameters"].items() if k != "size"}
            Workload(name, parameters=json.dumps(parameters))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"workload": "whang", "matcher": "skan"}, "unknown matcher"),
        ({"workload": "wang", "matcher": "scan"}, "unknown workload"),
        (
            {"workload": "whang", "matcher": "compact", "parameters": {"size": 9}},
            "cannot express: ",
        ),
    ],
)
def test_what_cannot_be_measured(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(json.dumps(spec))


def test_parameters_of_a_workload() -> None:
    usual, other = (
        Workload("whang", size=10, parameters=text) for text in ("{}", '{"months": 12}')
    )
    assert usual.expressions(0, 10) != other.expressions(0, 10)
    with pytest.raises(ValueError, match='unknown parameter "month"; known: attribute_exponent'):
        Workload("whang", parameters='{"month": 12}')
    with pytest.raises(ValueError, match="months must be from 1 to 12, not 13"):
        Workload("whang", parameters='{"months": 13}')
    with pytest.raises(ValueError, match="the parameters must be a JSON object"):
        Workload("whang", parameters="months")


def test_files_with_parameters(tmp_path: Path) -> None:
    files = lab.generate("whang", 5, events=5, folder=tmp_path, parameters={"pairs": 7})
    lines = files["events"].read_text("utf-8").splitlines()
    assert [len(json.loads(line)) for line in lines] == [7] * 5
    assert json.loads(files["workload"].read_text("utf-8"))["parameters"] == {"pairs": 7}


@pytest.mark.parametrize(
    ("workload", "parameters"),
    [
        ("abe-gen", {}),
        ("abe-gen", {"children": 2, "depth": 4, "dimensions": 30}),
        ("ads-like", {}),
        ("conjunctive", {"negated": 0.3, "set": [2, 8]}),
        ("dense", {}),
        ("exchange", {"selectivity": 0.125}),
        ("fontoura", {"depth": [1, 3], "negated": 0.2}),
        ("whang", {"exponent": 1.5, "attributes": 100}),
        ("whang-cnf", {"attributes": 300}),
    ],
)
def test_statistics_are_near_those_requested(workload: str, parameters: dict[str, Any]) -> None:
    source = Workload(workload, size=20_000, seed=5, parameters=json.dumps(parameters))
    figures = source.statistics(20_000)
    asked = {name: each for name, each in figures.items() if each["requested"] is not None}
    assert "predicates per expression" in asked
    for name, each in asked.items():
        if name != "match probability":
            assert each["measured"] == pytest.approx(each["requested"], rel=0.05), name
    assert "match probability" in source.statistics(20, matched=3)


def test_strategies_of_graphs_agree() -> None:
    found = [
        measured(workload="exchange", matcher=matcher, events=20, repetitions=1)
        for matcher in ("bfs", "general-skipping", "auto")
    ]
    assert len({each["digest"] for each in found}) == 1
    assert all(each["first_us"] > 0 for each in found)
    valid = found[0]["statistics"]["valid nodes"]["measured"]
    assert found[0]["counters"]["edges"] > 0
    assert valid > found[0]["matches"] > 0
