"""Looking for records in a text of any length, a piece at a time: what that takes does not grow with the text."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from airflow_provider_blockread.records.io.source import ByteSource, too_long
from airflow_provider_blockread.records.model import Walk

PIECE_BYTES = 2**20  # its arrays stay in the processor's cache
_FIRST_BYTES = 64 * 2**10  # most records end within it


class Look(Protocol):
    """Finds the records that end in a text which begins at a record start and comes in pieces."""

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        """Return the records that end in the next piece, which holds a byte or more, and where the one behind begins.

        Places count from the piece's start, so what lies before it has negative ones. Nobody asks again once a record
        was found. With `final` the text ends with the piece. A piece too short to say anything is asked for again,
        longer: then the next one begins at 0, and otherwise behind it.
        """
        ...


def look_through(buffer: bytes, look: Look, *, final: bool) -> Walk:
    """Return the first records of a buffer: all that end in the first piece where any does; none where none does."""
    low, want = 0, PIECE_BYTES
    while low < len(buffer):
        piece = buffer[low : low + want]
        last = low + len(piece) == len(buffer)
        walk, seen = look(piece, final=final and last)
        if last or len(walk.nexts):
            return walk.moved(low)
        low, want = low + seen, want if seen else want * 2
    return Walk(np.empty(0, np.int64), np.empty(0, np.int64))


def first_end(source: ByteSource, start: int, look: Look) -> int:
    """Return where the record that starts at `start`, before the file's end, is followed by the next one.

    Raises:
        RecordError: when the search runs on for more than a record may hold.
    """
    low, want = start, _FIRST_BYTES
    while True:
        if low - start > source.max_record_bytes:
            raise too_long(source, f"around byte {start * source.unit_bytes}", source.max_record_bytes)
        piece = source.read(low, low + want)
        final = low + len(piece) >= source.size
        walk, seen = look(piece, final=final)
        if len(walk.nexts):
            return low + int(walk.nexts[0])
        if final:
            return source.size
        low, want = low + seen, PIECE_BYTES if seen else want * 2
