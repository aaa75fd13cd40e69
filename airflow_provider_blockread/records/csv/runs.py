"""The state map of a range of CSV framed by quotes alone, read backwards: mostly the last run of quotes determines it.

A maximal run of quotes of even length changes nothing. One of odd length at a field start (the byte before it is the
delimiter or a newline, or it is the data's first byte) swaps inside and outside; one of odd length elsewhere leads
outside, whatever the state before. So a range's map follows from its last odd run that is not at a field start, and the
odd ones after it. A run belongs to the range in which it starts: the state at an offset inside it is the one after it.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_blockread.errors import LookBackError
from airflow_provider_blockread.records.csv.modes import SpecialBytes
from airflow_provider_blockread.records.format import MAX_LOOK_BACK, ONE_BLOCK
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Mask
from airflow_provider_blockread.records.statemap import StateMap

_LF, _CR = b"\n\r"
_FIRST_READ = 64 * 2**10  # most rows close a quote within it
_LARGEST_READ = 4 * 2**20
_WINDOW = 2**18  # processed at once: its arrays fit the processor's cache


class QuoteRuns:
    """Runs of quotes in a file; states: 0 outside and 1 inside quotes."""

    def __init__(self, marks: SpecialBytes) -> None:
        self._quote = marks.quote or b""
        self._delimiter = ord(marks.delimiter)
        self._field_starts = {self._delimiter, _LF, _CR}

    def opens(self, byte: int) -> bool:
        """Return whether a field starts after a byte outside quotes."""
        return byte in self._field_starts

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the map of `[start, end)`, read backwards from its end as far as needed.

        Raises:
            LookBackError: when a run of quotes continues for more than `MAX_LOOK_BACK` bytes after `end`.
        """
        high, near, want, swaps = end, end, _FIRST_READ, 0
        run = 0  # quotes from `high` on that belong to a run that begins before it
        while high > start:
            if high <= near:  # the source keeps the bytes it read, so windows of them cost nothing
                near, want = max(start, high - want), min(want * 4, _LARGEST_READ)
                source.read(near - 1, high)
            low = max(near, high - _WINDOW)
            window = source.read(low - 1, high) if low > source.data_offset else b"\n" + source.read(low, high)
            body = window.rstrip(self._quote)
            tail = len(window) - len(body)
            if not body:
                run, high = run + high - low, low
                continue
            if tail:
                length = tail + run + (self._run_length(source, end) if high + run == end else 0)
                if length & 1 and not self.opens(body[-1]):
                    return StateMap((swaps, swaps))
                swaps ^= length & 1
            lead = len(body) - len(body.lstrip(self._quote))
            reset, odd = self._effect(body, lead)
            swaps ^= odd
            if reset:
                return StateMap((swaps, swaps))
            run, high = max(lead - 1, 0), low
        return StateMap((swaps, 1 - swaps))

    def _effect(self, body: bytes, lead: int) -> tuple[bool, int]:
        """Return whether a run leads outside, and the parity of swaps after it, among those after `lead` bytes."""
        if self._quote not in body:
            return False, 0
        data = np.frombuffer(body, np.uint8)
        odd = _odd_runs(data[lead:] == ord(self._quote))[1 if lead == 0 else 0 :]
        before = data[max(lead, 1) - 1 : -1]
        fresh = (before == _LF) | (before == _CR) | (before == self._delimiter)
        resets = odd & ~fresh
        swaps = odd & fresh
        if not resets.any():
            return False, int(np.count_nonzero(swaps)) & 1
        behind = len(resets) - int(resets[::-1].argmax())
        return True, int(np.count_nonzero(swaps[behind:])) & 1

    def _run_length(self, source: ByteSource, start: int) -> int:
        """Return the length of the run of quotes at `start`."""
        position, want = start, _FIRST_READ
        while position < source.size:
            window = source.read(position, position + want)
            found = len(window) - len(window.lstrip(self._quote))
            position += found
            if found < len(window):
                break
            if position - start > MAX_LOOK_BACK:
                msg = (
                    f"{source.name}: more than {MAX_LOOK_BACK} quotes in a row from byte {start} on, so the state there"
                    f" cannot be determined; {ONE_BLOCK}"
                )
                raise LookBackError(msg)
            want = _LARGEST_READ
        return position - start


def _odd_runs(quotes: Mask) -> Mask:
    """Return where runs of odd length begin; fast where no run is longer than two."""
    pairs = quotes[1:] & quotes[:-1]
    if not (pairs[1:] & pairs[:-1]).any():
        single = quotes.copy()
        single[1:] &= ~pairs
        single[:-1] &= ~pairs
        return single
    places = np.flatnonzero(quotes)
    borders = np.flatnonzero(np.diff(places) != 1)
    firsts, lasts = np.append(0, borders + 1), np.append(borders, len(places) - 1)
    odd = np.zeros(len(quotes), np.bool_)
    odd[places[firsts[(lasts - firsts) & 1 == 0]]] = True
    return odd
