"""Formats of text: byte order marks, encodings, and what a file's head says."""

from __future__ import annotations

import copy
from typing import Self, cast

from airflow_provider_blockread.records.format import BaseFormat, RecordFormat
from airflow_provider_blockread.records.source import ByteSource

_UTF8_BOM = b"\xef\xbb\xbf"


class TextFormat(BaseFormat):
    """A format of text: a byte order mark at the file's start is no data, unless the encoding is binary."""

    start = 0  # the first byte of data in the file at hand

    def for_file(self, source: ByteSource) -> RecordFormat:
        """Return the format with this file's byte order mark and head known."""
        marked = self.encoding != "binary" and source.read(0, 3) == _UTF8_BOM
        return cast("RecordFormat", self.with_head(source, len(_UTF8_BOM) if marked else 0))

    def with_head(self, source: ByteSource, start: int) -> Self:
        """Return the format for a file whose text begins at `start`; formats with a header read it here."""
        del source
        return self.starting_at(start)

    def starting_at(self, start: int) -> Self:
        """Return this format with data from `start` on."""
        if start == self.start:
            return self
        moved = copy.copy(self)
        moved.start = start
        return moved

    def data_offset(self, source: ByteSource) -> int:
        """Return where the data of the file begin: behind its byte order mark and header."""
        del source
        return self.start
