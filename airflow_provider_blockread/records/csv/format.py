"""Rows of separated, quoted fields, framed as Python's `csv` reads them.

A row ends at an LF, CR or CRLF outside quotes. `rows` finds these newlines; this module turns them into rows.
"""

from __future__ import annotations

import copy
import sys
from typing import Self

import numpy as np

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv, Lines
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.records.csv.decode import csv_decoder
from airflow_provider_blockread.records.csv.fields import Dialect, dialect_of
from airflow_provider_blockread.records.csv.modes import SpecialBytes
from airflow_provider_blockread.records.csv.rows import MarkedRows, QuotedRows
from airflow_provider_blockread.records.io.source import ByteSource, too_wide
from airflow_provider_blockread.records.model import Decoder, Mask, Offsets, Walk
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text.format import TextFormat
from airflow_provider_blockread.records.text.lines import LineFormat, crlf_joined
from airflow_provider_blockread.records.text.pieces import RecordFinder, first_end, with_last
from airflow_provider_blockread.records.walking import WalkLimits, walk_block

_PIECE_BYTES = 2**18  # what is processed at once: its arrays stay in the processor's cache
_HEADER_BYTES = 64 * 2**10


class CsvFormat(TextFormat):
    """Rows of separated, quoted fields; lines that begin with the `comment` byte are skipped.

    `header` holds the names in a file's first row, where the option says that it is a header.
    """

    name = "csv"
    file_end = b"\n"

    def __init__(self, option: Csv) -> None:
        self.option = option
        self.encoding = option.encoding
        self.header: tuple[str, ...] | None = None
        self.file = ""  # the name of the file with that header
        delimiter, quote, escape, comment = (
            None if mark is None else encode_text(self.name, mark, option.encoding)[:1]  # more only before `for_file`
            for mark in (option.delimiter, option.quote, option.escape, option.comment)
        )
        self._marks = SpecialBytes(delimiter=delimiter or b",", quote=quote, escape=escape, comment=comment)
        self.needs_scan = quote is not None or escape is not None
        marked = escape is not None or (quote is not None and comment is not None)
        self._rows: MarkedRows | QuotedRows = MarkedRows(self._marks) if marked else QuotedRows(self._marks)

    def with_head(self, source: ByteSource, start: int) -> Self:
        """Return the format for a file whose text begins at `start`: a header may follow skipped lines.

        Raises:
            RecordError: when the header cannot be read.
        """
        if self.option.skip_lines:
            lines = LineFormat(Lines(encoding="binary"))
            lines.unit_bytes = self.unit_bytes
            start = lines.behind(source, start, self.option.skip_lines)
        bound = self.starting_at(start)
        if not self.option.header:
            return bound
        bound = copy.copy(bound)
        bound.file = source.name
        limits = WalkLimits(chunk_bytes=_HEADER_BYTES, max_record_bytes=source.max_record_bytes)
        for chunk in walk_block(source, bound, start, sys.maxsize, limits):
            rows = np.flatnonzero(chunk.ends > chunk.begins)
            if len(rows):
                begin, end, behind = (int(places[rows[0]]) for places in (chunk.begins, chunk.ends, chunk.nexts))
                self._check_closed(source, chunk.offset + begin, chunk.offset + end)
                bound.header = self._names(source, chunk.offset + begin, chunk.offset + end)
                bound.start = chunk.offset + behind
                return bound
        bound.start = source.size
        return bound

    def _check_closed(self, source: ByteSource, start: int, end: int) -> None:
        """Refuse a header in which the file ends inside quotes."""
        at = start * self.unit_bytes
        why = self.explain(source.read(start, end), at) if end == source.size else ""
        if why:
            msg = (
                f"{source.name}: the header at byte {at} extends to the end of the file{why}; close it, set quote=None,"
                " or exclude the file with `blockread windows exclude`"
            )
            raise RecordError(msg)

    def _names(self, source: ByteSource, start: int, end: int) -> tuple[str, ...]:
        dialect = dialect_of(self.option)
        texts = dialect.texts(dialect.decode(source.text(start, end)))
        if len(texts) > source.max_columns:
            raise too_wide(source.name, "header", start * self.unit_bytes, len(texts), source.max_columns)
        try:
            return tuple(dialect.encode(text).decode() for text in texts)
        except UnicodeDecodeError as error:
            msg = (
                f"{source.name}: the header at byte {start * self.unit_bytes} is not UTF-8; set encoding to that of the"
                " file, such as 'cp1252'"
            )
            raise RecordError(msg) from error

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first row start at or after `offset`."""
        start, mode = self._rows.enter(source, offset, state)
        around = source.read(start - 1, start + 1)
        if mode == 0 and around[:1] in {b"\n", b"\r"}:
            return start + (around == b"\r\n")
        return first_end(source, start, _RowFinder(self._rows, None, mode))

    def finder(self) -> RecordFinder:
        """Return a finder of rows that marks comments as skipped; the file's end ends the last row."""
        return _RowFinder(self._rows, self._marks.comment)

    def explain(self, buffer: bytes, offset: int) -> str:
        """Return where a quote opened that is not closed, or an empty string."""
        marks = (self._marks.delimiter, self._marks.quote, self._marks.escape)
        delimiter, quote, escape = (None if mark is None else mark.decode("latin-1") for mark in marks)
        place = Dialect(delimiter or ",", quote, escape).open_quote(buffer.decode("latin-1"))
        if place is None:
            return ""
        return f" (the quote that opened at byte {offset + place * self.unit_bytes} is not closed)"

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the state map of `[start, end)`."""
        return self._rows.scan(source, start, end)

    def decoder(self, names: tuple[str, ...] | None = None) -> Decoder:
        """Return a decoder to the columns of the option's schema, or to some of them."""
        return csv_decoder(self.option, self.header, self.file, names)


class _RowFinder:
    """Finds the rows of a text that begins at a row's start, or in another mode."""

    def __init__(self, rows: MarkedRows | QuotedRows, comment: bytes | None, mode: int = 0) -> None:
        self._rows, self._comment, self._mode = rows, comment, mode
        self._in_comment: bool | None = None  # whether the first row is a comment

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        if self._in_comment is None:
            self._in_comment = self._comment is not None and piece.startswith(self._comment)
        text = piece[:-1] if piece.endswith(b"\r") and not final else piece  # its LF may be the next byte of the file
        ends, nexts = with_last(*self._row_ends(text), len(text), final=final)
        return Walk(ends, nexts, skipped=self._skipped(text, nexts)), len(text)

    def _row_ends(self, text: bytes) -> tuple[Offsets, Offsets]:
        found = [np.empty(0, np.int64)]
        for low in range(0, len(text), _PIECE_BYTES):
            marks, self._mode = self._rows.newlines(text[low : low + _PIECE_BYTES], self._mode)
            found.append(marks + low if low else marks)
        marks = np.concatenate(found)
        return crlf_joined(np.frombuffer(text, np.uint8), marks) if b"\r" in text else (marks, marks + 1)

    def _skipped(self, text: bytes, nexts: Offsets) -> Mask | None:
        if self._comment is None or not len(nexts) or not (self._in_comment or self._comment in text):
            return None
        skipped: Mask = np.frombuffer(text, np.uint8)[np.append(0, nexts[:-1])] == ord(self._comment)
        skipped[0] = self._in_comment
        return skipped if skipped.any() else None
