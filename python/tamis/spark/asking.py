"""Matches a Spark batch.

The engine reads Arrow data directly, except for two of Spark's types. Binary columns are relabelled
as text, which copies nothing. A variant may have another type in every row, so a batch with
variants is converted to Python objects, event by event, and the result to the table that a match of
Arrow data returns.
"""

import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.spark.values import is_binary, is_variant, to_python


def ask(index: Any, method: str, batch: pa.RecordBatch, *given: Any, **how: Any) -> Any:
    """The result of a method of an index or a graph for an Arrow batch.

    Args:
        index: The index or graph.
        method: `match_batch`, `top_batch` or `first_batch`.
        batch: Events; with a column of documents, or of sources, that `how` names.
        given: Further positional arguments of the method.
        how: Its keyword arguments.
    """
    column, beside = how.get("column"), (how.get("documents"), how.get("sources"))
    data_types = {field.name: field.type for field in batch.schema if field.name not in beside}
    if any(_holds_variants(data_type) for data_type in data_types.values()):
        return _one_by_one(index, method, batch, given, how)
    for number, (name, array) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        # The column of events may itself be binary: JSON.
        if name in data_types and not (name == column and is_binary(array.type)):
            readable = _with_texts(array.type)
            if readable != array.type:
                batch = batch.set_column(number, name, array.view(readable))
    return getattr(index, method)(batch, *given, **how)


@functools.lru_cache(maxsize=256)
def _holds_variants(data_type: pa.DataType) -> bool:
    if is_variant(data_type):
        return True
    return any(_holds_variants(field.type) for field in _fields(data_type))


def _fields(data_type: pa.DataType) -> list[pa.Field]:
    return [data_type.field(number) for number in range(data_type.num_fields)]


def _with_texts(data_type: pa.DataType) -> pa.DataType:
    """The type with strings for binaries."""
    if pa.types.is_binary(data_type):
        return pa.string()
    if pa.types.is_large_binary(data_type):
        return pa.large_string()
    if pa.types.is_binary_view(data_type):
        return pa.string_view()
    fields = _fields(data_type)
    readable = [_with_texts(field.type) for field in fields]
    if all(new == field.type for new, field in zip(readable, fields, strict=True)):
        return data_type
    named = [field.with_type(new) for field, new in zip(fields, readable, strict=True)]
    if pa.types.is_struct(data_type):
        return pa.struct(named)
    if pa.types.is_map(data_type):
        key, item = named[0].type.field(0), named[0].type.field(1)
        return pa.map_(key, item)
    if pa.types.is_list(data_type):
        return pa.list_(named[0])
    return pa.large_list(named[0]) if pa.types.is_large_list(data_type) else data_type


# ---------------------------------------------------------------- row by row


def _one_by_one(
    index: Any, method: str, batch: pa.RecordBatch, given: Sequence[Any], how: dict[str, Any]
) -> Any:
    how = dict(how)
    column, document, sources = (how.pop(name, None) for name in ("column", "documents", "sources"))
    metadata = how.pop("metadata", False)
    how.pop("threads", None)
    beside = {name: batch.column(name).to_pylist() for name in (document, sources) if name}
    if column is not None:
        # A string in a variant is a string, not JSON that could be an event.
        events = [
            json.dumps(event) if isinstance(event, str) else event
            for event in to_python(batch.column(column))
        ]
    else:
        names = [name for name in batch.schema.names if name not in beside]
        columns = [to_python(batch.column(name)) for name in names]
        events = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if document:
        how["documents"] = beside[document]
    if sources:
        how["source"] = beside[sources]
    found = getattr(index, method)(events, *given, **how)
    if how.get("on_error", "raise") == "raise":
        return _table(index, method, given, found, metadata)
    return found._replace(matches=_table(index, method, given, found.matches, metadata))


def _table(index: Any, method: str, given: Sequence[Any], found: Any, metadata: bool) -> pa.Table:
    """The matches of Python objects, in the form for Arrow data."""
    if isinstance(found, dict):
        schema = index.match_batch(pa.table({}), count=True).schema
        return pa.table([list(found), list(found.values())], schema=schema)
    if "node" in (schema := _schema(index, method, given, metadata)).names:
        ids = [node for nodes in found for node in nodes]
    else:
        ids = [getattr(match, "id", match) for matches in found for match in matches]
    columns: dict[str, Any] = {
        "event": np.repeat(np.arange(len(found)), [len(matches) for matches in found]),
        "node": ids,
        "subscription": ids,
        "rank": [rank for matches in found for rank in range(1, len(matches) + 1)],
    }
    if "score" in schema.names:
        columns["score"] = [match.score for matches in found for match in matches]
    if "priority" in schema.names:
        columns["priority"] = [index[id].priority for id in ids]
    if "metadata" in schema.names:
        kept = (index[id].metadata for id in ids)
        columns["metadata"] = [None if one is None else json.dumps(one) for one in kept]
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def _schema(index: Any, method: str, given: Sequence[Any], metadata: bool) -> pa.Schema:
    """The columns that a method returns for Arrow data."""
    if not hasattr(index, "top_batch"):  # a graph
        return index.match_batch(pa.table({"s": pa.nulls(0)}), sources="s").schema
    options = {"metadata": True} if metadata else {}
    return getattr(index, method)(pa.table({}), *given, **options).schema
