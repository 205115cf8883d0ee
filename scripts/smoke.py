"""Checks that an installed wheel works. Needs only the wheel."""

import platform
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

import tamis
from tamis import attr, xml

index = tamis.Index(time_zone="Europe/Paris")
index.add("young-west", "age between 18 and 25 and state in ('CA', 'OR', 'WA')")
index.add("no-espn", (attr.category == "sports") & ~attr.source.isin(["espn"]))
index.add_many([("a", "x > 3"), ("b", "name matches '^t.mis$' xor member")])
assert index.match({"age": 21, "state": "CA"}) == ["young-west"]
assert index.match(b'{"x": 4, "name": "tamis", "member": false}') == ["a", "b"]
assert not index.explain("young-west", {"age": 30, "state": "CA"}).matched

with tempfile.TemporaryDirectory() as folder:
    index.save(Path(folder) / "index")
    reopened = tamis.open(Path(folder) / "index", copy=True)  # Windows cannot remove mapped files
    assert reopened.match_batch('{"x": 4}\n{"x": 1}\n') == [["a"], []]

    counts: list[int] = []
    events = [{"x": number} for number in range(1_000)]
    threads = [
        threading.Thread(target=lambda: counts.append(sum(map(len, reopened.match_batch(events)))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [996] * 4, counts

graph = tamis.Graph()
graph.add_edge("pub", "net", expression="topic = 'sports'")
assert list(graph.match({"topic": "sports"}, source="pub")) == ["net"]

filters = xml.Filter()
filters.add("cheap", "//product[@id]/price[. < 300]")
assert filters.match(b"<c><product id='1'><price>299</price></product></c>") == ["cheap"]

native = Path(tamis._tamis.__file__)
print(
    f"tamis {tamis.__version__} works: Python {platform.python_version()}"
    f"{'' if getattr(sys, '_is_gil_enabled', lambda: True)() else ' without the GIL'}, "
    f"{sysconfig.get_platform()}, {native.name} of {native.stat().st_size / 1e6:.1f} MB"
)
