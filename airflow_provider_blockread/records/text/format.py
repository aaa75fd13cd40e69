"""The base of text formats: encodings, byte order marks and headers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self, cast

from airflow_provider_blockread.records.format import BaseFormat, RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Offsets, Walk
from airflow_provider_blockread.records.text.encodings import EncodedFormat, file_encoding
from airflow_provider_blockread.records.text.narrowing import Narrowing, NarrowSource, make_narrowing, mark_text
from airflow_provider_blockread.records.text.pieces import RecordFinder, find_records, with_last
from airflow_provider_blockread.records.text.transcoding import Transcoder

_MARKS = ("delimiter", "quote", "escape", "comment")


class TextFormat(BaseFormat):
    """A text format: a byte order mark at the file's start is not data, unless the encoding is binary.

    A format with marks (delimiter, quote, escape, comment) keeps its option as `option`. Its framing uses the marks
    with which it was made, its content, header and decoder those in `option`: in a file of an encoding other than
    UTF-8 the former are narrowed code units and the latter text.
    """

    start = 0  # the first byte of data in the file at hand
    unit_bytes = 1  # bytes of the file for one byte of the text

    def for_file(self, source: ByteSource) -> RecordFormat:
        """Return the format for this file's encoding, byte order mark and header.

        Raises:
            RecordError: when the encoding cannot be determined, or the header cannot be read.
            OptionsError: when a mark given as bytes is not valid in the file's encoding.
        """
        encoding, start = file_encoding(source, self.encoding)
        if encoding == self.encoding and encoding in {"utf-8", "binary"}:
            return cast("RecordFormat", self.with_head(source, start))
        marks = self._marks_as_text(encoding)
        narrowing = make_narrowing(encoding, list(marks.values()))
        framed = self._framed_by(narrowing, marks)
        if encoding == "utf-8":
            return cast("RecordFormat", framed.with_head(source, start))
        inner = framed.with_head(NarrowSource(source, narrowing), start // narrowing.unit)
        return EncodedFormat(cast("RecordFormat", inner), narrowing, Transcoder(encoding), inner.finder)

    def finder(self) -> RecordFinder:
        """Return a finder of the records of a text, piece by piece; a subclass defines this or `walk`."""
        return lambda piece, *, final: (self.walk(piece, final=final), 0)

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the first records of a buffer that begins with one; with `final`, its end ends the last one."""
        return find_records(buffer, self.finder(), final=final)

    def with_head(self, source: ByteSource, start: int) -> Self:
        """Return the format for a file whose text begins at `start`; formats with a header read it here."""
        del source
        return self.starting_at(start)

    def starting_at(self, start: int) -> Self:
        """Return this format with data from `start` on."""
        if start == self.start:
            return self
        bound = copy.copy(self)
        bound.start = start
        return bound

    def data_offset(self, source: ByteSource) -> int:
        """Return where the file's data begin: after its byte order mark and header."""
        del source
        return self.start

    def _marks_as_text(self, encoding: str) -> dict[str, str]:
        """Return the format's marks as text; those given as bytes are text of the encoding that the option names."""
        option = getattr(self, "option", None)
        named = "utf-8" if self.encoding == "utf-8" else encoding
        marks = {name: getattr(option, name, None) for name in _MARKS}
        return {name: mark_text(mark, named) for name, mark in marks.items() if mark is not None}

    def _framed_by(self, narrowing: Narrowing, marks: dict[str, str]) -> Self:
        """Return this format framing narrowed units."""
        if not marks:
            return self
        option: Any = getattr(self, "option", None)
        make: Any = type(self)
        made = make(replace(option, encoding="binary", **{name: narrowing.mark(m) for name, m in marks.items()}))
        made.option = replace(option, **marks)
        made.encoding = "utf-8"
        made.compression = self.compression
        made.unit_bytes = narrowing.unit
        return cast("Self", made)


class SeparatedFormat(TextFormat, ABC):
    """A text format whose records end at separators; the file's end ends the last one."""

    @abstractmethod
    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the end of the first separator that ends at or after `offset`, or the file's size."""

    @abstractmethod
    def ends(self, buffer: bytes, *, final: bool) -> tuple[Offsets, Offsets]:
        """Return where separators begin and end in a buffer that does not begin inside one."""

    @abstractmethod
    def searched(self, piece: bytes) -> int:
        """Return how many bytes without a separator need no second search when more follow."""

    def finder(self) -> RecordFinder:
        """Return a finder of records by their separators."""
        return self._find_records

    def _find_records(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        ends, nexts = with_last(*self.ends(piece, final=final), len(piece), final=final)
        return Walk(ends, nexts), self.searched(piece)
