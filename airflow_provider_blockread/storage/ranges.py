"""A version of a file as ranges, which are fetched when they are read, and prefetched if they are read in order."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from airflow_provider_blockread.errors import SourceError

Fetch = Callable[[int, int], bytes]
"""A function that returns the bytes [start, end) of one version of one object."""

#: Concurrent requests of one task: enough for a slow network, and few enough for a store with tens of such tasks.
REQUESTS = 32

#: Bytes that are fetched at once.
RANGE_BYTES = 4 * 2**20
#: The most ranges that are prefetched, whether already held or in flight.
MOST_AHEAD = 6

_ANSWERED = re.compile(r"bytes (\d+)-(\d+)/")
_TRIES = 3  # for a range whose answer is truncated


class RemoteFile(io.RawIOBase):
    """A file of a known size in a store, whose position is set without a request."""

    def __init__(self, size: int, name: str) -> None:
        self._size, self.name = size, name
        self._position = 0

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
        """Set the position, and return it, without a request."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position


class RangedFile(RemoteFile):
    """A file as ranges of one version, several MiB at once; reads may come back short.

    Each range that is read directly after the previous one makes two more be prefetched, up to a limit. Thus a read
    that ends early has fetched little in vain, and a long one does not wait for the network while bytes are processed.

    Args:
        fetch: returns a range; raises this package's errors.
        size: the size of the version, in bytes.
        name: the name of the file, for messages.
        range_bytes: how many bytes are fetched at once.
        until: where reads are expected to end, except for the rest of a record; bytes from there on are not prefetched.
    """

    def __init__(
        self, fetch: Fetch, size: int, name: str, range_bytes: int = RANGE_BYTES, until: int | None = None
    ) -> None:
        super().__init__(size, name)
        self._fetch, self._range = fetch, range_bytes
        self._until = size if until is None else min(until, size)
        self._kept, self._kept_at = b"", 0
        self._ahead: deque[tuple[int, Future[bytes]]] = deque()  # the next ranges, with their starts
        self._in_order = 0  # ranges that were read one after another
        self._pool: ThreadPoolExecutor | None = None

    def read(self, size: int | None = -1) -> bytes:
        """Return some bytes from the position on, or none at the end.

        Raises:
            SourceError: if the store returns more than was requested, or repeatedly less.
        """
        want = self._size if size is None or size < 0 else size
        want = min(want, self._size - self._position)
        if want <= 0:
            return b""
        if not self._kept_at <= self._position < self._kept_at + len(self._kept):
            self._keep(max(want, self._range))
        low = self._position - self._kept_at
        data = self._kept if not low and want >= len(self._kept) else self._kept[low : low + want]
        self._position += len(data)
        return data

    def close(self) -> None:
        """Stop fetching; ranges in flight are dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _keep(self, want: int) -> None:
        """Hold the range at the position, and prefetch those after it."""
        in_order = self._kept_at + len(self._kept) == self._position > 0
        self._in_order = self._in_order + 1 if in_order else 0
        self._kept, self._kept_at = b"", self._position  # what was read is dropped
        if self._ahead and self._ahead[0][0] == self._position:
            self._kept = self._ahead.popleft()[1].result()
        else:
            while self._ahead:
                self._ahead.pop()[1].cancel()
            self._kept = self._get(self._position, want)
        behind = self._kept_at + len(self._kept) + self._range * len(self._ahead)
        for start in range(behind, self._until, self._range):
            if len(self._ahead) >= min(2 * self._in_order, MOST_AHEAD):
                break
            self._pool = self._pool or ThreadPoolExecutor(MOST_AHEAD, "blockread-ahead")
            self._ahead.append((start, self._pool.submit(self._get, start, self._range)))

    def _get(self, start: int, want: int) -> bytes:
        return exactly(self._fetch, start, min(start + want, self._size), self.name)


def exactly(fetch: Fetch, start: int, end: int, name: str) -> bytes:
    """Return the bytes [start, end), requested again if an answer is truncated.

    Raises:
        SourceError: if the store returns more than was requested, or repeatedly less.
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


def require_range(name: str, answered: str | None, start: int, end: int) -> None:
    """Make sure that an answer is of the bytes [start, end), or fewer from `start` on, if its `Content-Range` says.

    Raises:
        SourceError: if it is of another range.
    """
    found = _ANSWERED.match(answered or "")
    if found is not None and (int(found[1]) != start or int(found[2]) >= end):
        msg = (
            f"{name}: asked for bytes [{start}, {end}), the store answers with the range {found[1]}-{found[2]}; copy"
            " the file to a store that gives ranges of it as asked"
        )
        raise SourceError(msg, name)
