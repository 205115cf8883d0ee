"""Arrow data with invalid buffers: only rows that read the invalid data are refused."""

import ctypes
import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis import EventError, Index

INVALID = [b"\x80\xbf", b"a\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"abc\xe2\x82"]


@pytest.fixture
def index() -> Index:
    index = Index()
    index.add_many({"any": "exists(a)", "like": "a like '%z_'", "b": "a = 'b'", "not": "a != 'b'"})
    return index


def unchecked(values: list[bytes | None], kind: Any) -> Any:
    """A column of unchecked text."""
    if pa.types.is_dictionary(kind):
        distinct = unchecked(list(dict.fromkeys(values)), kind.value_type)
        numbers = [list(dict.fromkeys(values)).index(value) for value in values]
        return pa.DictionaryArray.from_arrays(pa.array(numbers, kind.index_type), distinct)
    if kind == pa.string_view():
        views = pa.array(values, pa.binary()).cast(pa.binary_view())
        return pa.Array.from_buffers(kind, len(values), views.buffers(), views.null_count)
    binary = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, len(values), binary.buffers(), binary.null_count)


KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint64(), pa.large_string()),
]


def row_of(events: Any, index: Index, **arguments: Any) -> int:
    """The row that is refused."""
    with pytest.raises(EventError) as caught:
        index.match_batch(events, **arguments)
    assert caught.value.item is not None
    return caught.value.item


@pytest.mark.parametrize("text", INVALID)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_text_that_is_not_utf8(index: Index, text: bytes, kind: Any) -> None:
    for row in (0, 3):
        values: list[bytes | None] = [b"b", None, "größer als zwölf Bytes".encode(), b"b"]
        values[row] = text
        table = pa.table({"a": unchecked(values, kind)})
        assert row_of(table, index) == row
        rest = pa.table({"a": unchecked([b"b" if v == text else v for v in values], kind)})
        assert index.match_batch(rest).num_rows > 0


def test_text_that_no_subscription_asks_about_is_not_looked_at(index: Index) -> None:
    table = pa.table({"a": ["b"], "other": unchecked([b"\x80"], pa.string())})
    assert index.match_batch(table)["subscription"].to_pylist() == ["any", "b"]


def test_text_below_a_null_is_not_looked_at(index: Index) -> None:
    index.add("nested", "s.t = 'b'")
    texts = unchecked([b"\x80", b"b"], pa.string())
    structs = pa.StructArray.from_arrays([texts], ["t"], mask=pa.array([True, False]))
    assert index.match_batch(pa.table({"s": structs}))["event"].to_pylist() == [1]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_text_inside_lists_structs_and_maps(index: Index, kind: Any) -> None:
    index.add("nested", "s.a = 'b' or m.a = 'b'")
    texts = unchecked([b"b", b"b", b"b", b"\x80"], kind)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4], pa.int32()), texts)
    assert row_of(pa.table({"a": lists}), index) == 1
    assert row_of(pa.table({"s": pa.StructArray.from_arrays([texts], ["a"])}), index) == 3
    keys = pa.array(["a", "b", "a", "a"])
    maps = pa.MapArray.from_arrays(pa.array([0, 2, 3, 4], pa.int32()), keys, texts)
    assert row_of(pa.table({"m": maps}), index) == 2
    if not pa.types.is_dictionary(kind):
        keys = unchecked([b"a", b"b", b"a", b"\x80"], kind)
        maps = pa.MapArray.from_arrays(
            pa.array([0, 2, 3, 4], pa.int32()), keys, pa.array(["b"] * 4)
        )
        assert row_of(pa.table({"m": maps}), index) == 2


def test_events_and_documents_that_are_not_utf8(index: Index) -> None:
    events = unchecked([b'{"a": "b"}', b'{"a": "\x80"}'], pa.string())
    assert row_of(pa.table({"event": events}), index, column="event") == 1
    index.add("document", "xpath('//x')")
    documents = unchecked([b"<x/>", b"<x>\x80</x>"], pa.string())
    table = pa.table({"a": ["b", "b"], "document": documents})
    assert row_of(table, index, documents="document") == 1


def view(length: int, prefix: bytes = b"", buffer: int = 0, offset: int = 0) -> bytes:
    return struct.pack("<i4sii", length, prefix, buffer, offset)


LONG = b"a text of more than twelve bytes"


@pytest.mark.parametrize(
    "damaged",
    [
        view(len(LONG), LONG[:4], buffer=1),
        view(len(LONG), LONG[:4], buffer=-1),
        view(len(LONG), LONG[:4], offset=1),
        view(len(LONG), LONG[:4], offset=-1),
        view(len(LONG) + 1, LONG[:4]),
        view(2**31 - 1, LONG[:4]),
        view(-1, LONG[:4]),
        view(-(2**31), LONG[:4]),
    ],
)
def test_views_outside_their_buffer(index: Index, damaged: bytes) -> None:
    views = view(1, b"b") + view(len(LONG), LONG[:4]) + damaged
    buffers: list[Any] = [None, pa.py_buffer(views), pa.py_buffer(LONG)]
    array = pa.Array.from_buffers(pa.string_view(), 3, buffers)
    assert row_of(pa.table({"a": array}), index) == 2
    assert index.match_batch(pa.table({"a": array.slice(0, 2)})).num_rows == 4
    events = pa.Array.from_buffers(pa.binary_view(), 3, buffers)
    assert row_of(pa.table({"e": events.slice(2)}), index, column="e") == 0


@pytest.mark.parametrize("offsets", [[0, 5, 1, 3], [0, -1, 1, 3], [0, 2**31 - 1, 1, 3]])
@pytest.mark.parametrize(("kind", "size"), [(pa.string(), "i"), (pa.large_string(), "q")])
def test_offsets_that_go_astray(index: Index, offsets: list[int], kind: Any, size: str) -> None:
    packed = pa.py_buffer(struct.pack(f"<4{size}", *offsets))
    array = pa.Array.from_buffers(kind, 3, [None, packed, pa.py_buffer(b"bbb")])
    assert row_of(pa.table({"a": array}), index) == 0
    found = index.match_batch(pa.table({"a": array.slice(2)}))
    assert found["subscription"].to_pylist() == ["any", "not"]


@pytest.mark.parametrize("offsets", [[0, 9, 1, 3], [0, -1, 1, 3], [0, 2**31 - 1, 1, 3]])
def test_list_offsets_that_go_astray(index: Index, offsets: list[int]) -> None:
    index.add("m", "m.a = 'b'")
    packed = pa.py_buffer(struct.pack("<4i", *offsets))
    texts = pa.array(["b", "b", "c"])
    lists = pa.Array.from_buffers(pa.list_(pa.string()), 3, [None, packed], children=[texts])
    assert row_of(pa.table({"a": lists}), index) == 0
    kind = pa.map_(pa.string(), pa.string())
    fields = [kind.key_field, kind.item_field]
    entries = pa.StructArray.from_arrays([pa.array(["a"] * 3), texts], fields=fields)
    maps = pa.Array.from_buffers(kind, 3, [None, packed], children=[entries])
    assert row_of(pa.table({"m": maps}), index) == 0


@pytest.mark.parametrize("key", [-1, 2, 127, -128])
def test_dictionary_keys_without_a_value(index: Index, key: int) -> None:
    keys = pa.array([0, 1, key], pa.int8())
    array = pa.DictionaryArray.from_arrays(keys, pa.array(["b", "c"]), safe=False)
    assert row_of(pa.table({"a": array}), index) == 2
    empty = pa.DictionaryArray.from_arrays(keys, pa.array([], pa.string()), safe=False)
    assert row_of(pa.table({"a": empty}), index) == 0


def refused_whole(index: Index, table: Any) -> None:
    with pytest.raises(EventError, match="damaged") as caught:
        index.match_batch(table)
    assert caught.value.item is None


class CArray(ctypes.Structure):
    """An array of the C data interface."""


CArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(CArray))),
    ("dictionary", ctypes.POINTER(CArray)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class Crafted:
    """A table of one column `a`, whose C structures are changed on export."""

    def __init__(self, column: Any, change: Callable[[Any], None]) -> None:
        self.array, self.schema = CArray(), ctypes.create_string_buffer(128)
        batch = pa.StructArray.from_arrays([column], ["a"])
        batch._export_to_c(ctypes.addressof(self.array), ctypes.addressof(self.schema))
        change(self.array.children[0].contents)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return (
            new(ctypes.addressof(self.schema), b"arrow_schema", None),
            new(ctypes.addressof(self.array), b"arrow_array", None),
        )


def setting(**values: Any) -> Callable[[Any], None]:
    def change(array: Any) -> None:
        for name, value in values.items():
            setattr(array, name, value)

    return change


def shorten_child(array: Any) -> None:
    array.children[0].contents.length -= 1


def drop_buffer(array: Any) -> None:
    array.buffers[1] = None


TEXTS = pa.array(["b", "c", "b"])
LISTS = pa.array([["b", "c"]] * 3, pa.list_(pa.string(), 2))
STRUCTS = pa.array([{"x": 1}] * 3)


@pytest.mark.parametrize(
    ("column", "change"),
    [
        (LISTS, shorten_child),
        (STRUCTS, shorten_child),
        (TEXTS, setting(length=2)),
        (TEXTS, setting(length=-1)),
        (TEXTS, setting(offset=-1)),
        (TEXTS, setting(offset=2**62)),
        (TEXTS, setting(n_buffers=1)),
        (TEXTS, setting(n_buffers=0)),
        (TEXTS, drop_buffer),
        (pa.array([1, 2, 3]), drop_buffer),
        (TEXTS.cast(pa.string_view()), setting(n_buffers=2)),
        (TEXTS.dictionary_encode(), setting(dictionary=None)),
        (STRUCTS, setting(n_children=0)),
        (LISTS, setting(n_children=0)),
    ],
)
def test_structures_that_are_wrong(index: Index, column: Any, change: Any) -> None:
    index.add("x", "a.x = 1")
    index.match_batch(Crafted(column, lambda _: None))
    with pytest.raises(EventError) as caught:
        index.match_batch(Crafted(column, change))
    assert caught.value.item is None


def test_a_sparse_union_whose_child_is_too_short() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0] * 3, pa.int8()), [TEXTS])
    index = Index()
    index.add("x", "b = 1")
    assert index.match_batch(Crafted(union, lambda _: None)).num_rows == 0
    with pytest.raises(EventError, match="too few rows"):
        index.match_batch(Crafted(union, shorten_child))


def test_a_last_offset_that_is_negative(index: Index) -> None:
    offsets = bytearray(struct.pack("<3i", 0, 1, 2))
    array = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"bb")]
    )
    table = pa.table({"a": array})
    offsets[8:] = struct.pack("<i", -1)  # pyarrow has validated it before
    refused_whole(index, table)


class CSchema(ctypes.Structure):
    """A schema of the C data interface."""


CSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(CSchema))),
    ("dictionary", ctypes.POINTER(CSchema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class Nested(Crafted):
    """Structs in structs, without a row."""

    def __init__(self, depth: int) -> None:
        self.array, self.kept = CArray(), [CSchema(b"l", b"a")]
        for _ in range(depth - 1):
            children = (ctypes.POINTER(CSchema) * 1)(ctypes.pointer(self.kept[-1]))
            pointer = ctypes.cast(children, ctypes.POINTER(ctypes.POINTER(CSchema)))
            self.kept.append(CSchema(b"+s", b"a", None, 0, 1, pointer))
        self.schema: Any = self.kept[-1]


@pytest.mark.parametrize("depth", [257, 5_000, 100_000])
def test_schemas_nested_deeply(index: Index, depth: int) -> None:
    with pytest.raises(EventError, match="nested 257 deep or more; at most 256 are read"):
        index.match_batch(Nested(depth))


def test_schemas_that_are_nested_less() -> None:
    kind = pa.int64()
    for _ in range(99):
        kind = pa.struct([("a", kind)])
    index = Index()
    index.add("x", ".".join("a" * 100) + " = 1")
    event: Any = 1
    for _ in range(99):
        event = {"a": event}
    assert index.match_batch(pa.table({"a": pa.array([event], kind)})).num_rows == 1


def test_one_column_is_no_table(index: Index) -> None:
    with pytest.raises(EventError, match="one column of Utf8"):
        index.match_batch(pa.chunked_array([["b"]]))
    with pytest.raises(EventError, match="one column of Int64"):
        index.match_batch(pa.array([1]))


def test_a_stream_that_fails_says_why(index: Index) -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": ["b"]})
        raise ValueError("the disk is full")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), batches())
    with pytest.raises(EventError, match="the disk is full"):
        index.match_batch(reader)


def test_a_stream_is_read_once(index: Index) -> None:
    stream = pa.table({"a": ["b"]}).__arrow_c_stream__()

    class Once:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return stream

    assert index.match_batch(Once()).num_rows == 2
    with pytest.raises(EventError, match="has already been read"):
        index.match_batch(Once())


# Random damage: for any buffers, a batch is matched or refused.


def flips(random: Random, array: Any) -> Any:
    """The array with some bytes of its buffers changed; sizes stay the same."""
    kind, length = array.type, len(array)
    buffers: list[Any] = [
        None if buffer is None else bytearray(buffer.to_pybytes()) for buffer in array.buffers()
    ]
    if pa.types.is_dictionary(kind):
        numbers = array.indices.buffers()[1].to_pybytes()
        damaged = damage(random, bytearray(numbers))
        keys = pa.Array.from_buffers(kind.index_type, length, [None, pa.py_buffer(damaged)])
        return pa.DictionaryArray.from_arrays(keys, flips(random, array.dictionary), safe=False)
    if pa.types.is_struct(kind):
        children = [flips(random, array.field(number)) for number in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(kind))
    nested = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    width = 8 if pa.types.is_large_list(kind) or kind == pa.large_string() else 4
    if nested or kind in (pa.string(), pa.large_string()):
        # The interface does not give the number of bytes; the last offset does.
        buffers[1] = damage(random, buffers[1], keep=(len(array) * width, (len(array) + 1) * width))
    if nested:
        children = [flips(random, array.values)]
        given = [None, pa.py_buffer(bytes(buffers[1]))]
        return pa.Array.from_buffers(kind, length, given, children=children)
    for number, buffer in enumerate(buffers):
        if buffer and not (number == 1 and kind in (pa.string(), pa.large_string())):
            buffers[number] = damage(random, buffer)
    given = [None if buffer is None else pa.py_buffer(bytes(buffer)) for buffer in buffers]
    return pa.Array.from_buffers(kind, length, given)


def damage(random: Random, buffer: bytearray, keep: tuple[int, int] = (0, 0)) -> bytearray:
    for _ in range(random.choice([0, 1, 1, 2, 5])):
        place = random.randrange(len(buffer)) if buffer else 0
        if buffer and not keep[0] <= place < keep[1]:
            buffer[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    return buffer


WORDS = ["b", "z", "", "zz", "größer", "a text of more than twelve bytes", "twelve bytes"]


@pytest.mark.parametrize("seed", range(20))
def test_random_damage(index: Index, seed: int) -> None:
    random = Random(seed)
    index.add_many(
        {"l": "l = 'b'", "n": "l != 'b' and n > 3", "s": "s.a = 'b' or not s.b < 3", "d": "d = 'b'"}
    )

    def words(kind: Any) -> Any:
        return pa.array([random.choice(WORDS) for _ in range(40)], kind)

    def lists(kind: Any) -> Any:
        many = [[random.choice(WORDS) for _ in range(random.randrange(3))] for _ in range(40)]
        return pa.array(many, kind)

    makers: list[Any] = [
        lambda: {"a": words(random.choice([pa.string(), pa.large_string(), pa.string_view()]))},
        lambda: {"d": words(pa.string()).dictionary_encode()},
        lambda: {"l": lists(pa.list_(pa.string())), "n": pa.array(range(40))},
        lambda: {"l": lists(pa.large_list(pa.string_view())), "n": pa.array(range(40))},
        lambda: {
            "s": pa.StructArray.from_arrays([words(pa.string()), pa.array(range(40))], ["a", "b"])
        },
    ]
    refused = 0
    for _ in range(40):
        try:
            columns = {
                name: flips(random, array) for name, array in random.choice(makers)().items()
            }
        except pa.ArrowInvalid:  # pyarrow detects it
            continue
        table = pa.table(columns).slice(random.randrange(3))
        try:
            index.match_batch(table)
        except EventError:
            refused += 1
    assert refused


# Subscriptions as Arrow data


def test_a_subscription_that_is_not_utf8_is_refused_by_itself() -> None:
    builder = tamis._tamis.Builder()
    ids = unchecked([b"x", b"y", b"\x80\x81\x82", b"w"], pa.string())
    texts = unchecked([b"a = 1", b"a = '\x80'", b"a = 1", b"a = 2"], pa.string())
    refused = builder.add(pa.record_batch({"id": ids, "expression": texts})).to_pylist()
    assert [row["id"] for row in refused] == ["y", None]
    assert refused[0]["message"] == "the column `expression`: the text is not valid UTF-8"
    assert r"\x80\x81\x82" in refused[1]["message"]
    assert list(builder.finish()) == ["w", "x"]


@pytest.mark.parametrize("name", ["metadata", "weights"])
def test_what_a_subscription_has_besides_is_checked_too(name: str) -> None:
    builder = tamis._tamis.Builder()
    more = unchecked([None, b"\xff"], pa.string())
    batch = pa.record_batch({"id": ["x", "y"], "expression": ["a = 1", "a = 1"], name: more})
    refused = builder.add(batch).to_pylist()
    assert [(row["id"], row["message"]) for row in refused] == [
        ("y", f"the column `{name}`: the text is not valid UTF-8")
    ]
    assert list(builder.finish()) == ["x"]


# Wrong lengths


class Lying:
    def __init__(self, items: list[Any], length: int) -> None:
        self.items, self.length = items, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> Any:
        return self.items[number]


def lying(items: list[Any], length: int) -> Any:
    return Lying(items, length)


@pytest.mark.parametrize("length", [0, 1, 2**62])
def test_lengths_are_not_trusted(length: int) -> None:
    items = [tamis.attr.a == 1, tamis.attr.b == 2]
    assert str(tamis.Expression.any_of(lying(items, length))) == "a = 1 or b = 2"
    assert str(tamis.Expression.all_of(lying(items, length))) == "a = 1 and b = 2"
    assert json.loads(tamis.Expression.all_of(lying([], length)).to_json()) is True
