"""Pages of a store's listing: entries, with a cursor to the next page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.storage.backends.shared.identity import from_info


class Entry(NamedTuple):
    """A file or folder; `name` is relative to the root, a folder's ends with `/`."""

    name: str
    size: int | None = None  # None for a folder, and for a file whose version needs a separate request
    mtime_ns: int = 0
    etag: str | None = None
    folder: bool = False

    @classmethod
    def of(cls, name: str, info: Mapping[str, object]) -> Self:
        """Return the entry of a file that an info dictionary of fsspec describes."""
        version = from_info(name, info)
        return cls(name, version.size, version.mtime_ns, version.etag)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Entries in the listing's order as one column per field, and the cursor of the next page, None after the last.

    Unlike one object per entry, columns need not be traversed by the garbage collector.
    """

    names: Sequence[str]
    sizes: Sequence[int | None]
    times: Sequence[int]
    etags: Sequence[str | None]
    folders: Sequence[bool] | None = None  # None if there are none
    cursor: str | None = None

    @classmethod
    def of(cls, entries: Sequence[Entry], cursor: str | None = None) -> Self:
        """Return a page of these entries."""
        names, sizes, times, etags, folders = zip(*entries, strict=True) if entries else ((),) * 5
        return cls(
            names=names, sizes=sizes, times=times, etags=etags, folders=folders if any(folders) else None, cursor=cursor
        )

    def entries(self) -> Iterator[Entry]:
        """Yield the entries."""
        folders = self.folders or [False] * len(self.names)
        return map(Entry, self.names, self.sizes, self.times, self.etags, folders)


class Pages(ABC):
    """The listings of one root; several threads may request pages at once.

    Attributes:
        width: folders that may be listed at the same time; 0 if only the caller's own thread may ask.
        flat: whether a folder can be listed together with everything below it.
        by_name: set if the files of a folder must be listed in order of their names, because of markers beside them;
            most stores do so anyway.
        folder_links: whether an entry without a size may be a link to a folder.
        seconds: how long a page may take; not every client has its own timeout.
    """

    width = 4
    flat = False
    by_name = False
    folder_links = False
    seconds = 120.0

    @abstractmethod
    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of a folder from the store; retries are left to the caller.

        Args:
            folder: its path relative to the root with a trailing `/`, or empty for the root itself.
            cursor: where the page begins, from the previous page; None for the first page.
            flat: list all files below the folder, and no folders.
        """

    @abstractmethod
    def root(self, uri: str, tail: str) -> tuple[FileVersion | None, bool]:
        """Return the file at the root itself, if there is one, and whether the root is a folder.

        Args:
            uri: the root's canonical URI.
            tail: trailing slashes in the source's spelling; with any, only a folder is meant.

        Raises:
            FileNotFoundError: if there is neither.
            OptionsError: if the store cannot have a place with this name.
        """

    @abstractmethod
    def version(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file whose entry has no size, or None if it is not a file.

        Raises:
            FolderLinkError: if it is a link to a folder.
        """

    @abstractmethod
    def addresses(self, name: str) -> bool:
        """Return whether the store's client reads the path of a name as exactly that name."""
