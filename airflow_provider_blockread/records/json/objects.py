"""The records of a chunk that may be JSON objects, as text for a parser."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.records.decode import raw_between
from airflow_provider_blockread.records.json.text import next_visible
from airflow_provider_blockread.records.model import Chunk, Offsets

_OPEN, _CLOSE, _CR = b"{}\r"
_LF = ord("\n")
_WHITE = b" \t\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """The records of a chunk that may be objects, with only white space between them."""

    buffer: pa.Buffer
    indices: Offsets  # among the chunk's records
    begins: Offsets
    ends: Offsets

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, places: slice) -> Objects:
        return Objects(
            buffer=self.buffer, indices=self.indices[places], begins=self.begins[places], ends=self.ends[places]
        )

    def text(self) -> pa.Buffer:
        """Return the text of the objects, which must not be empty."""
        begin = int(self.begins[0])
        return self.buffer.slice(begin, int(self.ends[-1]) - begin)

    def values(self) -> pa.BinaryArray:
        """Return each object's text."""
        return raw_between(self.buffer, self.begins, self.ends)

    def without(self, left_out: Collection[int]) -> Objects:
        """Return those of the objects, of which there must be one, whose indices are not left out."""
        kept = np.isin(self.indices, list(left_out), invert=True)
        first, text = int(self.begins[0]), bytearray(self.text())
        begins, ends = self.begins - first, self.ends - first
        for begin, end in zip(begins[~kept].tolist(), ends[~kept].tolist(), strict=True):
            text[begin:end] = b" " * (end - begin)
        return Objects(buffer=pa.py_buffer(text), indices=self.indices[kept], begins=begins[kept], ends=ends[kept])

    def pieces(self, size: int) -> Iterator[Objects]:
        """Yield the objects in pieces of about `size` bytes."""
        places = np.searchsorted(self.begins, np.arange(size, self.buffer.size, size))
        for low, high in pairwise(np.unique([0, *places.tolist(), len(self)]).tolist()):
            yield self[low:high]


def not_objects(chunk: Chunk) -> list[int]:
    """Return the records that do not begin with `{` and end with `}`."""
    if not len(chunk.ends):
        return []
    data = np.frombuffer(chunk.buffer, np.uint8)
    last = np.maximum(chunk.ends - 1, 0)
    last -= (data[last] == _CR) & (last > chunk.begins)
    first = np.minimum(chunk.begins, last)
    suspects = np.flatnonzero((data[first] != _OPEN) | (data[last] != _CLOSE))
    odd = []
    for index in suspects.tolist():
        record = chunk.record(index).strip(_WHITE)
        if not (record.startswith(b"{") and record.endswith(b"}")):
            odd.append(index)
    return odd


def find_objects(chunk: Chunk, left_out: Collection[int], *, commas: bool) -> Objects:
    """Return the records that are not left out; `commas` says that a comma may follow each."""
    buffer: bytes | bytearray = chunk.buffer
    if commas and len(chunk.ends) > 1:
        buffer = bytearray(buffer)
        data = np.frombuffer(buffer, np.uint8)
        places = next_visible(data, chunk.ends[:-1])
        data[places[places < chunk.nexts[:-1]]] = _LF
    every = np.arange(len(chunk.ends), dtype=np.int64)
    objects = Objects(buffer=pa.py_buffer(buffer), indices=every, begins=chunk.begins, ends=chunk.ends)
    return objects.without(left_out) if left_out else objects
