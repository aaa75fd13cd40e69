"""A file of a store without versions, which is opened again where it was while the store fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from airflow_provider_blockread.storage.patience import Patience
from airflow_provider_blockread.storage.ranges import RemoteFile


class ReopenedFile(RemoteFile):
    """A file whose reads are retried, each time with a new file of the store; reads may come back short.

    Args:
        opened: opens the file; raises this package's errors, as the file does.
        size: the size of the file, in bytes.
        name: the URI of the file, for messages.
    """

    def __init__(self, opened: Callable[[], BinaryIO], size: int, name: str) -> None:
        super().__init__(size, name)
        self._open = opened
        self._file: BinaryIO | None = None

    def read(self, size: int | None = -1) -> bytes:
        """Return up to `size` bytes, or the rest.

        Raises:
            TransientError: if the store keeps failing.
        """
        data = Patience().ask(self.name, lambda: self._read(-1 if size is None else size))
        self._position += len(data)
        return data

    def _read(self, size: int) -> bytes:
        try:
            if self._file is None:
                self._file = self._open()
            self._file.seek(self._position)
            return self._file.read(size)
        except Exception:
            self._drop()
            raise

    def close(self) -> None:
        """Close the file."""
        self._drop()
        super().close()

    def _drop(self) -> None:
        """Close the store's file; nothing was written to it, so a failure to close it loses nothing."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(Exception):
                file.close()
