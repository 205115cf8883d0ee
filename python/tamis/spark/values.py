"""Converts Spark values to Python values that an index accepts as events.

Most batches go to the engine as they are. Some are converted row by row: events to explain, and
events with variants, whose types differ from row to row.
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(text: str) -> datetime:
    """The time for a text of microseconds since 1970.

    Raises:
        ValueError: The text is not such a number.
    """
    try:
        return _EPOCH + timedelta(microseconds=int(text))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"now must be a timestamp, not {text!r}") from error


def is_variant(data_type: pa.DataType) -> bool:
    """Whether this is Spark's encoding of a variant: two binaries, one of them marked."""
    if not pa.types.is_struct(data_type) or data_type.num_fields != 2:
        return False
    return any((field.metadata or {}).get(b"variant") == b"true" for field in data_type)


def is_binary(data_type: pa.DataType) -> bool:
    """Whether values are bytes."""
    return bool(
        pa.types.is_binary(data_type)
        or pa.types.is_large_binary(data_type)
        or pa.types.is_binary_view(data_type)
    )


def to_python(array: pa.Array) -> list[Any]:
    """The values of an array: structs and maps as dicts, variants as their content, bytes as text.

    Bytes that are not UTF-8 stay bytes, which no attribute can have.
    """
    data_type = array.type
    if is_variant(data_type):
        return list(_variants(array))
    if pa.types.is_struct(data_type):
        names = [field.name for field in data_type]
        columns = [to_python(array.field(number)) for number in range(data_type.num_fields)]
        rows = zip(*columns, strict=True) if columns else (() for _ in range(len(array)))
        dicts = [dict(zip(names, row, strict=True)) for row in rows]
        return _with_nulls(array, dicts)
    if pa.types.is_map(data_type):
        keys, items = to_python(array.keys), to_python(array.items)
        spans = _spans(array)
        dicts = [dict(zip(keys[a:b], items[a:b], strict=True)) for a, b in spans]
        return _with_nulls(array, dicts)
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        values = to_python(array.values)
        return _with_nulls(array, [values[a:b] for a, b in _spans(array)])
    if is_binary(data_type):
        return [to_text(value) for value in array.to_pylist()]
    return list(array.to_pylist())


def _with_nulls(array: pa.Array, values: list[Any]) -> list[Any]:
    if array.null_count == 0:
        return values
    valid = array.is_valid().to_pylist()
    return [value if there else None for value, there in zip(values, valid, strict=True)]


def _spans(array: pa.Array) -> Iterator[tuple[int, int]]:
    """The start and end of each list's entries."""
    return itertools.pairwise(array.offsets.to_pylist())


def _variants(array: pa.Array) -> Iterator[Any]:
    from pyspark.sql.types import VariantVal

    for variant in array.to_pylist():
        held = None if variant is None else VariantVal(variant["value"], variant["metadata"])
        yield None if held is None else variant_to_python(held)


def variant_to_python(variant: Any) -> Any:
    """The value of a variant, with bytes as text."""
    return _texts(variant.toPython())


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _texts(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_texts(element) for element in value]
    return to_text(value) if isinstance(value, bytes) else value


def to_text(value: bytes | None) -> str | bytes | None:
    """Bytes as text; bytes that are not UTF-8 stay bytes, which no attribute can have."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value
