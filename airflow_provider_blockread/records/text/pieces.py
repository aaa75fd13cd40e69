"""Finding records in a text of any length, a piece at a time, in memory that does not grow with the text."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.errors import LookBackError
from airflow_provider_blockread.records.format import MAX_LOOK_BACK, ONE_BLOCK
from airflow_provider_blockread.records.io.source import ByteSource, too_long
from airflow_provider_blockread.records.model import Mask, Offsets, Walk

PIECE_BYTES = 2**20  # its arrays fit the processor's cache
_FIRST_BYTES = 64 * 2**10  # most records end within it
_FIRST_BACK = 64  # most runs are shorter


class RecordFinder(Protocol):
    """Finds the records of a text that begins at a record start and comes in pieces."""

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        """Return the records that end in the next piece, which is not empty, and how many of its bytes are searched.

        Offsets are relative to the piece, so those before it are negative. The finder is not called again once it has
        found a record. With `final` the text ends with the piece. The next piece begins after the searched bytes; when
        that is 0, it is the same one, longer.
        """


def find_records(buffer: bytes, finder: RecordFinder, *, final: bool) -> Walk:
    """Return the first records of a buffer: all that end in the first piece in which any record ends."""
    low, want = 0, PIECE_BYTES
    while low < len(buffer):
        piece = buffer[low : low + want]
        last = low + len(piece) == len(buffer)
        walk, searched = finder(piece, final=final and last)
        if last or len(walk.nexts):
            return walk.shifted(low)
        low, want = low + searched, want if searched else want * 2
    return Walk(np.empty(0, np.int64), np.empty(0, np.int64))


def with_last(ends: Offsets, nexts: Offsets, size: int, *, final: bool) -> tuple[Offsets, Offsets]:
    """Return `ends` and `nexts` with the record that ends at the file's end, if there is one."""
    done = int(nexts[-1]) if len(nexts) else 0
    if not final or done >= size:
        return ends, nexts
    return np.append(ends, size), np.append(nexts, size)


def first_end(source: ByteSource, start: int, finder: RecordFinder) -> int:
    """Return where the record after the first end of one at or after `start` starts, or the file's size.

    Raises:
        RecordError: when the record is longer than `max_record_bytes`.
    """
    low, want = start, _FIRST_BYTES
    while True:
        if low - start > source.max_record_bytes:
            raise too_long(source, f"around byte {start * source.unit_bytes}", source.max_record_bytes)
        piece = source.read(low, low + want)
        final = low + len(piece) >= source.size
        walk, searched = finder(piece, final=final)
        if len(walk.nexts):
            return low + int(walk.nexts[0])
        if final:
            return source.size
        low, want = low + searched, min(want * 2, PIECE_BYTES) if searched else want * 2


def after_run(source: ByteSource, start: int, run_of: bytes) -> int:
    """Return the first byte of a file at or after `start` that is not among `run_of`, or the file's size."""
    for position, window in source.windows(start):
        rest = window.lstrip(run_of)
        if rest:
            return position + len(window) - len(rest)
    return source.size


def run_before(source: ByteSource, offset: int, run_of: bytes) -> int:
    """Return the length of the run of bytes of `run_of` that directly precedes `offset`, at most to the data offset.

    Raises:
        LookBackError: when the run is longer than `MAX_LOOK_BACK`.
    """
    end, want = offset, _FIRST_BACK
    while end > source.data_offset:
        if offset - end > MAX_LOOK_BACK:
            msg = (
                f"{source.name}: no record start can be found within {MAX_LOOK_BACK} bytes before byte"
                f" {offset * source.unit_bytes}, all of which are among {run_of!r};"
                f" {ONE_BLOCK}"
            )
            raise LookBackError(msg)
        low = max(end - want, source.data_offset)
        kept = len(source.read(low, end).rstrip(run_of))
        if kept:
            return offset - low - kept
        end, want = low, min(want * 2, PIECE_BYTES)
    return offset - end


def after_odd_runs(data: npt.NDArray[np.uint8], places: Offsets, byte: int) -> Mask:
    """Return which places directly follow a run of a byte that has an odd length."""
    found = np.zeros(len(places), np.bool_)
    behind = np.flatnonzero((data[places - 1] == byte) & (places > 0))
    lasts = places[behind] - 1
    alone: Mask = (lasts == 0) | (data[lasts - 1] != byte)
    longer = np.flatnonzero(~alone)
    if len(longer):
        spots = np.flatnonzero(data == byte)
        begins = np.append(True, np.diff(spots) != 1)
        first = np.maximum.accumulate(np.where(begins, np.arange(len(spots)), 0))
        at = np.searchsorted(spots, lasts[longer])
        alone[longer] = (at - first[at]) % 2 == 0
    found[behind] = alone
    return found
