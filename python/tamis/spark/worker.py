"""The code that runs on workers: it builds shards and matches batches.

Functions here take and return iterators of record batches, as `mapInArrow` requires, and also take
plain values; `shipping` sends them to the workers.
"""

import contextlib
import functools
import gc
import hashlib
import json
import textwrap
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tamis._tamis import Builder, Index, Limits, Workload, read_manifest
from tamis.batches import Refused, on_one_line
from tamis.builder import any_of, attr, values
from tamis.errors import MetadataWarning, StorageError, TamisError
from tamis.spark import asking, shapes
from tamis.spark.shapes import Batches
from tamis.spark.values import moment_of
from tamis.storage import manifest as manifests
from tamis.storage.cache import ids_of, load_index, open_graph, open_index
from tamis.storage.folder import Folder

SHARD = "_tamis_shard"
VERSION = "_tamis_index"
NOW = "_tamis_now"
DIGEST = "_tamis_digest"  # digest of a row: the first hexadecimal digits of its SHA-256
DIGEST_LENGTH = 40
REFUSED = "event_error"  # why an event could not be read
_SHOWN = 200  # characters of a row in a message
_MANY = 100_000  # a manifest does not list more attributes than this


@functools.cache
def ignore_metadata_warnings() -> None:
    """Leave these to the driver: the names in a `where` need not occur in every shard."""
    warnings.simplefilter("ignore", MetadataWarning)


@functools.cache
def freeze() -> None:
    """Exclude what the first task has loaded from the collection after every task."""
    gc.collect()
    gc.freeze()


# ---------------------------------------------------------------- building


BUILT = (
    f"{SHARD} int, entry string, subscriptions bigint, errors bigint, error_file string, "
    "fingerprint string, seconds double"
)
ERRORS = "id string, position bigint, message string, expression string"


def build_shards(
    batches: Batches,
    uri: str,
    previous: str | None,
    missing: Any,
    time_zone: str,
    metadata_columns: Sequence[str],
    limits: Mapping[str, Any] | None,
    drop_refused: bool,
) -> Batches:
    """Build the shard whose rows a task has received, and report the result.

    Args:
        batches: Rows of one shard. If they have the column `DIGEST`, the shard gets a fingerprint.
        uri: The folder of the index.
        previous: The key of the manifest whose subscriptions stay if rows do not change them.
        missing: The truth of a predicate on an attribute without a value.
        time_zone: The zone of times without an offset.
        metadata_columns: The members of metadata to index.
        limits: Limits on expressions.
        drop_refused: Whether a refused row also removes the subscription of `previous`.
    """
    started, folder = time.perf_counter(), Folder(uri)
    builder = Builder(
        missing=missing,
        time_zone=time_zone,
        metadata_columns=metadata_columns,
        limits=Limits(**limits) if limits else None,
    )
    shard, refused, digests = None, [], list[pa.Array]()
    for batch in batches:
        if batch.num_rows == 0:
            continue
        shard = batch.column(SHARD)[0].as_py()
        table = builder.add(batch)
        if table.num_rows:
            refused.append(table)
        if DIGEST in batch.schema.names:
            digests.append(batch.column(DIGEST))
    if shard is None:
        return
    if previous is not None:
        builder.keep(_without_refused(uri, previous, shard, refused if drop_refused else []))
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
        "fingerprint": pa.array([fingerprint(digests)], pa.string()),
        "seconds": pa.array([time.perf_counter() - started], pa.float64()),
    }
    yield pa.RecordBatch.from_pydict(columns)


def _without_refused(uri: str, key: str, shard: int, refused: list[pa.Table]) -> Index:
    """A shard of a version without the subscriptions whose new rows were refused."""
    if not refused:
        return open_index(uri, key, shard)
    index = load_index(Folder(uri), key, shard)  # not the cached one, because it is changed
    ids = {id for table in refused for id in table.column("id").to_pylist() if id is not None}
    integers = isinstance(next(iter(index), None), int)
    index.remove_many([int(id) for id in ids] if integers else ids, on_error="skip")
    return index


def fingerprint(digests: Sequence[pa.Array]) -> str | None:
    """The fingerprint of rows with these digests, independent of their order and of repetitions.

    `building.fingerprints` is the same for Spark: the SHA-256 of the distinct digests, sorted.
    """
    if not digests:
        return None
    distinct = pa.chunked_array(digests).unique().cast(pa.string())
    ordered = distinct.take(pa.compute.sort_indices(distinct))
    text = memoryview(ordered.buffers()[2])[: DIGEST_LENGTH * len(ordered)]
    return hashlib.sha256(text).hexdigest()


def _save(index: Index, folder: Folder, place: Path, shard: int) -> dict[str, Any]:
    """Write the segment of an index to a folder, and return its entry for the manifest."""
    index.save(place)
    path = place / "index.json"
    manifest = read_manifest("index", path, path.read_bytes())
    del manifest["checksum"]  # it is no longer valid
    attributes = index.attributes
    for entry in manifests.entries(manifest):
        file = place / entry["file"]
        entry |= {"shard": shard, "bytes": file.stat().st_size}
        folder.take(file)
    for segment in manifest["segments"]:
        listed = None if len(attributes) >= _MANY or index.asks_values else sorted(attributes)
        segment |= {"subscriptions": len(index), "attributes": listed, "now": index.asks_now}
    return manifest


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
    collect: bool,
    where: str | None = None,
    most: int | None = None,
    by: str | None = None,
    weights: Mapping[str, float] | None = None,
) -> Batches:
    """The kept columns of every event with the subscriptions it matches.

    Args:
        batches: Events. The column `SHARD`, if there is one, names the shard; without a manifest,
            the column `VERSION` names it. Events with a reason in the column `REFUSED` are skipped.
        uri: The folder of the index.
        names: The names of the columns.
        manifest: The key of its manifest.
        column: The column that holds the events, if one does.
        attributes: Otherwise the columns that are attributes.
        document: The column that holds the documents, if one does.
        keep: The columns of events to keep in the result.
        metadata: Whether the subscriptions' metadata is added.
        lists: Whether there is one row per event, instead of one per match.
        add_version: Whether the version of the index is added.
        collect: Whether the column `REFUSED` is added, instead of failing, and a row for every
            event that cannot be read.
        where: The condition on the metadata of subscriptions, if there is one.
        most: The maximum number of matches; all by default.
        by: With `most`, whether to return the best by `score` or by `priority`.
        weights: With `by="score"`, the weights of the events' attributes.
    """
    given: dict[str, Any] = {"documents": document, "column": column, "threads": 1, "where": where}
    looked_at = [column] if column is not None else list(attributes)
    if document is not None:
        looked_at.append(document)

    def answer(index: Index, events: pa.RecordBatch, **how: Any) -> Any:
        if most is None:
            return asking.ask(index, "match_batch", events, metadata=metadata, **given, **how)
        if by == "priority":
            return asking.ask(index, "first_batch", events, most, **given, **how)
        return asking.ask(index, "top_batch", events, most, weights=weights, **given, **how)

    for batch in batches:
        for name, shard, part in _parts(batch.rename_columns(list(names)), manifest):
            index = open_index(uri, name, shard)
            version = pa.scalar(manifests.version_of(name), pa.int64())
            ask = functools.partial(answer, index, now=_now(part))
            named = ["subscriptions", "metadata"] if lists else None
            for result in _answer(part, looked_at, keep, ask, named, collect):
                if add_version:
                    versions = pa.repeat(version, result.num_rows)
                    yield result.append_column("version", versions)
                else:
                    yield result


def count_batches(
    batches: Batches,
    uri: str,
    names: Sequence[str],
    manifest: str,
    column: str | None,
    document: str | None,
    attributes: Sequence[str],
    where: str | None,
    skip: bool,
) -> Batches:
    """How many events of a task each subscription matches.

    Args:
        batches: Events. The column `SHARD`, if there is one, names the shard. Events with a reason
            in the column `REFUSED` are skipped.
        uri: The folder of the index.
        names: The names of the columns.
        manifest: The key of its manifest.
        column: The column that holds the events, if one does.
        document: The column that holds the documents, if one does.
        attributes: Otherwise the columns that are attributes.
        where: The condition on the metadata of subscriptions, if there is one.
        skip: Whether events that cannot be read are left out, instead of failing.
    """
    looked_at = [column] if column is not None else list(attributes)
    if document is not None:
        looked_at.append(document)
    counted: pa.Table | None = None
    for batch in batches:
        for name, shard, part in _parts(batch.rename_columns(list(names)), manifest):
            index = open_index(uri, name, shard)
            events = part.select(looked_at)
            if REFUSED in part.schema.names:
                reasons = part.column(REFUSED)
                events = events.take(pa.array(np.flatnonzero(reasons.is_null()), pa.uint64()))
            with _naming_rows(part):
                found: Any = asking.ask(
                    index,
                    "match_batch",
                    events,
                    count=True,
                    where=where,
                    documents=document,
                    column=column,
                    threads=1,
                    now=_now(part),
                    on_error="skip" if skip else "raise",
                )
            counts = found.matches if skip else found
            # The counts so far are one table, so a task keeps one row per subscription.
            counted = counts if counted is None else pa.concat_tables([counted, counts])
            if counted.num_rows > 2 * counts.num_rows + 1_000_000:
                counted = _summed(counted)
    if counted is not None:
        counted = _summed(counted)
        columns = [counted.column("subscription"), counted.column("count").cast(pa.int64())]
        yield from pa.table(columns, ["subscription", "count"]).to_batches(max_chunksize=100_000)


def _summed(counted: pa.Table) -> pa.Table:
    """One row per subscription."""
    summed = counted.group_by("subscription").aggregate([("count", "sum")])
    return summed.rename_columns(["subscription", "count"])


def check_batches(
    batches: Batches,
    uri: str,
    names: Sequence[str],
    manifest: str | None,
    column: str | None,
    document: str | None,
    attributes: Sequence[str],
) -> Batches:
    """Every row with the column `REFUSED`: why its event cannot be read, or null.

    A shard decodes only the attributes that it mentions; this decodes the attributes of the whole
    index, so an event is refused by all shards or by none.
    """
    looked_at = [column] if column is not None else list(attributes)
    if document is not None:
        looked_at.append(document)
    for batch in batches:
        for name, _, part in _parts(batch.rename_columns(list(names)), manifest):
            found = asking.ask(
                _checker(uri, name),
                "match_batch",
                part.select(looked_at),
                documents=document,
                column=column,
                threads=1,
                on_error="collect",
            )
            nothing = pa.nulls(part.num_rows, pa.string())
            yield part.append_column(REFUSED, _reasons(nothing, found.refused))


@functools.lru_cache(maxsize=4)
def _checker(uri: str, name: str) -> Index:
    """An index that mentions the same attributes as another."""
    manifest = manifests.read(Folder(uri), manifests.version_of(name))
    mentioned = manifest.attributes
    if mentioned is not None:
        return mentioning(mentioned)
    # Too many to list, or `values()` needs all of them.
    shards = [open_index(uri, manifest.name, n) for n in range(manifest.shards or 1)]
    index = mentioning({name for shard in shards for name in shard.attributes})
    if any(shard.asks_values for shard in shards):
        index.add("values", values().exists())
    return index


def mentioning(attributes: Iterable[str]) -> Index:
    """An index that mentions these attributes, and so decodes them."""
    index = Index(limits=Limits(nodes=1 << 30, depth=1 << 30, text=1 << 30))
    index.add("all", any_of([attr[name].exists() for name in sorted(attributes)]))
    return index


def explain_batches(batches: Batches, uri: str, manifest: str, names: Sequence[str]) -> Batches:
    """Every row with its explanation; the last columns are the event as JSON, the id, and now."""
    index = open_index(uri, manifest, None)
    for batch in batches:
        now = _now(batch.rename_columns(list(names)))
        *kept, events, ids, _ = batch.columns
        pairs = zip(ids.to_pylist(), events.to_pylist(), strict=True)
        explained = [str(index.explain(id, event, now=now)) for id, event in pairs]
        texts = pa.array(explained, pa.string())
        yield pa.RecordBatch.from_arrays([*kept, texts], [*names[:-3], "explanation"])


def current_manifest(batches: Batches, uri: str, shards: int, ids: str) -> Batches:
    """The key of the current manifest, for every row.

    Args:
        batches: Any rows.
        uri: The folder of the index.
        shards: The number of shards it must have.
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
        yield pa.RecordBatch.from_pydict({VERSION: [current.key] * batch.num_rows})


def search_batches(
    batches: Batches,
    uri: str,
    names: Sequence[str],
    manifest: str | None,
    column: str | None,
    attributes: Sequence[str],
    keep: Sequence[str],
    lists: bool,
    collect: bool,
    searched: Mapping[str, Any],
) -> Batches:
    """The kept columns of every event with the nodes of a graph that it reaches.

    Args:
        batches: Events. Without a manifest, the column `VERSION` names it.
        uri: The folder of the graph.
        names: The names of the columns.
        manifest: The key of its manifest.
        column: The column that holds the events, if one does.
        attributes: Otherwise the columns that are attributes.
        keep: The columns of events to keep in the result.
        lists: Whether there is one row per event, instead of one per node.
        collect: Whether the column `REFUSED` is added, instead of failing, and a row for every
            event that cannot be read.
        searched: Further arguments of `Graph.match_batch`.
    """
    looked_at = [column] if column is not None else list(attributes)
    if searched["sources"] is not None:
        looked_at.append(searched["sources"])
    for batch in batches:
        for key, _, part in _parts(batch.rename_columns(list(names)), manifest):
            graph = open_graph(uri, key)
            how = {"column": column, "now": _now(part), **searched}
            ask = functools.partial(asking.ask, graph, "match_batch", **how)
            yield from _answer(part, looked_at, keep, ask, ["nodes"] if lists else None, collect)


def current_graph(batches: Batches, uri: str, ids: str) -> Batches:
    """The key of the current graph, for every row.

    Args:
        batches: Any rows.
        uri: The folder of the graph.
        ids: The type that its ids must have.
    """
    for batch in batches:
        if batch.num_rows == 0:
            continue
        key = manifests.read(Folder(uri), kind="graph").key
        if (found := ids_of(open_graph(uri, key))) != ids:
            raise StorageError(
                f"{Folder(uri)}: the graph has ids of the type {found} now; the stream began with "
                f"{ids}: start it again",
                path=uri,
            )
        yield pa.RecordBatch.from_pydict({VERSION: [key] * batch.num_rows})


def _answer(
    part: pa.RecordBatch,
    looked_at: Sequence[str],
    keep: Sequence[str],
    ask: Callable[..., Any],
    lists: Sequence[str] | None,
    collect: bool,
) -> Batches:
    """The kept columns of events with their matches, and with `REFUSED` if requested.

    Args:
        part: Events.
        looked_at: The columns with the events.
        keep: The columns to keep in the result.
        ask: Matches the events of a batch, and takes `on_error`.
        lists: For one row per event, the names of the columns of lists.
        collect: Whether to return events that cannot be read, with the reason.
    """
    kept = part.select(list(keep))
    if not collect:
        with _naming_rows(kept):
            found = ask(part.select(list(looked_at)))
        yield from _shape(kept, _ranked(found), lists)
        return
    events = part.select(list(looked_at))
    reasons, rows = pa.nulls(part.num_rows, pa.string()), None
    if REFUSED in part.schema.names:
        reasons = part.column(REFUSED)
        rows = pa.array(np.flatnonzero(reasons.is_null()), pa.uint64())
        events = events.take(rows)
    found, refused = ask(events, on_error="collect")
    if rows is not None:
        found = found.set_column(0, "event", rows.take(found.column(0).combine_chunks()))
        refused = [Refused(rows[event.row].as_py(), event.error) for event in refused]
    kept = kept.append_column(REFUSED, _reasons(reasons, refused))
    found = _ranked(found)
    if lists is None:
        numbers = pa.array(np.flatnonzero(kept.column(REFUSED).is_valid()), pa.uint64())
        nothing = {field.name: pa.nulls(len(numbers), field.type) for field in found.schema}
        yield from shapes.pairs(kept, pa.table({**nothing, "event": numbers}))
    yield from _shape(kept, found, lists)


def _ranked(found: pa.Table) -> pa.Table:
    """Matches whose ranks, if any, have a type that Spark supports."""
    if "rank" not in found.schema.names:
        return found
    return found.set_column(3, "rank", found.column("rank").cast(pa.int32()))


def _reasons(reasons: pa.Array, refused: Sequence[Refused]) -> pa.Array:
    """Reasons, with those of more events."""
    if not refused:
        return reasons
    texts = reasons.to_pylist()
    for event in refused:
        texts[event.row] = on_one_line(event)
    return pa.array(texts, pa.string())


@contextlib.contextmanager
def _naming_rows(kept: pa.RecordBatch) -> Iterator[None]:
    """In errors, identify an event by its kept columns instead of its number in a batch."""
    try:
        yield
    except TamisError as error:
        if error.item is not None:
            row = _describe(kept.slice(error.item, 1)) if kept.num_columns else "an event"
            error.message = f'{row}: {error.message}; on_error="collect" lists all such events'
            error.item = None
        raise


def _describe(row: pa.RecordBatch) -> str:
    parts = list[str]()
    for name, column in zip(row.schema.names, row.columns, strict=True):
        try:
            value = repr(column[0].as_py())
        except UnicodeDecodeError:  # the error may be about this value
            value = "?"
        parts.append(f"{name}={value}")
    return textwrap.shorten(f"event with {', '.join(parts)}", _SHOWN, placeholder=" ...")


def _shape(kept: pa.RecordBatch, found: pa.Table, lists: Sequence[str] | None) -> Batches:
    if lists is None:
        return shapes.pairs(kept, found)
    return shapes.lists(kept, found, lists[: found.num_columns - 1])


def _now(events: pa.RecordBatch) -> Any:
    """The value of `now()`, the same for all events of the query; None if no rule uses it."""
    if events.num_rows == 0 or NOW not in events.schema.names:
        return None
    text = events.column(NOW)[0].as_py()
    return None if text is None else moment_of(text)


def _parts(
    batch: pa.RecordBatch, manifest: str | None
) -> Iterator[tuple[str, Any, pa.RecordBatch]]:
    """Split a batch by manifest and shard; mostly there is one of each."""
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
    """The items with the given numbers.

    Args:
        batches: One column of numbers.
        workload: The name of the workload.
        kind: `expressions` or `events`.
        seed: Its seed.
        size: The number of expressions that it is designed for.
        parameters: Parameters to change, as JSON.
        names: The names of the two columns.
    """
    source = _workload(workload, size, seed, parameters)
    make = source.expressions if kind == "expressions" else source.events
    for batch in batches:
        numbers = np.asarray(batch.column(0))
        breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
        for run in np.split(numbers, breaks):
            if len(run):
                yield make(int(run[0]), len(run)).rename_columns(list(names))
