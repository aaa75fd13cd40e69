"""A record format whose cuts depend on all earlier bytes: lines in which a quoted newline is data.

It represents formats that need a scan: its state is 0 outside and 1 inside quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from airflow_provider_blockread.records import ByteSource, StateMap, TextFormat, Walk

if TYPE_CHECKING:
    from airflow_provider_blockread.records.model import Offsets

_WINDOW = 2**20


class QuotedLines(TextFormat):
    """Records ended by LF outside double quotes; the file's end ends a record in any state."""

    name = "quoted_lines"
    needs_scan = True

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first record start at or after `offset`, where `state` says whether it is in quotes."""
        if state == 0 and source.read(offset - 1, offset) == b"\n":
            return offset
        for position, window in source.windows(offset):
            ends = _ends(window, state)
            if len(ends):
                return position + int(ends[0]) + 1
            state ^= window.count(b'"') % 2
        return source.size

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the records of a buffer that begins outside quotes."""
        ends = _ends(buffer, 0)
        nexts = ends + 1
        done = int(nexts[-1]) if len(nexts) else 0
        if final and done < len(buffer):
            ends, nexts = np.append(ends, len(buffer)), np.append(nexts, len(buffer))
        return Walk(ends, nexts)

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the swap of the two states where the range has an odd number of quotes."""
        quotes = sum(
            source.read(low, min(low + _WINDOW, end)).count(b'"') for low in range(start, max(start, end), _WINDOW)
        )
        return StateMap((1, 0)) if quotes % 2 else StateMap.identity(2)


def _ends(buffer: bytes, state: int) -> Offsets:
    data = np.frombuffer(buffer, np.uint8)
    inside = (np.cumsum(data == ord('"')) + state) % 2 == 1
    return np.flatnonzero((data == ord("\n")) & ~inside)
