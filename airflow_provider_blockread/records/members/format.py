"""The record format of merged files: a record is a member, with its name and its time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Members
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.format import BaseFormat
from airflow_provider_blockread.records.io.source import ByteSource, too_long
from airflow_provider_blockread.records.members.index import LABELS, Index, damaged
from airflow_provider_blockread.records.members.rows import RowSource
from airflow_provider_blockread.records.model import Chunk, Decoded, Decoder, Offsets, Walk

_CHUNK_BYTES = 2**20
_MOST_MEMBERS = 2**16  # of a chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChunk(Chunk):
    """Consecutive members, with their names and times."""

    labels: pa.RecordBatch


class MembersFormat(BaseFormat):
    """Members of merged files: of an archive by its index, of a Parquet file by its rows."""

    name = "members"
    splittable = False

    def __init__(self, option: Members) -> None:
        self.encoding = option.encoding
        self._index: Index | None = None

    def with_index(self, index: Index) -> Self:
        """Return the format for the archive of this index."""
        made = copy.copy(self)
        made._index = index  # noqa: SLF001 - of the same class
        return made

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the file's end: all members are of its first block."""
        del offset, state
        return source.size

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return no record: members do not follow from bytes.

        Raises:
            RecordError: when there are bytes.
        """
        del final
        if buffer:
            msg = "members are found by an index; read the file by its path, as `blockread members` does"
            raise RecordError(msg)
        return Walk(np.empty(0, np.int64), np.empty(0, np.int64))

    def decoder(self) -> Decoder:
        """Return the decoder of members with names and times."""
        return MemberDecoder(self.encoding)

    def chunks(self, source: ByteSource, most: int) -> Iterator[MemberChunk]:
        """Yield all members in order, none larger than `most` bytes.

        Raises:
            RecordError: when one is larger.
            SourceError: when the file is damaged.
        """
        if not isinstance(source, RowSource):
            yield from self._of_archive(source, most)
            return
        for chunk in _of_rows(source):
            self._require_short(source, chunk.starts + chunk.offset, chunk.ends + chunk.offset, most)
            yield chunk

    def _require_short(self, source: ByteSource, starts: Offsets, ends: Offsets, most: int) -> None:
        long = np.flatnonzero(ends - starts > most)
        if len(long):
            raise too_long(source, f"that starts at byte {starts[long[0]]}", most, self.too_long)

    def _of_archive(self, source: ByteSource, most: int) -> Iterator[MemberChunk]:
        index = self._index
        if index is None:
            self.walk(source.read(0, 1), final=True)
            return
        low, count = 0, len(index.nexts)
        while low < count:
            first = int(index.starts[low])
            high = int(np.searchsorted(index.nexts, first + _CHUNK_BYTES, side="right"))
            high = min(max(high, low + 1), low + _MOST_MEMBERS, count)
            self._require_short(source, index.starts[low:high], index.ends[low:high], most)  # before they are read
            yield self._chunk(source, index, low, high)
            low = high
        if source.read(index.size, index.size + 1) or source.size != index.size:
            raise damaged(source.name, f"it continues after the {index.size} bytes of its index")

    def _chunk(self, source: ByteSource, index: Index, low: int, high: int) -> MemberChunk:
        first, last = int(index.starts[low]), int(index.nexts[high - 1])
        buffer = source.read(first, last)
        if len(buffer) != last - first:
            raise damaged(source.name, f"it ends before byte {last}")
        starts, ends = index.starts[low:high] - first, index.ends[low:high] - first
        view = memoryview(buffer)
        for number, (begin, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True), low):
            index.check(number, view[begin:end])
        return _made(buffer, first, (starts, ends, index.nexts[low:high] - first), index.labels[low:high])


def _of_rows(source: RowSource) -> Iterator[MemberChunk]:
    first = 0
    for batch in source.batches():
        values = batch.column("value")
        if values.null_count:
            raise damaged(source.name, "a value is null")
        _, borders, data = values.buffers()
        places = np.frombuffer(borders, np.int64)[values.offset : values.offset + len(values) + 1]
        buffer = b"" if data is None else data[int(places[0]) : int(places[-1])].to_pybytes()
        starts, ends = places[:-1] - places[0], places[1:] - places[0]
        yield _made(buffer, first, (starts, ends, ends), batch.select(LABELS.names))
        first += len(buffer)


def _made(buffer: bytes, first: int, places: tuple[Offsets, Offsets, Offsets], labels: pa.RecordBatch) -> MemberChunk:
    starts, ends, nexts = places
    return MemberChunk(buffer, first, starts, starts, ends, nexts, first + len(buffer), 0, 0, labels=labels)


class MemberDecoder:
    """Members as they are, in the columns `value`, `_file` and `_modified`."""

    def __init__(self, encoding: str) -> None:
        self._raw = RawDecoder(encoding)
        self.schema = pa.schema([*self._raw.schema, *LABELS])

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the members of a `MemberChunk`; one of text that is not UTF-8 is bad."""
        decoded = self._raw.decode(chunk)
        labels = chunk.labels  # type: ignore[attr-defined] # of its format
        if decoded.bad:
            good = np.delete(np.arange(labels.num_rows), [bad.index for bad in decoded.bad])
            labels = labels.take(pa.array(good))
        columns = [*decoded.batch.columns, *labels.columns]
        return Decoded(batch=pa.record_batch(columns, schema=self.schema), bad=decoded.bad)
