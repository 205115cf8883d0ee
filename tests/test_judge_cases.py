"""The judge agrees with every handwritten case of `testdata/semantics`."""

import json
import tomllib
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from judge.evaluator import evaluate
from judge.reading import Unreadable, read
from judge.terms import Missing, Setting
from judge.values import Unspecified

TESTDATA = Path(__file__).parent.parent / "testdata"
SEMANTICS = [  # regular expressions are those of Rust, with bounded time
    path for path in sorted((TESTDATA / "semantics").glob("*.toml")) if path.stem != "matches"
]
MODES: list[Missing] = ["unknown", "false"]


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any("." in name for name, _ in pairs):
        raise Unspecified("dotted keys")
    return dict(pairs)


@pytest.mark.parametrize("path", SEMANTICS, ids=lambda path: path.stem)
def test_cases_are_as_judged(path: Path) -> None:
    cases = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    wrong, judged = [], 0
    for case in cases:
        try:
            node = read(case["expression"])
            event = json.loads(case["event"], parse_float=Decimal, object_pairs_hook=once)
            for mode in MODES:
                setting = Setting(mode, case.get("time_zone", "UTC"))
                if "now" in case:
                    now = datetime.fromisoformat(case["now"])
                    setting = Setting(mode, case.get("time_zone", "UTC"), now)
                truth = evaluate(node, event, setting)
                if truth != case[mode]:
                    wrong.append(f"{case['name']}: {mode}: judged {truth}, not {case[mode]}")
            judged += 1
        except (Unreadable, Unspecified):
            continue
    assert not wrong, "\n".join([f"{len(wrong)} of {judged}", *wrong])
    assert judged > len(cases) / 2
