"""The format of a file: the one given by `--format`, or the one its suffix implies."""

from pathlib import Path
from types import ModuleType
from typing import Literal

from tamis.cli.output import CommandError

Format = Literal["jsonl", "csv", "parquet", "xml", "text"]

_ENDINGS: dict[str, Format] = {
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xml": "xml",
    ".txt": "text",
    ".sql": "text",
}


def format_of(path: Path) -> Format | None:
    """The format that a file name implies, compressed with gzip or not; None for others."""
    name = path.with_suffix("") if path.suffix == ".gz" else path
    return _ENDINGS.get(name.suffix.lower())


def is_saved(path: Path) -> bool:
    """Whether a path is a saved index: its folder, or the manifest in it."""
    return path.is_dir() or path.name == "index.json"


def import_parquet() -> ModuleType:
    """Import the module that reads Parquet.

    Raises:
        CommandError: It is not installed.
    """
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise CommandError("Parquet needs pyarrow: pip install 'tamis[arrow]'") from error
    module: ModuleType = pyarrow.parquet
    return module
