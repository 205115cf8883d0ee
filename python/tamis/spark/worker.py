"""What runs on the workers: shards are built, batches are matched.

Functions here take and give iterators of record batches, as `mapInArrow` wants them, and plain
values besides; `shipping` sends them there.
"""

import contextlib
import functools
import gc
import json
import textwrap
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tamis._tamis import Builder, Index, Limits, Workload
from tamis.errors import StorageError, TamisError
from tamis.spark import manifest as manifests
from tamis.spark import shapes
from tamis.spark.cache import graph_file, ids_of, open_graph, open_index
from tamis.spark.shapes import Batches
from tamis.spark.storage import Folder

SHARD = "_tamis_shard"
VERSION = "_tamis_index"
_SHOWN = 200  # characters of a row in a message
_MANY = 100_000  # attributes, beyond which a manifest does not list them


def run(function: str, batches: Batches, arguments: Mapping[str, Any]) -> Batches:
    """Run a function of this module: what a task does.

    Args:
        function: Its name.
        batches: The rows of the task's partition.
        arguments: What it takes besides.
    """
    yield from globals()[function](batches, **arguments)
    _freeze()


@functools.cache
def _freeze() -> None:
    """A process collects garbage after every task; what the first has loaded is passed over."""
    gc.collect()
    gc.freeze()


# ---------------------------------------------------------------- building


BUILT = (
    f"{SHARD} int, entry string, subscriptions bigint, errors bigint, error_file string, "
    "seconds double"
)
ERRORS = "id string, position bigint, message string, expression string"


def build_shards(
    batches: Batches,
    uri: str,
    previous: str | None,
    missing: Any,
    time_zone: str,
    limits: Mapping[str, Any] | None,
) -> Batches:
    """Build the shard whose rows a task has got, and say what came of it.

    Args:
        batches: Rows of one shard.
        uri: The folder of the index.
        previous: The manifest whose subscriptions are kept where rows do not change them.
        missing: What a predicate is on an attribute without a value.
        time_zone: Where times without an offset are at home.
        limits: Bounds on expressions.
    """
    started, folder = time.perf_counter(), Folder(uri)
    builder = Builder(
        missing=missing, time_zone=time_zone, limits=Limits(**limits) if limits else None
    )
    shard, refused = None, []
    for batch in batches:
        if batch.num_rows == 0:
            continue
        shard = batch.column(SHARD)[0].as_py()
        table = builder.add(batch)
        if table.num_rows:
            refused.append(table)
    if shard is None:
        return
    if previous is not None:
        builder.keep(open_index(uri, previous, shard))
    with folder.workplace() as place:
        index = builder.finish()
        entry = _save(index, folder, Path(place), shard)
        errors, error_file = sum(table.num_rows for table in refused), None
        if refused:
            error_file = _save_errors(pa.concat_tables(refused), folder, Path(place))
    columns = {
        SHARD: pa.array([shard], pa.int32()),
        "entry": pa.array([json.dumps(entry)], pa.string()),
        "subscriptions": pa.array([len(index)], pa.int64()),
        "errors": pa.array([errors], pa.int64()),
        "error_file": pa.array([error_file], pa.string()),
        "seconds": pa.array([time.perf_counter() - started], pa.float64()),
    }
    yield pa.RecordBatch.from_pydict(columns)


def _save(index: Index, folder: Folder, place: Path, shard: int) -> dict[str, Any]:
    """Put the segment of an index into a folder, and return its part of the manifest."""
    index.save(place)
    manifest = json.loads((place / "index.json").read_bytes())
    attributes = index.attributes
    for entry in manifests.entries(manifest):
        file = place / entry["file"]
        entry |= {"shard": shard, "bytes": file.stat().st_size}
        folder.take(file)
    for segment in manifest["segments"]:
        listed = sorted(attributes) if len(attributes) < _MANY else None
        segment |= {"subscriptions": len(index), "attributes": listed}
    content: dict[str, Any] = manifest
    return content


def _save_errors(errors: pa.Table, folder: Folder, place: Path) -> str:
    name = f"errors-{uuid.uuid4().hex}.parquet"
    pyarrow.parquet.write_table(errors, place / name)
    folder.take(place / name)
    return name


def read_errors(batches: Batches, uri: str) -> Batches:
    """The rows of the files that are named in the column `file`."""
    folder = Folder(uri)
    for batch in batches:
        for name in batch.column("file").to_pylist():
            table = pyarrow.parquet.read_table(pa.BufferReader(folder.read(name)))
            yield from table.to_batches(max_chunksize=10_000)


# ---------------------------------------------------------------- matching


def match_batches(
    batches: Batches,
    uri: str,
    names: Sequence[str],
    manifest: str | None,
    column: str | None,
    document: str | None,
    attributes: Sequence[str],
    keep: Sequence[str],
    metadata: bool,
    lists: bool,
    add_version: bool,
    most: int | None = None,
    weights: Mapping[str, float] | None = None,
) -> Batches:
    """The kept columns of every event with the subscriptions it matches.

    Args:
        batches: Events. The column `SHARD`, if there is one, says which shard is meant; where no
            manifest is given, the column `VERSION` says which.
        uri: The folder of the index.
        names: What the columns are called.
        manifest: Its manifest.
        column: The column that holds the events, if one does.
        attributes: Otherwise the columns that are attributes.
        document: The column that holds the documents, if one does.
        keep: The columns of events that come out again.
        metadata: Whether the subscriptions' metadata is added.
        lists: Whether there is one row per event, instead of one per match.
        add_version: Whether the version of the index is added.
        most: How many of the best matches are wanted; all by default.
        weights: With `most`, the weights of the events' attributes.
    """
    given: dict[str, Any] = {"documents": document, "column": column, "threads": 1}
    looked_at = [column] if column is not None else list(attributes)
    if document is not None:
        looked_at.append(document)
    for batch in batches:
        for name, shard, part in _parts(batch.rename_columns(list(names)), manifest):
            index = open_index(uri, name, shard)
            events, kept = part.select(looked_at), part.select(list(keep))
            with _naming_rows(kept):
                if most is None:
                    found = index.match_batch(events, metadata=metadata, **given)
                else:
                    found = index.top_batch(events, most, weights=weights, **given)
                    found = found.set_column(3, "rank", found.column("rank").cast(pa.int32()))
            version = pa.scalar(manifests.version_of(name), pa.int64())
            for result in _shape(kept, found, ["subscriptions", "metadata"] if lists else None):
                if add_version:
                    versions = pa.repeat(version, result.num_rows)
                    yield result.append_column("version", versions)
                else:
                    yield result


def explain_batches(batches: Batches, uri: str, manifest: str, names: Sequence[str]) -> Batches:
    """Every row with its explanation; the last two columns are the event as JSON, and the id."""
    index = open_index(uri, manifest, None)
    for batch in batches:
        *kept, events, ids = batch.columns
        pairs = zip(ids.to_pylist(), events.to_pylist(), strict=True)
        texts = pa.array([str(index.explain(id, event)) for id, event in pairs], pa.string())
        yield pa.RecordBatch.from_arrays([*kept, texts], [*names[:-2], "explanation"])


def current_manifest(batches: Batches, uri: str, shards: int, ids: str) -> Batches:
    """The manifest that is current now, for every row.

    Args:
        batches: Any rows.
        uri: The folder of the index.
        shards: How many shards it must have.
        ids: The type that its ids must have.
    """
    for batch in batches:
        if batch.num_rows == 0:
            continue
        current = manifests.read(Folder(uri))
        if (current.shards, current.ids) != (shards, ids):
            raise StorageError(
                f"{current.folder}: version {current.version} has {current.shards} shards and "
                f"ids of the type {current.ids}; the stream began with {shards} and {ids}: start "
                "it again",
                path=str(current.folder),
            )
        yield pa.RecordBatch.from_pydict({VERSION: [current.name] * batch.num_rows})


def search_batches(
    batches: Batches,
    uri: str,
    names: Sequence[str],
    file: str | None,
    column: str | None,
    attributes: Sequence[str],
    keep: Sequence[str],
    lists: bool,
    searched: Mapping[str, Any],
) -> Batches:
    """The kept columns of every event with the nodes of a graph that it reaches.

    Args:
        batches: Events. Where no file is given, the column `VERSION` says which.
        uri: The folder of the graph.
        names: What the columns are called.
        file: The file of the graph.
        column: The column that holds the events, if one does.
        attributes: Otherwise the columns that are attributes.
        keep: The columns of events that come out again.
        lists: Whether there is one row per event, instead of one per node.
        searched: What else `Graph.match_batch` takes.
    """
    looked_at = [column] if column is not None else list(attributes)
    if searched["sources"] is not None:
        looked_at.append(searched["sources"])
    for batch in batches:
        for version, _, part in _parts(batch.rename_columns(list(names)), file):
            graph = open_graph(uri, version)
            kept = part.select(list(keep))
            with _naming_rows(kept):
                found = graph.match_batch(part.select(looked_at), column=column, **searched)
            yield from _shape(kept, found, ["nodes"] if lists else None)


def current_graph(batches: Batches, uri: str, ids: str) -> Batches:
    """The file of the graph that is current now, for every row.

    Args:
        batches: Any rows.
        uri: The folder of the graph.
        ids: The type that its ids must have.
    """
    for batch in batches:
        if batch.num_rows == 0:
            continue
        file = graph_file(Folder(uri))
        if (found := ids_of(open_graph(uri, file))) != ids:
            raise StorageError(
                f"{Folder(uri)}: the graph has ids of the type {found} now; the stream began with "
                f"{ids}: start it again",
                path=uri,
            )
        yield pa.RecordBatch.from_pydict({VERSION: [file] * batch.num_rows})


@contextlib.contextmanager
def _naming_rows(kept: pa.RecordBatch) -> Iterator[None]:
    """Have an error about an event say which row it is, by the columns that are kept."""
    try:
        yield
    except TamisError as error:
        if error.item is not None and kept.num_columns:
            (row,) = kept.slice(error.item, 1).to_pylist()
            named = ", ".join(f"{name}={value!r}" for name, value in row.items())
            error.subject = textwrap.shorten(f"event with {named}", _SHOWN, placeholder=" ...")
        raise


def _shape(kept: pa.RecordBatch, found: pa.Table, lists: Sequence[str] | None) -> Batches:
    if lists is None:
        return shapes.pairs(kept, found)
    return shapes.lists(kept, found, lists[: found.num_columns - 1])


def _parts(
    batch: pa.RecordBatch, manifest: str | None
) -> Iterator[tuple[str, Any, pa.RecordBatch]]:
    """A batch by manifest and shard: mostly there is one of each."""
    names = batch.schema.names
    keys = [name for name in (VERSION, SHARD) if name in names]
    if not keys:
        assert manifest is not None
        yield manifest, None, batch
        return
    distinct = pa.Table.from_batches([batch.select(keys)]).group_by(keys).aggregate([])
    for key in distinct.to_pylist():
        part = batch
        if distinct.num_rows > 1:
            for name, value in key.items():
                part = part.filter(pa.compute.equal(part.column(name), value))
        version = manifest if manifest is not None else key[VERSION]
        yield version, key.get(SHARD), part


# ---------------------------------------------------------------- generating


@functools.lru_cache(maxsize=4)
def _workload(name: str, size: int, seed: int, parameters: str) -> Workload:
    return Workload(name, size=size, seed=seed, parameters=parameters)


def generate(
    batches: Batches,
    workload: str,
    kind: str,
    seed: int,
    size: int,
    parameters: str,
    names: Sequence[str],
) -> Batches:
    """The items whose numbers come in.

    Args:
        batches: One column of numbers.
        workload: The name of the workload.
        kind: `expressions` or `events`.
        seed: Its seed.
        size: How many expressions it is meant for.
        parameters: Those that are not as usual, as JSON.
        names: What the two columns are called.
    """
    source = _workload(workload, size, seed, parameters)
    make = source.expressions if kind == "expressions" else source.events
    for batch in batches:
        numbers = np.asarray(batch.column(0))
        breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
        for run in np.split(numbers, breaks):
            if len(run):
                yield make(int(run[0]), len(run)).rename_columns(list(names))
