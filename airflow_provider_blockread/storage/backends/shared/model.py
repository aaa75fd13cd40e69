"""What stores can do besides reading and writing files, and how a file is deleted only if it is a certain version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import digest, same_version, version_digest
from airflow_provider_blockread.blocks.sizing import STORE_BLOCK
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.ranges import Fetch


class Store(ABC):
    """What the local disk and the stores of fsspec have in common; paths and errors are in the store's own form.

    Attributes:
        has_tags: whether its files have tags that can be set.
    """

    has_tags: bool = False
    has_folders: bool = True  # otherwise a folder is gone with its last file

    @classmethod
    def table_options(cls, options: Mapping[str, Any]) -> dict[str, str] | None:  # noqa: ARG003 - other stores need them
        """Return a connection's options under the names of the Rust library object_store, which writes tables.

        None if tables cannot be in this store, because it has no atomic commit.
        """
        return None

    @property
    @abstractmethod
    def renames(self) -> bool:
        """Whether a file is renamed in one step, and keeps its version; otherwise it is copied."""

    @abstractmethod
    def version(self, uri: str, path: str) -> FileVersion | None:
        """Return the version of a file, or None if something else is there."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Delete a file, if it is there."""

    @abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Rename a file, and replace any file with the new name."""

    @abstractmethod
    def put_back(self, source: str, target: str) -> None:
        """Rename a file to a name that must be free; raises FileExistsError if it is not."""

    def pinned(self, path: str, etag: str | None) -> Fetch | None:  # noqa: ARG002 - other stores need both
        """Return a function to fetch ranges of one version of a file, or None if the store cannot compare versions."""
        return None

    def delete_if(self, path: str, etag: str | None) -> bool | None:  # noqa: ARG002 - as above
        """Delete a file if it is this version, and return whether it was; None if the store cannot compare."""
        return None

    def tag(self, path: str, tags: Mapping[str, str]) -> None:  # noqa: B027 - other stores have no tags
        """Add tags to a file, and keep its other tags, in a store that `has_tags`."""

    def real_path(self, path: str) -> str | None:  # noqa: ARG002 - as above
        """Return a path with all links resolved, or None if the store does not resolve links, or is the local disk."""
        return None

    def block_size(self, path: str) -> int:  # noqa: ARG002 - as above
        """Return the store's block size for this file, in bytes; called only if the store's scheme `has_blocks`."""
        return STORE_BLOCK

    def delete_version(self, path: str, version: FileVersion) -> bool:
        """Delete a file only if it is still this version, and return whether it was.

        An object store compares the version itself. A store that renames gives the file a hidden name beside it, which
        is derived from its path and version, checks it there, and deletes it or renames it back; if interrupted, this
        is completed by `finish_delete`. Any other store deletes what is there.
        """
        deleted = self.delete_if(path, version.etag)
        if deleted is not None:
            return deleted
        if not self.renames:
            self.remove(path)
            return True
        self.rename(path, _aside(path, version))
        done = self.finish_delete(path, version)
        if done is None and self._is_file(path, version):
            msg = f"{version.path} could not be renamed, so it is kept; let the account rename files there, then repeat"
            raise SourceError(msg, version.path)
        return done is not False

    def finish_delete(self, path: str, version: FileVersion) -> bool | None:
        """Finish an interrupted `delete_version`; return whether the file was this version, or None if none was begun.

        Raises:
            SourceError: if it was another version, and a third file is now in its place.
        """
        if not self.renames:
            return None
        aside = _aside(path, version)
        try:
            found = self.version(version.path, aside)
        except FileNotFoundError:
            return None
        if found is not None and same_version(found, version):
            self.remove(aside)
            return True
        try:
            if self.version(version.path, path) == found and found is not None:  # it already had its name back
                self.remove(aside)
                return False
        except FileNotFoundError:
            with suppress(FileExistsError):
                self.put_back(aside, path)
                if not self._is_file(aside, version):  # some stores refuse without an error
                    return False
        msg = (
            f"{version.path} was replaced twice while it was being deleted; one of the two files is in its place, the"
            f" other beside it as {aside}: rename that one to a name that is read, then repeat"
        )
        raise SourceError(msg, version.path)

    def _is_file(self, path: str, version: FileVersion) -> bool:
        try:
            return self.version(version.path, path) is not None
        except FileNotFoundError:
            return False


def _aside(path: str, version: FileVersion) -> str:
    """Return the hidden name beside a file, which listings skip."""
    return f"{path.rpartition('/')[0]}/.{digest(version.path, version_digest(version))}.tmp"
