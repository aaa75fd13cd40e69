"""Merged files that are Parquet: rows with a value, a name and a time, as a stream of values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_blockread.records.io.source import ByteSource, ExactFile
from airflow_provider_blockread.records.members.index import LABELS, damaged, readable

_BYTES = pa.large_binary()
_VALUES = (pa.string(), pa.large_string(), pa.binary(), _BYTES)
_ROWS = 256  # read at once
_UNREADABLE = "it cannot be read as Parquet"


class RowSource(ByteSource):
    """The values of a Parquet file, one after another; `size` and `consumed` are known once all rows are read."""

    streamed = True

    def __init__(self, file: BinaryIO, *, size: int | None = None, name: str = "", max_record_bytes: int) -> None:
        """Wrap an open file of `size` bytes."""
        super().__init__(file, size=size, name=name, max_record_bytes=max_record_bytes)
        self._raw = ByteSource(file, size=self.size, name=self.name)
        self.size = sys.maxsize

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows: value, name, time.

        Raises:
            SourceError: when it is not a Parquet file with such columns.
        """
        total = 0
        with readable(self.name, _UNREADABLE):
            for batch in map(_labelled, self._read()):
                total += pc.sum(pc.binary_length(batch.column("value"))).as_py() or 0
                yield batch
        self.size, self.consumed = total, self._raw.size

    def names(self) -> Iterator[str | None]:
        """Yield the names alone, without a look at the values.

        Raises:
            SourceError: when it is not a Parquet file with such columns.
        """
        with readable(self.name, _UNREADABLE):
            for batch in self._read("_file"):
                yield from batch.column("_file").cast(pa.string()).to_pylist()

    def _read(self, *only: str) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(pa.PythonFile(ExactFile(self._raw), mode="r")) as opened:
            names = _columns(opened.schema_arrow, self.name)
            for group in range(opened.num_row_groups):
                yield from opened.iter_batches(_ROWS, row_groups=[group], columns=[*only] or names, use_threads=False)


def _columns(schema: pa.Schema, name: str) -> list[str]:
    found = [field for field in (*LABELS.names, "value") if field in schema.names]
    if "_file" not in found or "value" not in found or schema.field("value").type not in _VALUES:
        raise damaged(name, "it has no columns `value`, of text or bytes, and `_file`")
    return found


def _labelled(found: pa.RecordBatch) -> pa.RecordBatch:
    times = found.column("_modified") if "_modified" in found.schema.names else pa.nulls(found.num_rows)
    labels = [found.column("_file").cast(LABELS.types[0]), times.cast(LABELS.types[1])]
    return pa.record_batch([found.column("value").cast(_BYTES), *labels], names=["value", *LABELS.names])
