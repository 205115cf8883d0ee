"""List elements in Arrow columns match like the same rows as Python objects."""

from collections.abc import Callable
from typing import Any, get_args

import pyarrow as pa
import pytest

from oracle import Missing
from tamis import EventError, Index, LimitError, Limits

MODES: tuple[Missing, ...] = get_args(Missing)
ITEM = pa.struct(
    {
        "sku": pa.string(),
        "price": pa.float64(),
        "tags": pa.list_(pa.string()),
        "parts": pa.list_(pa.struct({"n": pa.int64()})),
        "box": pa.struct({"width": pa.int32()}),
    }
)
ROWS: list[Any] = [
    [{"sku": "a", "price": 1.5, "tags": ["x", None], "parts": [{"n": 1}, {"n": 5}]}],
    [{"sku": "b", "price": 9.0, "tags": [], "parts": []}, {"sku": "a", "price": 0.5}],
    [{"sku": "a", "price": 9.0, "tags": ["y", "x"], "box": {"width": 3}}, None],
    [None],
    [{}],
    [],
    None,
]
EXPRESSIONS = [
    "any(items, sku = 'a' and price > 3)",
    "all(items, price > 1)",
    "none(items, sku = 'b')",
    "any(items, it is null)",
    "all(items, sku is not null)",
    "any(items, any(tags, it = 'x'))",
    "any(items, all(tags, it = 'x' or it = 'y'))",
    "any(items, any(parts, n > 3) and sku = 'a')",
    "any(items, box.width = 3)",
    "any(items, type(box) = 'object')",
    "any(items, size(tags) = 2)",
    "any(items, values() = 'x')",
    "any(items, lower(sku) = 'a' and price + 0.5 = 2)",
    "items.sku = 'b'",
    "items.box.width = 3",
    "size(items) = 2",
    "exists(items)",
    "type(items) = 'list'",
]


def truths(index: Index, events: Any, **options: Any) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(len(events))]
    matches = index.match_batch(events, **options)
    if isinstance(matches, list):
        return matches
    pairs = zip(matches["event"].to_pylist(), matches["subscription"].to_pylist(), strict=True)
    for row, id in pairs:
        found[row].append(id)
    return found


def same(expressions: list[str], name: str, array: pa.Array) -> list[list[int]]:
    """Match an Arrow column and the same rows as objects, also with all negations."""
    expected: list[list[int]] = []
    for missing in MODES:
        index = Index(missing=missing)
        for number, expression in enumerate(expressions):
            index.add(2 * number, expression)
            index.add(2 * number + 1, f"not ({expression})")
        events = [{name: value} for value in array.to_pylist()]
        expected = index.match_batch(events)
        assert truths(index, pa.table({name: array})) == expected
        inner = pa.StructArray.from_arrays([array], names=[name])
        assert truths(index, pa.table({"event": inner}), column="event") == expected
    return expected


LISTS: dict[str, Callable[[pa.DataType], pa.DataType]] = {
    "list": pa.list_,
    "large list": pa.large_list,
    "list view": pa.list_view,
    "large list view": pa.large_list_view,
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_structs(kind: str) -> None:
    array = pa.array(ROWS, LISTS[kind](ITEM))
    found = same(EXPRESSIONS, "items", array)
    assert {id // 2 for row in found for id in row} == set(range(len(EXPRESSIONS)))
    same(EXPRESSIONS, "items", array.slice(1, 4))


def test_lists_of_a_fixed_size() -> None:
    rows = [[{"sku": "a"}, {"sku": "b"}], None, [None, {"sku": "a"}]]
    array = pa.array(rows, pa.list_(pa.struct({"sku": pa.string()}), 2))
    same(
        ["any(items, sku = 'a')", "all(items, sku = 'a')", "none(items, it is null)"],
        "items",
        array,
    )


SCALARS = ["any(a, it > 1 and it < 3)", "all(a, it > 1)", "none(a, it = 2)", "any(a, it is null)"]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1, 2, None], [], None, [2]], pa.list_(pa.int8())),
        pa.array([[1.5, float("nan")], [2.0]], pa.list_(pa.float32())),
        pa.array([2, None, 1], pa.int64()),
        pa.array([2.0, float("nan")], pa.float64()),
        pa.array([[2, 1], [2]], pa.list_(pa.dictionary(pa.int8(), pa.int64()))),
        pa.array([None, None], pa.null()),
    ],
    ids=lambda array: str(array.type),
)
def test_lists_of_scalars(array: pa.Array) -> None:
    same(SCALARS, "a", array)


def test_lists_in_lists() -> None:
    array = pa.array([[[1, 2], []], [None, [3]], None, []], pa.list_(pa.list_(pa.int64())))
    same(["any(a, any(it, it = 3))", "all(a, all(it, it > 0))", "any(a, size(it) = 2)"], "a", array)
    rows = [[[{"n": 1}], []], [None, [{"n": 2}, None]], None]
    objects = pa.array(rows, pa.list_(pa.list_(pa.struct({"n": pa.int64()}))))
    same(["any(a, any(it, n = 2))", "all(a, none(it, n = 1))", "size(a) = 2"], "a", objects)


def test_a_struct_is_a_list_of_one() -> None:
    array = pa.array([{"width": 1}, {"width": None}, None], pa.struct({"width": pa.int64()}))
    expressions = [
        "any(box, width = 1)",
        "all(box, width = 1)",
        "box.width = 1",
        "type(box) = 'object'",
    ]
    same([*expressions, "none(box, it is null)", "size(box) = 1"], "box", array)


def test_maps() -> None:
    def as_dict(array: pa.Array) -> list[Any]:
        return [None if row is None else dict(row) for row in array.to_pylist()]

    lists = pa.map_(pa.string(), pa.list_(pa.struct({"n": pa.int64()})))
    array = pa.array([[("items", [{"n": 1}, {"n": 2}])], [("items", None)], [], None], lists)
    expressions = [
        "any(m.items, n = 2)",
        "all(m.items, n > 0)",
        "m.items.n = 1",
        "size(m.items) = 2",
    ]
    index = Index()
    index.add_many(enumerate(expressions))
    events = [{"m": row} for row in as_dict(array)]
    assert truths(index, pa.table({"m": array})) == index.match_batch(events)
    elements = pa.array(
        [[[("n", 1)], [("k", 2)]], [None]], pa.list_(pa.map_(pa.string(), pa.int64()))
    )
    index = Index()
    index.add_many(
        enumerate(["any(m, n = 1)", "any(m, k = 2)", "any(m, n = 1 and k = 2)", "m.k = 2"])
    )
    assert truths(index, pa.table({"m": elements})) == [[0, 1, 3], []]


def test_fields_that_nobody_mentions_may_be_anything() -> None:
    item = pa.struct({"n": pa.int64(), "raw": pa.binary()})
    table = pa.table({"items": pa.array([[{"n": 1, "raw": b"x"}]], pa.list_(item))})
    index = Index()
    index.add(1, "any(items, n = 1)")
    assert truths(index, table) == [[1]]
    index.add(2, "any(items, raw = 'x')")
    with pytest.raises(
        EventError, match=r"without a meaning here: `raw` \(Binary\) in `items`; cast it"
    ):
        index.match_batch(table)


def test_elements_are_counted() -> None:
    index = Index(limits=Limits(elements=5))
    index.add(1, "any(a, any(b, it = 1))")
    kind = pa.list_(pa.struct({"b": pa.list_(pa.int64())}))
    few, many = [{"b": [1]}, {"b": [0, 0]}], [{"b": [0]}, {"b": [0, 0, 0]}]
    assert truths(index, pa.table({"a": pa.array([few], kind)})) == [[1]]
    with pytest.raises(LimitError, match=r"6.*5") as caught:
        index.match_batch(pa.table({"a": pa.array([few, many], kind)}))
    assert caught.value.limit == "elements"


def test_views_that_share_their_items_are_counted() -> None:
    values = pa.array([{"n": number} for number in range(1000)])
    offsets, sizes = pa.array([0] * 100, pa.int32()), pa.array([1000] * 100, pa.int32())
    inner = pa.ListViewArray.from_arrays(offsets, sizes, values)
    outer = pa.ListArray.from_arrays(pa.array([0, 100], pa.int32()), inner)
    index = Index()
    index.add(1, "any(a, any(it, n = 1001))")
    with pytest.raises(LimitError, match=r"10,?001"):
        index.match_batch(pa.table({"a": outer}))


def test_damaged_offsets_cost_their_row() -> None:
    values = pa.array([{"n": 1}, {"n": 2}])
    offsets = pa.array([0, 1, 7, 2], pa.int32())
    kind = pa.list_(values.type)
    array = pa.Array.from_buffers(kind, 3, [None, offsets.buffers()[1]], children=[values])
    index = Index()
    index.add(1, "any(items, n = 1)")
    found, refused = index.match_batch(pa.table({"items": array}), on_error="collect")
    assert found["event"].to_pylist() == [0]
    assert [one.row for one in refused] == [1, 2]


def test_arithmetic_with_floats_is_ieee() -> None:
    index = Index()
    index.add_many([("float", "a + 0.2 = 0.30000000000000004"), ("exact", "a + 0.2 = 0.3")])
    index.add("element", "any(l, it + 0.2 = 0.30000000000000004)")
    kinds: list[tuple[pa.DataType, list[str]]] = [
        (pa.float64(), ["float", "element"]),
        (pa.decimal128(3, 1), ["exact"]),
    ]
    for kind, expected in kinds:
        value = pa.scalar("0.1").cast(kind).as_py()
        table = pa.table({"a": pa.array([value], kind), "l": pa.array([[value]], pa.list_(kind))})
        found = index.match_batch(table)["subscription"].to_pylist()
        assert sorted(found) == sorted(expected), kind
