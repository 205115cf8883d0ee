"""The laboratory: published workloads from a seed, and every matcher on the same data.

    from tamis import lab

    lab.generate("fontoura", 100_000, events=1000, seed=1, folder="data")
    print(lab.compare([("a", "x > 3")], [b'{"x": 4}']).recommendation)

`generating` writes workloads, `comparing` runs each matcher in a process of its own (`worker`),
`recording` keeps what was measured.

Figures of papers are drawn again in steps: `experiment` reads what to measure (over `tables`,
`metrics` and `cells`), `measurable` knows what there is, `running` measures cell by cell
(`measuring`, over `process`; `foreign` what is not ours), `records` keeps rows, `results` finds
them, `findings` says what they mean, `charts` (in `styles`) and `grids` show them, `reporting` puts
all on a page.
"""

from tamis.lab.comparing import MATCHERS, XML_MATCHERS, compare
from tamis.lab.generating import generate
from tamis.lab.measurement import Comparison, Measurement
from tamis.lab.recording import record

__all__ = [
    "MATCHERS",
    "XML_MATCHERS",
    "Comparison",
    "Measurement",
    "compare",
    "generate",
    "record",
]
