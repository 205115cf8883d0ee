"""Moving from a percolator: queries of Elasticsearch or OpenSearch become expressions.

A percolator query is a JSON tree. This script translates its Boolean part exactly and refuses the
rest by name: full-text queries (`match`, `query_string`) depend on an analyser, so keep them there.
Point it at an export, one JSON document with `_id` and `_source.query` per line:

    python examples/from_percolator.py percolator.jsonl > subscriptions.jsonl
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tamis
from tamis import Expression, all_of, any_of, attr

Query = dict[str, Any]


def refuse(what: str) -> ValueError:
    return ValueError(f"{what} has no exact translation")


def translate(query: Query, inside: str = "") -> Expression:
    """Translate one query; `inside` is the path of the `nested` query around it."""
    [(kind, body)] = query.items()
    if kind not in KINDS:
        raise refuse(f"`{kind}`")
    return KINDS[kind](body, inside)


def attribute(name: str, inside: str) -> tamis.Attribute:
    return attr[name.removesuffix(".keyword").removeprefix(inside)]


def one_field(body: Query, inside: str) -> tuple[tamis.Attribute, Any]:
    """The attribute and the operand of `{"price": operand}`; `{"value": ...}` is unpacked."""
    [(name, asked)] = [item for item in body.items() if item[0] != "boost"]
    if isinstance(asked, dict) and "value" in asked:
        if more := asked.keys() - {"value", "boost"}:
            raise refuse(f"`{min(more)}`")
        asked = asked["value"]
    return attribute(name, inside), asked


def boolean(body: Query, inside: str) -> Expression:
    def clauses(name: str) -> list[Expression]:
        given = body.get(name, [])
        return [translate(each, inside) for each in (given if isinstance(given, list) else [given])]

    every = clauses("must") + clauses("filter")
    least = body.get("minimum_should_match", 0 if every else 1)
    if least not in (0, 1):
        raise refuse(f"`minimum_should_match: {least}`")
    every += [~each for each in clauses("must_not")]
    if (should := clauses("should")) and least:
        every.append(any_of(should))
    return all_of(every)


def term(body: Query, inside: str) -> Expression:
    asked, value = one_field(body, inside)
    return asked == value


def terms(body: Query, inside: str) -> Expression:
    asked, values = one_field(body, inside)
    if not isinstance(values, list):
        raise refuse("a `terms` lookup")
    return asked.isin(values)


def bounds(body: Query, inside: str) -> Expression:
    asked, given = one_field(body, inside)
    compare: dict[str, Callable[[Any], Expression]] = {
        "gt": lambda bound: asked > bound,
        "gte": lambda bound: asked >= bound,
        "lt": lambda bound: asked < bound,
        "lte": lambda bound: asked <= bound,
    }
    for name, bound in given.items():
        if name not in compare or isinstance(bound, str):  # dates and their arithmetic
            raise refuse(f"a range with `{name}: {bound}`")
    return all_of([compare[name](bound) for name, bound in given.items()])


def wildcard(body: Query, inside: str) -> Expression:
    asked, pattern = one_field(body, inside)
    if "\\" in pattern:
        raise refuse("an escaped wildcard")
    escaped = pattern.replace("%", r"\%").replace("_", r"\_")
    return asked.like(escaped.replace("*", "%").replace("?", "_"))


def prefix(body: Query, inside: str) -> Expression:
    asked, text = one_field(body, inside)
    return asked.startswith(text)


def nested(body: Query, inside: str) -> Expression:
    path = body["path"]
    return attribute(path, inside).any(translate(body["query"], f"{path}."))


KINDS: dict[str, Callable[[Query, str], Expression]] = {
    "bool": boolean,
    "constant_score": lambda body, inside: translate(body["filter"], inside),
    "exists": lambda body, inside: attribute(body["field"], inside).is_not_null(),
    "match_all": lambda _, __: tamis.parse("true"),
    "nested": nested,
    "prefix": prefix,
    "range": bounds,
    "term": term,
    "terms": terms,
    "wildcard": wildcard,
}

EXPORT = r"""
{"_id": "cheap", "_source": {"query": {"bool": {
    "filter": [{"term": {"type.keyword": "flat"}}, {"range": {"rent": {"gte": 500, "lt": 900}}}],
    "must_not": {"term": {"agent": true}}}}}}
{"_id": "garden", "_source": {"query": {"bool": {
    "should": [{"exists": {"field": "garden"}}, {"wildcard": {"title": "*terrace*"}}]}}}}
{"_id": "bus", "_source": {"query": {"nested": {"path": "stops", "query": {"bool": {
    "must": [{"term": {"stops.kind": "bus"}}, {"range": {"stops.metres": {"lte": 300}}}]}}}}}}
{"_id": "recent", "_source": {"query": {"range": {"listed": {"gte": "now-1d"}}}}}
{"_id": "cosy", "_source": {"query": {"match": {"description": "cosy quiet"}}}}
"""
FLAT = {
    "type": "flat",
    "rent": 880,
    "title": "Flat with terrace",
    "stops": [{"kind": "bus", "metres": 450}, {"kind": "tram", "metres": 120}],
}


def read(lines: Iterable[str]) -> tuple[tamis.Index, list[tuple[str, str]]]:
    """An index of the translated queries, and the ids and reasons of the others."""
    # A percolator has no unknown: `must_not` holds for documents without the field.
    index, refused = tamis.Index(missing="false"), []
    for line in lines:
        document = json.loads(line)
        try:
            index.add(document["_id"], translate(document["_source"]["query"]))
        except ValueError as error:
            refused.append((document["_id"], str(error)))
    return index, refused


def main(arguments: list[str]) -> None:
    if arguments:
        index, refused = read(Path(arguments[0]).read_text(encoding="utf-8").splitlines())
        for id in index:
            print(json.dumps({"id": id, "expression": str(index[id].expression)}))
        for id, reason in refused:
            print(f"refused {id}: {reason}", file=sys.stderr)
        return
    index, refused = read(EXPORT.replace("\n    ", "").split("\n")[1:-1])
    for id in index:
        print(f"{id}: {index[id].expression}")
    for id, reason in refused:
        print(f"refused {id}: {reason}")
    print("the flat matches", ", ".join(index.match(FLAT)))


if __name__ == "__main__":
    main(sys.argv[1:])
