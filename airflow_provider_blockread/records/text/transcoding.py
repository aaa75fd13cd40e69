"""Transcoding records to UTF-8: a chunk's bytes at once, with its offsets computed from the lengths of characters.

Whether a record is valid in its encoding depends on its own bytes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options.parsing.encodings import UNIT_BYTES, characters, is_framed_as_bytes
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Decoder, Mask, Offsets
from airflow_provider_blockread.records.text.narrowing import Units, units_of

_UTF16, _UTF32 = 2, 4  # bytes of a unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcoded:
    """A chunk's good records in UTF-8, their indices in the chunk, and the bad ones."""

    chunk: Chunk
    indices: Offsets
    bad: tuple[BadRecord, ...] = ()


class TranscodingDecoder:
    """Transcodes chunks to UTF-8 for another decoder; a record that is not valid in its encoding is bad."""

    def __init__(self, inner: Decoder, transcoder: Transcoder) -> None:
        self._inner, self._transcoder = inner, transcoder
        self.schema = inner.schema

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the records as rows."""
        transcoded = self._transcoder.chunk(chunk)
        decoded = self._inner.decode(transcoded.chunk)
        inner = [replace(bad, index=int(transcoded.indices[bad.index])) for bad in decoded.bad]
        bad = sorted([*transcoded.bad, *inner], key=lambda record: record.index)
        return Decoded(batch=decoded.batch, bad=tuple(bad))


class Transcoder:
    """From one encoding to UTF-8."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._unit = UNIT_BYTES.get(encoding, 1)
        self._has_ascii = is_framed_as_bytes(encoding)

    def record(self, record: bytes) -> bytes:
        """Return one record in UTF-8.

        Raises:
            RecordError: when it is not valid in the encoding.
        """
        try:
            return record.decode(self.encoding).encode()
        except UnicodeDecodeError as error:
            what = f"{error.reason} at byte {error.start} of it"
            msg = f"it is not {self.encoding}: {what}; correct the file, or set encoding to that of the file"
            raise RecordError(msg) from error

    def chunk(self, chunk: Chunk) -> Transcoded:
        """Return a chunk's records in UTF-8, and separately those that are not valid in the encoding."""
        indices = np.arange(len(chunk.ends))
        if not len(indices) or (self._has_ascii and chunk.buffer.isascii()):
            return Transcoded(chunk=chunk, indices=indices)
        low, high = int(chunk.starts[0]), int(chunk.nexts[-1])
        data, bad = chunk.buffer[low:high], list[BadRecord]()
        units = units_of(data[: len(data) // self._unit * self._unit], self.encoding)
        try:
            text = data.decode(self.encoding)
            suspicious = len(text) < len(units)  # two records may each hold half of a surrogate pair
        except UnicodeDecodeError:
            text, suspicious = "", True
        if suspicious:
            lone = np.flatnonzero(_lone(units, self.encoding))
            bad = list(self._bad(units, lone, chunk))
            if bad or len(lone):
                text = self._repaired(units.copy(), lone, chunk, bad)
                units = units_of(text.encode(self.encoding), self.encoding)
                indices = np.delete(indices, [record.index for record in bad])
        to_utf8 = _OffsetMap(low, units, self.encoding, ascii_only=text.isascii())
        transcoded = replace(
            chunk.mapped(text.encode(), lambda offsets: to_utf8(offsets[indices])),
            offset=chunk.offset + low,
            offset_map=lambda at: chunk.offset + to_utf8.inverse(at),
        )
        return Transcoded(chunk=transcoded, indices=indices, bad=tuple(bad))

    def _bad(self, units: Units, lone: Offsets, chunk: Chunk) -> Iterator[BadRecord]:
        """Yield the records that contain lone units, begin or end with half a pair, or end inside a unit."""
        low, begins, sizes = int(chunk.starts[0]), chunk.begins, chunk.ends - chunk.begins
        owners = np.searchsorted(begins, low + lone * self._unit, side="right") - 1
        suspects = [owners[owners >= 0], np.flatnonzero(sizes % self._unit)]
        if self._unit == _UTF16:
            filled = np.flatnonzero(sizes >= _UTF16)
            first = (begins[filled] - low) // _UTF16
            last = first + sizes[filled] // _UTF16 - 1
            suspects.append(filled[_is_low(units[first]) | _is_high(units[last])])
        for index in np.unique(np.concatenate(suspects)).tolist():
            try:
                chunk.record(index).decode(self.encoding)
            except UnicodeDecodeError as error:
                reason = f"not {self.encoding}: no character at byte {error.start} of the record"
                yield BadRecord(index=index, reason=reason)

    def _repaired(self, units: Units, lone: Offsets, chunk: Chunk, bad: list[BadRecord]) -> str:
        """Return the text with spaces in place of bad records and of all other units that are not characters."""
        space = units_of(" ".encode(self.encoding), self.encoding)[0]
        low = int(chunk.starts[0])
        units[lone] = space
        for record in bad:
            begin, end = int(chunk.begins[record.index]) - low, int(chunk.ends[record.index]) - low
            units[begin // self._unit : end // self._unit] = space
        return units.tobytes().decode(self.encoding.replace("-be", "-le") if self._unit > 1 else self.encoding)


class _OffsetMap:
    """Maps offsets in a chunk of one encoding to offsets in its UTF-8."""

    def __init__(self, low: int, units: Units, encoding: str, *, ascii_only: bool) -> None:
        self._low, self._unit = low, UNIT_BYTES.get(encoding, 1)
        self._longer, extra = _longer(units[:0] if ascii_only else units, encoding)
        self._extra = np.concatenate([[0], np.cumsum(extra, dtype=np.int64)])

    def __call__(self, places: Offsets) -> Offsets:
        units = (places - self._low) // self._unit
        return units + self._extra[np.searchsorted(self._longer, units)] if len(self._longer) else units

    def inverse(self, at: int) -> int:
        """Return the offset in the chunk of the character that begins at `at` in its UTF-8."""
        before = int(np.searchsorted(self._longer + self._extra[:-1], at))
        return self._low + (at - int(self._extra[before])) * self._unit


def _longer(units: Units, encoding: str) -> tuple[Offsets, npt.NDArray[np.uint8]]:
    """Return the units that take more than one byte in UTF-8, and how many more."""
    if encoding not in UNIT_BYTES:
        extra = _extra_bytes(encoding)
        marks = units.tobytes().translate((extra > 0).tobytes())
        longer = np.flatnonzero(np.frombuffer(marks, np.bool_))
        return longer, extra[units[longer]]
    longer = np.flatnonzero(units > 0x7F)  # noqa: PLR2004 - the borders of UTF-8, here and below
    values = units[longer]
    extra = 1 + (values > 0x7FF).astype(np.uint8)  # noqa: PLR2004
    if UNIT_BYTES[encoding] == _UTF32:
        return longer, extra + (values > 0xFFFF)  # noqa: PLR2004
    return longer, extra - (_is_high(values) | _is_low(values))


@cache
def _extra_bytes(encoding: str) -> npt.NDArray[np.uint8]:
    return np.array([len(character.encode()) - 1 for character in characters(encoding)], np.uint8)


def _lone(units: Units, encoding: str) -> Mask:
    """Return which units are neither a character nor half of a complete surrogate pair."""
    if encoding not in UNIT_BYTES:
        return np.array([character == "\ufffd" for character in characters(encoding)])[units]
    high, low = _is_high(units), _is_low(units)
    if UNIT_BYTES[encoding] == _UTF32:
        beyond: Mask = units > 0x10FFFF  # noqa: PLR2004 - the last code point
        return beyond | high | low
    lone = high | low
    paired = high[:-1] & low[1:]
    lone[:-1] &= ~paired
    lone[1:] &= ~paired
    return lone


def _is_high(units: Units) -> Mask:
    return (units >= 0xD800) & (units < 0xDC00)  # noqa: PLR2004


def _is_low(units: Units) -> Mask:
    return (units >= 0xDC00) & (units < 0xE000)  # noqa: PLR2004
