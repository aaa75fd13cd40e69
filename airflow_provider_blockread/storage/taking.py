"""Taking a file away, and never another one that has come into its place meanwhile.

Object stores are told which version is meant. Where files are renamed, the file gets a hidden name beside it, which
follows from its path and version, and is looked at there: it goes if it is the one that is meant, and else goes back.
Who dies in between leaves it there, and `settle` does the rest.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import digest, same_version, version_digest
from airflow_provider_blockread.errors import SourceError


class Taker(Protocol):
    """A store, as far as it matters here; paths are its own."""

    @property
    def keeps_versions(self) -> bool:
        """Whether a file can be renamed, and stays the version that it was."""

    def version(self, uri: str, path: str) -> FileVersion | None:
        """Return the version of a file, None when something else is there."""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""

    def remove_if(self, path: str, etag: str | None) -> bool | None:
        """Remove a file if it is this version, and tell whether it was; None where the store cannot."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file at once, whatever has the new name."""

    def put_back(self, source: str, target: str) -> None:
        """Rename a file to a name that is free; raises FileExistsError where it is not."""


def take_away(store: Taker, path: str, version: FileVersion) -> bool:
    """Remove a file of which one has just seen that it is this version; tell whether it still was.

    Where a store can neither be told a version nor rename, it is removed as it is then.
    """
    removed = store.remove_if(path, version.etag)
    if removed is not None:
        return removed
    if not store.keeps_versions:
        store.remove(path)
        return True
    store.rename(path, _aside(path, version))
    done = settle(store, path, version)
    if done is None and _is_there(store, path, version):
        msg = f"{version.path} was not renamed, so it stays; let the account rename files there, then repeat"
        raise SourceError(msg, version.path)
    return done is not False


def settle(store: Taker, path: str, version: FileVersion) -> bool | None:
    """End what `take_away` had begun when it died: whether the file was this version; None where nothing was begun.

    Raises:
        SourceError: when it was another one, and a third is in its place now.
    """
    if not store.keeps_versions:
        return None
    aside = _aside(path, version)
    try:
        found = store.version(version.path, aside)
    except FileNotFoundError:
        return None
    if found is not None and same_version(found, version):
        store.remove(aside)
        return True
    try:
        if store.version(version.path, path) == found and found is not None:  # it had its name back already
            store.remove(aside)
            return False
    except FileNotFoundError:
        with suppress(FileExistsError):
            store.put_back(aside, path)
            if not _is_there(store, aside, version):  # some stores refuse without a word
                return False
    msg = (
        f"{version.path} was replaced twice while it was taken away; one of the two files is in its place, the other"
        f" beside it as {aside}: bring that one to a name that is read, then repeat"
    )
    raise SourceError(msg, version.path)


def _is_there(store: Taker, path: str, version: FileVersion) -> bool:
    try:
        return store.version(version.path, path) is not None
    except FileNotFoundError:
        return False


def _aside(path: str, version: FileVersion) -> str:
    """Return the hidden name beside a file, which is never taken for one that landed."""
    return f"{path.rpartition('/')[0]}/.{digest(version.path, version_digest(version))}.tmp"
