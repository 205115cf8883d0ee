"""Shapes results: one row per match, or one list per event."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


def pairs(kept: pa.RecordBatch, found: pa.Table) -> Batches:
    """A row per match: the kept columns of its event, and the match.

    Args:
        kept: The columns of the events to keep in the result.
        found: Matches: the row of the event, and further columns.
    """
    for matches in found.to_batches():
        if matches.num_rows:
            columns = [column.take(matches.column(0)) for column in kept.columns]
            columns += matches.columns[1:]
            names = [*kept.schema.names, *matches.schema.names[1:]]
            yield pa.RecordBatch.from_arrays(columns, names)


def lists(kept: pa.RecordBatch, found: pa.Table, names: Sequence[str]) -> Batches:
    """A row per event: its kept columns, and a list of the matches for each further column.

    Args:
        kept: The columns of the events to keep in the result.
        found: Matches: the row of the event, ascending, and further columns.
        names: The names of the columns of lists.
    """
    start, waiting = 0, [batch for batch in found.to_batches() if batch.num_rows]
    for number, matches in enumerate(waiting):
        # The matches of one event may continue in the next batch if there are very many.
        last = matches.column(0)[-1].as_py()
        following = waiting[number + 1 :]
        if following and following[0].column(0)[0].as_py() == last:
            raise OverflowError("an event has more than 1 GiB of matches; use pairs instead")
        end = last + 1 if following else kept.num_rows
        yield _list(kept.slice(start, end - start), matches, start, names)
        start = end
    if start < kept.num_rows:
        yield _list(kept.slice(start), found.slice(0, 0), start, names)


def _list(kept: pa.RecordBatch, matches: Any, start: int, names: Sequence[str]) -> pa.RecordBatch:
    numbers = np.asarray(matches.column(0), dtype=np.int64) - start
    counts = np.bincount(numbers, minlength=kept.num_rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    columns = list(kept.columns)
    for column in matches.columns[1:]:
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        columns.append(pa.ListArray.from_arrays(offsets, values))
    return pa.RecordBatch.from_arrays(columns, [*kept.schema.names, *names])
