"""Expressions as WHERE clauses: translations, refusals, and the results of DuckDB."""

import os
from collections import Counter
from random import Random
from typing import Any

import duckdb
import pytest

import tamis
from judge import rows
from rules.sql_cases import Written, matching, table, written

CASES = int(os.environ.get("TAMIS_FUZZ_CASES", "0"))
SEED = Random().randrange(1 << 32) if CASES else 17
EXPRESSIONS, ROWS = (max(CASES // 20, 100), 100) if CASES else (50, 60)


def asked_of_duckdb(conditions: list[str], data: Any, zone: str) -> list[set[int]]:
    with duckdb.connect() as connection:
        connection.execute(f"set TimeZone = '{zone}'")
        connection.register("data", data)
        found = []
        for condition in conditions:
            answer = connection.execute(f"select row from data where {condition}").fetchall()
            found.append({row for (row,) in answer})
        return found


@pytest.mark.parametrize("missing", ["unknown", "false"])
def test_duckdb_finds_the_rows_that_match(missing: str) -> None:
    random, refused, pairs = Random(SEED), Counter[str](), 0
    for zone in rows.ZONES:
        data = table(random, ROWS)
        made = list(written(random, EXPRESSIONS, "duckdb", zone, missing, data.schema))
        refused.update(each for each in made if isinstance(each, str))
        good = [each for each in made if isinstance(each, Written)]
        wanted = matching([each.expression for each in good], data, zone, missing)
        found = asked_of_duckdb([each.condition for each in good], data, zone)
        for each, ours, theirs in zip(good, wanted, found, strict=True):
            wrong = [data.to_pylist()[row] for row in sorted(ours ^ theirs)[:1]]
            assert ours == theirs, (
                f"seed {SEED}: {each.expression}\n{each.condition}\n{zone} {wrong}"
            )
        pairs += len(good) * data.num_rows
    assert pairs > EXPRESSIONS * ROWS, refused


COLUMNS = {
    "name": "string",
    "age": "integer",
    "price": "decimal(12, 2)",
    "ratio": "float",
    "member": "boolean",
    "at": "timestamp",
    "day": "date",
    "tags": ["string"],
    "address": {"city": "string"},
    "items": [{"sku": "string", "price": "decimal(12, 2)"}],
}

# expression, its condition for DuckDB without types
PLAIN = [
    ("age > 3 and state = 'CA'", """(("age" > 3) and ("state" = 'CA'))"""),
    ("not member", '(not ("member" = true))'),
    ("state in ('CA', 'OR') xor a", """(("state" in ('CA', 'OR')) <> ("a" = true))"""),
    ("a between 1 and 2.5", '(("a" >= 1) and ("a" <= 2.5))'),
    ("name like 'it''s%'", """("name" like 'it''s%' escape '\\')"""),
    ("user.name is null", '(("user")."name" is null)'),
    ("lower(name) contains 'x'", """contains(lower("name"), 'x')"""),
    ("created >= timestamp '2026-01-02 05:00:00'", """("created" >= timestamptz '2026-01-02 05:00:00+00:00')"""),
    ("day = date '2026-01-02'", """("day" = date '2026-01-02')"""),
    ("a in ()", '(case when "a" is not null then false end)'),
    ("true", "true"),
    ("name matches '^a.b$'", """regexp_matches("name", '^a[^\\n]b\\z')"""),
]  # fmt: skip

# expression, with types or without, message of the error
REFUSED = [
    ("a = 1 or a = 'x'", False, "as a number and as a string"),
    ("a = b", False, "are not known"),
    ("price * qty > 3", False, "depends on the types"),
    ("exists(a)", False, "cannot tell null from missing"),
    ("a = 12345678901234567890.5", False, "needs the column's type"),
    ("xpath('//a')", False, "no documents"),
    ("a in (cidr '10.0.0.0/8')", False, "no networks"),
    ("a = ip '10.0.0.1'", False, "no addresses"),
    ("a > version '1.2'", False, "no versions"),
    ("lower(values()) contains 'x'", False, "no function `values`"),
    ("bucket(a, 10) = 3", False, "no function `bucket`"),
    ("upper(name) = 'X'", True, "other capitals"),
    ("name > timestamp '2026-01-01'", True, "read as a time"),
    ("hour(name) = 3", True, "read text as a time"),
    ("name matches '\\d'", True, "`\\\\d`"),
    ("name matches '(?i)a'", True, "flag"),
    ("name matches 'a++'", True, "repetition of a repetition"),
    ("price / 3 > 1", True, "rounded differently"),
    ("age * age * age > 1", True, "more than 38 digits"),
    ("age > ratio", True, "rounded to be compared"),
    ("floor(ratio) = 1", True, "float"),
    ("items.price > tags", True, "several lists"),
    ("tags = tags", True, "several lists"),
    ("coalesce(tags, 'x') = 'x'", True, "of a list"),
    ("coalesce(name, age) = 1", True, "has no SQL type"),
    ("cast(name as integer) = 1", True, "differs between databases"),
    ("any(items.sku, it = 'x')", True, "lists in a list"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "condition"), PLAIN)
def test_conditions_without_types(expression: str, condition: str) -> None:
    assert tamis.parse(expression).to_sql("duckdb") == condition


@pytest.mark.parametrize(("expression", "typed", "reason"), REFUSED)
@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
def test_refused(expression: str, typed: bool, reason: str, dialect: str) -> None:
    parsed = tamis.parse(expression)
    with pytest.raises(tamis.ExpressionError, match=reason):
        parsed.to_sql(dialect, columns=COLUMNS if typed else None)


def test_types_that_cannot_be_compared_are_false() -> None:
    with duckdb.connect() as connection:
        connection.execute("create table t as select 'a' as name union all select null")
        condition = tamis.parse("name = 3").to_sql("duckdb", columns={"name": "string"})
        assert connection.execute(f"select {condition} from t").fetchall() == [(False,), (None,)]


def test_strings_stay_strings() -> None:
    """No content of a literal or a name is read as something else by a database."""
    hostile = ["'", "\\", "\\'", "''; drop table t; --", "a'b\\'c", "%_\\%", "\n", "${x}", '"', "`"]
    with duckdb.connect() as connection:
        for text in hostile:
            condition = tamis.attr[text] == text
            written = condition.to_sql("duckdb")
            name = '"' + text.replace('"', '""') + '"'
            connection.execute(f"create or replace table t({name} varchar)")
            connection.execute("insert into t values (?), ('other')", [text])
            assert connection.execute(f"select * from t where {written}").fetchall() == [(text,)]


def test_arguments() -> None:
    expression = tamis.parse("a = 1")
    with pytest.raises(tamis.ExpressionError, match="klingon"):
        expression.to_sql("klingon")
    with pytest.raises(tamis.ExpressionError, match="missing"):
        expression.to_sql("spark", missing="maybe")  # type: ignore[arg-type]
    with pytest.raises(tamis.ExpressionError, match="no time zone"):
        expression.to_sql("spark", time_zone="Mars/Base")
    wrong: list[Any] = [{"a": "money"}, {"a": "decimal(99)"}, {"a": []}, {"a": 3}, 7]
    for columns in wrong:
        with pytest.raises(tamis.ExpressionError, match="column"):
            expression.to_sql("spark", columns=columns)


def test_deep_and_long_expressions() -> None:
    deep = tamis.parse("not " * 400 + "a")
    with pytest.raises(tamis.ExpressionError, match="deeper than 200"):
        deep.to_sql("duckdb")
    long = tamis.parse(" or ".join(f"a = {number} and b = 1" for number in range(5000)))
    assert long.to_sql("duckdb").count(" and ") == 5000
    computed = "t" + " + interval '1' day" * 60
    with pytest.raises(tamis.ExpressionError, match="characters"):
        tamis.parse(f"{computed} > now()").to_sql("duckdb", columns={"t": "timestamp"})


def test_what_is_written_is_read_back() -> None:
    """The importer of Spark conditions reads the output of `to_sql` without types."""
    sql = pytest.importorskip("tamis.rules").sql
    for text in ["a > 3 and b = 'x'", "not a in (1, 2)", "s like 'x%' or t is null", "a = 'it''s'"]:
        expression = tamis.parse(text)
        assert sql.parse(expression.to_sql("spark"), "spark") == expression
