"""How does one's own data come in? As JSON lines, or as Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tamis.cli.output import INVALID, CommandError
from tamis.cli.reading import Source, enumerate_lines
from tamis.cli.subscriptions import read_records
from tamis.errors import TamisError


def read_subscriptions(path: Path) -> list[tuple[str | int, str]]:
    """The ids and expressions of a file."""
    if path.suffix == ".parquet":
        return [(id, text) for _, id, text in _rows(path, "id", "expression")]
    pairs = []
    with Source(path) as source:
        for number, record in read_records(source):
            try:
                pairs.append((record.id, str(record.expression())))
            except TamisError as error:
                raise CommandError(f"{source.name}:{number}: {error.message}", INVALID) from error
    return pairs


def read_events(path: Path) -> Iterator[tuple[int, bytes]]:
    """The events of a file, as JSON, with their lines or rows."""
    if path.suffix == ".parquet":
        for number, event in _rows(path, "event"):
            yield number, event.encode() if isinstance(event, str) else event
        return
    with Source(path) as source:
        for first, chunk in source.chunks():
            yield from enumerate_lines(first, chunk)


def _rows(path: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Rows with their numbers, from 1."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise CommandError("Parquet needs pyarrow: pip install 'tamis[arrow]'") from error
    number = 0
    try:
        with ParquetFile(path) as file:
            if missing := [name for name in columns if name not in file.schema_arrow.names]:
                raise CommandError(f"{path}: there is no column `{missing[0]}`")
            for batch in file.iter_batches(columns=list(columns)):
                for row in zip(*(batch[name].to_pylist() for name in columns), strict=True):
                    number += 1
                    if None in row:
                        raise CommandError(f"{path}:{number}: a value is missing", INVALID)
                    yield number, *row
    except (ArrowException, OSError) as error:
        raise CommandError(f"cannot read {path}: {error}") from error
