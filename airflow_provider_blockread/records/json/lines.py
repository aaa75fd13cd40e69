"""JSON lines: one value a line, ended by LF; lines of white space alone are skipped."""

from __future__ import annotations

import numpy as np

from airflow_provider_blockread.options import JsonLines, Lines
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.json.rescue import json_decoder
from airflow_provider_blockread.records.json.text import WHITE, next_visible
from airflow_provider_blockread.records.model import Decoder, Mask, Offsets, Walk
from airflow_provider_blockread.records.text.format import TextFormat
from airflow_provider_blockread.records.text.lines import LineFormat
from airflow_provider_blockread.records.text.pieces import RecordFinder

_TAB, _CR, _SPACE = b"\t\r "


class JsonLinesFormat(TextFormat):
    """One JSON value a line, ended by LF; a line of white space alone is skipped."""

    name = "json_lines"
    file_end = b"\n"

    def __init__(self, option: JsonLines) -> None:
        self._option = option
        self._lines = LineFormat(Lines(newline="lf"))

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first line start at or after `offset`."""
        return self._lines.cut(source, offset, state)

    def finder(self) -> RecordFinder:
        """Return a finder of lines that marks blank ones as skipped."""
        return _MarkBlank(self._lines.finder())

    def decoder(self) -> Decoder:
        """Return a decoder to the schema's columns, or to text where there is no schema."""
        return json_decoder(self._option) or RawDecoder(self.encoding)


class _MarkBlank:
    """Finds lines by another finder, and marks those of white space alone as skipped."""

    def __init__(self, finder: RecordFinder) -> None:
        self._finder = finder
        self._blank = True  # whether the first line is blank before the piece

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        walk, seen = self._finder(piece, final=final)
        if len(walk.ends):
            return Walk(walk.ends, walk.nexts, skipped=self._skipped(piece, walk)), seen
        self._blank = self._blank and not piece.strip(WHITE)
        return walk, seen

    def _skipped(self, piece: bytes, walk: Walk) -> Mask | None:
        blank = _blank(piece, walk.starts, walk.ends)
        blank[0] &= self._blank
        return blank if blank.any() else None


def _blank(buffer: bytes, starts: Offsets, ends: Offsets) -> Mask:
    """Return which lines contain only JSON's white space; their first byte rules most lines out."""
    data = np.frombuffer(buffer, np.uint8)
    first = data[np.minimum(starts, len(data) - 1)]
    blank: Mask = starts == ends
    suspects = np.flatnonzero(~blank & ((first == _SPACE) | (first == _TAB) | (first == _CR)))
    blank[suspects] = next_visible(data, starts[suspects]) >= ends[suspects]
    return blank
