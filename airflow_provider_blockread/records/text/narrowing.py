"""Code units of any encoding narrowed to one byte each, so that formats that search for bytes find their marks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.options.parsing.encodings import UNIT_BYTES, characters, encode_text, is_framed_as_bytes
from airflow_provider_blockread.records.io.source import ByteSource

Units = npt.NDArray[np.unsignedinteger]

_ASCII = 128
_OTHER = 0x80  # every unit without meaning to the format
_MOST_SPECIALS = 0x7F
_PIECE_BYTES = 2**20  # narrowed at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """One byte for each code unit: ASCII is kept, and each other unit of the format's marks has its own code.

    A `plain` narrowing changes nothing.
    """

    encoding: str
    plain: bool
    unit: int = 1  # bytes of the file
    specials: tuple[int, ...] = ()  # units beyond ASCII that the marks are made of

    def of(self, data: bytes) -> bytes:
        """Return the complete units of data narrowed, without the rest."""
        if self.plain:
            return data
        if self.unit == 1:
            return data.translate(_table(self.encoding, self.specials))
        whole = len(data) - len(data) % self.unit
        if whole <= _PIECE_BYTES:
            return self._of_units(data[:whole])
        narrow = io.BytesIO()
        for low in range(0, whole, _PIECE_BYTES):
            narrow.write(self._of_units(data[low : min(low + _PIECE_BYTES, whole)]))
        return narrow.getvalue()

    def _of_units(self, data: bytes) -> bytes:
        units = units_of(data, self.encoding)
        narrow = np.minimum(units, _OTHER).astype(np.uint8)
        for code, special in enumerate(self.specials, _OTHER + 1):
            narrow[units == special] = code
        return narrow.tobytes()

    def of_all(self, data: bytes) -> bytes:
        """Return data that reach the file's end narrowed; an incomplete unit has no meaning."""
        return self.of(data) + bytes([_OTHER] if len(data) % self.unit else [])

    def mark(self, mark: str) -> bytes:
        """Return a mark of the format narrowed."""
        if self.plain:
            return encode_text("encoding", mark, self.encoding)
        units = _units(mark, self.encoding)
        return bytes(unit if unit < _ASCII else _OTHER + 1 + self.specials.index(unit) for unit in units)


def make_narrowing(encoding: str, marks: list[str]) -> Narrowing:
    """Return the narrowing of files of one encoding for a format with these marks.

    Raises:
        OptionsError: when the marks hold too many different units.
    """
    if is_framed_as_bytes(encoding):
        return Narrowing(encoding=encoding, plain=True)
    units = {unit for mark in marks for unit in _units(mark, encoding) if unit >= _ASCII}
    if len(units) > _MOST_SPECIALS:
        msg = f"a delimiter of {len(units)} different non-ASCII characters is too long; choose a shorter one"
        raise OptionsError(msg)
    return Narrowing(encoding=encoding, plain=False, unit=UNIT_BYTES.get(encoding, 1), specials=tuple(sorted(units)))


def mark_text(mark: str | bytes, encoding: str) -> str:
    """Return a mark as text.

    Raises:
        OptionsError: when it is bytes that are not valid in the encoding.
    """
    if isinstance(mark, str):
        return mark
    try:
        return mark.decode(encoding)
    except UnicodeDecodeError as error:
        msg = f"the delimiter, quote, escape or comment {mark!r} is not valid {encoding}; give it as str"
        raise OptionsError(msg) from error


def units_of(data: bytes, encoding: str) -> Units:
    """Return data of complete code units as an array of units, little-endian in memory."""
    order, unit = (">" if encoding.endswith("-be") else "<"), UNIT_BYTES.get(encoding, 1)
    return np.frombuffer(data, f"{order}u{unit}").astype(f"<u{unit}", copy=False)


def _units(text: str, encoding: str) -> list[int]:
    if UNIT_BYTES.get(encoding) == 2:  # noqa: PLR2004 - UTF-16, whose units may be halves of a character
        return [int(unit) for unit in units_of(text.encode("utf-16-le"), "utf-16-le")]
    return [ord(character) for character in text]


@cache
def _table(encoding: str, specials: tuple[int, ...]) -> bytes:
    codes = {special: _OTHER + 1 + place for place, special in enumerate(specials)}
    units = [ord(character) for character in characters(encoding)]
    return bytes(unit if unit < _ASCII else codes.get(unit, _OTHER) for unit in units)


class NarrowSource(ByteSource):
    """A file as narrowed units: all offsets and lengths count units, including an incomplete one at the file's end."""

    def __init__(self, source: ByteSource, narrowing: Narrowing) -> None:
        self._source, self._narrowing = source, narrowing
        self.unit_bytes = narrowing.unit
        self.name = source.name
        self.streamed = source.streamed
        self.data_offset = source.data_offset // narrowing.unit
        self.max_record_bytes = -(-source.max_record_bytes // narrowing.unit)
        self.max_columns = source.max_columns

    @property
    def size(self) -> int:  # type: ignore[override]  # a stream's size is known at its end
        """The file's size, in units."""
        return -(-self._source.size // self.unit_bytes)

    def read(self, start: int, end: int) -> bytes:
        """Return the units `[start, end)` narrowed, clipped to the file."""
        return self._narrowing.of_all(self._source.read(max(start, 0) * self.unit_bytes, end * self.unit_bytes))

    def windows(self, start: int, *, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, narrowed units) from `start` to the file's end."""
        unit = self.unit_bytes
        for position, window in self._source.windows(start * unit, overlap=overlap * unit):
            yield position // unit, self._narrowing.of_all(window)

    def text(self, start: int, end: int) -> bytes:
        """Return the text of the units `[start, end)` in UTF-8.

        Raises:
            RecordError: when they are not valid in the file's encoding.
        """
        data = self._source.read(start * self.unit_bytes, end * self.unit_bytes)
        try:
            return data.decode(self._narrowing.encoding).encode()
        except UnicodeDecodeError as error:
            place = start * self.unit_bytes + error.start
            msg = f"{self.name}: byte {place} is not {error.encoding}: {error.reason}; set encoding to that of the file"
            raise RecordError(msg) from error
