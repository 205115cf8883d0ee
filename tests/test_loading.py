"""Many subscriptions at once: tables, CSV files, refused rows, progress, Ctrl-C."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from support.interrupting import INDEX, interrupt, interrupts
from tamis import (
    ExpressionError,
    ExpressionSyntaxError,
    Index,
    SubscriptionError,
    UnknownIdError,
    parse,
)

ITEMS: list[Any] = [
    ("a", "x = 1"),
    ("b", "x ="),
    ("c", "x = 2", {"tenant": 1}),
    ("d", "x = 2", object()),
    {"id": "e", "expression": "x = 3", "priority": 4},
    {"id": "f", "expression": "x = 3", "priority": "high"},
    {"id": "g", "expression": "x = 3", "colour": "red"},
    {"expression": "x = 3"},
    (1.5, "x = 3"),
    "x = 3",
    ("h", "x < true"),
    {"id": "i", "expression": "x = 3", "active_from": "2026-01-02", "active_until": "2026-01-01"},
]
REFUSED = [1, 3, 5, 6, 7, 8, 9, 10, 11]
OBJECT: Any = ("j", parse("x = 4"))


@pytest.mark.parametrize("items", [ITEMS, [*ITEMS, OBJECT], [OBJECT, *ITEMS]])
def test_bad_items_are_collected(items: list[Any]) -> None:
    shift = 1 if items[0] is OBJECT else 0
    index = Index()
    index.add("a", "true")
    loaded = index.add_many(items, on_error="collect")
    assert [refused.row - shift for refused in loaded.refused] == REFUSED
    assert loaded.skipped == len(REFUSED)
    assert loaded.added == len(items) - len(REFUSED) == len(index)
    assert set(index) == {"a", "c", "e"} | ({"j"} if len(items) > len(ITEMS) else set())
    assert isinstance(loaded.refused[0].error, ExpressionSyntaxError)
    assert loaded.refused[0].id == "b"
    assert "a priority must be an integer, not str" in loaded.refused[2].message
    again = Index()
    assert again.add_many(items, on_error="skip") == (len(again), len(REFUSED), [])


def test_one_bad_item_adds_nothing() -> None:
    index = Index()
    with pytest.raises(ExpressionError, match=r"item 1 \(id 'b'\)"):
        index.add_many(ITEMS)
    with pytest.raises(ExpressionError, match=r"item 0 \(id 'b'\)"):
        index.add_many(ITEMS[1:2])
    with pytest.raises(ValueError, match="on_error must be"):
        index.add_many(ITEMS, on_error="ignore")  # type: ignore[call-overload]
    assert len(index) == 0


def test_what_is_wrong_with_the_iterable_is_not_collected() -> None:
    def items() -> Any:
        yield "a", "x = 1"
        raise OSError("the network is gone")

    index = Index()
    with pytest.raises(OSError, match="gone"):
        index.add_many(items(), on_error="collect")
    assert len(index) == 0


def test_progress_is_told_and_can_stop() -> None:
    index, told = Index(), list[tuple[int, int]]()
    items = [(number, f"x = {number} and y < {number % 9}") for number in range(30_000)]
    index.add_many(items, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (30_000, 30_000)
    assert told == sorted(told)

    def stop(done: int, total: int) -> None:
        raise RuntimeError(f"enough: {total}")

    with pytest.raises(RuntimeError, match="enough: 60000"):
        index.add_many(
            [(-1 - number % 60_000, "x = 1 and y = 2") for number in range(60_000)], progress=stop
        )
    assert len(index) == 30_000 or -1 in index  # it may finish before the signal is checked


def test_remove_many_is_all_or_nothing() -> None:
    index = Index()
    index.add_many((number, "true") for number in range(10))
    with pytest.raises(UnknownIdError, match="11"):
        index.remove_many([1, 11, 2])
    with pytest.raises(UnknownIdError):
        index.remove_many([1, None])
    assert len(index) == 10
    assert index.remove_many([1, 2, 1]) == 2
    assert index.remove_many([1, 11, 3, None], on_error="skip") == 1
    assert index.match({}) == [0, 4, 5, 6, 7, 8, 9]
    assert index.remove_many([]) == 0
    with pytest.raises(ValueError, match="on_error"):
        index.remove_many([], on_error="collect")  # type: ignore[arg-type]


# Tables

ROWS: dict[str, list[Any]] = {
    "id": ["a", "b", "c"],
    "expression": ["x = 1", "x in (1, 2)", '{"attribute": "x", "operator": "=", "value": 1}'],
    "metadata": ['{"tenant": "t"}', None, '{"tenant": "u"}'],
    "weights": [None, '{"x": 2}', None],
    "boost": [2.0, None, 0.5],
    "priority": [None, 7, -1],
    "active_from": [None, "2026-01-01T00:00Z", None],
    "active_until": [None, None, "2030-01-01"],
    "remark": ["", "", ""],
}


@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        pl.DataFrame,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas().astype({"priority": "Int64"}),
        lambda rows: duckdb.from_arrow(pa.table(rows)),
    ],
    ids=["arrow", "polars", "batch", "pandas", "duckdb"],
)
def test_tables_of_all_kinds(make: Callable[[Any], Any]) -> None:
    index = Index.from_table(make(ROWS), metadata_columns=["tenant"])
    assert list(index) == ["a", "b", "c"]
    assert index.metadata_columns == ["tenant"]
    assert index.match({"x": 1}, where="tenant = 'u'", now="2026-05-05") == ["c"]
    assert index.first({"x": 1}, 3) == ["b", "a", "c"]
    assert index["a"].boost == 2
    assert index["b"].metadata is None
    assert str(index["b"].expression) == "x in (1^2, 2^2)"
    assert index["b"].active_from == datetime(2026, 1, 1, tzinfo=UTC)
    assert index.match({"x": 1}, now="2025-01-01") == ["a", "c"]


def test_typed_columns_of_a_table() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    table = pa.table(
        {
            "id": [1, 2],
            "expression": ["x = 1", "x = 1"],
            "metadata": [{"owner": {"team": "red"}, "tags": ["v"]}, {"owner": None, "tags": None}],
            "weights": pa.array([[("x", 3.0)], None], pa.map_(pa.string(), pa.float64())),
            "active_from": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "active_until": pa.array([None, moment.date()], pa.date32()),
        }
    )
    index = Index.from_table(table)
    assert index[1].metadata == {"owner": {"team": "red"}, "tags": ["v"]}
    assert index[2].metadata == {}
    assert str(index[1].expression) == "x = 1^3"
    assert index.validities() == [(1, moment, None), (2, None, moment)]


def test_bad_rows_are_collected() -> None:
    table = pa.table(
        {
            "id": ["a", None, "c", "d", "e", "f", "g"],
            "expression": ["x =", "x = 1", None, "x = 1", "x = 1", "x = 1", "x = 1"],
            "metadata": [None, None, None, "{", None, None, None],
            "active_from": [None, None, None, None, "soon", None, None],
            "boost": [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0],
        }
    )
    index, loaded = Index.from_table(table, on_error="collect")
    assert list(index) == ["g"]
    assert [(refused.row, refused.id) for refused in loaded.refused] == [
        (0, "a"),
        (1, None),
        (2, "c"),
        (3, "d"),
        (4, "e"),
        (5, "f"),
    ]
    assert "`active_from` must be a time, not 'soon'" in loaded.refused[4].message
    with pytest.raises(ExpressionError, match=r"item 0 \(id 'a'\)"):
        Index.from_table(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"id": ["a"]}), "no column `expression`"),
        (pa.table({"expression": ["a"]}), "no column `id`"),
        (pa.table({"id": [True], "expression": ["a"]}), "neither strings nor integers"),
        (pa.table({"id": ["a"], "expression": [1]}), "does not hold text"),
    ],
)
def test_a_table_that_is_none(table: Any, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message):
        Index.from_table(table, on_error="collect")


def test_no_table() -> None:
    with pytest.raises(TypeError, match="unlike list"):
        Index.from_table([("a", "true")])
    with pytest.raises(TypeError, match="colour"):
        Index.from_table(pa.table({"id": ["a"], "expression": ["a"]}), colour="red")


# CSV


def test_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.csv"
    path.write_text(
        "id,expression,metadata,priority,active_until,boost\n"
        'a,"x in (1, 2)","{""tenant"": ""t""}",5,2030-01-01,2.5\n'
        "\n"
        '"b","x = 1\nand y = 2",,,,\n',
        encoding="utf-8",
    )
    for given in (path, str(path)):
        index = Index.from_csv(given, missing="false")
        assert list(index) == ["a", "b"]
        assert index.missing == "false"
        assert (index["a"].metadata, index["a"].priority, index["a"].boost) == (
            {"tenant": "t"},
            5,
            2.5,
        )
        assert index["b"].metadata is None
    with path.open(encoding="utf-8", newline="") as file:
        assert len(Index.from_csv(file)) == 2


def test_bad_rows_of_a_csv_file() -> None:
    text = (
        "id;expression;metadata;priority\n"
        "1;x = 1;;\n"
        "two;x = 1;;\n"
        "3;x =;;\n"
        "4;x = 1;{;\n"
        "5;x = 1;;high\n"
        "6;x = 1\n"
        ";x = 1;;\n"
        "8;;;\n"
        '9;"x\n= 1";;\n'
        "10;x <;;\n"
    )
    index, loaded = Index.from_csv(
        io.StringIO(text), delimiter=";", ids="integer", on_error="collect"
    )
    assert list(index) == [1, 9]
    assert [refused.line for refused in loaded.refused] == [3, 4, 5, 6, 7, 8, 9, 12]
    with pytest.raises(SubscriptionError, match="line 3"):
        Index.from_csv(io.StringIO(text), delimiter=";", ids="integer")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column `id`"),
        ("id,expr\na,b\n", "no column `expression`"),
        ("id,expression,colour\n", "an unknown column: `colour`"),
        ("id,expression,id\n", "the column `id` twice"),
        ('id,expression\n"a"b,c\n', "line 2 is not valid CSV"),
    ],
)
def test_a_csv_file_that_is_none(text: str, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message):
        Index.from_csv(io.StringIO(text), on_error="collect")
    with pytest.raises(ValueError, match="ids is"):
        Index.from_csv(io.StringIO(text), ids="float")  # type: ignore[call-overload]


def test_hostile_cells() -> None:
    deep = json.dumps("[" * 100_000)[1:-1]
    text = f'id,expression,metadata\na,true,"{deep}"\nb,true,\n'
    index, loaded = Index.from_csv(io.StringIO(text), on_error="collect")
    assert (list(index), len(loaded.refused)) == (["b"], 1)


# Ctrl-C


TABLE = """
import pyarrow as pa
table = pa.table({"id": range(3_000_000), "expression": ["a = 1 and b < 5"] * 3_000_000})
"""


@interrupts
@pytest.mark.parametrize(
    ("setup", "call"),
    [
        (
            "items = ((f'n{n}', f'a = {n} and b < {n % 97}') for n in itertools.count())",
            "index.add_many(items, on_error='collect')",
        ),
        (
            "items = [(f'n{n}', f'a = {n} and b < {n % 97}') for n in range(400_000)]",
            "index.add_many(items, on_error='skip')",
        ),
        (
            TABLE,
            "index.add_table(table)",
        ),
        (
            "rows = (f'n{n},a = 1\\n' for n in itertools.count())",
            "tamis.Index.from_csv(itertools.chain(['id,expression\\n'], rows))",
        ),
    ],
    ids=["collect", "skip", "table", "csv"],
)
def test_ctrl_c_leaves_the_index_as_it_was(setup: str, call: str) -> None:
    interrupt(INDEX + setup, call)


def test_an_id_of_a_file_is_there_once() -> None:
    text = "id,expression\na,x = 1\nb,x = 2\na,x = 3\n"
    with pytest.raises(SubscriptionError, match=r"line 4, .*the id 'a' is already on line 2"):
        Index.from_csv(io.StringIO(text))
    index, loaded = Index.from_csv(io.StringIO(text), on_error="collect")
    assert [(refused.line, loaded.added) for refused in loaded.refused] == [(4, 2)]
    assert len(index) == 2
    assert index.match({"x": 1}) == ["a"]


def test_columns_that_are_there_are_named() -> None:
    with pytest.raises(SubscriptionError, match=r"no column `expression`.*`id`, `condition`"):
        Index.from_csv(io.StringIO("id,condition\na,x = 1\n"))
    with pytest.raises(SubscriptionError, match=r"`team`, `x`; .* `metadata.team`"):
        Index.from_csv(io.StringIO("id,expression,team,x\na,x = 1,web,2\n"))
    with pytest.raises(SubscriptionError, match=r"separated by `;`.* `delimiter`"):
        Index.from_csv(io.StringIO("id;expression\na;x = 1\n"))


def test_columns_of_metadata() -> None:
    text = "id,expression,metadata.team,metadata.level,metadata\na,x = 1,web,3,\nb,x = 1,,007,\n"
    index = Index.from_csv(io.StringIO(text + 'c,x = 1,ops,,"{""k"": 1}"\n'))
    assert index["a"].metadata == {"team": "web", "level": 3}
    assert index["b"].metadata == {"level": "007"}
    assert index["c"].metadata == {"k": 1, "team": "ops"}
    with pytest.raises(SubscriptionError, match=r'id "d": .*`metadata` holds no object'):
        Index.from_csv(io.StringIO(text + "d,x = 1,ops,,[1]\n"))


def test_cells_that_are_no_numbers_are_named() -> None:
    for column, noun in (("priority", "an integer"), ("boost", "a number")):
        message = rf'id "a": the column `{column}` holds {noun}, not \'high\''
        with pytest.raises(SubscriptionError, match=message):
            Index.from_csv(io.StringIO(f"id,expression,{column}\na,x = 1,high\n"))
