"""The values that formats, walks and decoders exchange: record boundaries, chunks of records, and batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Offsets = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Walk:
    """The complete records of a buffer that begins at a record start; offsets are relative to the buffer.

    Record `i` starts at `nexts[i - 1]` (0 for the first), its content is `[begins[i], ends[i])`, and the next record
    starts at `nexts[i]`. Without `begins`, a record's content begins where the record starts. Entries marked in
    `skipped`, such as blank lines, are not records: only their bytes are accounted for.
    """

    ends: Offsets
    nexts: Offsets
    begins: Offsets | None = None
    skipped: Mask | None = None

    @property
    def starts(self) -> Offsets:
        """Where each record starts."""
        starts = np.empty_like(self.nexts)
        starts[:1], starts[1:] = 0, self.nexts[:-1]
        return starts

    def __getitem__(self, places: slice) -> Walk:
        begins = None if self.begins is None else self.begins[places]
        skipped = None if self.skipped is None else self.skipped[places]
        return Walk(self.ends[places], self.nexts[places], begins, skipped)

    def shifted(self, by: int) -> Walk:
        """Return the same records with `by` added to all offsets."""
        return self if by == 0 else self.mapped(lambda offsets: offsets + by)

    def mapped(self, convert: Callable[[Offsets], Offsets]) -> Walk:
        """Return the same records with all offsets converted."""
        begins = None if self.begins is None else convert(self.begins)
        return Walk(convert(self.ends), convert(self.nexts), begins, self.skipped)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive records of one block. Offsets are relative to `buffer`, which starts at byte `offset` of the file."""

    buffer: bytes
    offset: int
    starts: Offsets  # where each record starts, framing included
    begins: Offsets  # its content is [begins, ends)
    ends: Offsets
    nexts: Offsets  # where the next record starts
    next_offset: int  # absolute: the record start after this chunk
    skipped_records: int
    skipped_bytes: int
    offset_map: Callable[[int], int] | None = None  # from offsets in a transcoded buffer to offsets in the file

    def file_offset(self, at: int) -> int:
        """Return the offset in the file of the character at byte `at` of the buffer."""
        return self.offset + at if self.offset_map is None else self.offset_map(at)

    def record(self, index: int) -> bytes:
        """Return the content of one record."""
        return self.buffer[self.begins[index] : self.ends[index]]

    def mapped(self, buffer: bytes, convert: Callable[[Offsets], Offsets]) -> Chunk:
        """Return the records in another buffer, with all offsets converted."""
        starts, begins, ends, nexts = map(convert, (self.starts, self.begins, self.ends, self.nexts))
        return replace(self, buffer=buffer, starts=starts, begins=begins, ends=ends, nexts=nexts)

    def with_lines(self, records: Sequence[bytes]) -> Chunk:
        """Return other records as lines of a new buffer; they have no offsets in the file."""
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        nexts = np.cumsum(sizes + 1)
        starts, buffer = nexts - sizes - 1, b"".join([record + b"\n" for record in records])
        return replace(self, buffer=buffer, starts=starts, begins=starts, ends=nexts - 1, nexts=nexts, offset_map=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRecord:
    """A malformed record: its index among the chunk's records, and the reason."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A chunk as columns: one row for each record that is not in `bad`, in order."""

    batch: pa.RecordBatch
    bad: tuple[BadRecord, ...] = ()


class Decoder(Protocol):
    """Turns chunks of records into batches of one schema."""

    schema: pa.Schema

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the chunk's records as a batch, and separately those that cannot be decoded."""
