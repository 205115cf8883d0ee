"""How fast are graph constraints through Python, beside what a Python user could write?

    cargo run --release -p tamis-lab --bin graph -- write build/exchange 1/4 1
    .venv/bin/python scripts/bench_graph.py build/exchange

Every contender must reach the same nodes as the first on every event before its time is reported.
"""

import json
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tamis

Query = tuple[str, dict[str, Any]]
Contender = Callable[[Query], set[Any]]


def translate(expression: str) -> Callable[[dict[str, Any]], bool]:
    """An expression of the workload as a Python function."""
    text = re.sub(r"(\w+) in \(([^)]*)\)", r"e['\1'] in {\2}", expression)
    text = re.sub(r"(\w+) between (\d+) and (\d+)", r"\2 <= e['\1'] <= \3", text)
    function: Callable[[dict[str, Any]], bool] = eval(f"lambda e: {text}")
    return function


def contenders(folder: Path) -> dict[str, Contender]:
    graph = tamis.Graph.from_csv(folder / "nodes.csv", folder / "edges.csv")
    children: dict[Any, list[Any]] = {}
    for source, target, _, _ in graph.edges():
        children.setdefault(source, []).append(target)
    asked = {node: str(found) for node in graph if (found := graph.expression(node)) is not None}
    functions = {node: translate(text) for node, text in asked.items()}
    index = tamis.Index()
    index.add_many(asked)

    def walk(source: str, valid: Callable[[Any], bool]) -> set[Any]:
        seen: set[Any] = set()
        reached: set[Any] = set()
        waiting = deque([source])
        while waiting:
            for child in children.get(waiting.popleft(), ()):
                if child not in seen:
                    seen.add(child)
                    if valid(child):
                        reached.add(child)
                        waiting.append(child)
        return reached

    def functions_bfs(query: Query) -> set[Any]:
        source, event = query
        return walk(source, lambda node: functions[node](event))

    def index_bfs(query: Query) -> set[Any]:
        source, event = query
        return walk(source, set(index.match(event)).__contains__)

    found: dict[str, Contender] = {
        "tamis.Graph.match": lambda query: set(graph.match(query[1], query[0])),
        "tamis.Graph.match_batch": lambda query: set(graph.match_batch([query[1]], query[0])[0]),
        "dict BFS, Python functions": functions_bfs,
        "dict BFS, tamis.Index": index_bfs,
    }
    return found | libraries(graph, index)


def libraries(graph: tamis.Graph, index: tamis.Index) -> dict[str, Contender]:
    """Libraries that are installed: what `index` matches, and what is reached in that."""
    found: dict[str, Contender] = {}
    if find_spec("networkx"):
        import networkx

        whole = networkx.DiGraph((source, target) for source, target, _, _ in graph.edges())

        def networkx_bfs(query: Query) -> set[Any]:
            source, event = query
            allowed = set(index.match(event)) | {source}
            return set(networkx.descendants(whole.subgraph(allowed), source))

        found["networkx, tamis.Index"] = networkx_bfs
    if find_spec("rustworkx"):
        import rustworkx

        digraph = rustworkx.PyDiGraph()
        names = list(graph)
        numbers = dict(zip(names, digraph.add_nodes_from(names), strict=True))
        ends = [(numbers[source], numbers[target]) for source, target, _, _ in graph.edges()]
        digraph.add_edges_from_no_data(ends)

        def rustworkx_bfs(query: Query) -> set[Any]:
            source, event = query
            allowed = set(index.match(event)) | {source}
            part, kept = digraph.subgraph_with_nodemap([numbers[name] for name in allowed])
            start = next(new for new, old in kept.items() if old == numbers[source])
            return {names[kept[new]] for new in rustworkx.descendants(part, start)}

        found["rustworkx, tamis.Index"] = rustworkx_bfs
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [(line["source"], line["event"]) for line in map(json.loads, lines)]
    expected: list[set[Any]] = []
    for name, run in contenders(folder).items():
        slow = name.startswith(("networkx", "rustworkx"))
        count = 100 if slow else len(queries)
        answers = [run(query) for query in queries[:count]]
        expected = expected or answers
        assert answers == expected[:count], f"{name} reaches other nodes"
        best = float("inf")
        for _ in range(1 if slow else 5):
            begun = time.perf_counter()
            for query in queries[:count]:
                run(query)
            best = min(best, time.perf_counter() - begun)
        print(f"{name:30}{best / count * 1e6:12.1f} us per query")


if __name__ == "__main__":
    main()
