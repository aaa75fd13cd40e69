"""Small files read whole, each at its planned version, with few calls of the system for each."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.disk_calls import READ_FLAGS, real_path
from airflow_provider_blockread.storage.listing.roots import Inside

#: Bytes of the largest file that is read together with others: a larger one takes much longer to read than to open.
SMALL_BYTES = 256 * 2**10

_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def read_whole(versions: Iterable[FileVersion], bounds: Bounds) -> Iterator[bytes | None]:
    """Yield the content of each file of the local disk that was read at its planned version, and None for all others.

    A file is compared with its version once all of its bytes were read. One that is replaced afterwards was read as
    planned all the same; the check of all files before publishing detects that. None gives no reason: opening that file
    alone raises it.
    """
    folder = _Folder(bounds)
    try:
        for version in versions:
            yield folder.read(version)
    finally:
        folder.close()


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
