"""Values of types that JSON lacks: from Python, NumPy and Arrow."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis import EventError, ExpressionError, Graph, Index, attr


def matches(expression: Any, event: Any, **options: Any) -> bool:
    """Whether an event satisfies an expression, alone and as a batch."""
    index = Index(**options)
    index.add("it", expression)
    found = index.match(event)
    assert index.match_batch([event, {}]) == [found, index.match({})]
    return found == ["it"]


def column(
    expression: str, values: Any, kind: pa.DataType | None = None, **options: Any
) -> list[int]:
    """The rows of a column `a` that satisfy an expression."""
    index = Index(**options)
    index.add("it", expression)
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    rows: list[int] = index.match_batch(pa.table({"a": array}))["event"].to_pylist()
    return rows


PAIRS = [
    ("a = 20.50", Decimal("20.5")),
    ("a = 12345678901234567890.123", Decimal("12345678901234567890.123")),
    ("a > 1e300", Decimal("Infinity")),
    ("a is null", Decimal("NaN")),
    ("a = timestamp '2026-01-02 05:00:00Z'", datetime(2026, 1, 2, 5, tzinfo=UTC)),
    (
        "a = timestamp '2026-01-02 05:00:00Z'",
        datetime(2026, 1, 2, 7, tzinfo=timezone(timedelta(hours=2))),
    ),
    ("a = timestamp '2026-01-02 05:00:00.000001'", datetime(2026, 1, 2, 5, 0, 0, 1)),
    ("a = date '2026-01-02'", date(2026, 1, 2)),
    ("a = interval '-1' second", timedelta(seconds=-1)),
    ("a = ip '10.0.0.1'", ip_address("10.0.0.1")),
    ("a in (cidr '2001:db8::/32')", ip_address("2001:db8::1")),
    ("a", np.bool_(True)),
    ("a = 3", np.int8(3)),
    ("a = 18446744073709551615", np.uint64(2**64 - 1)),
    ("a = 0.5", np.float16(0.5)),
    ("a = 0.5", np.float32(0.5)),
    ("a = 0.1", np.float64(0.1)),
    ("a is null", np.float32("nan")),
    ("a = date '2026-01-02'", np.datetime64("2026-01-02")),
    ("a = timestamp '2026-01-02 05:00:00'", np.datetime64("2026-01-02T05:00")),
    (
        "a = timestamp '2026-01-02 05:00:00.000000001'",
        np.datetime64("2026-01-02T05:00:00.000000001"),
    ),
    ("a = interval '90' minute", np.timedelta64(90, "m")),
    ("a is null", np.datetime64("NaT")),
    ("a = 2 and a = 3 and not a = 4", np.array([2, 3])),
    ("a = 'x'", np.array(["x", "y"])),
    ("a = date '2026-01-02'", np.array(["2026-01-02"], "datetime64[D]")),
    ("a", np.array([False, True])),
]


@pytest.mark.parametrize(("expression", "value"), PAIRS, ids=repr)
def test_values_of_python(expression: str, value: Any) -> None:
    assert matches(expression, {"a": value})
    if not isinstance(value, np.ndarray):
        assert matches(expression, {"a": [value]})
        assert matches(expression.replace("a", "u.a", 1), {"u": [{"b": 1}, {"a": value}]})


def test_ids_of_numpy() -> None:
    index = Index()
    index.add(np.int64(7), "a")
    assert index.match({"a": True}) == [7]
    assert 7 in index


def test_operands_of_python() -> None:
    network = ip_network("10.0.0.0/8")
    for built, text in [
        (attr.a > datetime(2026, 1, 2, 5, tzinfo=UTC), "a > timestamp '2026-01-02 05:00:00Z'"),
        (attr.a > datetime(2026, 1, 2, 5), "a > timestamp '2026-01-02 05:00:00'"),
        (attr.a == Decimal("20.50"), "a = 20.5"),
        (
            attr.a.between(date(2026, 1, 1), date(2026, 2, 1)),
            "a between date '2026-01-01' and date '2026-02-01'",
        ),
        (attr.a <= timedelta(days=7), "a <= interval '7' day"),
        (attr.a.isin([network, ip_address("::1")]), "a in (ip '::1', cidr '10.0.0.0/8')"),
    ]:
        assert str(built) == text
        assert tamis.parse(text) == built
        assert tamis.Expression.from_json(built.to_json()) == built
    with pytest.raises(ExpressionError, match="many addresses"):
        attr.a == network  # noqa: B015
    with pytest.raises(EventError, match="network is not a value"):
        matches("a = 1", {"a": network})


def test_values_come_back() -> None:
    index = Index()
    index.add("all", "a = 1 or b = 1 or c = 1 or d = 1 or e = 1")
    event = {
        "a": Decimal("12345678901234567890.5"),
        "b": datetime(2026, 1, 2, 5, tzinfo=UTC),
        "c": date(2026, 1, 2),
        "d": timedelta(seconds=-1.5),
        "e": ip_address("::1"),
    }
    explained = index.explain("all", event).to_dict()
    seen = {
        name: predicate["seen"]
        for name, predicate in zip("abcde", explained["children"], strict=True)
    }
    assert seen == {name: [value] for name, value in event.items()}


def test_time_zones(tmp_path: Path) -> None:
    index = Index(time_zone="Europe/Paris")
    index.add("it", "a = timestamp '2026-07-02 05:00:00'")
    assert index.time_zone == "Europe/Paris"
    index.save(tmp_path / "index")
    for each in (index, tamis.open(tmp_path / "index")):
        assert each.time_zone == "Europe/Paris"
        assert each.match({"a": datetime(2026, 7, 2, 3, tzinfo=UTC)}) == ["it"]
        assert each.match({"a": datetime(2026, 7, 2, 5)}) == ["it"]
        assert str(each["it"].expression) == "a = timestamp '2026-07-02 05:00:00'"
        naive = pa.table({"a": pa.array([datetime(2026, 7, 2, 5)], pa.timestamp("s"))})
        assert each.match_batch(naive)["event"].to_pylist() == [0]
    graph = Graph(time_zone="Europe/Paris")
    graph.add_node("n", "a = timestamp '2026-07-02 05:00:00'")
    graph.add_edge("s", "n")
    graph.save(tmp_path / "graph")
    for each_graph in (graph, Graph(path=tmp_path / "graph")):
        assert each_graph.time_zone == "Europe/Paris"
        assert list(each_graph.match({"a": datetime(2026, 7, 2, 3, tzinfo=UTC)}, source="s")) == [
            "n"
        ]
    with pytest.raises(ValueError, match="Europe/Atlantis"):
        Index(time_zone="Europe/Atlantis")


MOMENT = datetime(2026, 1, 2, 5, tzinfo=UTC)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_arrow_times(unit: Any) -> None:
    for zone in ("UTC", "Asia/Tokyo", "+02:00"):
        kind = pa.timestamp(unit, zone)
        found = column(
            "a >= timestamp '2026-01-02 05:00:00Z'", [MOMENT, None, MOMENT - timedelta(1)], kind
        )
        assert found == [0]
    naive = pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp(unit))
    assert column("a = timestamp '2026-01-02 05:00'", naive, time_zone="Asia/Tokyo") == [0]
    assert column("a = timestamp '2026-01-01 20:00Z'", naive, time_zone="Asia/Tokyo") == [0]
    spans = pa.array([timedelta(days=-1), timedelta(seconds=5)], pa.duration(unit))
    assert column("a > interval '4' second", spans) == [1]


def test_arrow_types() -> None:
    for kind in (
        pa.decimal32(9, 2),
        pa.decimal64(18, 2),
        pa.decimal128(38, 2),
        pa.decimal256(76, 2),
    ):
        assert column("a = 20.5", [Decimal("20.50"), Decimal("20.51"), None], kind) == [0]
    assert column("a = 5", [Decimal(5)], pa.decimal256(76, 50)) == [0]
    for kind in (pa.date32(), pa.date64()):
        assert column(
            "a < date '2026-01-02'", [date(2026, 1, 1), date(2026, 1, 2), None], kind
        ) == [0]
    assert column("a = 0.5", np.array([0.5, 0.25, np.nan], np.float16)) == [0]
    assert column("a is null", np.array([0.5, 0.25, np.nan], np.float16)) == [2]
    assert column("a = 18446744073709551615", [2**64 - 1, 1], pa.uint64()) == [0]
    assert column("a > 1e300", [float("inf"), 1.0]) == [0]
    words = pa.array(["x", "y", None, "x", "x"])
    assert column("a = 'x'", words.dictionary_encode()) == [0, 3, 4]
    assert column("a = 'x'", words.cast(pa.string_view())) == [0, 3, 4]
    assert column("a = 'x'", words.cast(pa.large_string())) == [0, 3, 4]
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 5], pa.array(["x", None, "y"]))
    assert column("a = 'x'", runs) == [0, 1]
    assert column("a = 'y'", runs.slice(1, 3)) == [2]
    lists = [[1, 2], [], None, [3]]
    for kind in (
        pa.list_(pa.int8()),
        pa.large_list(pa.int8()),
        pa.list_view(pa.int8()),
        pa.large_list_view(pa.int8()),
    ):
        assert column("a >= 2", lists, kind) == [0, 3]
    times = pa.array([[MOMENT], []], pa.list_(pa.timestamp("us", "UTC")))
    assert column("a = timestamp '2026-01-02 05:00Z'", times) == [0]
    with pytest.raises(EventError, match=r"item 0 .*years 1 to 9999"):
        column("a = timestamp '2026-01-02 05:00Z'", [2**62], pa.timestamp("s", "UTC"))


def test_arrow_lists_of_structs() -> None:
    item = pa.struct([("price", pa.decimal128(10, 2)), ("tags", pa.list_(pa.string()))])
    rows = [
        [{"price": Decimal(2), "tags": ["a"]}, {"price": Decimal(5), "tags": None}],
        [{"price": None, "tags": ["b", "c"]}, None],
        [],
        None,
    ]
    for kind in (pa.list_(item), pa.large_list(item), pa.list_view(item), pa.list_(item, 2)):
        given = rows if kind != pa.list_(item, 2) else [*rows[:2], None, None]
        index = Index()
        index.add("dear", "items.price > 3")
        index.add("none", "not items.price > 3")
        index.add("c", "items.tags = 'c'")
        index.add("cart", "cart.items.price = 5")
        array = pa.array(given, kind)
        table = pa.table({"items": array, "cart": pa.StructArray.from_arrays([array], ["items"])})
        found = index.match_batch(table)
        pairs = list(
            zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True)
        )
        assert pairs == [(0, "dear"), (0, "cart"), (1, "c")]


def test_arrow_maps() -> None:
    index = Index()
    index.add("deep", "m.x.y = 1")
    index.add("list", "m.l.y > 2")
    index.add("time", "t.at = date '2026-01-02'")
    inner = pa.map_(pa.string(), pa.map_(pa.string(), pa.int64()))
    lists = pa.map_(pa.string(), pa.list_(pa.struct([("y", pa.int64())])))
    times = pa.map_(pa.string(), pa.date32())
    assert index.match_batch(
        pa.table({"m": pa.array([[("x", [("y", 1)])], [("x", [("z", 1)])], [("x", None)]], inner)})
    )["event"].to_pylist() == [0]
    assert index.match_batch(
        pa.table({"m": pa.array([[("l", [{"y": 1}, {"y": 3}])], [("l", [])]], lists)})
    )["event"].to_pylist() == [0]
    assert index.match_batch(pa.table({"t": pa.array([[("at", date(2026, 1, 2))]], times)}))[
        "event"
    ].to_pylist() == [0]
    many = pa.table({"m": pa.array([[[("x", [("y", 1)])], []], []], pa.list_(inner))})
    assert index.match_batch(many)["event"].to_pylist() == [0]


def test_values_of_whole_mappings() -> None:
    index = Index()
    index.add(1, tamis.values().lower().contains("error"))
    index.add(2, "values() = '2.5' and values() = 'true' and values() = '2026-01-02'")
    index.add(3, "size(values()) = 5")
    assert index.asks_values
    event = {
        "a": {"b": [None, ({"c": "An ERROR"},), b"no text", Decimal("2.50")]},
        "d": {True},
        "e": date(2026, 1, 2),
        "f": float("nan"),
        "g": ip_address("10.0.0.1"),
    }
    assert index.match(event) == [1, 2, 3]
    assert index.match_batch([event, {}, {"x": "x"}]) == [[1, 2, 3], [], []]
    assert index.match({"error": [None, {}]}) == []
    with pytest.raises(EventError, match="surrogate"):
        index.match({"a": "\ud800"})
    table = pa.table(
        {"a": [[{"b": "Error"}], [], None], "c": [1.5, None, None], "d": [b"error"] * 3}
    )
    assert index.match_batch(table)["event"].to_pylist() == [0]


def test_values_of_mappings_that_hold_themselves() -> None:
    index = Index(limits=tamis.Limits(event=10_000))
    index.add(1, "values() = 'x'")
    mapping: dict[str, Any] = {}
    mapping["a"] = mapping
    twice: list[Any] = []
    twice += [twice, twice]
    for event in (mapping, {"a": twice}):
        with pytest.raises(tamis.LimitError, match="of an event"):
            index.match(event)
    wide: list[Any] = ["y"]
    for _ in range(60):
        wide = [wide, wide]
    with pytest.raises(tamis.LimitError, match="bytes of an event"):
        index.match({"a": wide})


NOW = datetime(2026, 1, 2, 5, tzinfo=UTC)
EVENTS = [{"t": NOW - timedelta(hours=1)}, {"t": NOW - timedelta(days=2)}, {}]


def test_now_is_given_to_batches() -> None:
    index = Index()
    index.add(1, "t > now() - interval '1' day")
    index.add(2, "any(list, it = now())")
    lines = '{"t": "2026-01-02T04:00Z"}\n{"t": "2025-12-31T05:00Z"}\n{"list": ["x"]}'
    table = pa.table({"t": [event.get("t") for event in EVENTS]})
    for now in (NOW, "2026-01-02T05:00Z"):
        assert index.match_batch(EVENTS, now=now) == [[1], [], []]
        assert index.match_batch(lines, now=now) == [[1], [], []]
        assert index.match_batch(table, now=now)["event"].to_pylist() == [0]
        assert [len(best) for best in index.top_batch(EVENTS, now=now)] == [1, 0, 0]
        assert index.top_batch(table, now=now)["event"].to_pylist() == [0]
    assert index.match_batch([*EVENTS, {"t": datetime.now(UTC)}]) == [[], [], [], [1]]
    assert index.match_batch([{"list": [NOW]}, {"list": []}], now=NOW) == [[2], []]
    with pytest.raises(ValueError, match="`now` must be a time, not 'noon'"):
        index.match_batch(EVENTS, now="noon")


def test_now_is_one_moment_of_a_batch() -> None:
    index = Index()
    index.add(1, "bucket(now(), 1000000007) = 0")
    for number in range(20):
        index.add(f"x{number}", f"bucket(now(), 2, '{number}') = 1")
    found = index.match_batch([{}] * 1000)
    assert all(ids == found[0] for ids in found)


def test_now_is_given_to_graphs() -> None:
    graph = Graph()
    graph.add_node("source")
    graph.add_node("recent", "t > now() - interval '1' day")
    graph.add_edge("source", "recent")
    table = pa.table({"t": [event.get("t") for event in EVENTS]})
    assert list(graph.match(EVENTS[0], "source", now=NOW)) == ["recent"]
    assert list(graph.match(EVENTS[0], "source")) == []
    assert graph.match_batch(EVENTS, "source", now=NOW) == [["recent"], [], []]
    assert graph.match_batch(table, "source", now=NOW)["event"].to_pylist() == [0]
    assert len(graph.top(EVENTS[0], "source", now=NOW)) == 1
    assert graph.explain(EVENTS[0], "source", "recent", now=NOW).reached
    assert not graph.explain(EVENTS[0], "source", "recent").reached


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"a": 1}, ["exact"]),
        ({"a": 1.0}, ["float"]),
        ({"a": np.float32(1)}, ["float"]),
        ({"a": [1, 2.0]}, ["exact", "two thirds"]),
        ({"a": [Decimal(2), 1.0]}, ["float"]),
        ({"a": np.array([1.0, 2.0])}, ["float", "two thirds"]),
        ({"a": [*range(3, 40), 1.0]}, ["float"]),
        ({"b": [{"c": 1.0}, {"c": 1}]}, ["path exact", "path float"]),
        ({"b": [{"c": 2}, {"c": 1.0}]}, ["path float"]),
    ],
)
def test_each_value_of_a_list_calculates_as_what_it_is(event: Any, expected: list[str]) -> None:
    third = "0." + 38 * "3"
    for matcher in ("auto", "scan"):
        index = Index(matcher=matcher)
        index.add("exact", f"a / 3 = {third}")
        index.add("float", "a / 3 = 0.3333333333333333")
        index.add("two thirds", "a / 3 = 0.6666666666666666")
        index.add("path exact", f"-coalesce(x, b.c) / 3 = -{third}")
        index.add("path float", "coalesce(x, b.c) / 3 = 0.3333333333333333")
        assert index.match(event) == expected
