"""`tamis spark match-xml`: which subscriptions does each XML document of many files satisfy?"""

from typing import TYPE_CHECKING, Any

from tamis.batches import OnError
from tamis.cli.spark.options import Keep, run
from tamis.cli.spark.session import format_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USAGE = "Usage: tamis spark match-xml DOCUMENTS INDEX RESULT [OPTIONS]"
EXAMPLES = """
Examples:

    tamis spark match-xml 'incoming/*.xml' filters matches.parquet --keep path
    tamis spark match-xml documents.parquet filters matches.jsonl --document body --keep number
"""


def match_xml(
    documents: str,
    index: str,
    result: str,
    /,
    *,
    document: str = "document",
    keep: Keep = None,
    lists: bool = False,
    version: int | None = None,
    on_error: OnError = "raise",
) -> int:
    """Write, for every XML document, the subscriptions it matches.

    Args:
        documents: XML files (names that end with `.xml`), each a document with its `path`; JSON
            lines, each an object with a document; or another format of Spark (`.parquet` ...).
        index: The folder of an index whose expressions use `xpath('...')`.
        result: The folder to write, in the format of its suffix, or Parquet.
        document: The column that holds the documents.
        keep: The columns to include; all by default.
        lists: Write one row per document instead of one per match.
        version: The version of the index; the current one by default.
        on_error: What to do with a document that cannot be read: `raise` fails, `skip` leaves it
            out, `collect` writes it once, with the reason in the column `event_error`.
    """

    def find(frame: Any, _: str | None) -> Any:
        from tamis.spark import match_xml

        return match_xml(
            frame,
            index,
            document=document,
            keep=keep,
            output="lists" if lists else "pairs",
            version=version,
            on_error=on_error,
        )

    return run("match-xml", documents, result, find, _read_documents)


def _read_documents(spark: "SparkSession", path: str) -> "tuple[DataFrame, None]":
    if path.rstrip("/").lower().endswith(".xml"):
        files = spark.read.format("binaryFile").load(path)
        return files.selectExpr("path", "content as document"), None
    kind = format_of(path)
    return spark.read.format("json" if kind == "lines" else kind).load(path), None
