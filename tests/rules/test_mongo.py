"""MongoDB-style conditions: every operator on values, lists, nulls and missing fields."""

import json
from typing import Any

import pytest

import tamis
from tamis.rules import RuleError, mongo

EVENT = {
    "age": 21,
    "height": 1.5,
    "name": "Ann",
    "city": "Zürich",
    "empty": "",
    "member": True,
    "nothing": None,
    "tags": ["vip", "New"],
    "numbers": [1, 5, 9],
    "holes": [None, 3],
    "none": [],
    "version": "2.10.0",
    "beta": "2.10.0-beta.2",
    "user": {"plan": "pro", "seats": 3, "geo": {"country": "CH"}},
    "items": [{"sku": "a", "price": 3}, {"sku": "b", "price": 30}, {"sku": "c"}],
}
GROUPS: dict[str, list[Any]] = {"staff": ["Ann", "Bob"], "ids": [1, 2, 3]}

CASES: list[tuple[dict[str, Any], bool]] = [
    # implicit equality
    ({}, True),
    ({"age": 21}, True),
    ({"age": 21.0}, True),
    ({"age": "21"}, False),
    ({"age": 22}, False),
    ({"name": "Ann"}, True),
    ({"name": "ann"}, False),
    ({"empty": ""}, True),
    ({"member": True}, True),
    ({"member": False}, False),
    ({"member": 1}, False),
    ({"absent": 1}, False),
    ({"tags": "vip"}, True),
    ({"tags": "old"}, False),
    ({"numbers": 5}, True),
    ({"numbers": 6}, False),
    ({"user.plan": "pro"}, True),
    ({"user.geo.country": "CH"}, True),
    ({"user.geo.country": "DE"}, False),
    ({"items.sku": "b"}, True),
    ({"items.sku": "z"}, False),
    ({"age": 21, "name": "Ann"}, True),
    ({"age": 21, "name": "Bob"}, False),
    # null equals missing
    ({"nothing": None}, True),
    ({"absent": None}, True),
    ({"age": None}, False),
    ({"holes": None}, True),
    ({"numbers": None}, False),
    ({"user.absent": None}, True),
    # $eq and $ne
    ({"age": {"$eq": 21}}, True),
    ({"age": {"$eq": 20}}, False),
    ({"absent": {"$eq": None}}, True),
    ({"nothing": {"$eq": None}}, True),
    ({"age": {"$ne": 21}}, False),
    ({"age": {"$ne": 20}}, True),
    ({"age": {"$ne": "21"}}, True),
    ({"absent": {"$ne": 1}}, True),
    ({"nothing": {"$ne": 1}}, True),
    ({"absent": {"$ne": None}}, False),
    ({"age": {"$ne": None}}, True),
    ({"tags": {"$ne": "vip"}}, False),
    ({"tags": {"$ne": "old"}}, True),
    ({"none": {"$ne": "old"}}, True),
    # orderings
    ({"age": {"$gt": 20}}, True),
    ({"age": {"$gt": 21}}, False),
    ({"age": {"$gte": 21}}, True),
    ({"age": {"$lt": 21}}, False),
    ({"age": {"$lt": 21.5}}, True),
    ({"age": {"$lte": 21}}, True),
    ({"age": {"$gt": "20"}}, False),
    ({"name": {"$gt": "Amy"}}, True),
    ({"name": {"$lt": "Amy"}}, False),
    ({"name": {"$gt": 3}}, False),
    ({"absent": {"$gt": 0}}, False),
    ({"absent": {"$lt": 0}}, False),
    ({"nothing": {"$lte": 0}}, False),
    ({"age": {"$gte": 18, "$lt": 30}}, True),
    ({"age": {"$gte": 18, "$lt": 20}}, False),
    ({"numbers": {"$gt": 8}}, True),
    ({"numbers": {"$gt": 9}}, False),
    ({"numbers": {"$gt": 5, "$lt": 5}}, True),
    ({"items.price": {"$gt": 10}}, True),
    ({"items.price": {"$gt": 100}}, False),
    ({"height": {"$gte": 1.5}}, True),
    # $in and $nin
    ({"name": {"$in": ["Ann", "Bob"]}}, True),
    ({"name": {"$in": ["Bob"]}}, False),
    ({"name": {"$in": []}}, False),
    ({"age": {"$in": [1, "x", 21]}}, True),
    ({"tags": {"$in": ["New"]}}, True),
    ({"tags": {"$in": ["new"]}}, False),
    ({"absent": {"$in": [1, None]}}, True),
    ({"absent": {"$in": [1]}}, False),
    ({"nothing": {"$in": [None]}}, True),
    ({"name": {"$nin": ["Ann"]}}, False),
    ({"name": {"$nin": ["Bob"]}}, True),
    ({"name": {"$nin": []}}, True),
    ({"absent": {"$nin": ["Bob"]}}, True),
    ({"absent": {"$nin": [None]}}, False),
    ({"tags": {"$nin": ["vip"]}}, False),
    ({"tags": {"$nin": ["x", "y"]}}, True),
    # $exists and $type
    ({"age": {"$exists": True}}, True),
    ({"age": {"$exists": False}}, False),
    ({"absent": {"$exists": True}}, False),
    ({"absent": {"$exists": False}}, True),
    ({"nothing": {"$exists": True}}, True),
    ({"user": {"$exists": True}}, True),
    ({"user.absent": {"$exists": False}}, True),
    ({"tags": {"$exists": True}}, True),
    ({"none": {"$exists": True}}, True),
    ({"name": {"$type": "string"}}, True),
    ({"age": {"$type": "string"}}, False),
    ({"age": {"$type": "number"}}, True),
    ({"height": {"$type": "number"}}, True),
    ({"member": {"$type": "boolean"}}, True),
    ({"member": {"$type": "bool"}}, True),
    ({"nothing": {"$type": "null"}}, True),
    ({"absent": {"$type": "null"}}, False),
    ({"tags": {"$type": "array"}}, True),
    ({"name": {"$type": "array"}}, False),
    ({"user": {"$type": "object"}}, True),
    ({"age": {"$type": "object"}}, False),
    ({"name": {"$type": ["number", "string"]}}, True),
    ({"name": {"$type": 2}}, True),
    # $regex
    ({"name": {"$regex": "^A"}}, True),
    ({"name": {"$regex": "^a"}}, False),
    ({"name": {"$regex": "^a", "$options": "i"}}, True),
    ({"name": {"$options": "i", "$regex": "NN"}}, True),
    ({"name": {"$regex": "n$"}}, True),
    ({"age": {"$regex": "2"}}, False),
    ({"absent": {"$regex": ""}}, False),
    ({"tags": {"$regex": "^N"}}, True),
    ({"city": {"$regex": "ü"}}, True),
    ({"name": {"$regexi": "^aN"}}, True),
    ({"name": {"$regexi": "^b"}}, False),
    ({"name": {"$notRegex": "^A"}}, False),
    ({"name": {"$notRegex": "^B"}}, True),
    ({"absent": {"$notRegex": "^B"}}, True),
    ({"name": {"$notRegexi": "^a"}}, False),
    ({"name": {"$notRegexi": "^b"}}, True),
    # $not
    ({"age": {"$not": {"$gt": 30}}}, True),
    ({"age": {"$not": {"$gt": 20}}}, False),
    ({"absent": {"$not": {"$gt": 20}}}, True),
    ({"age": {"$not": {"$not": {"$gt": 20}}}}, True),
    ({"absent": {"$not": {"$not": {"$gt": 20}}}}, False),
    ({"name": {"$not": {"$regex": "^A"}}}, False),
    ({"name": {"$not": "^B"}}, True),
    ({"tags": {"$not": {"$in": ["x"]}}}, True),
    ({"$not": {"age": 21}}, False),
    ({"$not": {"absent": 21}}, True),
    ({"$not": {"age": 21, "name": "Bob"}}, True),
    # $and, $or, $nor
    ({"$and": [{"age": 21}, {"name": "Ann"}]}, True),
    ({"$and": [{"age": 21}, {"name": "Bob"}]}, False),
    ({"$or": [{"age": 1}, {"name": "Ann"}]}, True),
    ({"$or": [{"age": 1}, {"name": "Bob"}]}, False),
    ({"$or": [{"absent": 1}, {"name": "Ann"}]}, True),
    ({"$nor": [{"age": 1}, {"name": "Bob"}]}, True),
    ({"$nor": [{"age": 21}, {"name": "Bob"}]}, False),
    ({"$nor": [{"absent": 1}]}, True),
    ({"member": True, "$or": [{"age": {"$lt": 18}}, {"tags": "vip"}]}, True),
    ({"$or": [{"$and": [{"age": 21}, {"absent": None}]}]}, True),
    ({"$nor": [{"$nor": [{"age": 21}]}]}, True),
    ({"$nor": [{"$nor": [{"absent": 21}]}]}, False),
    # $all
    ({"tags": {"$all": ["vip", "New"]}}, True),
    ({"tags": {"$all": ["vip", "old"]}}, False),
    ({"tags": {"$all": []}}, False),
    ({"name": {"$all": ["Ann"]}}, True),
    ({"numbers": {"$all": [1, 9]}}, True),
    ({"absent": {"$all": [1]}}, False),
    ({"items": {"$all": [{"$elemMatch": {"sku": "a"}}, {"$elemMatch": {"sku": "b"}}]}}, True),
    ({"items": {"$all": [{"$elemMatch": {"sku": "a"}}, {"$elemMatch": {"sku": "z"}}]}}, False),
    # $size
    ({"tags": {"$size": 2}}, True),
    ({"tags": {"$size": 1}}, False),
    ({"none": {"$size": 0}}, True),
    ({"name": {"$size": 1}}, False),
    ({"absent": {"$size": 0}}, False),
    ({"items": {"$size": 3}}, True),
    ({"holes": {"$size": 2}}, True),
    ({"numbers": {"$size": {"$gt": 2}}}, True),
    ({"numbers": {"$size": {"$gt": 3}}}, False),
    # $elemMatch
    ({"numbers": {"$elemMatch": {"$gt": 4, "$lt": 6}}}, True),
    ({"numbers": {"$elemMatch": {"$gt": 5, "$lt": 9}}}, False),
    ({"tags": {"$elemMatch": {"$eq": "vip"}}}, True),
    ({"tags": {"$elemMatch": {"$ne": "vip"}}}, True),
    ({"tags": {"$elemMatch": {"$in": ["x"]}}}, False),
    ({"tags": {"$elemMatch": {"$regex": "^v"}}}, True),
    ({"age": {"$elemMatch": {"$gt": 4}}}, False),
    ({"none": {"$elemMatch": {"$gt": 4}}}, False),
    ({"absent": {"$elemMatch": {"$gt": 4}}}, False),
    ({"items": {"$elemMatch": {"sku": "a", "price": 3}}}, True),
    ({"items": {"$elemMatch": {"sku": "a", "price": 30}}}, False),
    ({"items": {"$elemMatch": {"sku": "b", "price": {"$gt": 10}}}}, True),
    ({"items": {"$elemMatch": {"sku": "c", "price": None}}}, True),
    ({"items": {"$elemMatch": {"sku": "a", "price": None}}}, False),
    ({"items": {"$elemMatch": {"$or": [{"sku": "z"}, {"price": 30}]}}}, True),
    ({"items": {"$elemMatch": {"sku": {"$ne": "a"}, "price": 3}}}, False),
    ({"items": {"$not": {"$elemMatch": {"sku": "z"}}}}, True),
    ({"holes": {"$elemMatch": {"$eq": None}}}, True),
    # versions
    ({"version": {"$veq": "2.10.0"}}, True),
    ({"version": {"$veq": "2.10"}}, True),
    ({"version": {"$vne": "2.10.0"}}, False),
    ({"version": {"$vne": "2.9.0"}}, True),
    ({"absent": {"$vne": "2.9.0"}}, True),
    ({"version": {"$vgt": "2.9.0"}}, True),
    ({"version": {"$vgt": "2.10.0"}}, False),
    ({"version": {"$vgte": "2.10.0"}}, True),
    ({"version": {"$vlt": "2.11.0"}}, True),
    ({"version": {"$vlt": "2.9.9"}}, False),
    ({"version": {"$vlte": "2.10.0"}}, True),
    ({"beta": {"$vlt": "2.10.0"}}, True),
    ({"beta": {"$vgt": "2.10.0-beta.1"}}, True),
    ({"name": {"$vgt": "1.0.0"}}, False),
    ({"absent": {"$vgt": "1.0.0"}}, False),
    # text in any case
    ({"name": {"$ini": ["ANN"]}}, True),
    ({"name": {"$ini": ["BOB"]}}, False),
    ({"city": {"$ini": ["ZÜRICH"]}}, True),
    ({"age": {"$ini": [21, "x"]}}, True),
    ({"name": {"$nini": ["ANN"]}}, False),
    ({"name": {"$nini": ["BOB"]}}, True),
    ({"absent": {"$nini": ["BOB"]}}, True),
    ({"tags": {"$alli": ["VIP", "new"]}}, True),
    ({"tags": {"$alli": ["VIP", "x"]}}, False),
    # groups
    ({"name": {"$inGroup": "staff"}}, True),
    ({"age": {"$inGroup": "ids"}}, False),
    ({"name": {"$notInGroup": "staff"}}, False),
    ({"absent": {"$notInGroup": "staff"}}, True),
]

REFUSED: list[tuple[Any, str]] = [
    ("[]", "an object"),
    ("{", "not valid JSON"),
    ('{"a": 1, "a": 2}', "twice"),
    ({"a": {"b": 1}}, "compares with an object"),
    ({"a": [1, 2]}, "compares with an array"),
    ({"a": {"$eq": {"b": 1}}}, "compares with an object"),
    ({"a": float("inf")}, "not a number"),
    ({"a": {"$gt": float("nan")}}, "not a number"),
    ({"a": {"$in": [1, float("-inf")]}}, "not a number"),
    ({"a": {"$near": 1}}, "no operator `\\$near`"),
    ({"a": {"$gt": True}}, "a number or a string"),
    ({"a": {"$gt": None}}, "a number or a string"),
    ({"a": {"$gt": [1]}}, "compares with an array"),
    ({"a": {"$in": "x"}}, "takes an array"),
    ({"a": {"$in": [[1]]}}, "compares with an array"),
    ({"a": {"$nin": 3}}, "takes an array"),
    ({"a": {"$exists": 1}}, "true or false"),
    ({"a": {"$type": "date"}}, "one of"),
    ({"a": {"$type": "int"}}, "one kind of number"),
    ({"a": {"$type": True}}, "one of"),
    ({"a": {"$regex": 3}}, "regular expression"),
    ({"a": {"$regex": "("}}, "regular expression"),
    ({"a": {"$regex": "a(?=b)"}}, "look-around"),
    ({"a": {"$regex": "x", "$options": "g"}}, "letters"),
    ({"a": {"$options": "i"}}, "needs `\\$regex`"),
    ({"a": {"$not": 3}}, "takes operators"),
    ({"a": {"$not": {"b": 1}}}, "takes operators"),
    ({"a": {"$size": -1}}, "number of elements"),
    ({"a": {"$size": "2"}}, "number of elements"),
    ({"a": {"$all": 3}}, "takes an array"),
    ({"a": {"$elemMatch": 3}}, "takes an object"),
    ({"a": {"$vgt": 3}}, "a version"),
    ({"a": {"$vgt": "x.y"}}, "version"),
    ({"a": {"$ini": "x"}}, "takes an array"),
    ({"a": {"$inGroup": "nobody"}}, "is unknown"),
    ({"$and": []}, "at least one"),
    ({"$or": {"a": 1}}, "array of objects"),
    ({"$nor": [1]}, "array of objects"),
    ({"$where": "x"}, "beside fields"),
    ({"$expr": {}}, "beside fields"),
    ({"items.0.price": 3}, "an array position"),
    ({"a..b": 3}, "empty part"),
]


@pytest.mark.parametrize("missing", ["unknown", "false"])
@pytest.mark.parametrize(("condition", "expected"), CASES, ids=lambda value: json.dumps(value)[:60])
def test_conditions(condition: dict[str, Any], expected: bool, missing: Any) -> None:
    index = tamis.Index(missing=missing)
    index.add("rule", mongo.parse(json.dumps(condition), groups=GROUPS))
    assert (index.match(EVENT) == ["rule"]) is expected
    assert (index.match(json.dumps(EVENT)) == ["rule"]) is expected
    assert mongo.parse(condition, groups=GROUPS) == mongo.parse(
        json.dumps(condition), groups=GROUPS
    )


@pytest.mark.parametrize(("condition", "reason"), REFUSED, ids=lambda value: str(value)[:60])
def test_refused(condition: Any, reason: str) -> None:
    with pytest.raises(tamis.ExpressionError, match=reason):
        mongo.parse(condition)


def test_deep_conditions_are_refused() -> None:
    deep: Any = {"a": 1}
    for _ in range(5000):
        deep = {"$and": [deep]}
    with pytest.raises(RuleError, match="deeper"):
        mongo.parse(deep)
    with pytest.raises(RuleError, match="deeper"):
        mongo.parse('{"$and":[' * 100_000 + '{"a":1}' + "]}" * 100_000)


def test_read_keeps_the_good_ones() -> None:
    read = mongo.read(
        '{"good": {"a": 1}, "bad": {"a": {"$near": 1}}, "g": {"n": {"$inGroup": "s"}}}',
        groups={"s": ["x"]},
    )
    assert [subscription.id for subscription in read.subscriptions] == ["good", "g"]
    assert [refused.id for refused in read.refused] == ["bad"]


@pytest.mark.parametrize(
    "one",
    [
        {"address": {"city": "x"}, "country": "FR"},
        {"address": {"city": "x"}, "age": 3},
        {"address": {"city": "x"}, "age": {"$gte": 18}},
        {"address": {"city": "x"}, "name": {"$regex": "^a"}},
        {"address": {"city": "x"}, "tags": ["new"]},
        {"address": {"city": "x"}, "$or": [{"a": 1}, {"b": 2}]},
    ],
)
def test_read_refuses_one_condition(one: dict[str, Any]) -> None:
    for source in (json.dumps(one), one):
        read = mongo.read(source)
        assert read.subscriptions == []
        [refused] = read.refused
        assert "this is one condition, not conditions by id" in refused.reason


def test_read_takes_a_mapping() -> None:
    conditions = {
        "a": {"$not": {"a": 1}},
        "b": {"$or": [{"a": 1}, {"b": 2}]},
        "c": ' {"a": {"$gte": 1}}',
        "d": None,
    }
    read = mongo.read(conditions)
    assert [subscription.id for subscription in read.subscriptions] == ["a", "b", "c"]
    assert [refused.id for refused in read.refused] == ["d"]
