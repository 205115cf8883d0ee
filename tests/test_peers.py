"""Installed peers find the same matches as the engine."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tamis import Index, SubscriptionError
from tamis._tamis import Workload, measure
from tamis.lab import experiments, timing

ROOT = Path(__file__).parents[1]

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "in": lambda value, values: value in values,
    "<": lambda value, values: value < values[0],
    "<=": lambda value, values: value <= values[0],
    ">": lambda value, values: value > values[0],
    ">=": lambda value, values: value >= values[0],
}


@pytest.fixture
def normal(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.peers.normal")


def holds(node: Any, event: dict[str, Any]) -> bool:
    if hasattr(node, "members"):
        held = [holds(member, event) for member in node.members]
        return all(held) if node.every else any(held)
    value = event.get(node.attribute)
    if value is None:
        return bool(node.absent)
    return OPERATORS[node.operator](value, node.values) != bool(node.negated)


@pytest.mark.parametrize("missing", ["unknown", "false"])
@pytest.mark.parametrize("workload", ["conjunctive", "abe-gen", "fontoura", "ads-like"])
def test_the_normal_form_means_the_same(normal: Any, workload: str, missing: Any) -> None:
    source = Workload(workload, size=300, seed=5)
    texts = source.expression_texts(0, 300)
    index = Index(matcher="scan", missing=missing)
    index.add_many(enumerate(texts))
    forms = [normal.normal_form(text, missing) for text in texts]
    for text in source.event_texts(0, 20):
        event = json.loads(text)
        assert index.match(text) == [at for at, form in enumerate(forms) if holds(form, event)]


@pytest.mark.parametrize("missing", ["unknown", "false"])
@pytest.mark.parametrize(
    "text",
    [
        "not (a = 1 xor b not in (1, 2))",
        "a between 1 and 2 xnor not (b != 2 or a > 1)",
        "not (a not between 1 and 2 and (b < 2 or not b >= 1))",
        "true and not false",
    ],
)
def test_every_connective(normal: Any, text: str, missing: Any) -> None:
    index = Index(missing=missing)
    index.add(0, text)
    form = normal.normal_form(text, missing)
    for a in (None, 0, 1, 2, 3):
        for b in (None, 0, 1, 2, 3):
            event = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
            assert index.match(event) == [0] * holds(form, event), event


def test_what_no_peer_can_ask_is_refused(normal: Any) -> None:
    for text, what in (("a like 'x%'", "the operator 'like'"), ("xpath('//a')", "xpath")):
        with pytest.raises(SubscriptionError, match=f"cannot express {what}"):
            normal.normal_form(text, "unknown")


@pytest.mark.parametrize(
    ("workload", "parameters", "judge", "matcher", "needs"),
    [
        ("conjunctive", {"size": 200}, "scan", "tamis:Index", "tamis"),
        ("abe-gen", {"size": 200}, "scan", "tamis:Index", "tamis"),
        ("xml", {"size": 200, "predicates": 1}, "scan", "tamis.xml:Filter", "tamis"),
        ("exchange", {}, "bfs", "tamis:Graph", "tamis"),
        ("abe-gen", {"size": 200}, "scan", "benchmarks.peers.python_peer:Engine", "tamis"),
        ("conjunctive", {"size": 200}, "scan", "benchmarks.peers.a_tree_peer:Engine", "a_tree"),
        ("fontoura", {"size": 100}, "scan", "benchmarks.peers.mokaccino_peer:Engine", "mokaccino"),
        ("whang", {"size": 30}, "scan", "benchmarks.peers.rule_engine_peer:Engine", "rule_engine"),
        ("whang", {"size": 30}, "scan", "benchmarks.peers.cel_peer:Engine", "celpy"),
        ("xml", {"size": 200, "nested": 1}, "scan", "benchmarks.peers.lxml_peer:Engine", "lxml"),
        ("exchange", {}, "bfs", "benchmarks.peers.python_peer:Graph", "tamis"),
        ("exchange", {}, "bfs", "benchmarks.peers.networkx_peer:Engine", "networkx"),
        ("exchange", {}, "bfs", "benchmarks.peers.rustworkx_peer:Engine", "rustworkx"),
    ],
)
def test_a_matcher_from_elsewhere_finds_the_same(
    monkeypatch: pytest.MonkeyPatch,
    workload: str,
    parameters: dict[str, Any],
    judge: str,
    matcher: str,
    needs: str,
) -> None:
    pytest.importorskip(needs)
    monkeypatch.syspath_prepend(ROOT)
    spec = {
        "workload": workload,
        "parameters": {**parameters, "seed": 4},
        "options": {},
        "events": 20,
        "sample": 20,
        "repetitions": 1,
        "seconds": 1.0,
    }
    found = timing.measure_external({**spec, "matcher": matcher})
    right = json.loads(measure(json.dumps({**spec, "matcher": judge})))
    assert sum(found["counts"]) > 0
    assert (found["counts"], found["digest"]) == (right["counts"], right["digest"])
    assert found["best_us"] > 0


PROCESSES = {"json_rules_engine_peer": "json-rules-engine", "lucene_monitor_peer": "lucene"}


@pytest.mark.parametrize("workload", ["conjunctive", "ads-like", "fontoura"])
@pytest.mark.parametrize("peer", PROCESSES)
def test_a_process_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, peer: str, workload: str
) -> None:
    if not (ROOT / "build" / "peers" / PROCESSES[peer]).is_dir():
        pytest.skip("`make peers` has not installed it")
    matcher = f"benchmarks.peers.{peer}:Engine"
    test_a_matcher_from_elsewhere_finds_the_same(
        monkeypatch, workload, {"size": 200}, "scan", matcher, "tamis"
    )


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("benchmarks/experiments/**/*.toml")), ids=lambda path: path.stem
)
def test_the_experiments_can_be_run(path: Path) -> None:
    experiments.check(experiments.read(path))
