"""Any store that fsspec serves; its listing cache is emptied before each look, so that nothing is stale."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import BinaryIO, cast

from fsspec.asyn import sync
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.backends import ssh
from airflow_provider_blockread.storage.backends.conditional import remove_if
from airflow_provider_blockread.storage.backends.pinned import pinned
from airflow_provider_blockread.storage.backends.web_index import is_web, web_info
from airflow_provider_blockread.storage.identity import from_info
from airflow_provider_blockread.storage.ranges import Fetch, exactly
from airflow_provider_blockread.storage.uris import name_of

_OF_SSH = "sshfs"
_OF_OBJECTS = {"s3fs", "adlfs", "gcsfs"}  # packages; Google's has a `mv` of its own, and objects all the same
_OF_AZURE = "adlfs"
_TURNS = 5  # at removing a folder beside somebody else
_READ_AHEAD = 8 * 2**20  # bytes that a file fetches at once


class RemoteStore:
    """An fsspec file system as a store; paths are the file system's own. Errors are the store's."""

    def __init__(self, system: AbstractFileSystem) -> None:
        self._system = system
        self._is_sshfs = _package(system) == _OF_SSH
        # An object store inherits fsspec's copy-and-delete; whoever has folders brings a rename of its own, which the
        # asynchronous one of SSH hides.
        own = type(system).mv is not AbstractFileSystem.mv
        self._has_folders = (own or self._is_sshfs) and _package(system) not in _OF_OBJECTS

    @property
    def system(self) -> AbstractFileSystem:
        """The file system; one over SSH whose connection was lost is connected anew."""
        if self._is_sshfs:
            self._system = ssh.connected(self._system)
        return self._system

    @property
    def keeps_versions(self) -> bool:
        """Whether files are renamed here, and stay the version that they were."""
        return self._has_folders

    def version(self, uri: str, path: str) -> FileVersion | None:
        """Return the version of a file, None when something else is there."""
        info = self.info(path)
        return from_info(uri, info) if info["type"] == "file" else None

    def link(self, uri: str, path: str) -> FileVersion | None:
        """Return the version of the file behind a link, None when it leads elsewhere or nowhere."""
        try:
            return self.version(uri, path)
        except FileNotFoundError:
            return None

    def info(self, path: str) -> dict[str, object]:
        """Return what the store says about a file or folder now."""
        self.system.invalidate_cache()
        return web_info(self.system, path) if is_web(self.system) else cast("dict[str, object]", self.system.info(path))

    def real_path(self, path: str) -> str | None:
        """Return a path with all links in it followed; None where the store has none, or does not tell."""
        return ssh.real_path(self.system, path) if self._is_sshfs else None

    def open_read(self, path: str) -> BinaryIO:
        """Return a file that fetches several MiB at once."""
        if isinstance(self.system, MemoryFileSystem):  # its handles of one file share one position
            return io.BytesIO(self.system.cat_file(path))
        # fsspec would look at a web server's file itself, and take any failure for an absence.
        known = {"size": self.info(path)["size"]} if is_web(self.system) else {}
        file = self.system.open(path, "rb", block_size=_READ_AHEAD, **known)
        cache = getattr(file, "cache", None)
        if cache is not None and hasattr(cache, "fetcher") and isinstance(file.size, int):
            cache.fetcher = _exact(cache.fetcher, file.size, path)
        return cast("BinaryIO", file)

    def pinned(self, path: str, etag: str | None) -> Fetch | None:
        """Return what fetches ranges of one version of a file, None where the store cannot be held to it."""
        return pinned(self.system, path, etag)

    def open_write(self, path: str) -> BinaryIO:
        """Return a file to fill."""
        return cast("BinaryIO", self.system.open(path, "wb"))

    def read_bytes(self, path: str) -> bytes:
        """Return a file's content."""
        return cast("bytes", self.system.cat_file(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Put a file in place in one request."""
        self.system.pipe_file(path, data)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        try:
            self.system.rm_file(path)
        except FileNotFoundError:
            return

    def remove_if(self, path: str, etag: str | None) -> bool | None:
        """Remove a file if it is this version, and tell whether it was; None where the store cannot compare."""
        return remove_if(self.system, path, etag)

    def rename(self, source: str, target: str) -> None:
        """Rename a file, where the store can; what has the new name goes."""
        if self._is_sshfs:
            ssh.rename(self.system, source, target, over=True)
        else:
            self.system.mv(source, target)

    def put_back(self, source: str, target: str) -> None:
        """Rename a file to a name that is free; few stores look and rename in one step."""
        if self._is_sshfs:
            ssh.rename(self.system, source, target, over=False)
            return
        self.system.invalidate_cache()
        if self.system.exists(target):
            raise FileExistsError(target)
        self.system.mv(source, target)

    def move(self, source: str, target: str) -> None:
        """Rename where the store can; else copy on its side and leave the source to pruning."""
        if self._has_folders:
            self.rename(source, target)
        else:
            self.system.cp_file(source, target)

    def place(self, source: str, target: str) -> None:
        """Rename a file where the store can, so that it keeps its times, to a name that is free; else copy it."""
        if self._has_folders:
            self.put_back(source, target)
        else:
            self.system.cp_file(source, target)

    @property
    def has_tags(self) -> bool:
        """Whether files have tags that can be set: those of S3 and of Azure Blob have."""
        return hasattr(self.system, "put_tags") or _package(self.system) == _OF_AZURE

    def tag(self, path: str, tags: Mapping[str, str]) -> None:
        """Add tags to those of a file."""
        if _package(self.system) == _OF_AZURE:
            sync(self.system.loop, _tag_blob, self.system, path, tags)
        else:
            self.system.put_tags(path, dict(tags), mode="m")

    def makedirs(self, path: str) -> None:
        """Make a folder and those above it, where there are folders."""
        if self._has_folders:
            self.system.makedirs(path, exist_ok=True)

    def names(self, path: str) -> Iterator[tuple[str, int]]:
        """Yield name and size of each file directly in a folder."""
        for info in self.entries(path):
            if info["type"] == "file":
                yield name_of(str(info["name"])), cast("int", info["size"])

    def folders(self, path: str) -> Iterator[str]:
        """Yield the names of the folders directly in a folder."""
        for info in self.entries(path):
            if info["type"] == "directory":
                yield name_of(str(info["name"]).rstrip("/"))

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        for _ in range(_TURNS):
            self.system.invalidate_cache()
            try:
                self.system.rm(path, recursive=True)
            except FileNotFoundError:
                if self.system.exists(path):  # somebody else removes what is in it, and may leave the rest
                    continue
            finally:
                self.system.invalidate_cache()
            return
        raise FileNotFoundError(path)

    def entries(self, path: str) -> list[dict[str, object]]:
        """Return what the store says about each entry of a folder, in order of their names."""
        self.system.invalidate_cache()
        found = self.system.ls(path, detail=True)
        self.system.invalidate_cache()  # a million entries in a cache would be kept for nothing
        inside = (info for info in found if str(info["name"]).rstrip("/") != path.rstrip("/"))
        return sorted(inside, key=lambda info: str(info["name"]))


async def _tag_blob(system: AbstractFileSystem, path: str, tags: Mapping[str, str]) -> None:
    container, _, blob = path.partition("/")
    async with system.service_client.get_blob_client(container, blob) as client:
        await client.set_blob_tags({**await client.get_blob_tags(), **tags})  # which replaces all of them


def _exact(fetcher: Fetch, size: int, path: str) -> Fetch:
    """Return a fetch whose answers have the length asked for: a cache takes whatever comes for what it wanted."""

    def fetch(start: int, end: int) -> bytes:
        try:
            return exactly(fetcher, start, max(start, min(end, size)), path)
        except ValueError as error:
            msg = f"{path}: the server gives no ranges of a file; copy the file to a store that does"
            raise SourceError(msg) from error

    return fetch


def _package(system: AbstractFileSystem) -> str:
    return type(system).__module__.partition(".")[0]
