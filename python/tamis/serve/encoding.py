"""Encodes and decodes JSON."""

import json
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """The JSON of a value."""
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError, TypeError):
        # Lone surrogates, which JSON can only escape, and integers beyond 64 bits.
        return json.dumps(value, separators=(",", ":")).encode()


def encode_lines(values: list[Any]) -> bytes:
    """The JSON of values, each on a line."""
    try:
        return _encoder.encode_lines(values)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return b"".join(encode(value) + b"\n" for value in values)


def decode(json: bytes | str, type: type[T]) -> T:
    """The value of a JSON text.

    Raises:
        ValueError: It is not JSON, or has another type.
    """
    try:
        return msgspec.json.decode(json, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
