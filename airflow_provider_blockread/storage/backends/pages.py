"""What a store's listing comes in: pages of entries, each with a cursor to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError


class FolderLinkError(SourceError):
    """A link leads to a folder, whose files would be missed."""


class Entry(NamedTuple):
    """A file or folder; `name` is relative to the root, a folder's ends with `/`."""

    name: str
    size: int | None = None  # None for a folder, and where it takes a look at the file itself
    mtime_ns: int = 0
    etag: str | None = None
    folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Entries in the listing's order, a column of each field, and where the next page begins; None behind the last.

    Columns cost the collector of garbage nothing; an object for each entry would have it look through the process.
    """

    names: Sequence[str]
    sizes: Sequence[int | None]
    times: Sequence[int]
    etags: Sequence[str | None]
    folders: Sequence[bool] | None = None  # None where there are none
    cursor: str | None = None

    @classmethod
    def of(cls, entries: Sequence[Entry], cursor: str | None = None) -> Self:
        """Return a page of these entries."""
        names, sizes, times, etags, folders = zip(*entries, strict=True) if entries else ((),) * 5
        return cls(
            names=names,
            sizes=sizes,
            times=times,
            etags=etags,
            folders=folders if any(folders) else None,
            cursor=cursor,
        )

    def entries(self) -> Iterator[Entry]:
        """Yield the entries."""
        folders = self.folders or [False] * len(self.names)
        return map(Entry, self.names, self.sizes, self.times, self.etags, folders)


class Pages(Protocol):
    """The listings of one root; pages may be asked for by several threads at once.

    Attributes:
        width: folders that may be listed at the same time; 0 where only the caller's own thread may ask.
        flat: whether a folder can be listed with all that lies below it.
        by_name: set where the files of a folder must come in the order of their names, since markers lie beside them;
            most come so anyway.
        folder_links: whether what an entry does not tell may be a link to a folder.
    """

    width: int
    flat: bool
    by_name: bool
    folder_links: bool

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of a folder (its path relative to the root with `/` behind it, empty for the root itself).

        Args:
            folder: what to list.
            cursor: where the page begins, from the page before; None for the first.
            flat: list all files below, and no folders.
        """
        ...

    def look(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file whose entry does not tell it, None where it is none.

        Raises:
            FolderLinkError: when it is a link to a folder.
        """
        ...

    def addresses(self, name: str) -> bool:
        """Tell whether the store's client, handed the path of that name, takes it for that and no other."""
        ...
