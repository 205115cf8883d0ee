"""The laboratory: seeded workloads from the papers, and every matcher on the same data.

    from tamis import lab

    lab.generate("fontoura", 100_000, events=1000, seed=1, folder="data")
    print(lab.compare([("a", "x > 3")], [b'{"x": 4}']).recommendation)

`workloads` writes workloads to files. `comparison` ranks the matchers on your own data; `timing`
measures each in its own process.

Repeating the figures of the papers takes several steps: `experiments` reads them from TOML files,
`runner` measures them cell by cell (`cells`), `records` stores the results, `charts` draws them,
`verdicts` decides which claims of the papers they confirm and where the default matcher was not
fastest, and `report` writes everything on one page.
"""

from tamis.lab.comparison import MATCHERS, XML_MATCHERS, Comparison, Measurement, compare
from tamis.lab.records import record
from tamis.lab.workloads import generate, statistics

__all__ = [
    "MATCHERS",
    "XML_MATCHERS",
    "Comparison",
    "Measurement",
    "compare",
    "generate",
    "record",
    "statistics",
]
