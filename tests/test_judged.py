"""Expressions with terms, types and lists: every matcher agrees with the judge."""

from pathlib import Path
from random import Random

import pytest

import tamis
from judge import campaign
from judge.campaign import EVENTS, EXPRESSIONS, Case, a_round, differences, shrink
from judge.evaluator import Truth
from judge.language import Not, text
from judge.tables import Table, tables
from test_judge import CASES, CONDITIONS, ROWS, SEED, asked_of_duckdb

ROUNDS = max(CASES // (EXPRESSIONS * EVENTS), 1) if CASES else 12


def report(wrong: list[Case], seed: int) -> str:
    smallest = [str(shrink(case)) for case in wrong[:3]]
    return "\n".join([f"seed {seed}: {len(wrong)} cases differ", *smallest])


@pytest.mark.parametrize("dull", [True, False], ids=["types and lists", "terms"])
def test_every_matcher_finds_what_is_judged(dull: bool) -> None:
    for number in range(ROUNDS):
        seed = SEED + number
        wrong = list(differences(a_round(Random(seed), dull)))
        assert not wrong, report(wrong, seed)


def test_an_opened_index_finds_the_same(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        given = a_round(Random(SEED + number))
        index = campaign.empty(given.setting, "auto")
        index.add_many((id, text(node)) for id, node in enumerate(given.nodes))
        index.save(tmp_path / str(number))
        opened = tamis.open(tmp_path / str(number))
        assert opened.time_zone == given.setting.time_zone
        for event in given.events:
            now = given.setting.now
            assert opened.match(event, now=now) == index.match(event, now=now)
        for id in index:
            assert opened[id].expression == index[id].expression


def asked_of_tamis(table: Table) -> list[list[Truth]]:
    """The truths of Arrow rows: unknown if neither an expression nor its negation holds."""
    index = tamis.Index(time_zone=table.zone)
    for number, node in enumerate(table.nodes):
        index.add(2 * number, text(node))
        index.add(2 * number + 1, text(Not(node)))
    rows = range(table.data.num_rows)
    found: list[list[Truth]] = [["unknown" for _ in rows] for _ in table.nodes]
    matches = index.match_batch(table.data)
    pairs = zip(matches["event"].to_pylist(), matches["subscription"].to_pylist(), strict=True)
    for row, id in pairs:
        assert found[id // 2][row] == "unknown", "both an expression and its negation hold"
        found[id // 2][row] = "false" if id % 2 else "true"
    return found


def test_rows_of_arrow_data_are_as_duckdb_has_them() -> None:
    for table in tables(Random(SEED), CONDITIONS, ROWS):
        wrong = list(table.differences(asked_of_tamis(table), asked_of_duckdb(table)))
        assert not wrong, f"seed {SEED}: {len(wrong)} differ\n{wrong[0]}"


def test_events_one_by_one_are_as_judged() -> None:
    """The same rows as Python objects."""
    for table in tables(Random(SEED), CONDITIONS, ROWS):
        index = tamis.Index(time_zone=table.zone)
        index.add_many((number, text(node)) for number, node in enumerate(table.nodes))
        found = index.match_batch(table.data.to_pylist())
        for number, truths in enumerate(table.judged()):
            for row, truth in enumerate(truths):
                assert truth is None or (number in found[row]) == (truth == "true")
