"""Listings over SSH: a folder's entries as the server reads them, some thousand at a time, whatever their names are."""

from __future__ import annotations

import stat
import sys
from array import array
from collections.abc import AsyncIterator
from typing import Any

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.storage.backends.folders import FolderPages
from airflow_provider_blockread.storage.backends.pages import Entry, FolderLinkError, Page
from airflow_provider_blockread.storage.backends.remote import RemoteStore
from airflow_provider_blockread.storage.identity import from_info
from airflow_provider_blockread.storage.uris import printable


class SftpPages(FolderPages):
    """The listings below a folder of an SFTP server, in its own order, or a whole folder at a time, `by_name`.

    A folder that is being read is open at the server. Where that breaks, it is read from its beginning again, and what
    was given before is passed over, known by eight bytes of each name.
    """

    folder_links = True
    size = 1000  # entries of a page

    def __init__(self, store: RemoteStore, path: str) -> None:
        super().__init__(store, path)
        self._begun: dict[str, _Reading] = {}

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:  # noqa: ARG002 - it is never asked to be flat
        """Return the next entries of a folder; the cursor tells how many went before."""
        from sshfs.utils import wrap_exceptions  # noqa: PLC0415 - of an extra

        system = self._store.system
        if cursor is None:
            self._begun[folder] = _Reading(self._place(folder))
        reading = self._begun[folder]
        size = sys.maxsize if self.by_name else self.size
        names = sync(system.loop, wrap_exceptions(reading.some), system, size)
        entries = [_entry(folder, name, attributes) for name, attributes in names]
        if len(entries) < size:
            del self._begun[folder]
            return Page.of(sorted(entries) if self.by_name else entries)
        return Page.of(entries, str(reading.given))

    def look(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of the file that a link leads to.

        Raises:
            FolderLinkError: when it leads to a folder, whose files would be missed.
        """
        try:
            info = self._store.info(self._root + name)
        except FileNotFoundError:
            return None
        if info["type"] == "directory":
            msg = (
                f"{printable(uri)} is a link to a folder, which is not followed over SFTP; name that folder as a"
                f" root, or leave the link out by exclude={f'{name}/**'!r}"
            )
            raise FolderLinkError(msg)
        return from_info(uri, info) if info["type"] == "file" else None


class _Reading:
    """One folder that is being read."""

    def __init__(self, place: str) -> None:
        self._place = place.encode(errors="surrogateescape")
        self._names: AsyncIterator[Any] | None = None
        self._hashes = array("q")  # of the names that were given
        self._known: set[int] = set()  # those that were given before the folder was opened as it is now

    @property
    def given(self) -> int:
        """How many entries were given."""
        return len(self._hashes)

    async def some(self, system: AbstractFileSystem, size: int) -> list[tuple[str, Any]]:
        """Return so many of the next names with their attributes, fewer at the end."""
        if self._names is None:
            self._known = set(self._hashes)
            async with system._pool.get() as channel:  # noqa: SLF001 - where its own calls get one
                self._names = channel.scandir(self._place)
        found: list[tuple[str, Any]] = []
        try:
            while len(found) < size and (entry := await anext(self._names, None)) is not None:
                if entry.filename not in {b"", b".", b".."} and hash(entry.filename) not in self._known:
                    found.append((entry.filename.decode(errors="surrogateescape"), entry.attrs))
        except BaseException:
            self._names = None
            raise
        self._hashes.extend(hash(name.encode(errors="surrogateescape")) for name, _ in found)
        return found


def _entry(folder: str, name: str, attributes: Any) -> Entry:  # noqa: ANN401 - loaded with the store only
    mode = attributes.permissions or 0
    if stat.S_ISDIR(mode):
        return Entry(f"{folder}{name}/", folder=True)
    if not stat.S_ISREG(mode) or attributes.size is None:
        return Entry(folder + name)
    return Entry(folder + name, attributes.size, (attributes.mtime or 0) * 10**9)
