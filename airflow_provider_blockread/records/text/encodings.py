"""Files in encodings other than UTF-8: framed on their code units, and decoded as UTF-8.

A format is written once, for bytes. Here it searches for its marks among narrowed code units (`narrowing`), offsets are
scaled to the file's bytes, and the records are transcoded. An offset inside a code unit means the next unit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options.parsing.encodings import UNIT_BYTES
from airflow_provider_blockread.records.format import BaseFormat, RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Chunk, Decoder, Walk
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text.narrowing import Narrowing, NarrowSource
from airflow_provider_blockread.records.text.pieces import RecordFinder, find_records
from airflow_provider_blockread.records.text.transcoding import Transcoder, TranscodingDecoder
from airflow_provider_blockread.records.walking import first_start

#: By encoding; those of UTF-32 come first, since one of them starts with one of UTF-16.
BYTE_ORDER_MARKS = {
    "utf-32-le": b"\xff\xfe\x00\x00",
    "utf-32-be": b"\x00\x00\xfe\xff",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-8": b"\xef\xbb\xbf",
}
_HEAD_BYTES = 4


def file_encoding(source: ByteSource, named: str) -> tuple[str, int]:
    """Return a file's encoding, and where its text begins: after its byte order mark, if it has one.

    The mark of a `utf-8`, `utf-16` or `utf-32` file may override the name with another one of the three. Where the
    name includes the byte order, a mark of that order is skipped as well.

    Raises:
        RecordError: when `utf-16` or `utf-32` is named and the file has no mark, or its mark is of the other order.
    """
    if named != "utf-8" and named not in UNIT_BYTES:
        return named, 0
    head = source.read(0, _HEAD_BYTES)
    if named.endswith(("-le", "-be")):
        other = named[:-2] + ("be" if named.endswith("-le") else "le")
        if head.startswith(BYTE_ORDER_MARKS[other]):
            msg = f"{source.name} begins with the byte order mark of {other}, not of {named}; set encoding={other!r}"
            raise RecordError(msg)
        return named, len(BYTE_ORDER_MARKS[named]) if head.startswith(BYTE_ORDER_MARKS[named]) else 0
    for found, mark in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return found, len(mark)
    if named != "utf-8" and head:
        msg = f"{source.name} has no byte order mark; set encoding='{named}-le' or '{named}-be'"
        raise RecordError(msg)
    return (named if named == "utf-8" else f"{named}-le"), 0  # any order will do for an empty file


class EncodedFormat(BaseFormat):
    """A format as it applies to a file of another encoding; `inner` frames the narrowed units and decodes the UTF-8."""

    def __init__(
        self,
        inner: RecordFormat,
        narrowing: Narrowing,
        transcoder: Transcoder,
        finder: Callable[[], RecordFinder] | None = None,
    ) -> None:
        """Take a format that is bound to the narrowed file, and its `finder`; without one, units must be bytes."""
        self.inner, self.transcoder, self._finder = inner, transcoder, finder
        self.name, self.unfinished, self.compression = inner.name, inner.unfinished, inner.compression
        self.reads_empty, self.too_long = inner.reads_empty, inner.too_long
        self.needs_scan, self.splittable, self.initial_state = inner.needs_scan, inner.splittable, inner.initial_state
        self._narrowing = narrowing
        self._unit = narrowing.unit

    def data_offset(self, source: ByteSource) -> int:
        """Return the first byte that belongs to a record."""
        return min(self.inner.data_offset(self.narrowed(source)) * self._unit, source.size)

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first record start at or after `offset`."""
        start = first_start(self.narrowed(source), self.inner, -(-offset // self._unit), state)
        return min(start * self._unit, source.size)

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the first records of `buffer`; with `final`, an incomplete unit at its end belongs to the last one."""
        if self._finder is None or self._narrowing.plain:
            return self.inner.walk(buffer, final=final)
        finder, unit = self._finder(), self._unit

        def find(piece: bytes, *, final: bool) -> tuple[Walk, int]:
            narrow = self._narrowing.of_all(piece) if final else self._narrowing.of(piece)
            if not narrow:
                return Walk(np.empty(0, np.int64), np.empty(0, np.int64)), 0
            walk, searched = finder(narrow, final=final)
            return walk.mapped(lambda places: np.minimum(places * unit, len(piece))), searched * unit

        return find_records(buffer, find, final=final)

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the state map of the units that begin in `[start, end)`."""
        return self.inner.scan(self.narrowed(source), -(-start // self._unit), -(-end // self._unit))

    def explain(self, buffer: bytes, offset: int) -> str:
        """Return why the record at the start of `buffer` has no end, or an empty string."""
        return self.inner.explain(self._narrowing.of(buffer), offset)

    def content(self, record: bytes) -> bytes:
        """Return a record's content in UTF-8.

        Raises:
            RecordError: when it is not valid in the encoding.
        """
        return self.inner.content(self.transcoder.record(record))

    def decoder(self) -> Decoder:
        """Return the inner format's decoder, preceded by transcoding to UTF-8."""
        return TranscodingDecoder(self.inner.decoder(), self.transcoder)

    def in_utf8(self, chunk: Chunk) -> Chunk:
        """Return the records of a chunk that are valid in the encoding, in UTF-8."""
        return self.transcoder.chunk(chunk).chunk

    def narrowed(self, source: ByteSource) -> NarrowSource:
        """Return the file as narrowed units, in which those of ASCII are bytes."""
        return NarrowSource(source, self._narrowing)
