"""Decoding chunks of records into Arrow batches without a Python object per record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records.columns.values import not_utf8
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Offsets

_LONGEST = 2**31 - 1  # bytes of all values of an array
ChunkOffsets = npt.NDArray[np.int32]  # half as wide as `Offsets`, so that more of them fit the processor's cache


def raw_values(chunk: Chunk) -> pa.BinaryArray:
    """Return the contents of all records as one binary array."""
    return raw_between(chunk.buffer, chunk.begins, chunk.ends)


def raw_between(
    buffer: bytes | pa.Buffer, begins: Offsets | ChunkOffsets, ends: Offsets | ChunkOffsets
) -> pa.BinaryArray:
    """Return the bytes of the ranges `[begins, ends)`, which are in ascending order, as one binary array.

    Contents and the bytes between them alternate in the buffer, so the buffer is an Arrow array whose offsets are
    `begins` and `ends` interleaved. Taking every other value drops the bytes in between.

    Raises:
        RecordError: when the buffer is longer than an Arrow array of binary values may be.
    """
    count = len(ends)
    if count == 0:
        return pa.array([], pa.binary())
    if ends[-1] > _LONGEST:
        msg = f"records of {int(ends[-1]):,} bytes together are too long; choose a lower max_record_bytes"
        raise RecordError(msg)
    if (begins[1:] == ends[:-1]).all():  # as of whole files
        first = int(begins[0])  # to be 0 in the array: IPC of pyarrow before 21 moves other offsets twice
        borders = (np.append(begins, ends[-1:]) - first).astype(np.int32, copy=False)
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(borders), pa.py_buffer(buffer)[first:]])
    borders = np.empty(2 * count, np.int32)
    borders[0::2], borders[1::2] = begins, ends
    buffers = [None, pa.py_buffer(borders), pa.py_buffer(buffer)]
    alternating = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    return alternating.take(pa.array(np.arange(0, 2 * count - 1, 2, dtype=np.int32)))


class RawDecoder:
    """Records as they are, in one column `value`: text that must be UTF-8, or bytes."""

    def __init__(self, encoding: str) -> None:
        self.schema = pa.schema([("value", pa.binary() if encoding == "binary" else pa.string())])

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the contents; a text record that is not UTF-8 is bad."""
        values = raw_values(chunk)
        bad: tuple[BadRecord, ...] = ()
        if pa.types.is_string(self.schema.field(0).type):
            try:
                values = values.cast(pa.string())
            except pa.ArrowInvalid:
                bad = tuple(_not_utf8(values))
                good = np.setdiff1d(np.arange(len(values)), [b.index for b in bad])
                values = values.take(pa.array(good)).cast(pa.string())
        return Decoded(batch=pa.record_batch([values], schema=self.schema), bad=bad)


def _not_utf8(values: pa.BinaryArray) -> Iterator[BadRecord]:
    for index in not_utf8(values).tolist():
        try:
            values[index].as_py().decode()
        except UnicodeDecodeError as error:
            reason = f"not UTF-8: {error.reason} at byte {error.start} of the record"
            yield BadRecord(index=index, reason=reason)
