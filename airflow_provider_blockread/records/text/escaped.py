r"""Records ended by a newline or any delimiter that is not escaped.

Escapes pair up: after an even run of them a delimiter ends a record, after an odd one it is content. The format
without escapes finds the delimiters: a CRLF after an escape is one escaped newline. Where escapes are removed, the byte
or escape after one is kept.
"""

from __future__ import annotations

import re

import numpy as np

from airflow_provider_blockread.options import Delimited, Escaped, Lines
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Chunk, Decoded, Decoder, Offsets, Walk
from airflow_provider_blockread.records.text.delimited import DelimitedFormat, occurrences
from airflow_provider_blockread.records.text.format import SeparatedFormat, TextFormat
from airflow_provider_blockread.records.text.lines import LineFormat
from airflow_provider_blockread.records.text.pieces import (
    RecordFinder,
    after_odd_runs,
    first_end,
    run_before,
    with_last,
)


class EscapedFormat(TextFormat):
    """Records ended by a newline (LF, CR, CRLF) or by `delimiter`, where it is not escaped."""

    name = "escaped"

    def __init__(self, option: Escaped) -> None:
        self.option = option
        self.encoding = option.encoding
        self._unescape = option.unescape
        self._escape = encode_text(option.kind, option.escape, option.encoding)
        self._separated: SeparatedFormat = LineFormat(Lines(encoding="binary"))
        if option.delimiter is not None:
            delimiter = encode_text(option.kind, option.delimiter, option.encoding)
            self._separated = DelimitedFormat(Delimited(delimiter=delimiter, encoding="binary"))

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the end of the first delimiter that ends at or after `offset` and is not escaped.

        Raises:
            LookBackError: when the run of escapes before a delimiter is longer than `MAX_LOOK_BACK`.
        """
        found = self._separated.cut(source, offset, state)
        if found < source.size and run_before(source, self._begin(source, found), self._escape) % 2:
            return first_end(source, found, self.finder())
        return found

    def finder(self) -> RecordFinder:
        """Return a finder of records by their unescaped delimiter; the file's end ends the last one."""
        return _Unescaped(self._separated, self._escape)

    def content(self, record: bytes) -> bytes:
        """Return the record, without its escapes where the option says so; an escape at its end is kept."""
        if not self._unescape:
            return record
        mark = re.escape(self._mark())
        return re.sub(b"%b(%b|.)" % (mark, mark), rb"\1", record, flags=re.DOTALL)

    def decoder(self) -> Decoder:
        """Return the decoder of raw records, which removes the escapes first where the option says so."""
        raw = RawDecoder(self.encoding)
        return _UnescapingDecoder(raw, self._mark()) if self._unescape else raw

    def _mark(self) -> bytes:
        """Return the escape as it occurs in records in UTF-8."""
        return encode_text(self.option.kind, self.option.escape, "utf-8")

    def _begin(self, source: ByteSource, end: int) -> int:
        """Return where the delimiter that ends at `end` begins."""
        if isinstance(self._separated, DelimitedFormat):
            return end - len(self._separated.delimiter)
        return end - (2 if source.read(max(end - 2, source.data_offset), end) == b"\r\n" else 1)


class _Unescaped:
    """Finds the delimiters that are not escaped, in a text that begins after a delimiter."""

    def __init__(self, separated: SeparatedFormat, escape: bytes) -> None:
        self._separated, self._escape = separated, escape
        self._odd = False  # whether an odd number of escapes directly precedes the piece

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        found, behind = self._separated.ends(piece, final=final)
        searched = max(self._separated.searched(piece), int(behind[-1]) if len(behind) else 0)
        ends, nexts = with_last(*self._unescaped(piece, found, behind), len(piece), final=final)
        if not len(nexts):
            run = searched - len(piece[:searched].rstrip(self._escape))
            self._odd = (run + (self._odd if run == searched else 0)) % 2 == 1
        return Walk(ends, nexts), searched

    def _unescaped(self, piece: bytes, ends: Offsets, nexts: Offsets) -> tuple[Offsets, Offsets]:
        escaped = after_odd_runs(np.frombuffer(piece, np.uint8), ends, self._escape[0])
        if self._odd:
            escaped ^= ends == len(piece) - len(piece.lstrip(self._escape))
        return ends[~escaped], nexts[~escaped]


class _UnescapingDecoder:
    """Removes the escapes from a chunk's records for another decoder."""

    def __init__(self, inner: Decoder, escape: bytes) -> None:
        self._inner, self._escape = inner, escape
        self.schema = inner.schema

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the unescaped records as rows."""
        if not len(chunk.ends) or self._escape not in chunk.buffer:
            return self._inner.decode(chunk)
        return self._inner.decode(_without_escapes(chunk, self._escape))


def _without_escapes(chunk: Chunk, escape: bytes) -> Chunk:
    length = len(escape)
    spots = occurrences(chunk.buffer, escape)
    rank = np.arange(len(spots))
    begins = np.append(True, np.diff(spots) != length)[: len(spots)]
    rank -= np.maximum.accumulate(np.where(begins, rank, 0))
    # Only the file's last record may end with an escape that escapes nothing.
    gone = spots[(rank % 2 == 0) & (spots != chunk.ends[-1] - length)]
    kept = np.ones(len(chunk.buffer), np.bool_)
    for i in range(length):
        kept[gone + i] = False

    def shifted(places: Offsets) -> Offsets:
        return places - length * np.searchsorted(gone, places)

    return chunk.mapped(np.frombuffer(chunk.buffer, np.uint8)[kept].tobytes(), shifted)
