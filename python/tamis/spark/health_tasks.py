"""Tasks that process the subscriptions of an index instead of events."""

import json
import time
from collections.abc import Iterator

import pyarrow as pa

from tamis._tamis import Index, read_manifest
from tamis.spark.asking import ask
from tamis.spark.shapes import Batches
from tamis.storage import manifest as manifests
from tamis.storage.cache import open_index
from tamis.storage.folder import Folder

_ROWS = 10_000  # per batch
_REPEATS = 3  # the fastest counts


def list_subscriptions(batches: Batches, uri: str, manifest: str) -> Batches:
    """The subscriptions of the given shards."""
    for _, index in _opened(batches, uri, manifest):
        ids = list(index)
        for start in range(0, len(ids), _ROWS):
            part = [index[id] for id in ids[start : start + _ROWS]]
            metadata = [None if one.metadata is None else json.dumps(one.metadata) for one in part]
            yield pa.RecordBatch.from_arrays(
                [
                    _ids([one.id for one in part]),
                    pa.array([str(one.expression) for one in part], pa.string()),
                    pa.array(metadata, pa.string()),
                    pa.array([one.priority for one in part], pa.int64()),
                ],
                ["subscription", "expression", "metadata", "priority"],
            )


def time_subscriptions(
    batches: Batches,
    uri: str,
    manifest: str,
    events: bytes,
    column: str | None,
    document: str | None,
    every: int,
    n: int,
) -> Batches:
    """The slowest subscriptions of the given shards.

    Args:
        batches: Numbers of shards.
        uri: The folder of the index.
        manifest: The key of its manifest.
        events: A table of events, as an Arrow stream.
        column: The column that holds the events, if one does.
        document: The column that holds the documents, if one does.
        every: Tries every n-th subscription.
        n: The number of results.
    """
    tried = list(pa.ipc.open_stream(events))
    rows = max(1, sum(batch.num_rows for batch in tried))
    given = {"column": column, "documents": document, "threads": 1, "on_error": "skip"}
    for _, index in _opened(batches, uri, manifest):
        timed = list[tuple[float, str | int, str]]()
        for id in list(index)[::every]:
            expression = index[id].expression
            alone = Index(matcher="scan", missing=index.missing, time_zone=index.time_zone)
            alone.add(id, expression)
            best = float("inf")
            for _ in range(_REPEATS):
                started = time.thread_time()
                for batch in tried:
                    ask(alone, "match_batch", batch, **given)
                best = min(best, time.thread_time() - started)
            timed.append((best / rows * 1e6, id, str(expression)))
        timed.sort(key=lambda one: -one[0])
        del timed[n:]
        yield pa.RecordBatch.from_arrays(
            [
                _ids([id for _, id, _ in timed]),
                pa.array([text for _, _, text in timed], pa.string()),
                pa.array([spent for spent, _, _ in timed], pa.float64()),
            ],
            ["subscription", "expression", "microseconds"],
        )


def _opened(batches: Batches, uri: str, manifest: str) -> Iterator[tuple[int, Index]]:
    """Open the given shards; the index itself if it has no shards."""
    name = manifest.partition("@")[0]
    folder = Folder(uri)
    shards = read_manifest("index", folder.path(name), manifests.read_key(folder, manifest))
    for batch in batches:
        for shard in batch.column(0).to_pylist():
            whole = shards.get("shards") is None
            yield shard, open_index(uri, manifest, None if whole else shard)


def _ids(ids: list[str | int]) -> pa.Array:
    kind = pa.int64() if ids and isinstance(ids[0], int) else pa.string()
    return pa.array(ids, kind)
