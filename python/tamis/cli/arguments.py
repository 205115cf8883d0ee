"""Arguments that several commands take."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis._tamis import Index
from tamis.loading import COLUMNS, METADATA


def _refuse_option(_: object, value: object) -> None:
    if str(value).startswith("-") and str(value) != "-":
        raise ValueError("unknown option; for a file of this name, give its full path")


_OR_STANDARD_INPUT = Parameter(allow_leading_hyphen=True, validator=_refuse_option)

File = Annotated[Path, _OR_STANDARD_INPUT]
FileOrText = Annotated[str, _OR_STANDARD_INPUT]
Json = Annotated[bool, Parameter(name="--json", show_default=False)]
Missing = Literal["unknown", "false"]


def _check_now(_: object, now: str | None) -> None:
    Index().match({}, now=now)


Now = Annotated[str | None, Parameter(validator=_check_now)]


def _check_where(_: object, where: str | None) -> None:
    Index().match({}, where=where)


def _check_columns(_: object, columns: tuple[str, ...]) -> None:
    for part in split(columns):
        name, equals, column = part.partition("=")
        if not (equals and name.strip() and column.strip()):
            raise ValueError(f"write it as in expression=rule, not {part!r}")
        if name.strip() not in COLUMNS and not name.strip().startswith(METADATA):
            known = ", ".join(COLUMNS)
            raise ValueError(f"there is no {name.strip()!r}; known are {known}, {METADATA}NAME")


def split(names: Sequence[str]) -> list[str]:
    """Split texts at commas."""
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Table:
    """How to read the columns of subscriptions in CSV and Parquet.

    Attributes:
        columns: Columns of the file by what they hold, such as
            `expression=rule,active_until=valid_until`.
        metadata: Columns that become members of the metadata, such as `owner,team`.
    """

    columns: Annotated[tuple[str, ...], Parameter(validator=_check_columns)] = ()
    metadata: tuple[str, ...] = ()

    def renamed(self) -> dict[str, str]:
        """The names of the file's columns, mapped to the arguments that they hold."""
        pairs = [part.partition("=") for part in split(self.columns)]
        renamed = {column.strip(): name.strip() for name, _, column in pairs}
        return renamed | {name: METADATA + name for name in split(self.metadata)}


PLAIN_TABLE = Table()

Where = Annotated[str | None, Parameter(validator=_check_where)]
