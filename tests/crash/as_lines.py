"""Rows of several columns as lines, for sinks that hold one column of text."""

from __future__ import annotations

import json

import pyarrow as pa


def as_lines(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return each row as JSON."""
    return pa.RecordBatch.from_pydict({"value": [json.dumps(row) for row in batch.to_pylist()]})


def id_of(line: str) -> int:
    """Return the column that distinguishes the rows."""
    return int(json.loads(line)["id"])
