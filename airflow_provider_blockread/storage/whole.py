"""Small files read whole, each at its planned version: with few calls of the system, or many requests at once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.disk_calls import READ_FLAGS, real_path
from airflow_provider_blockread.storage.listing.roots import Inside
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.stores import Stores

#: Bytes of the largest file that is read together with others: a larger one takes much longer to read than to open.
SMALL_BYTES = 256 * 2**10

_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def may_read_whole(version: FileVersion) -> bool:
    """Return whether a file is on the local disk, or its store may give it on the condition that it is this version."""
    return uris.local_path(version.path) is not None or (version.etag is not None and version.size > 0)


def read_whole(stores: Stores, versions: Sequence[FileVersion], bounds: Bounds) -> Iterator[bytes | None]:
    """Yield the content of each file that was read at its planned version, and None for all others.

    A file of the local disk is compared with its version once all of its bytes were read; a request to a store carries
    the version. One that is replaced afterwards was read as planned all the same; the check of all files before
    publishing detects that. None gives no reason: opening that file alone raises it.
    """
    remote = [version for version in versions if uris.local_path(version.path) is None]
    folder, pool = _Folder(bounds), ThreadPoolExecutor(min(len(remote), REQUESTS) or 1, "blockread-fetch")
    try:
        fetched = pool.map(partial(_fetch, stores.within(bounds)), remote)
        for version in versions:
            yield folder.read(version) if uris.local_path(version.path) is not None else next(fetched)
    finally:
        folder.close()
        pool.shutdown(cancel_futures=True)


def _fetch(stores: Stores, version: FileVersion) -> bytes | None:
    """Return an object of that version; None if its store cannot compare versions, or does not give it at once."""
    try:
        fetch = stores.pinned(version)
        content = None if fetch is None else fetch(0, version.size)
    except Exception:  # noqa: BLE001 - clients raise what they like, and reading the file alone says what it means
        return None
    return content if content is not None and len(content) == version.size else None


class _Folder:
    """The folder of the last file, open, so that the names of its files need no more than one look-up."""

    def __init__(self, bounds: Bounds) -> None:
        self._inside = None if bounds.link_roots is None else Inside(bounds.link_roots)
        self._flags = READ_FLAGS | (0 if self._inside is None else os.O_NOFOLLOW)
        self._path, self._place = "", ""  # as planned, and without links
        self._handle = -1

    def read(self, version: FileVersion) -> bytes | None:
        """Return the content of a file, if all is as planned."""
        path = uris.local_path(version.path)
        if path is None:
            return None
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
        except OSError:
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
