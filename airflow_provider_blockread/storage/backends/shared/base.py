"""Any store that fsspec opens, with the defaults of its file system, and without a cache of listings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from glob import has_magic
from typing import BinaryIO, cast

from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.shared.identity import from_info
from airflow_provider_blockread.storage.backends.shared.model import Store
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages
from airflow_provider_blockread.storage.ranges import Fetch, exactly

_NAME = "name"
_ROUNDS = 5  # attempts to delete a folder in which others delete, too
_READ_AHEAD = 8 * 2**20  # bytes that a file fetches at once


class FsspecStore(Store):
    """A store behind a file system of fsspec. Subclasses override what fsspec does not do well.

    Args:
        kind: the class of the file system.
        uri: a canonical URI in the store.
        options: fsspec's options, from the connection.
        redirect_hosts: hosts to which a web server may redirect, besides itself.
    """

    def __init__(
        self,
        kind: type[AbstractFileSystem],
        uri: str,
        options: Mapping[str, object],
        redirect_hosts: Sequence[str] = (),
    ) -> None:
        self._kind = kind
        self._redirect_hosts = tuple(redirect_hosts)
        named = kind._get_kwargs_from_urls(f"{uris.origin_of(uri)}/")  # noqa: SLF001 - host, port, account
        self._system = self.connect(uri, named, options)

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, object]) -> AbstractFileSystem:  # noqa: ARG002 - some need it
        """Return the file system.

        Args:
            uri: a canonical URI in the store.
            named: the options derived from its scheme and authority.
            options: the options of the connection.
        """
        return self._kind(**{**named, **options})

    @property
    def system(self) -> AbstractFileSystem:
        """The file system, connected."""
        return self._system

    @property
    def renames(self) -> bool:
        """Whether the file system has its own rename, as those with folders do; fsspec's default copies and deletes."""
        return self._kind.mv is not AbstractFileSystem.mv

    @property
    def concurrent(self) -> bool:
        """Whether several threads may send requests at once: fsspec then runs them in its own event loop."""
        return bool(self._system.async_impl)

    def path_of(self, uri: str) -> str:
        """Return the path by which the file system knows a canonical URI.

        fsspec maps a plain name instead of the path: in some schemes it would read `?`, `#` and control characters as
        parts of a URL, while here a name is its bytes.
        """
        folder, slash, path = uri.partition("://")[2].partition("/")
        if not path:
            return str(self._kind._strip_protocol(uri))  # noqa: SLF001 - how fsspec itself maps URIs
        mapped = str(self._kind._strip_protocol(f"{uris.scheme_of(uri)}://{folder}{slash}{_NAME}"))  # noqa: SLF001 - as above
        return mapped.removesuffix(_NAME) + path

    def addresses(self, path: str) -> bool:
        """Return whether the file system reads a path as exactly that path."""
        return bool(self.system._strip_protocol(path) == path)  # noqa: SLF001 - what its calls begin with

    def pages(self, path: str) -> Pages:
        """Return the listings below a path."""
        return FolderPages(self, path)

    def info(self, path: str) -> dict[str, object]:
        """Return what the store says about a file or folder now."""
        self.system.invalidate_cache()
        return cast("dict[str, object]", self.system.info(path))

    def version(self, uri: str, path: str) -> FileVersion | None:
        """Return the version of a file, or None if something else is there."""
        info = self.info(path)
        return from_info(uri, info) if info["type"] == "file" else None

    def open_read(self, path: str) -> BinaryIO:
        """Return a file that fetches several MiB at once, and refuses answers whose length is not the requested one."""
        file = self.system.open(path, "rb", block_size=_READ_AHEAD, **self.facts(path))
        cache = getattr(file, "cache", None)
        if cache is not None and hasattr(cache, "fetcher") and isinstance(file.size, int):
            cache.fetcher = _exact(cache.fetcher, file.size, path)
        return cast("BinaryIO", file)

    def facts(self, path: str) -> dict[str, object]:  # noqa: ARG002 - a store may need it
        """Return options that save fsspec an additional request when it opens a file to read."""
        return {}

    def open_write(self, path: str) -> BinaryIO:
        """Return a file to fill."""
        return cast("BinaryIO", self.system.open(path, "wb"))

    def read_bytes(self, path: str) -> bytes:
        """Return a file's content."""
        return cast("bytes", self.system.cat_file(path))

    def read_head(self, path: str, most: int) -> bytes:
        """Return up to `most` first bytes of a file."""
        data = bytearray()
        with self.open_read(path) as file:
            while len(data) < most and (piece := file.read(most - len(data))):
                data += piece
        return bytes(data)

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file in one request."""
        self.system.pipe_file(path, data)

    def remove(self, path: str) -> None:
        """Delete a file, if it is there."""
        try:
            self.system.rm_file(path)
        except FileNotFoundError:
            return

    def rename(self, source: str, target: str) -> None:
        """Rename a file, and replace any file with the new name."""
        self.system.mv(source, target)

    def put_back(self, source: str, target: str) -> None:
        """Rename a file to a name that must be free; few stores check and rename in one step."""
        self.system.invalidate_cache()
        if self.system.exists(target):
            raise FileExistsError(target)
        self.system.mv(source, target)

    def move(self, source: str, target: str) -> None:
        """Rename if the store can; otherwise copy within the store and leave the source to pruning."""
        if self.renames:
            self.rename(source, target)
        else:
            self.system.cp_file(source, target)

    def place(self, source: str, target: str) -> None:
        """Rename a file to a free name if the store can, so that it keeps its times; otherwise copy it."""
        if self.renames:
            self.put_back(source, target)
        else:
            self.system.cp_file(source, target)

    def makedirs(self, path: str) -> None:
        """Make a folder and those above it, if the store has folders."""
        if self.renames:
            self.system.makedirs(path, exist_ok=True)

    def names(self, path: str, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the name and size of each file directly in a folder whose name begins with `prefix`."""
        for info in self.entries(path):
            name = uris.name_of(str(info["name"]))
            if info["type"] == "file" and name.startswith(prefix):
                yield name, cast("int", info["size"])

    def folders(self, path: str) -> Iterator[str]:
        """Yield the names of the folders directly in a folder."""
        for info in self.entries(path):
            if info["type"] == "directory":
                yield uris.name_of(str(info["name"]).rstrip("/"))

    def remove_folder(self, path: str) -> None:
        """Delete a folder with everything in it, if it is there."""
        for _ in range(_ROUNDS):
            self.system.invalidate_cache()
            try:
                self._remove_all(path)
            except FileNotFoundError:
                if self.system.exists(path):  # another process is deleting in it, and may not finish
                    continue
            finally:
                self.system.invalidate_cache()
            return
        raise FileNotFoundError(path)

    def _remove_all(self, path: str) -> None:
        """Delete a folder, one by one what is in it where fsspec would take the name for a glob, and delete others."""
        if self.renames or not has_magic(path):
            self.system.rm(path, recursive=True)
            return
        found: dict[str, dict[str, object]] = self.system.find(path, withdirs=self.has_folders, detail=True)
        for place, info in sorted(found.items(), reverse=True):
            (self.system.rmdir if info["type"] == "directory" else self.system.rm_file)(place)

    def entries(self, path: str) -> list[dict[str, object]]:
        """Return what the store says about each entry of a folder, ordered by name."""
        self.system.invalidate_cache()
        found = self.system.ls(path, detail=True)
        self.system.invalidate_cache()  # the cache would keep up to a million unused entries
        inside = (info for info in found if str(info["name"]).rstrip("/") != path.rstrip("/"))
        return sorted(inside, key=lambda info: str(info["name"]))


def _exact(fetcher: Fetch, size: int, path: str) -> Fetch:
    """Return a fetch that refuses answers of a wrong length, since fsspec's caches accept any answer as complete."""

    def fetch(start: int, end: int) -> bytes:
        try:
            return exactly(fetcher, start, max(start, min(end, size)), path)
        except ValueError as error:
            msg = f"{path}: the server serves no ranges of a file; copy the file to a store that does"
            raise SourceError(msg) from error

    return fetch


class FolderPages(Pages):
    """The listings below a folder of any file system: each folder whole, its files by name, then its folders."""

    def __init__(self, store: FsspecStore, path: str) -> None:
        self._store = store
        self._path = path
        self._root = path if path.endswith("/") or not path else f"{path}/"
        self.width = self.width if store.concurrent else 0

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:  # noqa: ARG002 - it is one page, and never flat
        """Return a whole folder."""
        entries = self._store.entries(self.place(folder))
        return Page.of(
            sorted((entry_of(folder, info) for info in entries), key=lambda entry: (entry.folder, entry.name))
        )

    def place(self, folder: str) -> str:
        """Return the path of a folder."""
        return (self._root + folder).rstrip("/") or self._root

    def root(self, uri: str, tail: str) -> tuple[FileVersion | None, bool]:
        """Return the root's version, if it is a file, and whether it is a folder."""
        version = self._store.version(uri, self._path)
        if version is not None and tail:
            raise FileNotFoundError(self._path)
        return version, version is None

    def version(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file, or of the file to which a link leads."""
        try:
            return self._store.version(uri, self._root + name)
        except FileNotFoundError:
            return None

    def addresses(self, name: str) -> bool:
        """Return whether the file system reads the path of a name as exactly that name."""
        return self._store.addresses(self._root + name)


def entry_of(folder: str, info: Mapping[str, object]) -> Entry:
    """Return the entry of a folder that an info dictionary of fsspec describes."""
    name = folder + uris.name_of(str(info["name"]).rstrip("/"))
    kind = str(info["type"]).lower()
    if kind == "directory":
        return Entry(f"{name}/", folder=True)
    known = {**info, "size": info.get("size", info.get("length"))}
    if kind != "file" or not isinstance(known["size"], int):
        return Entry(name)
    return Entry.of(name, known)
