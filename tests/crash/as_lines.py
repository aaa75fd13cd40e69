"""Rows as lines, for sinks that hold one column of text, and rows with a column more."""

from __future__ import annotations

import json

import pyarrow as pa


def as_lines(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return each row as JSON."""
    return pa.RecordBatch.from_pydict({"value": [json.dumps(row) for row in batch.to_pylist()]})


def with_more(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return each row with a column that earlier ones have not."""
    return batch.append_column("more", pa.array(["new"] * batch.num_rows))


def id_of(line: str) -> int:
    """Return the column that distinguishes the rows."""
    return int(json.loads(line)["id"])
