"""The truth of many expressions on rows, for comparison with other engines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from judge import rows
from judge.evaluator import Truth, evaluate
from judge.language import Node, text
from judge.terms import Setting
from judge.values import Unspecified

TRUTHS: dict[bool | None, Truth] = {True: "true", False: "false", None: "unknown"}


@dataclass
class Table:
    """Rows and expressions about them, in one time zone."""

    zone: str
    data: pa.Table
    nodes: list[Node]

    @property
    def pairs(self) -> int:
        return len(self.nodes) * int(self.data.num_rows)

    def judged(self) -> list[list[Truth | None]]:
        """For every expression, the truth for each row; None if the language leaves it open."""
        setting, given = Setting(time_zone=self.zone), self.data.to_pylist()
        return [[truth_of(node, row, setting) for row in given] for node in self.nodes]

    def differences(
        self, found: Sequence[Sequence[Truth]], other: Sequence[Sequence[Truth | None]]
    ) -> Iterator[str]:
        given = self.data.to_pylist()
        for node, ours, theirs in zip(self.nodes, found, other, strict=True):
            for row, one, another in zip(given, ours, theirs, strict=True):
                if another is not None and one != another:
                    yield f"{text(node)}\n  on {row}\n  in {self.zone}: {one}, not {another}"


def truth_of(node: Node, row: dict[str, Any], setting: Setting) -> Truth | None:
    try:
        return evaluate(node, row, setting)
    except Unspecified:
        return None


def tables(random: Random, expressions: int, count: int) -> Iterator[Table]:
    """One table per time zone, with these numbers of expressions and rows in total."""
    share = expressions // len(rows.ZONES)
    for zone in rows.ZONES:
        nodes = [rows.Expressions(random).node() for _ in range(share)]
        yield Table(zone, rows.table(random, count), nodes)


def columns(found: Sequence[Sequence[bool | None]]) -> list[list[Truth]]:
    """The columns of rows of SQL's truths."""
    return [[TRUTHS[value] for value in column] for column in zip(*found, strict=True)]
