"""A version of a file as ranges that are fetched when they are read."""

from __future__ import annotations

import io
from collections.abc import Callable

from airflow_provider_blockread.errors import SourceError

Fetch = Callable[[int, int], bytes]
"""The bytes [start, end) of one version of one object."""

_READ_AHEAD = 8 * 2**20  # bytes that are fetched at once
_TRIES = 3  # at a range whose answer is cut off


class RangedFile(io.RawIOBase):
    """A file as ranges of one version, several MiB at once; reads may come back short.

    Args:
        fetch: gives a range; raises this package's errors.
        size: of the version, in bytes.
        name: of the file, for messages.
    """

    def __init__(self, fetch: Fetch, size: int, name: str) -> None:
        self._fetch, self._size, self.name = fetch, size, name
        self._position = 0
        self._kept, self._kept_at = b"", 0

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
        """Set the position, and return it; nothing is fetched."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Return some bytes from the position on, none at the end.

        Raises:
            SourceError: if the store gives more than was requested, or repeatedly less.
        """
        want = self._size if size is None or size < 0 else size
        want = min(want, self._size - self._position)
        if want <= 0:
            return b""
        if not self._kept_at <= self._position < self._kept_at + len(self._kept):
            end = min(self._position + max(want, _READ_AHEAD), self._size)
            self._kept, self._kept_at = b"", self._position  # one window at a time
            self._kept = exactly(self._fetch, self._position, end, self.name)
        low = self._position - self._kept_at
        data = self._kept if not low and want >= len(self._kept) else self._kept[low : low + want]
        self._position += len(data)
        return data


def exactly(fetch: Fetch, start: int, end: int, name: str) -> bytes:
    """Return the bytes [start, end), requested again if an answer is cut off.

    Raises:
        SourceError: if the store gives more than was requested, or repeatedly less.
    """
    have = 0
    for _ in range(_TRIES):
        data = fetch(start, end)
        if len(data) == end - start:
            return data
        have = len(data)
        if have > end - start:
            break
    msg = (
        f"{name}: asked for bytes [{start}, {end}), the store gives {have} bytes; copy the file to a store that gives"
        " ranges of it as asked"
    )
    raise SourceError(msg, name)
