"""What would a loop over lxml's precompiled expressions take on the workload of `cargo bench`?

Reads the filters and documents that the benchmark wrote into a folder, and measures both on the
same documents, from Python. The matches must be the same.
"""

import sys
import time
from pathlib import Path

from lxml import etree

from tamis import xml

DOCUMENTS = 5
PASSES = 20


def main(folder: Path) -> None:
    documents = (folder / "documents.txt").read_bytes().split(b"\n")[:DOCUMENTS]
    print(f"a loop over lxml {etree.__version__}, the same {DOCUMENTS} documents")
    for tests in ("0", "1"):
        queries = (folder / f"{tests}-filters.txt").read_text().split("\n")
        filters = xml.Filter()
        filters.add_many(enumerate(queries))
        expected = [filters.match(document) for document in documents]
        start = time.perf_counter()
        for _ in range(PASSES):
            for document in documents:
                filters.match(document)
        ours = (time.perf_counter() - start) / (PASSES * DOCUMENTS)

        compiled = [etree.XPath(f"boolean({query})") for query in queries]
        start = time.perf_counter()
        found = []
        for document in documents:
            tree = etree.fromstring(document)
            found.append([at for at, query in enumerate(compiled) if query(tree)])
        theirs = (time.perf_counter() - start) / DOCUMENTS
        assert found == expected, "lxml finds other matches"
        print(
            f"{len(queries)} filters, {tests} tests of values: "
            f"lxml {theirs * 1e3:.1f} ms per document, tamis {ours * 1e3:.3f} ms, "
            f"{theirs / ours:,.0f} times as fast"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
