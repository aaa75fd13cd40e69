r"""Records ended by a newline or any delimiter that is not escaped.

Escapes pair up: after an even run of them a delimiter ends a record, after an odd one it is content. The format
without escapes finds the delimiters: a CRLF after an escape is one escaped newline.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.errors import LookBackError
from airflow_provider_blockread.options import Delimited, Escaped, Lines
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.format import MAX_LOOK_BACK, ONE_BLOCK
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Decoder, Mask, Offsets, Walk
from airflow_provider_blockread.records.text.delimited import DelimitedFormat
from airflow_provider_blockread.records.text.format import SeparatedFormat, TextFormat
from airflow_provider_blockread.records.text.lines import LineFormat
from airflow_provider_blockread.records.text.pieces import RecordFinder, first_end, with_last
from airflow_provider_blockread.records.text.unescape import UnescapingDecoder, unescape

_FIRST_BYTES = 2**10  # escape runs are short
_MOST_BYTES = 2**20


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
        if found < source.size and self._escapes_before(source, self._begin(source, found)) % 2:
            return first_end(source, found, self.finder())
        return found

    def finder(self) -> RecordFinder:
        """Return a finder of records by their unescaped delimiter; the file's end ends the last one."""
        return _Unescaped(self._separated, self._escape)

    def content(self, record: bytes) -> bytes:
        """Return the record, without its escapes where the option says so."""
        return unescape(record, self._mark()) if self._unescape else record

    def decoder(self) -> Decoder:
        """Return the decoder of raw records, which removes the escapes first where the option says so."""
        raw = RawDecoder(self.encoding)
        return UnescapingDecoder(raw, self._mark()) if self._unescape else raw

    def _mark(self) -> bytes:
        """Return the escape as it occurs in records in UTF-8."""
        return encode_text(self.option.kind, self.option.escape, "utf-8")

    def _begin(self, source: ByteSource, end: int) -> int:
        """Return where the delimiter that ends at `end` begins."""
        if isinstance(self._separated, DelimitedFormat):
            return end - len(self._separated.delimiter)
        return end - (2 if source.read(max(end - 2, source.data_offset), end) == b"\r\n" else 1)

    def _escapes_before(self, source: ByteSource, place: int) -> int:
        """Return how many escapes directly precede `place`."""
        low, want = place, 1
        while low > source.data_offset:
            bottom = max(low - want, source.data_offset)
            window = source.read(bottom, low)
            others = len(window.rstrip(self._escape))
            if others:
                return place - bottom - others
            low, want = bottom, min(max(want * 2, _FIRST_BYTES), _MOST_BYTES)
            if place - low > MAX_LOOK_BACK:
                msg = (
                    f"{source.name}: more than {MAX_LOOK_BACK} escapes in a row precede byte"
                    f" {place * source.unit_bytes}, too many to determine whether a record ends there;"
                    f" {ONE_BLOCK}"
                )
                raise LookBackError(msg)
        return place - low


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
        data, escape = np.frombuffer(piece, np.uint8), self._escape[0]
        behind = np.flatnonzero(data[ends - 1] == escape) if len(ends) else ends
        if len(behind) and ends[behind[0]] == 0:
            behind = behind[1:]  # index -1 is the last byte of the piece
        if not len(behind) and not self._odd:
            return ends, nexts
        kept: Mask = np.ones(len(ends), np.bool_)
        kept[behind[_odd_runs(data, ends[behind] - 1, escape)]] = False
        if self._odd:
            kept ^= ends == len(piece) - len(piece.lstrip(self._escape))
        return ends[kept], nexts[kept]


def _odd_runs(data: npt.NDArray[np.uint8], lasts: Offsets, escape: int) -> Mask:
    """Return which of the runs of escapes that end at `lasts` have an odd length."""
    alone: Mask = (lasts == 0) | (data[lasts - 1] != escape)
    longer = np.flatnonzero(~alone)
    if len(longer):
        spots = np.flatnonzero(data == escape)
        begins = np.append(True, np.diff(spots) != 1)
        first = np.maximum.accumulate(np.where(begins, np.arange(len(spots)), 0))
        places = np.searchsorted(spots, lasts[longer])
        alone[longer] = (places - first[places]) % 2 == 0
    return alone
