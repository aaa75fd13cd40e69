"""What the object stores have in common: keys below a prefix, and `/` between what people take for folders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from typing import Any, TypeVar

from fsspec.asyn import sync

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.backends.pages import Page
from airflow_provider_blockread.storage.backends.remote import RemoteStore
from airflow_provider_blockread.storage.edge import as_error
from airflow_provider_blockread.storage.identity import from_info

_Answer = TypeVar("_Answer")


def stands_for_folder(metadata: object) -> bool:
    """Tell whether the metadata of a blob say that it is there for a folder, whose files have names of their own."""
    known = {key.lower(): value for key, value in metadata.items()} if isinstance(metadata, Mapping) else {}
    return "true" in {str(known.get(key)).lower() for key in ("hdi_isfolder", "is_directory")}


class ObjectPages(ABC):
    """The listings below a path of a bucket or container, in order of keys.

    Attributes:
        size: how many entries a page holds at most.
        seconds: how long a page may take; not every client gives up by itself.
    """

    width = 8
    flat = True
    by_name = False  # they always are
    folder_links = False
    size = 1000
    seconds = 120.0

    def __init__(self, store: RemoteStore, path: str) -> None:
        self._store = store
        self._system = store.system
        self._bucket, key, _ = store.system.split_path(path)
        self._root = f"{key}/" if key else ""

    def root(self, uri: str, *, slash: bool) -> tuple[FileVersion | None, bool]:
        """Return the object of the root's own name, if that is a file, and whether the root is a folder.

        It is a folder where something lies below it; an empty object of its name only stands for it then. What is
        written with a slash is never taken for the object.

        Raises:
            FileNotFoundError: when there is neither.
        """
        whole = not self._root  # a bucket: to look at it may take other rights than to list it
        if (whole or slash) and (self._leads_on() or whole):
            return None, True
        info = self._store.info(f"{self._bucket}/{self._root[:-1]}")
        is_file = info["type"] == "file" and not stands_for_folder(info.get("metadata"))
        file = from_info(uri, info) if is_file else None
        if slash and file is not None and file.size:
            raise FileNotFoundError
        if file is None or slash:
            return None, True
        try:
            folder = self._leads_on()
        except Exception as error:
            if file.size and isinstance(as_error(uri, error), SourceError):  # it may be read, and not be listed
                return file, False
            raise
        return (None if folder and not file.size else file), folder

    def _leads_on(self) -> bool:
        """Tell whether anything lies below the root."""
        few = copy(self)
        few.size = 1
        page = few.page("", None, flat=True)
        return bool(page.names) or page.cursor is not None

    @abstractmethod
    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page, as the store gives it."""

    def _asked(self, ask: Callable[..., Coroutine[Any, Any, _Answer]], *about: object) -> _Answer:
        """Return what a coroutine of the store's client answers."""
        answer: _Answer = sync(self._system.loop, ask, *about, timeout=self.seconds)
        return answer

    def _inside(self, key: str) -> str:
        """Return the name of a key relative to the root."""
        if not key.startswith(self._root):
            msg = "the answer holds names that were not asked for"
            raise OSError(0, msg)
        return key[len(self._root) :]

    def look(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of an object."""
        return self._store.version(uri, f"{self._bucket}/{self._root}{name}")

    def addresses(self, name: str) -> bool:
        """Tell whether the store's client, handed a path, takes it for that key."""
        place, key = f"{self._bucket}/{self._root}{name}", self._root + name
        stripped = self._system._strip_protocol(place)  # noqa: SLF001 - what each of its calls begins with
        return bool(tuple(self._system.split_path(stripped)[:2]) == (self._bucket, key))
