"""Stores that know folders: listed one by one, as fsspec does, or where the store can, HDFS for one, in pages."""

from __future__ import annotations

from typing import Any

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.storage.backends.pages import Entry, Page
from airflow_provider_blockread.storage.backends.remote import RemoteStore
from airflow_provider_blockread.storage.identity import from_info
from airflow_provider_blockread.storage.uris import name_of

_BATCH = "LISTSTATUS_BATCH"


class FolderPages:
    """The listings below a folder of any file system: a folder's files in order of their names, then its folders."""

    flat = False
    by_name = False
    folder_links = False

    def __init__(self, store: RemoteStore, path: str) -> None:
        self._store = store
        self._root = path if path.endswith("/") or not path else f"{path}/"
        # Only what fsspec runs in a loop of its own is safe to ask from several threads.
        self.width = 4 if store.system.async_impl else 0

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:  # noqa: ARG002 - it is never asked to be flat
        """Return a whole folder."""
        entries = self._store.entries(self._place(folder))
        return Page.of(sorted((_entry(folder, info) for info in entries), key=_turn))

    def _place(self, folder: str) -> str:
        return (self._root + folder).rstrip("/") or self._root

    def look(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file, of the one that a link leads to, too."""
        return self._store.link(uri, self._root + name)

    def addresses(self, name: str) -> bool:
        """Tell whether the file system, handed a path, takes it for that file."""
        place = self._root + name
        return bool(self._store.system._strip_protocol(place) == place)  # noqa: SLF001 - what its calls begin with


class HdfsPages(FolderPages):
    """The listings below a folder of HDFS, in pages where the name node can (Hadoop 2.8), in order of names."""

    def __init__(self, store: RemoteStore, path: str) -> None:
        super().__init__(store, path)
        self._whole = False

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return as many of a folder's entries as the name node gives at once."""
        if self._whole:
            return super().page(folder, cursor, flat=flat)
        try:
            found = self._ask(self._place(folder), {} if cursor is None else {"startAfter": cursor})
        except (ValueError, RuntimeError) as error:  # an older name node, or gateway, does not know the question
            if cursor is not None or (isinstance(error, RuntimeError) and _BATCH not in str(error)):
                raise
            self._whole = True
            return super().page(folder, cursor, flat=flat)
        statuses = found["partialListing"]["FileStatuses"]["FileStatus"]
        entries = [_entry(folder, {**status, "name": status["pathSuffix"]}) for status in statuses]
        return Page.of(entries, statuses[-1]["pathSuffix"] if found["remainingEntries"] else None)

    def _ask(self, place: str, more: dict[str, str]) -> dict[str, Any]:
        answer = self._store.system._call(_BATCH, path=place, **more)  # noqa: SLF001 - its one door
        found: dict[str, Any] = answer.json()["DirectoryListing"]
        return found


def _entry(folder: str, info: dict[str, object]) -> Entry:
    name = folder + name_of(str(info["name"]).rstrip("/"))
    kind = str(info["type"]).lower()
    if kind == "directory":
        return Entry(f"{name}/", folder=True)
    known = {**info, "size": info.get("size", info.get("length"))}
    if kind != "file" or not isinstance(known["size"], int):
        return Entry(name)
    version = from_info(name, known)
    return Entry(name, version.size, version.mtime_ns, version.etag)


def _turn(entry: Entry) -> tuple[bool, str]:
    return entry.folder, entry.name
