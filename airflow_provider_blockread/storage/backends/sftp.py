"""Files over SSH (SFTP), through sshfs.

sshfs keeps a connection that was lost. If a server cannot rename over a file, it copies with a shell, then removes the
source whether or not the copy succeeded. Therefore both are done here. Folders are listed as the server reads them,
some thousand entries at a time, whatever their names.
"""

from __future__ import annotations

import stat
import sys
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from asyncssh.sftp import SFTPAttrs, SFTPClient, SFTPError, SFTPOpUnsupported
from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem
from sshfs.utils import wrap_exceptions

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FolderLinkError
from airflow_provider_blockread.storage.backends.shared.base import FolderPages, FsspecStore
from airflow_provider_blockread.storage.backends.shared.identity import from_info
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages
from airflow_provider_blockread.storage.uris import readable_uri

#: Options of asyncssh: a server that answers nothing for a minute is lost, and so is one that no session begins with.
_ALIVE = {"keepalive_interval": 15, "keepalive_count_max": 3, "connect_timeout": 60}


class SftpStore(FsspecStore):
    """An SSH server; a version is its size and modification time in seconds."""

    renames = True

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, object]) -> AbstractFileSystem:
        """Return the file system; asyncssh distinguishes a key from the name of its file by the type.

        Reads have no limit of their own, so a session without an answer is given up, after which they are retried.
        """
        ready = {**_ALIVE, **options}
        keys, hosts = ready.get("client_keys"), ready.get("known_hosts")
        if isinstance(keys, (list, tuple)):
            ready["client_keys"] = [key.encode() if "PRIVATE KEY" in str(key) else key for key in keys]
        if isinstance(hosts, str) and " " in hosts:
            ready["known_hosts"] = hosts.encode()
        return super().connect(uri, named, ready)

    @property
    def system(self) -> AbstractFileSystem:
        """The file system; connected again if the connection was lost."""
        system = self._system
        if system.client.is_closed():
            self._kind._cache.pop(system._fs_token_, None)  # noqa: SLF001 - fsspec would reuse the lost one
            self._system = type(system)(*system.storage_args, **system.storage_options)
        return self._system

    def pages(self, path: str) -> Pages:
        """Return the listings below a folder."""
        return SftpPages(self, path)

    def real_path(self, path: str) -> str:
        """Return the path from the server with all links resolved."""
        return str(self._run(_real_path, path))

    def rename(self, source: str, target: str) -> None:
        """Rename a file atomically; on a server that cannot replace an existing file, that file is deleted first."""
        self._run(_rename_over, source, target)

    def put_back(self, source: str, target: str) -> None:
        """Rename a file atomically to a name that must be free."""
        self._run(_rename_if_free, source, target)

    def _run(self, request: Callable[..., Awaitable[Any]], *paths: str) -> Any:  # noqa: ANN401 - of any request
        system = self.system
        return sync(system.loop, wrap_exceptions(_on_channel), system, request, *paths, timeout=Pages.seconds)


async def _on_channel(system: Any, request: Callable[..., Awaitable[Any]], *paths: str) -> Any:  # noqa: ANN401 - as above
    async with system._pool.get() as channel:  # noqa: SLF001 - where its own calls get one
        return await request(channel, *paths)


async def _real_path(channel: SFTPClient, path: str) -> str:
    return str(await channel.realpath(path))


async def _rename_over(channel: SFTPClient, source: str, target: str) -> None:
    try:
        await channel.posix_rename(source, target)
    except SFTPOpUnsupported:
        if await _are_there(channel, source, target):
            await channel.remove(target)
        await channel.rename(source, target)


async def _rename_if_free(channel: SFTPClient, source: str, target: str) -> None:
    try:
        await channel.rename(source, target)
    except SFTPOpUnsupported:
        raise
    except SFTPError as error:
        if await _are_there(channel, source, target):
            raise FileExistsError(target) from error
        raise


async def _are_there(channel: SFTPClient, *paths: str) -> bool:
    return all([await channel.exists(path) for path in paths])


class SftpPages(FolderPages):
    """The listings below a folder of a server, in the server's order, or a whole folder at a time if `by_name`.

    A folder that is being read is open at the server. If the connection breaks, it is read from its beginning again,
    and entries that were already returned are skipped, recognised by an eight-byte hash of each name.
    """

    folder_links = True
    size = 1000  # entries of a page

    def __init__(self, store: FsspecStore, path: str) -> None:
        super().__init__(store, path)
        self._begun: dict[str, _Reading] = {}

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:  # noqa: ARG002 - it is never asked to be flat
        """Return the next entries of a folder; the cursor is the number of entries before them."""
        system = self._store.system
        if cursor is None:
            self._begun[folder] = _Reading(self.place(folder))
        reading = self._begun[folder]
        size, seconds = (sys.maxsize, None) if self.by_name else (self.size, self.seconds)
        names = sync(system.loop, wrap_exceptions(reading.some), system, size, timeout=seconds)
        entries = [_entry(folder, name, attributes) for name, attributes in names]
        if len(entries) < size:
            del self._begun[folder]
            return Page.of(sorted(entries) if self.by_name else entries)
        return Page.of(entries, str(reading.given))

    def version(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of the file that a link leads to.

        Raises:
            FolderLinkError: if it leads to a folder, whose files would be missed.
        """
        try:
            info = self._store.info(self._root + name)
        except FileNotFoundError:
            return None
        if info["type"] == "directory":
            msg = (
                f"{readable_uri(uri)} is a link to a folder, which is not followed over SFTP; name that folder as a"
                f" root, or leave the link out by exclude={f'{name}/**'!r}"
            )
            raise FolderLinkError(msg)
        return from_info(uri, info) if info["type"] == "file" else None


class _Reading:
    """One folder that is being read."""

    def __init__(self, place: str) -> None:
        self._place = place.encode(errors="surrogateescape")
        self._names: AsyncIterator[Any] | None = None
        self._hashes = array("q")  # of the names that were returned
        self._known: set[int] = set()  # those that were returned before the folder was last opened

    @property
    def given(self) -> int:
        """The number of entries that were returned."""
        return len(self._hashes)

    async def some(self, system: AbstractFileSystem, size: int) -> list[tuple[str, Any]]:
        """Return the next `size` names with their attributes, fewer at the end."""
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


def _entry(folder: str, name: str, attributes: SFTPAttrs) -> Entry:
    mode = attributes.permissions or 0
    if stat.S_ISDIR(mode):
        return Entry(f"{folder}{name}/", folder=True)
    if not stat.S_ISREG(mode) or attributes.size is None:
        return Entry(folder + name)
    return Entry(folder + name, attributes.size, (attributes.mtime or 0) * 10**9)
