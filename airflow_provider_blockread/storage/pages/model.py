"""What a store's listing comes in: pages of entries, each with a cursor to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from airflow_provider_blockread.blocks import FileVersion


class Entry(NamedTuple):
    """A file or folder; `name` is relative to the root, a folder's ends with `/`."""

    name: str
    size: int | None = None  # None for a folder, and where it takes a look at the file itself
    mtime_ns: int = 0
    etag: str | None = None
    folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Entries in the listing's order, and where the next page begins; None behind the last."""

    entries: list[Entry]
    cursor: str | None = None


class Pages(Protocol):
    """The listings of one root; pages may be asked for by several threads at once.

    Attributes:
        width: folders that may be listed at the same time; 0 where only the caller's own thread may ask.
        flat: whether a folder can be listed with all that lies below it.
    """

    width: int
    flat: bool

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of a folder (its path relative to the root with `/` behind it, empty for the root itself).

        Args:
            folder: what to list.
            cursor: where the page begins, from the page before; None for the first.
            flat: list all files below, and no folders.
        """
        ...

    def look(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file whose entry does not tell it, None where it is none."""
        ...

    def addresses(self, name: str) -> bool:
        """Tell whether the store's client, handed the path of that name, takes it for that and no other."""
        ...
