"""`tamis compile`: compile subscriptions to a saved index."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tamis._tamis import Index
from tamis.cli.arguments import PLAIN_TABLE, File, Json, Missing, Table
from tamis.cli.indexes import add_rules, add_valid
from tamis.cli.items import refuse_renamed
from tamis.cli.output import INVALID, VALID, CommandError, report, write, write_json
from tamis.cli.rules.languages import From
from tamis.errors import TamisError

USAGE = "Usage: tamis compile SUBSCRIPTIONS FOLDER [OPTIONS]"
EXAMPLES = """
Examples:

    tamis compile audiences.csv audiences.tamis
    tamis compile rules.csv rules.tamis --columns expression=rule --metadata owner,team
    tamis compile subscriptions.jsonl audiences.tamis --replace --strict
    tamis compile rules.parquet campaigns --metadata-columns tenant
    tamis compile rules/windows detections --from sigma --missing false
"""


def compile(
    subscriptions: File,
    folder: Path,
    /,
    *,
    replace: bool = False,
    strict: bool = False,
    format: Literal["jsonl", "csv", "parquet"] | None = None,
    missing: Missing = "unknown",
    time_zone: str = "UTC",
    metadata_columns: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    table: Table = PLAIN_TABLE,
    language: From = None,
    as_json: Json = False,
) -> int:
    """Compile subscriptions and save them as an index, for `tamis match`, `serve` and `tamis.open`.

    Invalid subscriptions are reported and left out; the exit code is 1 if there are any. If none is
    valid, nothing is saved.

    Args:
        subscriptions: The subscriptions: JSON lines, CSV, Parquet, or `-` for standard input.
        folder: The folder of the index; it is created.
        replace: Replace the index that the folder already holds. Whoever opens it sees the old
            index or the new one, never a mixture.
        strict: Save nothing if a subscription is invalid.
        format: The format of the subscriptions. By default, the name of the file decides: `.csv` or
            `.parquet`; everything else is JSON lines.
        missing: The truth of a predicate on an attribute without a value: `unknown` or `false`.
        time_zone: The zone of times without an offset, such as `Europe/Paris`.
        metadata_columns: The members of metadata to index, which makes `--where` fast.
        table: How to read columns.
        language: Read `subscriptions`, a file or a folder, as rules of this language.
        as_json: Write the result as a JSON object, with the refused subscriptions.
    """
    _check_folder(folder, replace)
    started = time.perf_counter()
    try:
        index = Index(missing=missing, time_zone=time_zone, metadata_columns=list(metadata_columns))
    except (TamisError, ValueError) as error:
        raise CommandError(str(error)) from error
    if language is None:
        refused = add_valid(index, subscriptions, format, table.renamed())
    else:
        refuse_renamed(subscriptions, table.renamed())
        refused = add_rules(index, subscriptions, language)
    is_saved = not refused or (len(index) > 0 and not strict)
    if is_saved:
        _save(index, folder)
    seconds = time.perf_counter() - started
    _tell(folder, index, refused, is_saved, seconds, as_json)
    return INVALID if refused else VALID


def _check_folder(folder: Path, replace: bool) -> None:
    """Fail if saving would overwrite anything except an index that may be replaced."""
    if folder.is_symlink():
        raise CommandError(f"{folder} is a symbolic link; name the folder that it points to")
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise CommandError(f"{folder} is not a folder") from error
    except OSError as error:
        raise CommandError(f"cannot read {folder}: {error.strerror or error}") from error
    if "index.json" in names:
        if not replace:
            raise CommandError(f"{folder} already holds an index; --replace replaces it")
    elif names:
        raise CommandError(f"{folder} holds other files; name a new or an empty folder")


def _save(index: Index, folder: Path) -> None:
    index.settle()
    try:
        index.save(folder)
    except TamisError as error:
        raise CommandError(str(error)) from error


def _tell(
    folder: Path,
    index: Index,
    refused: list[dict[str, Any]],
    is_saved: bool,
    seconds: float,
    as_json: bool,
) -> None:
    if as_json:
        write_json(
            {
                "path": str(folder),
                "saved": is_saved,
                "subscriptions": len(index),
                "refused": refused,
                "seconds": round(seconds, 3),
            }
        )
    elif is_saved:
        count = len(index)
        subscriptions = "1 subscription" if count == 1 else f"{count:,} subscriptions"
        left_out = f", {len(refused):,} invalid" if refused else ""
        write(f"{folder}: {subscriptions}{left_out}, {seconds:.1f} s")
    else:
        report(f"{folder}: nothing was saved")
