"""Arguments that several commands take."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis._tamis import Index


def _refuse_option(_: object, value: object) -> None:
    if str(value).startswith("-") and str(value) != "-":
        raise ValueError("unknown option; a file of such a name is given with its full path")


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


Where = Annotated[str | None, Parameter(validator=_check_where)]
