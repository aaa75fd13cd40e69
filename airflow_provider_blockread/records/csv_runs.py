"""The map of a range of csv where quotes alone decide, read backwards: runs of quotes tell it, mostly the last one.

Take a maximal run of quotes. Of even length, it changes nothing. Of odd length at a field start (the byte before it is
the delimiter or a newline, or it is the data's first byte) it swaps inside and outside; of odd length elsewhere it
leads outside, whatever came before. So a range's map follows from its last odd run that is not at a field start, and
the odd ones behind it. A run belongs to the range that it starts in: the state at an offset inside it is the one
behind it.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_blockread.errors import LookBackError
from airflow_provider_blockread.records.csv_modes import Marks
from airflow_provider_blockread.records.format import MAX_LOOK_BACK
from airflow_provider_blockread.records.source import ByteSource
from airflow_provider_blockread.records.statemap import StateMap

_FIRST_WINDOW = 64 * 2**10  # most rows close a quote within it
_LARGEST_WINDOW = 2**20


class QuoteRuns:
    """Runs of quotes in a file; states: 0 outside and 1 inside quotes."""

    def __init__(self, marks: Marks) -> None:
        """Take the marks."""
        self._quote = marks.quote or b""
        self._field_starts = np.zeros(256, np.bool_)
        self._field_starts[[*marks.delimiter, *b"\r\n"]] = True

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the map of `[start, end)`, read backwards from its end for no longer than it takes.

        Raises:
            LookBackError: when a run of quotes goes on for more than `MAX_LOOK_BACK` bytes behind `end`.
        """
        if start >= end:
            return StateMap.identity(2)
        foreign = start > source.data_offset and self.is_quote(source, start - 1)
        high, swaps, want = end, 0, _FIRST_WINDOW
        while high > start:
            if self.is_quote(source, high - 1):
                low = self._run_start(source, start, high)
                if low == start and foreign:
                    break
                odd = (high - low + (self._run_length(source, end) if high == end else 0)) & 1
                opens = self.opens(source, low)
                reset, odd = bool(odd) and not opens, odd if opens else 0
                high = low
            else:
                low = max(start, high - want)
                reset, odd, high = self._window(source, low, high, owned=low == start and not foreign)
                high = start if low == start else high
                want = _LARGEST_WINDOW
            swaps ^= odd
            if reset:
                return StateMap((swaps, swaps))
        return StateMap((swaps, 1 - swaps))

    def _window(self, source: ByteSource, low: int, high: int, *, owned: bool) -> tuple[bool, int, int]:
        """Return what the runs in `[low, high)` do, of which none touches `high`: reset, parity of swaps, new `high`.

        A run at `low` is left for later, as it may begin before, unless it is `owned`.
        """
        window = source.read(low, high)
        if self._quote not in window:
            return False, 0, low
        data = np.frombuffer(window, np.uint8)
        skipped = 0 if owned else len(window) - len(window.lstrip(self._quote))
        quotes = np.flatnonzero(data[skipped:] == ord(self._quote)) + skipped
        if not len(quotes):
            return False, 0, low + skipped
        borders = np.flatnonzero(np.diff(quotes) != 1)
        firsts, lasts = np.append(0, borders + 1), np.append(borders, len(quotes) - 1)
        odd = (lasts - firsts) & 1 == 0
        starts = quotes[firsts][odd]
        opens = self._field_starts[data[starts - 1]]
        if len(starts) and starts[0] == 0:
            opens[0] = self.opens(source, low)
        resets = np.flatnonzero(~opens)
        behind = int(resets[-1]) + 1 if len(resets) else 0
        return bool(len(resets)), (len(starts) - behind) & 1, low + skipped

    def is_quote(self, source: ByteSource, offset: int) -> bool:
        """Tell whether the byte at `offset` is a quote."""
        return source.read(offset, offset + 1) == self._quote

    def opens(self, source: ByteSource, offset: int) -> bool:
        """Tell whether a field starts at `offset`, if it is outside quotes."""
        return offset <= source.data_offset or bool(self._field_starts[source.read(offset - 1, offset)[0]])

    def _run_start(self, source: ByteSource, start: int, high: int) -> int:
        """Return where the run of quotes that ends at `high` begins, at least `start`."""
        low, want = high, _FIRST_WINDOW
        while low > start:
            window = source.read(max(start, low - want), low)
            rest = len(window.rstrip(self._quote))
            low -= len(window) - rest
            if rest:
                break
            want = _LARGEST_WINDOW
        return low

    def _run_length(self, source: ByteSource, start: int) -> int:
        """Return how many quotes stand in a row from `start` on."""
        position, want = start, _FIRST_WINDOW
        while position < source.size:
            window = source.read(position, position + want)
            found = len(window) - len(window.lstrip(self._quote))
            position += found
            if found < len(window):
                break
            if position - start > MAX_LOOK_BACK:
                msg = (
                    f"{source.name}: more than {MAX_LOOK_BACK} quotes stand in a row from byte {start} on, so no state"
                    " can be told there; read this file as one block (a block_size above its size)"
                )
                raise LookBackError(msg)
            want = _LARGEST_WINDOW
        return position - start
