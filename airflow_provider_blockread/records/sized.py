"""Records of known extent: fixed length, and the whole file."""

from __future__ import annotations

import numpy as np

from airflow_provider_blockread.options import Fixed, WholeFile
from airflow_provider_blockread.records.format import BaseFormat, Walk
from airflow_provider_blockread.records.lines import with_last
from airflow_provider_blockread.records.source import ByteSource


class FixedFormat(BaseFormat):
    """Records of `length` bytes; a cut rounds up to a multiple."""

    name = "fixed"
    unfinished = "its length is no multiple of the record's; complete the file, set short_last='keep', or exclude it"

    def __init__(self, option: Fixed) -> None:
        """Take the option as the DAG author wrote it."""
        self.encoding = option.encoding
        self.length = option.length
        self._keep_short = option.short_last == "keep"

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the next multiple of the length."""
        del state
        return min(-(-offset // self.length) * self.length, source.size)

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the whole records of `buffer`, and with `final` a shorter last one where that is kept."""
        ends = np.arange(1, len(buffer) // self.length + 1, dtype=np.int64) * self.length
        return Walk(*with_last(ends, ends, len(buffer), final=final and self._keep_short))


class WholeFileFormat(BaseFormat):
    """The file is the record."""

    name = "whole_file"
    splittable = False

    def __init__(self, option: WholeFile) -> None:
        """Take the option as the DAG author wrote it."""
        self.encoding = option.encoding

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the file's end: no record starts behind its first byte."""
        del offset, state
        return source.size

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the one record once all of it is there."""
        ends = np.array([len(buffer)] if final and buffer else [], np.int64)
        return Walk(ends, ends)
