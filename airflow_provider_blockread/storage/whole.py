"""Reads small files whole, each at its planned version, with few system calls, or with many requests at once."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.disk_calls import READ_FLAGS, real_path
from airflow_provider_blockread.storage.listing.roots import Inside
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.stores import Stores

#: Bytes of the largest file that is read together with others: a larger one takes much longer to read than to open.
SMALL_BYTES = 256 * 2**10

_MOST_BYTES = 16 * 2**20  # of objects that are held or in flight
_MOST_OBJECTS = 8 * REQUESTS

_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def may_read_whole(version: FileVersion) -> bool:
    """Return whether a file is on the local disk, or in a store that may support requests for a certain version."""
    return uris.is_local(version.path) or (version.etag is not None and version.size > 0)


def read_whole(stores: Stores, versions: Sequence[FileVersion], bounds: Bounds) -> Generator[bytes | None]:
    """Yield the content of each file that was read at its planned version, and None for all others.

    A file on the local disk is compared with its version after all of its bytes were read. Objects of a store are
    prefetched, and each request names the version. A file that is replaced later was still read as planned; the check
    of all files before publishing detects the change. None does not tell the reason: opening that file alone raises it.
    """
    remote = deque(version for version in versions if not uris.is_local(version.path))
    folder, objects = _Folder(bounds), _Objects(stores.within(bounds), remote)
    try:
        for version in versions:
            path = uris.local_path(version.path)
            yield objects.read() if path is None else folder.read(path, version)
    finally:
        folder.close()
        objects.close()


class _Objects:
    """Objects in order, each prefetched: as many at once as limits of requests and memory allow."""

    def __init__(self, stores: Stores, versions: deque[FileVersion]) -> None:
        self._stores, self._waiting = stores, versions
        self._begun: deque[tuple[int, Future[bytes | None]]] = deque()  # fetches, with the objects' sizes
        self._bytes = 0  # of the objects in `_begun`
        self._pool = ThreadPoolExecutor(min(len(versions), REQUESTS) or 1, "blockread-fetch")

    def read(self) -> bytes | None:
        """Return the next object."""
        self._begin()
        size, fetched = self._begun.popleft()
        content = fetched.result()
        self._bytes -= size
        self._begin()  # fetches while this one is processed
        return content

    def _begin(self) -> None:
        while self._waiting and not (self._begun and self._is_full(self._waiting[0].size)):
            version = self._waiting.popleft()
            self._begun.append((version.size, self._pool.submit(_fetch, self._stores, version)))
            self._bytes += version.size

    def _is_full(self, size: int) -> bool:
        return len(self._begun) == _MOST_OBJECTS or self._bytes + size > _MOST_BYTES

    def close(self) -> None:
        """Stop fetching."""
        self._pool.shutdown(cancel_futures=True)


def _fetch(stores: Stores, version: FileVersion) -> bytes | None:
    """Return an object's bytes, or None if its store cannot compare versions, or the first request fails."""
    try:
        fetch = stores.pinned(version)
        content = None if fetch is None else fetch(0, version.size)
    except Exception:  # noqa: BLE001 - clients raise many classes, and reading the file alone raises the right one
        return None
    return content if content is not None and len(content) == version.size else None


class _Folder:
    """The folder of the last file, kept open, so that each name in it needs only one look-up."""

    def __init__(self, bounds: Bounds) -> None:
        self._inside = None if bounds.link_roots is None else Inside(bounds.link_roots)
        self._flags = READ_FLAGS | (0 if self._inside is None else os.O_NOFOLLOW)
        self._path, self._place = "", ""  # as planned, and without links
        self._handle = -1

    def read(self, path: str, version: FileVersion) -> bytes | None:
        """Return the content of a file, or None if anything is not as planned."""
        folder, _, name = path.rpartition("/")
        try:
            if folder != self._path or self._handle < 0:
                self._enter(folder)
            if self._inside is not None and self._place != folder and not self._inside.holds(f"{self._place}/{name}"):
                return None
            handle = os.open(name, self._flags, dir_fd=self._handle)
            try:
                content = os.read(handle, version.size + 1)
                found = os.fstat(handle)
            finally:
                os.close(handle)
        except (OSError, UnicodeEncodeError):
            return None
        same = found.st_size == len(content) == version.size and found.st_mtime_ns == version.mtime_ns
        return content if same and stat.S_ISREG(found.st_mode) else None

    def _enter(self, folder: str) -> None:
        self.close()
        self._handle = os.open(folder or "/", _FOLDER_FLAGS)
        self._path = folder
        self._place = folder if self._inside is None else real_path(self._handle).rstrip("/")

    def close(self) -> None:
        """Close the folder."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
