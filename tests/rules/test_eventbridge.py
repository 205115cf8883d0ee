"""EventBridge patterns as documented by AWS: every matcher, positive, negative and refused."""

import json
from typing import Any

import pytest

import tamis
from tamis.rules import RuleError, eventbridge

EC2 = {
    "source": "aws.ec2",
    "detail-type": "EC2 Instance State-change Notification",
    "account": "123456789012",
    "time": "2026-11-01T12:00:00Z",
    "resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-1"],
    "detail": {
        "state": "running",
        "count": 5,
        "ratio": 0.5,
        "ip": "10.0.0.7",
        "flag": True,
        "nothing": None,
        "empty": "",
        "tags": ["blue", "Green"],
        "sizes": [1, 20],
        "limits": {"low": 1, "high": 9},
        "volumes": [{"id": "v1", "size": 8}, {"id": "v2", "size": 64}],
    },
}


def detail(**fields: Any) -> dict[str, Any]:
    return {"detail": fields}


# pattern, whether the event above matches it
CASES: list[tuple[dict[str, Any], bool]] = [
    # values
    ({"source": ["aws.ec2"]}, True),
    ({"source": ["aws.s3"]}, False),
    ({"source": ["aws.s3", "aws.ec2"]}, True),
    ({"source": ["AWS.EC2"]}, False),
    ({"source": ["aws.ec2"], "account": ["123456789012"]}, True),
    ({"source": ["aws.ec2"], "account": ["1"]}, False),
    ({"account": [123456789012]}, False),
    ({"region": ["us-east-1"]}, False),
    ({"detail-type": ["EC2 Instance State-change Notification"]}, True),
    ({"resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-1"]}, True),
    ({"resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-2"]}, False),
    (detail(state=["running"]), True),
    (detail(state=["stopped"]), False),
    (detail(count=[5]), True),
    (detail(count=[5.0]), True),
    (detail(count=["5"]), False),
    (detail(count=[6]), False),
    (detail(ratio=[0.5]), True),
    (detail(ratio=[5e-1]), True),
    (detail(flag=[True]), True),
    (detail(flag=[False]), False),
    (detail(flag=["true"]), False),
    (detail(nothing=[None]), True),
    (detail(state=[None]), False),
    (detail(absent=[None]), False),
    (detail(empty=[""]), True),
    (detail(state=[""]), False),
    (detail(tags=["blue"]), True),
    (detail(tags=["red", "Green"]), True),
    (detail(tags=["green"]), False),
    (detail(state=["running", 5, None]), True),
    # prefix and suffix
    (detail(state=[{"prefix": "run"}]), True),
    (detail(state=[{"prefix": "running"}]), True),
    (detail(state=[{"prefix": "runnings"}]), False),
    (detail(state=[{"prefix": "Run"}]), False),
    (detail(state=[{"prefix": ""}]), True),
    (detail(absent=[{"prefix": ""}]), False),
    (detail(count=[{"prefix": "5"}]), False),
    (detail(tags=[{"prefix": "Gr"}]), True),
    (detail(state=[{"prefix": {"equals-ignore-case": "RUN"}}]), True),
    (detail(state=[{"prefix": {"equals-ignore-case": "RAN"}}]), False),
    (detail(state=[{"suffix": "ing"}]), True),
    (detail(state=[{"suffix": "ING"}]), False),
    (detail(state=[{"suffix": {"equals-ignore-case": "ING"}}]), True),
    (detail(state=[{"suffix": {"equals-ignore-case": "ong"}}]), False),
    (detail(tags=[{"suffix": "ue"}]), True),
    ({"time": [{"prefix": "2026-11-01"}]}, True),
    ({"source": [{"prefix": "aws."}], "detail": {"state": [{"suffix": "ed"}]}}, False),
    # equals-ignore-case
    (detail(state=[{"equals-ignore-case": "RUNNING"}]), True),
    (detail(state=[{"equals-ignore-case": "run"}]), False),
    (detail(tags=[{"equals-ignore-case": "GREEN"}]), True),
    (detail(count=[{"equals-ignore-case": "5"}]), False),
    # wildcard
    (detail(state=[{"wildcard": "r*g"}]), True),
    (detail(state=[{"wildcard": "*"}]), True),
    (detail(state=[{"wildcard": "*nn*"}]), True),
    (detail(state=[{"wildcard": "r*x"}]), False),
    (detail(state=[{"wildcard": "running"}]), True),
    (detail(state=[{"wildcard": "r_nning"}]), False),
    (detail(state=[{"wildcard": "r%g"}]), False),
    (detail(state=[{"wildcard": "r\\*g"}]), False),
    (detail(state=[{"wildcard": "R*"}]), False),
    (detail(empty=[{"wildcard": "*"}]), True),
    (detail(absent=[{"wildcard": "*"}]), False),
    # anything-but
    (detail(state=[{"anything-but": "running"}]), False),
    (detail(state=[{"anything-but": "stopped"}]), True),
    (detail(state=[{"anything-but": ["stopped", "terminated"]}]), True),
    (detail(state=[{"anything-but": ["stopped", "running"]}]), False),
    (detail(absent=[{"anything-but": "x"}]), False),
    (detail(nothing=[{"anything-but": "x"}]), True),
    (detail(count=[{"anything-but": 5}]), False),
    (detail(count=[{"anything-but": [4, 6]}]), True),
    (detail(count=[{"anything-but": "5"}]), True),
    (detail(tags=[{"anything-but": "blue"}]), True),
    (detail(tags=[{"anything-but": ["blue", "Green"]}]), False),
    (detail(state=[{"anything-but": {"prefix": "run"}}]), False),
    (detail(state=[{"anything-but": {"prefix": "stop"}}]), True),
    (detail(state=[{"anything-but": {"prefix": ["stop", "run"]}}]), False),
    (detail(state=[{"anything-but": {"suffix": "ing"}}]), False),
    (detail(state=[{"anything-but": {"suffix": "ed"}}]), True),
    (detail(state=[{"anything-but": {"suffix": ["ed", "ing"]}}]), False),
    (detail(state=[{"anything-but": {"equals-ignore-case": "RUNNING"}}]), False),
    (detail(state=[{"anything-but": {"equals-ignore-case": ["STOPPED", "x"]}}]), True),
    (detail(state=[{"anything-but": {"wildcard": "r*g"}}]), False),
    (detail(state=[{"anything-but": {"wildcard": ["s*", "t*"]}}]), True),
    (detail(tags=[{"anything-but": {"prefix": "b"}}]), True),
    (detail(absent=[{"anything-but": {"prefix": "b"}}]), False),
    # numeric
    (detail(count=[{"numeric": ["=", 5]}]), True),
    (detail(count=[{"numeric": ["=", 5.5]}]), False),
    (detail(count=[{"numeric": [">", 4]}]), True),
    (detail(count=[{"numeric": [">", 5]}]), False),
    (detail(count=[{"numeric": [">=", 5]}]), True),
    (detail(count=[{"numeric": ["<", 5]}]), False),
    (detail(count=[{"numeric": ["<", 5.5]}]), True),
    (detail(count=[{"numeric": ["<=", 5]}]), True),
    (detail(count=[{"numeric": [">", 0, "<=", 5]}]), True),
    (detail(count=[{"numeric": [">", 0, "<", 5]}]), False),
    (detail(count=[{"numeric": [">=", 5, "<", 6]}]), True),
    (detail(ratio=[{"numeric": [">", 0.4, "<", 0.6]}]), True),
    (detail(count=[{"numeric": [">", -3e2]}]), True),
    (detail(state=[{"numeric": [">", 0]}]), False),
    (detail(absent=[{"numeric": [">", 0]}]), False),
    (detail(sizes=[{"numeric": [">", 10]}]), True),
    (detail(sizes=[{"numeric": [">", 5, "<", 10]}]), False),
    (detail(sizes=[{"numeric": [">", 0, "<", 10]}]), True),
    # cidr
    (detail(ip=[{"cidr": "10.0.0.0/24"}]), True),
    (detail(ip=[{"cidr": "10.0.0.0/32"}]), False),
    (detail(ip=[{"cidr": "10.0.0.7/32"}]), True),
    (detail(ip=[{"cidr": "10.0.0.9/24"}]), True),
    (detail(ip=[{"cidr": "192.168.0.0/16"}]), False),
    (detail(ip=[{"cidr": "2001:db8::/32"}]), False),
    (detail(state=[{"cidr": "10.0.0.0/8"}]), False),
    (detail(absent=[{"cidr": "10.0.0.0/8"}]), False),
    # exists
    (detail(state=[{"exists": True}]), True),
    (detail(state=[{"exists": False}]), False),
    (detail(absent=[{"exists": True}]), False),
    (detail(absent=[{"exists": False}]), True),
    (detail(nothing=[{"exists": True}]), True),
    (detail(tags=[{"exists": True}]), True),
    (detail(limits=[{"exists": True}]), False),
    (detail(absent=[{"exists": False}, "x"]), True),
    (detail(state=[{"exists": False}, "running"]), True),
    # nesting, several conditions, arrays of objects
    (detail(limits={"low": [1], "high": [9]}), True),
    (detail(limits={"low": [1], "high": [8]}), False),
    (detail(limits={"low": [1]}), True),
    (detail(volumes={"id": ["v1"], "size": [8]}), True),
    (detail(volumes={"id": ["v1"], "size": [64]}), False),
    (detail(volumes={"id": ["v2"], "size": [{"numeric": [">", 10]}]}), True),
    (detail(volumes={"id": ["v1"], "size": [{"numeric": [">", 10]}]}), False),
    (detail(volumes={"size": [64]}), True),
    (detail(volumes={"id": [{"prefix": "v"}], "size": [{"anything-but": 8}]}), True),
    (detail(state=["running"], volumes={"id": ["v1"], "size": [8]}), True),
    (detail(state=["stopped"], volumes={"id": ["v1"], "size": [8]}), False),
    # $or
    ({"$or": [{"source": ["x"]}, {"account": ["123456789012"]}]}, True),
    ({"$or": [{"source": ["x"]}, {"account": ["1"]}]}, False),
    ({"source": ["aws.ec2"], "$or": [{"account": ["1"]}, {"detail": {"count": [5]}}]}, True),
    (detail(**{"$or": [{"state": ["stopped"]}, {"count": [5]}]}), True),
    (detail(**{"state": ["running"], "$or": [{"ratio": [1]}, {"count": [6]}]}), False),
    (detail(volumes={"$or": [{"id": ["v1"], "size": [64]}, {"id": ["v2"], "size": [64]}]}), True),
    (detail(volumes={"$or": [{"id": ["v1"], "size": [64]}, {"id": ["v2"], "size": [8]}]}), False),
    # alternatives of several kinds
    (detail(state=["x", {"prefix": "y"}, {"suffix": "ing"}]), True),
    (detail(state=[{"anything-but": "running"}, {"prefix": "run"}]), True),
    (detail(count=[1, {"numeric": [">", 4]}]), True),
    (detail(count=[1, {"numeric": [">", 7]}, {"exists": False}]), False),
]

# pattern, message of the error
REFUSED: list[tuple[Any, str]] = [
    ("[]", "JSON object"),
    ('"x"', "JSON object"),
    ("{", "not valid JSON"),
    ('{"a": ["x"], "a": ["y"]}', "twice"),
    ('{"a": [NaN]}', "NaN"),
    ({}, "empty"),
    ({"a": []}, "empty array"),
    ({"a": {}}, "empty"),
    ({"a": "x"}, "array of alternatives"),
    ({"a": 3}, "array of alternatives"),
    ({"a": None}, "array of alternatives"),
    ({"a": [["x"]]}, "array inside"),
    ({"a": [{"prefix": 3}]}, "takes a string"),
    ({"a": [{"prefix": "x", "suffix": "y"}]}, "exactly one"),
    ({"a": [{}]}, "exactly one"),
    ({"a": [{"begins": "x"}]}, "no matcher"),
    ({"a": [{"wildcard": "a**b"}]}, "two `*`"),
    ({"a": [{"wildcard": "a\\b"}]}, "backslash"),
    ({"a": [{"wildcard": "a\\"}]}, "backslash"),
    ({"a": [{"wildcard": 1}]}, "takes a string"),
    ({"a": [{"anything-but": True}]}, "strings or numbers"),
    ({"a": [{"anything-but": None}]}, "strings or numbers"),
    ({"a": [{"anything-but": []}]}, "strings or numbers"),
    ({"a": [{"anything-but": ["x", 1]}]}, "not both"),
    ({"a": [{"anything-but": {"prefix": ""}}]}, "empty string"),
    ({"a": [{"anything-but": {"numeric": ["=", 1]}}]}, "does not take"),
    ({"a": [{"anything-but": {"prefix": "a", "suffix": "b"}}]}, "exactly one"),
    ({"a": [{"anything-but": {"wildcard": [1]}}]}, "list of strings"),
    ({"a": [{"numeric": []}]}, "in turn"),
    ({"a": [{"numeric": [">"]}]}, "in turn"),
    ({"a": [{"numeric": [">", "1"]}]}, "not a number"),
    ({"a": [{"numeric": ["~", 1]}]}, "not an operator"),
    ({"a": [{"numeric": ["<", 5, ">", 1]}]}, "followed by"),
    ({"a": [{"numeric": [">", 5, "<", 5]}]}, "not less than"),
    ({"a": [{"numeric": [">", 5, "<", 1]}]}, "not less than"),
    ({"a": [{"numeric": [">", 1, "<", 5, "<", 7]}]}, "one comparison"),
    ({"a": [{"numeric": ["=", 1, "<", 5]}]}, "followed by"),
    ({"a": [{"numeric": [">", 6e9]}]}, "-5e9 to 5e9"),
    ({"a": [{"numeric": 5}]}, "in turn"),
    ({"a": [float("inf")]}, "not a number"),
    ({"a": [{"anything-but": float("nan")}]}, "not a number"),
    ({"a": [{"cidr": "10.0.0.0"}]}, "prefix length"),
    ({"a": [{"cidr": "10.0.0.0/33"}]}, "cidr"),
    ({"a": [{"cidr": "ten/8"}]}, "cidr"),
    ({"a": [{"cidr": 10}]}, "takes a string"),
    ({"a": [{"exists": "true"}]}, "true or false"),
    ({"a": [{"equals-ignore-case": ["x"]}]}, "takes a string"),
    ({"$or": []}, "at least two"),
    ({"$or": [{"a": ["x"]}]}, "at least two"),
    ({"$or": [{"a": ["x"]}, "y"]}, "objects only"),
    ({"$or": [{"a": ["x"]}, {}]}, "empty"),
    ({"": ["x"]}, "without a name"),
]


@pytest.mark.parametrize("missing", ["unknown", "false"])
@pytest.mark.parametrize(("pattern", "expected"), CASES, ids=lambda value: json.dumps(value)[:60])
def test_patterns(pattern: dict[str, Any], expected: bool, missing: Any) -> None:
    index = tamis.Index(missing=missing)
    index.add("rule", eventbridge.parse(json.dumps(pattern)))
    assert (index.match(EC2) == ["rule"]) is expected
    assert eventbridge.parse(pattern) == eventbridge.parse(json.dumps(pattern))


@pytest.mark.parametrize(("pattern", "reason"), REFUSED, ids=lambda value: str(value)[:60])
def test_refused(pattern: Any, reason: str) -> None:
    with pytest.raises(RuleError, match=reason.replace("*", r"\*").replace("[", r"\[")):
        eventbridge.parse(pattern)


def test_deep_and_large_patterns_are_refused() -> None:
    deep: Any = ["x"]
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(RuleError, match="deeper"):
        eventbridge.parse(deep)
    with pytest.raises(RuleError, match="deeper"):
        eventbridge.parse('{"a":' * 100_000 + '["x"]' + "}" * 100_000)
    cyclic: dict[str, Any] = {}
    cyclic["a"] = cyclic
    with pytest.raises(RuleError, match="deeper"):
        eventbridge.parse(cyclic)
    with pytest.raises(RuleError, match="bytes"):
        eventbridge.parse('{"a": ["' + "x" * 10_000_000 + '"]}')


def test_read_keeps_the_good_ones(tmp_path: Any) -> None:
    file = tmp_path / "patterns.json"
    file.write_text('{"good": {"a": ["x"]},\n "bad": {"a": []},\n "other": {"b": [1]}}')
    read = eventbridge.read(file)
    assert [subscription.id for subscription in read.subscriptions] == ["good", "other"]
    assert [(refused.id, refused.line) for refused in read.refused] == [("bad", 2)]
    assert "empty array" in read.refused[0].reason
    lines = '{"id": "a", "pattern": {"a": ["x"]}}\nnot json\n{"id": "b", "pattern": {"b": [1]}}\n'
    read = eventbridge.read(lines)
    assert [subscription.id for subscription in read.subscriptions] == ["a", "b"]
    assert [refused.line for refused in read.refused] == [2]


def test_read_refuses_one_pattern() -> None:
    one = '{"detail": {"state": ["stopped"]}, "source": ["aws.ec2"]}'
    for source in (one, json.loads(one)):
        read = eventbridge.read(source)
        assert read.subscriptions == []
        [refused] = read.refused
        assert (refused.id, refused.line) == (None, 1)
        assert 'this is one pattern, not patterns by id, because "source"' in refused.reason
        assert "`parse`" in refused.reason


def test_read_takes_a_mapping() -> None:
    mixed: dict[Any, Any] = {"good": {"a": ["x"]}, "bad": {"a": []}, 3: {"a": ["x"]}}
    read = eventbridge.read(mixed)
    assert [subscription.id for subscription in read.subscriptions] == ["good"]
    reasons = [(refused.id, refused.reason) for refused in read.refused]
    assert reasons[0][0] == "bad"
    assert reasons[1] == (None, "the id 3 is not a string")
    unexpected: Any = [{"a": ["x"]}]
    with pytest.raises(TypeError, match="JSON text, or a mapping of patterns by id, not list"):
        eventbridge.read(unexpected)
