"""Lines: records ended by LF, or by LF, CR or CRLF. A cut looks one byte back."""

from __future__ import annotations

import sys
from typing import Self

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.options import Lines
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Offsets
from airflow_provider_blockread.records.text.format import SeparatedFormat
from airflow_provider_blockread.records.walking import WalkLimits, walk_block

_SKIPPED_BYTES = 64 * 2**10  # looked at at once
_LF, _CR = b"\n\r"


class LineFormat(SeparatedFormat):
    """Records ended by LF, CR or CRLF (`newline="universal"`), or by LF alone (`"lf"`)."""

    name = "lines"
    file_end = b"\n"

    def __init__(self, option: Lines) -> None:
        self.encoding = option.encoding
        self.universal = option.newline == "universal"
        self.skipped = option.skip_lines

    def with_head(self, source: ByteSource, start: int) -> Self:
        """Return the format for a file whose text begins at `start`: its first lines may be none of its records."""
        return self.starting_at(self.behind(source, start, self.skipped) if self.skipped else start)

    def behind(self, source: ByteSource, start: int, count: int) -> int:
        """Return where the line begins that follows `count` lines from `start` on, or the file's size."""
        limits = WalkLimits(chunk_bytes=_SKIPPED_BYTES, max_record_bytes=source.max_record_bytes)
        for chunk in walk_block(source, self.starting_at(start), start, sys.maxsize, limits):
            if count <= len(chunk.nexts):
                return chunk.offset + int(chunk.nexts[count - 1])
            count -= len(chunk.nexts)
        return source.size

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first line start at or after `offset`."""
        del state
        before = source.read(offset - 1, offset + 1)
        if before.startswith(b"\n"):
            return offset
        if self.universal and before.startswith(b"\r"):
            return offset + (before == b"\r\n")
        # Not by the finder of the walk: the proof compares what the two find.
        for position, window in source.windows(offset, overlap=1):
            found = self._first_end(window)
            # A CR at a window's end may be half of a CRLF; the next window begins with it.
            if found >= 0 and (found + 1 < len(window) or position + len(window) == source.size):
                return position + found + (2 if window[found : found + 2] == b"\r\n" else 1)
        return source.size

    def _first_end(self, data: bytes) -> int:
        newline = data.find(b"\n")
        if not self.universal:
            return newline
        carriage = data.find(b"\r", 0, newline if newline >= 0 else len(data))
        return carriage if carriage >= 0 else newline

    def searched(self, piece: bytes) -> int:
        """Return how many bytes need no second search when more follow: a CR at the end may be half of a CRLF."""
        return len(piece) - (self.universal and piece.endswith(b"\r"))

    def ends(self, buffer: bytes, *, final: bool) -> tuple[Offsets, Offsets]:
        """Return where newlines begin and end in `buffer`."""
        if self.universal and b"\r" in buffer:
            return _universal_ends(buffer, final=final)
        ends = np.flatnonzero(np.frombuffer(buffer, np.uint8) == _LF)
        return ends, ends + 1


def _universal_ends(buffer: bytes, *, final: bool) -> tuple[Offsets, Offsets]:
    data = np.frombuffer(buffer, np.uint8)
    newlines = np.flatnonzero(data == _LF)
    paired = data[newlines - 1] == _CR
    if len(newlines) and newlines[0] == 0:
        paired[0] = False  # index -1 is the buffer's last byte
    awaited = not final and data[-1] == _CR  # its LF may be the next byte of the file
    if np.count_nonzero(paired) == np.count_nonzero(data == _CR) - awaited:
        return newlines - paired, newlines + 1
    ends, nexts = crlf_joined(data, np.flatnonzero((data == _LF) | (data == _CR)))  # some lines end in a lone CR
    return (ends[:-1], nexts[:-1]) if awaited else (ends, nexts)


def crlf_joined(data: npt.NDArray[np.uint8], marks: Offsets) -> tuple[Offsets, Offsets]:
    """Return where lines end and the next ones start, with each CRLF joined; `marks` are CR and LF that end lines."""
    returns = data[marks] == _CR
    pairs = returns[:-1] & ~returns[1:] & (marks[1:] == marks[:-1] + 1)
    first = np.append(True, ~pairs)[: len(marks)]  # not an LF that only completes a CRLF
    ends = marks[first]
    return ends, ends + 1 + np.append(pairs, False)[: len(marks)][first]
