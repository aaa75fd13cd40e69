"""What the object stores have in common: keys below a prefix, and `/` between what people take for folders."""

from __future__ import annotations

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.storage.remote import RemoteStore


class ObjectPages:
    """The listings below a path of a bucket or container, in order of keys.

    Attributes:
        size: how many entries a page holds at most.
    """

    width = 8
    flat = True
    size = 1000

    def __init__(self, store: RemoteStore, path: str) -> None:
        self._store = store
        self._system = store.system
        self._bucket, key, _ = store.system.split_path(path)
        self._root = f"{key}/" if key else ""

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
