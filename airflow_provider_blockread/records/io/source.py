"""Exact reads of a file whose own reads may be short."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from airflow_provider_blockread.errors import FileChangedError, RecordError
from airflow_provider_blockread.options import Policies

_FIRST_WINDOW = 64 * 2**10  # most records end within it
_LARGEST_WINDOW = 2**20
_MOST_FETCHED = 8 * 2**20  # at once, to be appended


class ByteSource:
    """Random access to a seekable binary file: every read returns exactly the requested bytes.

    The bytes of the last read are kept, so that continuing from a record start within them fetches nothing twice.

    Attributes: `size` of the file in bytes; `data_offset`, the first byte that belongs to a record (set once the format
    is known); `max_record_bytes`, the limit of a cut's search; `max_columns`, the limit of the file's columns; `name`
    for messages.
    """

    unit_bytes = 1  # bytes of the file for one byte of this source
    streamed = False  # True: reads go forward only, and `size` is known at the end
    consumed = 0  # compressed bytes that were decoded
    max_columns = Policies.max_columns

    def __init__(
        self,
        file: BinaryIO,
        *,
        size: int | None = None,
        name: str = "",
        max_record_bytes: int = Policies.max_record_bytes,
    ) -> None:
        """Wrap an open file; without `size`, the file is sought to its end."""
        self._file = file
        self.size = file.seek(0, 2) if size is None else size
        self.data_offset = 0
        self.max_record_bytes = max_record_bytes
        self.name = name or str(getattr(file, "name", "input"))
        self._kept = b""
        self._kept_at = 0

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)`, clipped to the file.

        Raises:
            FileChangedError: when the file ends before `size`, or returns more bytes than requested.
        """
        start, end = max(start, 0), min(end, self.size)
        if start >= end:
            return b""
        kept_end = self._kept_at + len(self._kept)
        if self._kept_at <= start and end <= kept_end:
            return self._kept[start - self._kept_at : end - self._kept_at]
        known = self._kept_at <= start < kept_end
        data = self._read_on(start, end) if known else self._fetch(start, end)
        self._kept, self._kept_at = data, start
        return data

    def _read_on(self, start: int, end: int) -> bytes:
        """Return the kept bytes from `start` on and the following ones, with little more memory than their size."""
        kept_end = self._kept_at + len(self._kept)
        if kept_end - start < _LARGEST_WINDOW:
            return self._kept[start - self._kept_at :] + self._fetch(kept_end, end)
        data = io.BytesIO(self._kept[start - self._kept_at :])
        self._kept = b""  # from here on one copy grows
        data.seek(0, io.SEEK_END)
        for low in range(kept_end, end, _MOST_FETCHED):
            data.write(self._fetch(low, min(low + _MOST_FETCHED, end)))
        return data.getvalue()

    def text(self, start: int, end: int) -> bytes:
        """Return the text of `[start, end)` as in records of a chunk: in UTF-8, or bytes unchanged."""
        return self.read(start, end)

    def windows(self, start: int, *, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) from `start` to the file's end, for a search that stops at its first hit.

        Each window but the last includes the first `overlap` bytes of the next one, so that a match of up to
        `overlap + 1` bytes on a border is found.

        Raises:
            RecordError: when the search goes beyond `max_record_bytes`.
        """
        position, want = start, _FIRST_WINDOW
        while position < self.size:
            if position - start > self.max_record_bytes + overlap + 1:  # a search may begin a whole delimiter early
                raise too_long(self, f"around byte {start}", self.max_record_bytes)
            yield position, self.read(position, position + want + overlap)
            position, want = position + want, min(want * 2, _LARGEST_WINDOW)

    def _fetch(self, start: int, end: int) -> bytes:
        self._file.seek(start)
        data = self._file.read(end - start)
        if len(data) == end - start:
            return data
        parts, have = [data], len(data)
        while data and have < end - start:
            data = self._file.read(end - start - have)
            parts.append(data)
            have += len(data)
        if have != end - start:
            how = "is shorter than planned" if have < end - start else "ignores ranged reads or has grown"
            msg = (
                f"{self.name} {how}: requested bytes [{start}, {end}) of {self.size}, got {have};"
                " restore the planned version, or exclude the file with `blockread windows exclude`"
            )
            raise FileChangedError(msg)
        return b"".join(parts)


class ExactFile(io.RawIOBase):
    """A source as a file for Arrow, to which a short read is the end."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__()
        self._source, self._position = source, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._source.size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than `size` only at the end."""
        end = self._source.size if size < 0 else self._position + size
        data = self._source.read(self._position, end)
        self._position += len(data)
        return data


def too_wide(name: str, what: str, place: int, columns: int, limit: int) -> RecordError:
    """Return the error for a header or row of more than `limit` columns, at byte `place` of the file."""
    return RecordError(
        f"{name}: the {what} at byte {place} has {columns:,} columns, more than max_columns={limit}; correct the"
        " format's delimiter, exclude the file with `blockread windows exclude`, or raise Policies(max_columns=...)"
    )


def too_long(
    source: ByteSource, where: str, limit: int, otherwise: str = "correct the format's options"
) -> RecordError:
    """Return the error for a record of more than `limit` bytes; `otherwise` is what to do but to raise the limit."""
    return RecordError(
        f"{source.name}: the record {where} is longer than max_record_bytes={limit * source.unit_bytes};"
        f" {otherwise}, or raise Policies(max_record_bytes=...)"
    )
