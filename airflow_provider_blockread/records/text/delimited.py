"""Records ended by any byte string, including self-overlapping ones (`||`, `abab`).

Matches are leftmost and do not overlap, counted from the file's first byte. Occurrences of the delimiter that overlap
each other form a chain, and the chain's start determines which of them are matches. So a cut walks back to the start
of the chain that covers its offset, and matches forward from there.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_blockread.errors import LookBackError
from airflow_provider_blockread.options import Delimited
from airflow_provider_blockread.records.format import MAX_LOOK_BACK, ONE_BLOCK
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Mask, Offsets
from airflow_provider_blockread.records.text.format import SeparatedFormat

_SEARCH_BYTES = 64 * 2**10
_MOST_BYTES = 2**20


class DelimitedFormat(SeparatedFormat):
    """Records ended by `delimiter`."""

    name = "delimited"

    def __init__(self, option: Delimited) -> None:
        self.option = option
        self.encoding = option.encoding
        self.delimiter = option.delimiter_bytes
        self._overlaps = any(self.delimiter.startswith(self.delimiter[i:]) for i in range(1, len(self.delimiter)))

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the end of the first match that ends at or after `offset`."""
        del state
        length = len(self.delimiter)
        target = max(offset - length, source.data_offset)
        match = self._find(source, target)
        if match >= 0 and self._overlaps:
            match = self._match(source, target, match)
        return source.size if match < 0 else match + length

    def _find(self, source: ByteSource, start: int) -> int:
        """Return the first occurrence that begins at or after `start`, or -1.

        It is not searched by the finder of the walk: the proof compares what the two find.
        """
        for position, window in source.windows(start, overlap=len(self.delimiter) - 1):
            found = window.find(self.delimiter)
            if found >= 0:
                return position + found
        return -1

    def searched(self, piece: bytes) -> int:
        """Return how many bytes without a match need no second search when more follow."""
        return max(len(piece) - len(self.delimiter) + 1, 0)

    def ends(self, buffer: bytes, *, final: bool) -> tuple[Offsets, Offsets]:
        """Return where matches begin and end in a buffer that does not begin inside a match."""
        del final  # no match depends on the bytes after it
        matches = occurrences(buffer, self.delimiter)
        if self._overlaps:
            matches = _leftmost(matches, len(self.delimiter))
        return matches, matches + len(self.delimiter)

    def _match(self, source: ByteSource, target: int, found: int) -> int:
        """Return the first match at or after `target`, or -1; `found` is the first occurrence there."""
        length, free = len(self.delimiter), self._chain_start(source, found)
        while free <= found:
            border = free + _SEARCH_BYTES
            spots = free + _leftmost(occurrences(source.read(free, border + length - 1), self.delimiter), length)
            wanted = int(np.searchsorted(spots, target))
            if wanted < len(spots):
                return int(spots[wanted])
            free = max(border, int(spots[-1]) + length if len(spots) else border)
        return self._find(source, free)

    def _chain_start(self, source: ByteSource, found: int) -> int:
        """Return the first occurrence of the chain that `found` belongs to.

        Raises:
            LookBackError: when the chain is longer than `MAX_LOOK_BACK`.
        """
        overlap, low = len(self.delimiter) - 1, found
        want = _SEARCH_BYTES + overlap
        while low > source.data_offset:
            if found - low > MAX_LOOK_BACK:
                msg = (
                    f"{source.name}: no record start can be found within {MAX_LOOK_BACK} bytes before byte"
                    f" {found * source.unit_bytes}: the delimiter {self.delimiter!r} overlaps itself all the way;"
                    f" {ONE_BLOCK}"
                )
                raise LookBackError(msg)
            bottom = max(low - want, source.data_offset)
            spots = bottom + occurrences(source.read(bottom, low + overlap), self.delimiter)
            spots = np.append(spots[spots < low], low)
            gaps = np.flatnonzero(np.diff(spots) > overlap)
            first = int(spots[gaps[-1] + 1]) if len(gaps) else int(spots[0])
            if len(gaps) or first == low or first > bottom + overlap:
                return first
            low, want = first, min(want * 2, _MOST_BYTES + overlap)
        return low


def occurrences(buffer: bytes, delimiter: bytes) -> Offsets:
    """Return where `delimiter` begins in `buffer`, overlapping occurrences included."""
    data = np.frombuffer(buffer, np.uint8)
    room = len(data) - len(delimiter) + 1
    if room <= 0:
        return np.empty(0, np.int64)
    spots = np.flatnonzero(data[:room] == delimiter[0])
    for i in range(1, len(delimiter)):
        spots = spots[data[spots + i] == delimiter[i]]
    return spots


def _leftmost(spots: Offsets, length: int) -> Offsets:
    """Return the occurrences that are matches from the left: none begins inside the match before it."""
    linked = np.diff(spots) < length
    if not linked.any():
        return spots
    borders = np.flatnonzero(~linked) + 1
    firsts = np.concatenate([[0], borders])
    sizes = np.diff(np.append(firsts, len(spots)))
    steps = np.diff(spots)[linked]
    if (steps == steps[0]).all():  # `||`, `\n\n`, `abab`: every chain is evenly spaced
        rank = np.arange(len(spots)) - np.repeat(firsts, sizes)
        stride = -(-length // int(steps[0]))
        kept: Mask = rank % stride == 0
        return spots[kept]
    kept = np.ones(len(spots), np.bool_)
    for first, size in zip(firsts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        free = 0
        for place, spot in enumerate(spots[first : first + size].tolist(), first):
            kept[place] = spot >= free
            free = spot + length if spot >= free else free
    return spots[kept]
