"""Stores: every file system this package reads and writes, behind a dozen calls on URIs or local paths.

All calls take any form that `uris.canonical` understands, and raise errors that name the canonical URI:
FileMissingError when nothing is there, SourceError when access is denied or the place is of the wrong kind,
TransientError when the store fails otherwise, OptionsError when the place cannot be addressed at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Self

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import taking, uris
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from airflow_provider_blockread.storage.edge import translated
from airflow_provider_blockread.storage.guarded import guarded

if TYPE_CHECKING:  # fsspec takes a tenth of a second to load, which a Spark worker that reads local files can spare
    from fsspec.spec import AbstractFileSystem

    from airflow_provider_blockread.storage.backends.remote import RemoteStore
    from airflow_provider_blockread.storage.ranges import Fetch

_DISK = LocalDisk()
_OF_BUCKETS = {"s3", "gs"}  # schemes whose authority is a bucket, and no host or account


class Stores:
    """Opens files of any store, with the credentials of the longest matching root.

    Args:
        credentials: root URI -> fsspec storage options for everything below it. They stay out of `repr`, messages
            and logs; pickling carries them, so pickle only into places that may hold secrets.
    """

    def __init__(self, credentials: Mapping[str, Mapping[str, object]] | None = None) -> None:
        self._credentials = {uris.canonical(root): dict(options) for root, options in (credentials or {}).items()}
        self._redirect_hosts: tuple[str, ...] = ()
        self._opened: dict[tuple[str, ...], RemoteStore] = {}

    def __repr__(self) -> str:
        return f"Stores(roots={sorted(self._credentials)})"

    def __reduce__(self) -> tuple[type[Stores], tuple[dict[str, dict[str, object]]]]:
        return Stores, (self._credentials,)

    def within(self, bounds: Bounds) -> Self:
        """Return these stores as the files of a source are opened, whose bounds say where servers may redirect to."""
        if tuple(bounds.redirect_hosts) == self._redirect_hosts:
            return self
        other = object.__new__(type(self))
        vars(other).update(vars(self), _redirect_hosts=tuple(bounds.redirect_hosts))
        return other

    def canonical(self, uri: str) -> str:
        """Return the canonical form of a URI or local path."""
        return uris.canonical(uri)

    def filesystem(self, uri: str) -> tuple[AbstractFileSystem, str]:
        """Return the fsspec file system behind a URI, the local disk's included, and the path in it."""
        uri = uris.canonical(uri)
        if (path := uris.local_path(uri)) is not None:
            import fsspec  # noqa: PLC0415 - see above

            return fsspec.filesystem("file"), path
        store, path = self.remote(uri)
        return store.system, path

    def remote(self, uri: str) -> tuple[RemoteStore, str]:
        """Return the store behind a URI that is not of the local disk, kept for later calls, and the path in it.

        Raises:
            OptionsError: when the scheme is unknown, its package is not installed, or its options do not fit.
        """
        from airflow_provider_blockread.storage import schemes  # noqa: PLC0415 - see above
        from airflow_provider_blockread.storage.backends.remote import RemoteStore  # noqa: PLC0415 - see above

        uri = uris.canonical(uri)
        root, kind = self._root(uri), schemes.kind_of(uri)
        key = (uris.scheme_of(uri), uris.authority_of(uri), root, *self._redirect_hosts)
        if key not in self._opened:
            with translated(uri):  # some stores connect at once
                system = schemes.connect(kind, uri, self._credentials.get(root, {}), self._redirect_hosts)
            self._opened[key] = RemoteStore(system)
        return self._opened[key], schemes.path_in(kind, uri)

    def _root(self, uri: str) -> str:
        inside = (root for root in self._credentials if uris.relative_to(uri, root) is not None)
        return max(inside, key=len, default="")

    def _at(self, uri: str) -> tuple[LocalDisk | RemoteStore, str]:
        path = uris.local_path(uri)
        return self.remote(uri) if path is None else (_DISK, path)

    def stat(self, uri: str) -> FileVersion:
        """Return the version of a file as it is now."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        with translated(uri):
            version = store.version(uri, path)
        if version is None:
            msg = f"{uri} is a folder or a device where a file is needed; correct the path"
            raise SourceError(msg)
        return version

    def exists(self, uri: str) -> bool:
        """Tell whether a file or folder is there; denied access is an error, not an absence."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        try:
            with translated(uri):
                store.version(uri, path)
        except FileMissingError:
            return False
        return True

    def holds_file(self, uri: str) -> bool:
        """Tell whether a file is there, and nothing else; denied access is an error, not an absence."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        try:
            with translated(uri):
                return store.version(uri, path) is not None
        except FileMissingError:
            return False

    def open_read(self, uri: str) -> BinaryIO:
        """Return a seekable binary file, unbuffered on the local disk; its reads may come back short."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        with translated(uri):
            return guarded(uri, store.open_read(path))

    def pinned(self, version: FileVersion) -> Fetch | None:
        """Return what fetches ranges of one version of a file; None where the store cannot be held to it."""
        if uris.local_path(version.path) is not None:
            return None
        store, path = self.remote(version.path)
        return store.pinned(path, version.etag)

    def open_write(self, uri: str) -> BinaryIO:
        """Return a binary file to fill, its folder made. Readers may see it grow: only for staging."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        self.makedirs(uris.parent(uri))
        with translated(uri):
            return guarded(uri, store.open_write(path))

    def read_bytes(self, uri: str) -> bytes:
        """Return the content of a small file."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        with translated(uri):
            return store.read_bytes(path)

    def write_bytes_atomic(self, uri: str, data: bytes) -> None:
        """Put a small file in place, its folder made: readers see the old content or the new."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        self.makedirs(uris.parent(uri))
        with translated(uri):
            store.write_bytes(path, data)

    def remove(self, uri: str) -> None:
        """Remove a file; one that is absent is fine."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        with translated(uri):
            store.remove(path)

    def take_away(self, version: FileVersion) -> bool:
        """Remove a file if it is still this version, as it was seen just now; tell whether it was.

        Raises:
            FileMissingError: when nothing is there.
        """
        store, path = self._at(version.path)
        with translated(version.path):
            return taking.take_away(store, path, version)

    def settle(self, version: FileVersion) -> bool | None:
        """End what `take_away` had begun when it died: whether the file was this version; None for nothing begun."""
        store, path = self._at(version.path)
        with translated(version.path):
            return taking.settle(store, path, version)

    def keeps_versions(self, uri: str) -> bool:
        """Tell whether a file that is placed elsewhere in this store stays the version that it was."""
        return self._at(uris.canonical(uri))[0].keeps_versions

    def move(self, source: str, target: str, *, size: int) -> None:
        """Bring a finished file of `size` bytes to its place, whole at any moment; repeating it is fine.

        A target of that size counts as moved: names must be unique to their content. A store that can rename does;
        others copy on their side and leave the source behind.

        Raises:
            FileMissingError: when neither the source nor the target is there.
            SourceError: when the source has another size, or the two lie in different stores.
        """
        source, target = uris.canonical(source), uris.canonical(target)
        if self._size(target) == size:
            return
        found = self.stat(source).size
        if found != size:
            msg = f"{source} has {found} bytes instead of {size}; clear the group that wrote it"
            raise SourceError(msg)
        if uris.scheme_of(source) != uris.scheme_of(target):
            msg = f"{source} cannot be moved to {target}; choose a work area in the store of the output"
            raise SourceError(msg)
        self.makedirs(uris.parent(target))
        store, path = self._at(target)
        with translated(target):
            store.move(self._at(source)[1], path)

    def place(self, source: str, target: str) -> None:
        """Put a file at a place where nothing is, in the same store, its folder made; readers see it whole.

        The source is left where the store cannot rename, and on the local disk, for the caller to remove.

        Raises:
            FileMissingError: when the source is not there.
            SourceError: when something is at the target, or it lies in another store.
        """
        source, target = uris.canonical(source), uris.canonical(target)
        if not self.are_one(source, target):
            msg = f"{source} cannot be put at {target}, which is another store; choose a place in the same one"
            raise SourceError(msg)
        self.makedirs(uris.parent(target))
        (store, path), place = self._at(source), self._at(target)[1]
        with translated(source if self._size(source) is None else target):
            try:
                store.place(path, place)
            except FileExistsError as error:
                msg = f"{target}: something has this name already, and stays; move it away, then repeat"
                raise SourceError(msg, target) from error

    def are_one(self, left: str, right: str) -> bool:
        """Tell whether two places are in one store, which can bring a file from one to the other by itself."""
        left, right = uris.canonical(left), uris.canonical(right)
        scheme = uris.scheme_of(left)
        same = uris.authority_of(left) == uris.authority_of(right) or scheme in _OF_BUCKETS or scheme == "file"
        return scheme == uris.scheme_of(right) and same

    def has_tags(self, uri: str) -> bool:
        """Tell whether files of this store have tags that can be set."""
        store, _ = self._at(uris.canonical(uri))
        return store.has_tags

    def tag(self, uri: str, tags: Mapping[str, str]) -> None:
        """Add tags to those of a file, in a store that `has_tags`."""
        uri = uris.canonical(uri)
        store, path = self.remote(uri)
        with translated(uri):
            store.tag(path, tags)

    def _size(self, uri: str) -> int | None:
        try:
            return self.stat(uri).size
        except FileMissingError:
            return None

    def makedirs(self, uri: str) -> None:
        """Make a folder and those above it; object stores have none, and need none."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        with translated(uri):
            store.makedirs(path)

    def list_folders(self, folder: str) -> list[str]:
        """Return the URIs of the folders directly in a folder; none if it is absent."""
        folder = uris.canonical(folder)
        store, path = self._at(folder)
        try:
            with translated(folder):
                return [uris.child(folder, name) for name in store.folders(path)]
        except FileMissingError:
            return []

    def remove_folder(self, uri: str) -> None:
        """Remove a folder with all that is in it; one that is absent is fine."""
        uri = uris.canonical(uri)
        store, path = self._at(uri)
        with translated(uri):
            store.remove_folder(path)

    def list_names(self, folder: str, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield URI and size of each file directly in a folder whose name begins so; none if the folder is absent."""
        folder = uris.canonical(folder)
        store, path = self._at(folder)
        try:
            with translated(folder):
                yield from ((uris.child(folder, n), size) for n, size in store.names(path) if n.startswith(prefix))
        except FileMissingError:
            return
