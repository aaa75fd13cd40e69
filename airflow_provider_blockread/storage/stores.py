"""Stores: every file system that this package reads and writes, behind a few calls on URIs or local paths.

All calls accept any form that `uris.canonical` understands, and raise errors that name the canonical URI:
FileMissingError if nothing is there, SourceError if access is denied or if it is neither a file nor a folder,
TransientError if the store fails otherwise, OptionsError if the place cannot be addressed at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Self

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.sizing import STORE_BLOCK
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from airflow_provider_blockread.storage.backends.registry import open_store
from airflow_provider_blockread.storage.backends.shared.errors import misread, translated
from airflow_provider_blockread.storage.guarded import guarded
from airflow_provider_blockread.storage.schemes import scheme_for

if TYPE_CHECKING:  # fsspec takes a tenth of a second to load, which a Spark worker that reads local files can save
    from airflow_provider_blockread.storage.backends.shared.base import FsspecStore
    from airflow_provider_blockread.storage.backends.shared.pages import Pages
    from airflow_provider_blockread.storage.ranges import Fetch

_DISK = LocalDisk()


class Stores:
    """Opens files of any store, with the credentials of the longest matching root.

    Args:
        credentials: root URI -> fsspec storage options for everything below it. They stay out of `repr`, messages
            and logs; pickling includes them, so pickle only into places that may hold secrets.
    """

    def __init__(self, credentials: Mapping[str, Mapping[str, object]] | None = None) -> None:
        self._credentials = {uris.canonical(root): dict(options) for root, options in (credentials or {}).items()}
        self._redirect_hosts: tuple[str, ...] = ()
        self._opened: dict[tuple[str, ...], FsspecStore] = {}

    def __repr__(self) -> str:
        return f"Stores(roots={sorted(self._credentials)})"

    def __reduce__(self) -> tuple[type[Stores], tuple[dict[str, dict[str, object]]]]:
        return Stores, (self._credentials,)

    def within(self, bounds: Bounds) -> Self:
        """Return these stores for the files of a source, whose bounds limit where servers may redirect to."""
        if tuple(bounds.redirect_hosts) == self._redirect_hosts:
            return self
        other = object.__new__(type(self))
        vars(other).update(vars(self), _redirect_hosts=tuple(bounds.redirect_hosts))
        return other

    def options_of(self, uri: str) -> Mapping[str, object]:
        """Return the storage options of the longest matching root, for a library that opens the place by itself."""
        return self._credentials.get(self._root_of(uris.canonical(uri)), {})

    def _root_of(self, uri: str) -> str:
        inside = (root for root in self._credentials if uris.relative_to(uri, root) is not None)
        return max(inside, key=len, default="")

    def canonical(self, uri: str) -> str:
        """Return the canonical form of a URI or local path."""
        return uris.canonical(uri)

    def remote(self, uri: str) -> tuple[FsspecStore, str]:
        """Return the store of a URI that is not on the local disk, which is cached, and the path in it.

        Raises:
            OptionsError: if the scheme is unknown, its package is not installed, or its options do not fit.
            SourceError: if its client reads the path as another one.
        """
        uri = uris.canonical(uri)
        root = self._root_of(uri)
        key = (uris.origin_of(uri), root, *self._redirect_hosts)
        store = self._opened.get(key)
        if store is None:
            with translated(uri):  # some stores connect at once
                store = self._opened[key] = open_store(uri, self._credentials.get(root, {}), self._redirect_hosts)
        path = store.path_of(uri)
        name = uri.partition("://")[2].partition("/")[2]
        if name and uris.is_odd(name) and not store.addresses(path):
            raise misread(uri)
        return store, path

    def pages(self, uri: str) -> Pages:
        """Return the listings below a URI that is not on the local disk."""
        store, path = self.remote(uri)
        return store.pages(path)

    def _store(self, uri: str) -> tuple[LocalDisk | FsspecStore, str]:
        path = uris.local_path(uri)
        return self.remote(uri) if path is None else (_DISK, path)

    @contextmanager
    def _at(self, uri: str) -> Iterator[tuple[str, LocalDisk | FsspecStore, str]]:
        """Yield a place as canonical URI, store and path; errors of the store in the body name the place."""
        uri = uris.canonical(uri)
        store, path = self._store(uri)
        with translated(uri):
            yield uri, store, path

    def _version(self, uri: str) -> FileVersion | None:
        place = uris.canonical(uri)
        store, path = self._store(place)
        with translated(place):  # as in `_at`, at half the cost, since it is called for every file
            return store.version(place, path)

    def stat(self, uri: str) -> FileVersion:
        """Return the version of a file as it is now."""
        version = self._version(uri)
        if version is None:
            msg = f"{uris.canonical(uri)} is a folder or a device where a file is needed; correct the path"
            raise SourceError(msg)
        return version

    def size(self, uri: str) -> int | None:
        """Return the bytes of a file, or None if nothing is there."""
        with suppress(FileMissingError):
            return self.stat(uri).size
        return None

    def exists(self, uri: str) -> bool:
        """Return whether a file or folder is there; denied access is an error, not an absence."""
        with suppress(FileMissingError):
            self._version(uri)
            return True
        return False

    def holds_file(self, uri: str) -> bool:
        """Return whether a file, and not a folder, is there; denied access is an error, not an absence."""
        with suppress(FileMissingError):
            return self._version(uri) is not None
        return False

    def open_read(self, uri: str) -> BinaryIO:
        """Return a seekable binary file, unbuffered on the local disk; its reads may come back short."""
        place = uris.canonical(uri)
        store, path = self._store(place)
        with translated(place):  # as in `_version`
            return guarded(place, store.open_read(path))

    def pinned(self, version: FileVersion) -> Fetch | None:
        """Return a function to fetch ranges of one version of a file, or None if the store cannot compare versions."""
        store, path = self._store(version.path)
        return store.pinned(path, version.etag)

    def real_path(self, uri: str) -> str | None:
        """Return a path with all links resolved, or None for the local disk and stores that do not resolve links."""
        with self._at(uri) as (_, store, path):
            return store.real_path(path)

    def block_size(self, uri: str) -> int:
        """Return the block size, in bytes, of the store for a file; only stores with blocks are asked."""
        if not scheme_for(uri).has_blocks:
            return STORE_BLOCK
        with self._at(uri) as (_, store, path):
            return store.block_size(path)

    def open_write(self, uri: str) -> BinaryIO:
        """Return a binary file to fill, after creating its folder. For staging only, since readers may see it grow."""
        with self._at(uri) as (place, store, path):
            self.makedirs(uris.parent(place))
            return guarded(place, store.open_write(path))

    def read_bytes(self, uri: str) -> bytes:
        """Return the content of a small file."""
        with self._at(uri) as (_, store, path):
            return store.read_bytes(path)

    def read_head(self, uri: str, most: int) -> bytes:
        """Return up to `most` first bytes of a file; only these are read from a disk."""
        place = uris.canonical(uri)
        store, path = self._store(place)
        with translated(place):  # as in `_version`
            return store.read_head(path, most)

    def write_bytes_atomic(self, uri: str, data: bytes) -> None:
        """Write a small file atomically, after creating its folder: readers see the old content or the new."""
        with self._at(uri) as (place, store, path):
            self.makedirs(uris.parent(place))
            store.write_bytes(path, data)

    def remove(self, uri: str) -> None:
        """Delete a file; it is not an error if it does not exist."""
        with self._at(uri) as (_, store, path):
            store.remove(path)

    def delete_version(self, version: FileVersion) -> bool:
        """Delete a file only if it is still the version that was just seen, and return whether it was.

        Raises:
            FileMissingError: if nothing is there.
        """
        with self._at(version.path) as (_, store, path):
            return store.delete_version(path, version)

    def finish_delete(self, version: FileVersion) -> bool | None:
        """Finish an interrupted `delete_version`; return whether the file was this version, None if none was begun."""
        with self._at(version.path) as (_, store, path):
            return store.finish_delete(path, version)

    def has_folders(self, uri: str) -> bool:
        """Return whether a folder in this store may be empty; otherwise it is gone with its last file."""
        return self._store(uris.canonical(uri))[0].has_folders

    def renames(self, uri: str) -> bool:
        """Return whether `place` renames files in this store, so that they keep their versions."""
        return self._store(uris.canonical(uri))[0].renames

    def move(self, source: str, target: str, *, size: int) -> None:
        """Move a finished file of `size` bytes to its place, so that readers only see it complete; may be repeated.

        A target of that size counts as moved, so names must be unique to their content. Stores rename if they can;
        others copy on the server and leave the source behind.

        Raises:
            FileMissingError: if neither the source nor the target is there.
            SourceError: if the source has another size, or the two are in different stores.
        """
        source, target = uris.canonical(source), uris.canonical(target)
        if self.size(target) == size:
            return
        found = self.stat(source).size
        if found != size:
            msg = f"{source} has {found} bytes instead of {size}; clear the group that wrote it"
            raise SourceError(msg)
        if not self.are_one(source, target):
            msg = f"{source} cannot be moved to {target}; choose a work area in the store of the output"
            raise SourceError(msg)
        self.makedirs(uris.parent(target))
        with self._at(target) as (_, store, path):
            store.move(self._store(source)[1], path)

    def place(self, source: str, target: str) -> None:
        """Put a file at a free place in the same store, after creating the folder; readers only see it complete.

        If the store cannot rename, and on the local disk, the source remains, and the caller must remove it.

        Raises:
            FileMissingError: if the source is not there.
            SourceError: if something is at the target, or it is in another store.
        """
        source, target = uris.canonical(source), uris.canonical(target)
        if not self.are_one(source, target):
            msg = f"{source} cannot be put at {target}, which is another store; choose a place in the same one"
            raise SourceError(msg)
        self.makedirs(uris.parent(target))
        (store, path), place = self._store(source), self._store(target)[1]
        with translated(source if self.size(source) is None else target):
            try:
                store.place(path, place)
            except FileExistsError as error:
                msg = f"{target}: a file of this name is there and is not overwritten; move it away, then repeat"
                raise SourceError(msg, target) from error

    def are_one(self, left: str, right: str) -> bool:
        """Return whether two places are in one store, which itself can move a file from one to the other."""
        left, right = uris.canonical(left), uris.canonical(right)
        same = scheme_for(left).one_store or uris.authority_of(left) == uris.authority_of(right)
        return same and uris.scheme_of(left) == uris.scheme_of(right)

    def has_tags(self, uri: str) -> bool:
        """Return whether files of this store have tags that can be set."""
        return self._store(uris.canonical(uri))[0].has_tags

    def tag(self, uri: str, tags: Mapping[str, str]) -> None:
        """Add tags to a file, and keep its other tags, in a store that `has_tags`."""
        with self._at(uri) as (_, store, path):
            store.tag(path, tags)

    def makedirs(self, uri: str) -> None:
        """Create a folder and its parents; object stores neither have nor need folders."""
        with self._at(uri) as (_, store, path):
            store.makedirs(path)

    def list_folders(self, folder: str) -> list[str]:
        """Return the URIs of the folders directly in a folder, or none if it does not exist."""
        with suppress(FileMissingError), self._at(folder) as (place, store, path):
            return [uris.child(place, name) for name in store.folders(path)]
        return []

    def remove_folder(self, uri: str) -> None:
        """Delete a folder with everything in it; it is not an error if it does not exist."""
        with self._at(uri) as (_, store, path):
            store.remove_folder(path)

    def list_names(self, folder: str, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the URI and size of each file directly in a folder, if it exists, whose name begins with `prefix`."""
        with suppress(FileMissingError), self._at(folder) as (place, store, path):
            yield from ((uris.child(place, name), size) for name, size in store.names(path, prefix))
