"""Checks the judge of the language: DuckDB gives the same results on the same rows."""

import os
from random import Random

import duckdb

from judge.evaluator import Truth
from judge.sql import DuckSql
from judge.tables import Table, columns, tables

CASES = int(os.environ.get("TAMIS_FUZZ_CASES", "0"))
SEED = Random().randrange(1 << 32) if CASES else 0
CONDITIONS, ROWS = (max(4 * CASES // 40, 40), 100) if CASES else (60, 50)


def asked_of_duckdb(table: Table) -> list[list[Truth]]:
    written = ", ".join(DuckSql().node(node) for node in table.nodes)
    with duckdb.connect() as connection:
        connection.execute(f"set TimeZone = '{table.zone}'")
        connection.register("data", table.data)
        return columns(connection.execute(f"select {written} from data order by row").fetchall())


def test_duckdb_agrees_with_the_judge() -> None:
    pairs = 0
    for table in tables(Random(SEED), CONDITIONS, ROWS):
        pairs += table.pairs
        wrong = list(table.differences(asked_of_duckdb(table), table.judged()))
        assert not wrong, f"seed {SEED}: {len(wrong)} differ\n{wrong[0]}"
    assert pairs >= CONDITIONS * ROWS
