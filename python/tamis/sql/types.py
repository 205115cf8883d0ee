"""The types of columns.

SQL converts values of different types before it compares them; Tamis never does. To write an
equivalent condition, the writer must know the types.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.errors import ExpressionError

DIGITS = 38

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Type:
    """The type of a column, a part of one, or a term.

    Attributes:
        kind: `string`, `boolean`, `exact` (integers and decimals), `float`, `timestamp`, `date`,
            `span` (a duration), `list`, `object`; or, if no types are given, what follows from use:
            `number`, `time`, `unknown`.
        digits: All digits of an exact number.
        scale: Its digits after the point.
        integer: Whether it is an integer in the database, which may overflow.
        local: Whether a timestamp has no zone.
        narrow: Whether a float has 32 bits.
        element: The type of a list's elements.
        fields: The types of an object's fields.
    """

    kind: str
    digits: int = 0
    scale: int = 0
    integer: bool = False
    local: bool = False
    narrow: bool = False
    element: "Type | None" = None
    fields: Mapping[str, "Type"] = field(default_factory=dict, hash=False)


STRING = Type("string")
BOOLEAN = Type("boolean")
FLOAT = Type("float")
NUMBER = Type("number")
TIMESTAMP = Type("timestamp")
DATE = Type("date")
TIME = Type("time")
SPAN = Type("span")
UNKNOWN = Type("unknown")


def exact(digits: int, scale: int = 0) -> Type:
    """A decimal of this many digits, some of them after the point."""
    return Type("exact", digits=digits, scale=scale)


def integers(digits: int) -> Type:
    """Integers of at most this many digits."""
    return Type("exact", digits=digits, integer=True)


_WORDS = {
    "string": STRING,
    "boolean": BOOLEAN,
    "integer": integers(19),
    "float": FLOAT,
    "timestamp": TIMESTAMP,
    "date": DATE,
}


def read_columns(columns: Any) -> dict[str, Type]:
    """The types of columns, from a mapping of names to words or a `pyarrow.Schema`.

    Raises:
        ExpressionError: A type is not known.
    """
    if isinstance(columns, Mapping):
        return {str(name): _read(str(name), written) for name, written in columns.items()}
    try:
        return {column.name: _from_arrow(column.name, column.type) for column in columns}
    except (AttributeError, TypeError):
        raise ExpressionError(
            "columns must be a mapping of names to types, or a pyarrow.Schema"
        ) from None


def _read(name: str, written: Any) -> Type:
    if isinstance(written, str) and written in _WORDS:
        return _WORDS[written]
    if isinstance(written, str) and written.startswith("decimal(") and written.endswith(")"):
        parts = written.removeprefix("decimal(").removesuffix(")").split(",")
        if len(parts) in (1, 2) and all(part.strip().isdigit() for part in parts):
            digits, scale = int(parts[0]), int(parts[1]) if len(parts) == 2 else 0
            if 1 <= digits <= DIGITS and scale <= digits:
                return exact(digits, scale)
    if isinstance(written, list) and len(written) == 1:
        return Type("list", element=_read(f"{name}[]", written[0]))
    if isinstance(written, Mapping):
        fields = {str(key): _read(f"{name}.{key}", kind) for key, kind in written.items()}
        return Type("object", fields=fields)
    known = ", ".join(f"`{word}`" for word in _WORDS)
    raise ExpressionError(
        f"the column `{name}` has the type {written!r}; known are {known}, "
        "`decimal(digits, scale)`, a list of one type, and a mapping of an object's fields"
    )


def _from_arrow(name: str, kind: Any) -> Type:
    import pyarrow as pa
    import pyarrow.types as of

    if of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind):
        return STRING
    if of.is_boolean(kind):
        return BOOLEAN
    if of.is_integer(kind):
        return integers(len(str(2 ** (kind.bit_width - of.is_signed_integer(kind)))))
    if of.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= DIGITS:
        return exact(kind.precision, kind.scale)
    if of.is_float64(kind) or of.is_float32(kind):
        return Type("float", narrow=of.is_float32(kind))
    if of.is_timestamp(kind) and kind.unit != "ns":
        return Type("timestamp", local=kind.tz is None)
    if of.is_date32(kind):
        return DATE
    if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        return Type("list", element=_from_arrow(f"{name}[]", kind.value_type))
    if of.is_struct(kind):
        fields: list[pa.Field] = [kind.field(i) for i in range(kind.num_fields)]
        return Type(
            "object",
            fields={each.name: _from_arrow(f"{name}.{each.name}", each.type) for each in fields},
        )
    return Type("unsupported " + str(kind))
