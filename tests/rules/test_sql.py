"""WHERE clauses of other dialects: translations, refusals, and the results of databases."""

import os
from random import Random

import pytest

import tamis
from judge import rows
from judge.language import text
from judge.sql import SparkSql
from rules.sql_cases import matching
from tamis.rules import RuleError, sql

pytest.importorskip("sqlglot")

# dialect, condition, the expression
READ = [
    ("spark", "a = 1 AND b <> 'x'", "a = 1 and b != 'x'"),
    ("spark", "NOT (a > 1 OR b)", "not (a > 1 or b)"),
    ("spark", "a.b.c >= -2.5", "a.b.c >= -2.5"),
    ("spark", "`odd name` = 1", '"odd name" = 1'),
    ("spark", "a IN (1, 2)", "a in (1, 2)"),
    ("spark", "a NOT IN ('x')", "not a in ('x')"),
    ("spark", "a BETWEEN 1 AND 3", "a between 1 and 3"),
    ("spark", "a LIKE 'x\\\\_%'", "a like 'x\\_%'"),
    ("spark", "a LIKE 'x!_%' ESCAPE '!'", "a like 'x\\_%'"),
    ("duckdb", "a LIKE 'x\\y%'", "a like 'x\\\\y%'"),
    ("spark", "a ILIKE 'X%'", "a ilike 'X%'"),
    ("spark", "a NOT LIKE 'x%'", "a not like 'x%'"),
    ("spark", "a NOT ILIKE 'X%'", "a not ilike 'X%'"),
    ("spark", "a NOT LIKE 'x!_%' ESCAPE '!'", "a not like 'x\\_%'"),
    ("spark", "a NOT LIKE ANY ('x%', 'y%')", "a not like 'x%' or a not like 'y%'"),
    ("spark", "a NOT RLIKE '^x'", "not a matches '^x'"),
    ("spark", "a NOT BETWEEN 1 AND 3", "not a between 1 and 3"),
    ("spark", "(a > 1) = (b > 2)", "a > 1 xnor b > 2"),
    ("spark", "(a > 1 OR c) <> b", "(a > 1 or c) xor b"),
    ("spark", "coalesce(a > 1, false)", "(a > 1) is true"),
    ("spark", "coalesce(a > 1, true)", "(a > 1) is not false"),
    ("spark", "(a > 1) IS NULL", "(a > 1) is unknown"),
    ("spark", "weekday(ts) = 0", "weekday(ts) - 1 = 0"),
    ("spark", "a RLIKE '^x'", "a matches '^x'"),
    ("spark", "a RLIKE '\\\\d'", "a matches '[0-9]'"),
    ("spark", "a IS NULL OR b IS NOT NULL", "a is null or not b is null"),
    ("spark", "startswith(a, 'x') AND contains(a, 'y')", "a starts with 'x' and a contains 'y'"),
    ("spark", "array_contains(tags, 'x')", "tags = 'x'"),
    ("spark", "lower(a) = 'x'", "lower(a) = 'x'"),
    ("spark", "length(a) > 3 AND abs(b) < 2", "length(a) > 3 and abs(b) < 2"),
    ("spark", "a + b * 2 > 10", "a + b * 2 > 10"),
    ("spark", "price * quantity >= 100", "price * quantity >= 100"),
    ("spark", "a < b", "a < b"),
    ("spark", "ts > TIMESTAMP '2026-01-01 05:00:00'", "ts > timestamp '2026-01-01 05:00:00'"),
    ("spark", "d >= DATE '2026-01-02'", "d >= date '2026-01-02'"),
    ("spark", "year(ts) = 2026 AND hour(ts) < 6", "year(ts) = 2026 and hour(ts) < 6"),
    ("spark", "ts > current_timestamp() - INTERVAL '7' DAY", "ts > now() - interval '7' day"),
    ("spark", "coalesce(a, b) = 1", "coalesce(a, b) = 1"),
    ("spark", "size(tags) > 2", "size(tags) > 2"),
    ("spark", "exists(items, x -> x.price > 3 AND x.sku = 'a')", "any(items, price > 3 and sku = 'a')"),
    ("spark", "forall(tags, t -> t LIKE 'a%')", "all(tags, it like 'a%')"),
    ("spark", "a <=> 3", "a is not distinct from 3"),
    ("spark", "cast(a AS string) = 'x'", "cast(a as string) = 'x'"),
    ("postgres", "a ~ '^x'", "a matches '^x'"),
    ("postgres", "a IS DISTINCT FROM b", "a is distinct from b"),
    ("mysql", "a REGEXP 'x'", "a matches 'x'"),
]  # fmt: skip

# condition, message of the error
REFUSED = [
    ("", "empty|not a condition"),
    ("a =", "not a condition"),
    ("a IN (SELECT b FROM t)", "subquery"),
    ("EXISTS (SELECT 1)", "subquery"),
    ("a > (SELECT max(b) FROM t)", "subquery"),
    ("sum(a) > 3", "aggregate `sum`"),
    ("row_number() OVER (ORDER BY a) = 1", "window"),
    ("regexp_extract(a, 'x', 1) = 'y'", "no function `regexp_extract`"),
    ("soundex(a) = 'x'", "no function `soundex`"),
    ("frobnicate(a) = 'x'", "no function `frobnicate`"),
    ("trim(a) = 'x'", "no function `trim`"),
    ("a = NULL", "never true"),
    ("a IN (1, NULL)", "never false"),
    ("a IN (b, c)", "list of constants"),
    ("a[0] = 1", "position of an array"),
    ("1 = 1", "two constants"),
    ("a LIKE b", "constant pattern"),
    ("a LIKE 'x\\\\y'", "escapes something other"),
    ("ts > current_timestamp() - INTERVAL '1' MONTH", "not an exact duration"),
    ("cast(a AS int) = 1", "cast to INT"),
    ("round(a, 2) = 1.5", "number of digits"),
    ("a RLIKE '[^\\\\D]'", "inside brackets"),
    ("exists(items, x -> y > 3)", "does not belong"),
]


@pytest.mark.parametrize(("dialect", "condition", "expected"), READ)
def test_conditions(dialect: str, condition: str, expected: str) -> None:
    assert sql.parse(condition, dialect) == tamis.parse(expected)


@pytest.mark.parametrize(("condition", "reason"), REFUSED)
def test_refused(condition: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        sql.parse(condition)


def test_hostile_conditions() -> None:
    with pytest.raises(tamis.TamisError):
        sql.parse("(" * 20_000 + "a" + ")" * 20_000)
    with pytest.raises(RuleError, match="characters"):
        sql.parse("a = '" + "x" * 2_000_000 + "'")
    with pytest.raises(tamis.TamisError):
        sql.parse("NOT " * 20_000 + "a")
    assert str(sql.parse(" OR ".join(f"a = {n}" for n in range(300)))).count("a =") == 300
    with pytest.raises(RuleError, match="klingon"):
        sql.parse("a = 1", "klingon")


def test_read_keeps_the_good_ones() -> None:
    read = sql.read('{"good": "a > 1", "bad": "a >", "other": "b IS NULL", "odd": 3}')
    assert [subscription.id for subscription in read.subscriptions] == ["good", "other"]
    assert [refused.id for refused in read.refused] == ["bad", "odd"]


CASES = int(os.environ.get("TAMIS_FUZZ_CASES", "0"))
SEED = Random().randrange(1 << 32) if CASES else 3
EXPRESSIONS, ROWS = (max(CASES // 20, 100), 100) if CASES else (40, 50)


def test_conditions_of_spark_mean_what_spark_says() -> None:
    """The judge writes expressions as Spark's SQL, which the importer reads back."""
    random, pairs = Random(SEED), 0
    for zone in rows.ZONES:
        data = rows.table(random, ROWS)
        asked, read = [], []
        for _ in range(EXPRESSIONS):
            node = rows.Expressions(random).node()
            try:
                read.append(sql.parse(SparkSql().node(node), "spark"))
            except RuleError:
                continue  # a function that Tamis does not have, or `case`
            asked.append(tamis.parse(text(node)))
        wanted = matching(asked, data, zone, "unknown")
        found = matching(read, data, zone, "unknown")
        for one, other, ours, theirs in zip(asked, read, wanted, found, strict=True):
            assert ours == theirs, f"seed {SEED}: {one}\n{other}"
        pairs += len(read) * ROWS
    assert pairs > EXPRESSIONS * ROWS * 3 // 2


def test_reasons_name_no_classes() -> None:
    with pytest.raises(RuleError, match="not a condition in spark: an operand is missing"):
        sql.parse("age >", dialect="spark")
