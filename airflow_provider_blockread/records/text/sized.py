"""Records of known extent: fixed length, and the whole file."""

from __future__ import annotations

from typing import cast

import numpy as np

from airflow_provider_blockread.options import Fixed, WholeFile
from airflow_provider_blockread.records.format import BaseFormat, RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Offsets, Walk
from airflow_provider_blockread.records.text.encodings import EncodedFormat, file_encoding
from airflow_provider_blockread.records.text.narrowing import make_narrowing
from airflow_provider_blockread.records.text.pieces import with_last
from airflow_provider_blockread.records.text.transcoding import Transcoder


class _SizedFormat(BaseFormat):
    """Records whose extent does not depend on text: a byte order mark sets the order of `utf-16`, and remains data."""

    def for_file(self, source: ByteSource) -> RecordFormat:
        """Return the format for the file's encoding.

        Raises:
            RecordError: when the byte order of `utf-16` or `utf-32` cannot be determined.
        """
        if self.encoding in {"utf-8", "binary"}:
            return cast("RecordFormat", self)
        encoding, _ = file_encoding(source, self.encoding)
        return EncodedFormat(cast("RecordFormat", self), make_narrowing("binary", []), Transcoder(encoding))


class FixedFormat(_SizedFormat):
    """Records of `length` bytes; a cut rounds up to a multiple."""

    name = "fixed"
    file_end = b""
    unfinished = (
        "its length is not a multiple of the record's; complete the file, set short_last='keep', or exclude the"
        " file with `blockread windows exclude`"
    )

    def __init__(self, option: Fixed) -> None:
        self.encoding = option.encoding
        self.length = option.length
        self._keep_short = option.short_last == "keep"

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the next multiple of the length."""
        del state
        return min(-(-offset // self.length) * self.length, source.size)

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the complete records of `buffer`, and with `final` a shorter last one where the option keeps it."""
        ends = np.arange(1, len(buffer) // self.length + 1, dtype=np.int64) * self.length
        return Walk(*with_last(ends, ends, len(buffer), final=final and self._keep_short))


class WholeFileFormat(_SizedFormat):
    """The file is the record."""

    name = "whole_file"
    splittable = False
    file_end = b""

    def __init__(self, option: WholeFile) -> None:
        self.encoding = option.encoding

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the file's end: no record starts after its first byte."""
        del offset, state
        return source.size

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the one record once the buffer holds all of it."""
        ends = np.array([len(buffer)] if final and buffer else [], np.int64)
        return Walk(ends, ends)

    def walk_files(self, buffer: bytes, borders: Offsets) -> Walk:
        """Return a record for each file, but for empty ones only if the option keeps them."""
        del buffer
        ends = borders[1:] if self.reads_empty else borders[1:][np.diff(borders) > 0]
        return Walk(ends, ends)
