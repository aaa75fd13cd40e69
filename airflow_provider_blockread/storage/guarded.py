"""An open file of a store whose failures, in the midst of a stream too, are this package's errors."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

from airflow_provider_blockread.storage.edge import translated

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


def guarded(uri: str, file: BinaryIO) -> BinaryIO:
    """Return the file with its failures translated; one of the local disk or of memory fails as the system does."""
    return (
        file if isinstance(file, (io.FileIO, io.BufferedWriter, io.BytesIO)) else cast("BinaryIO", Guarded(uri, file))
    )


class Guarded(io.RawIOBase):
    """A file of a store, read, written and closed as it is, its errors naming the URI."""

    def __init__(self, uri: str, file: BinaryIO) -> None:
        super().__init__()
        self._uri = uri
        self._file = file

    def readable(self) -> bool:
        """Tell what the file tells."""
        return self._file.readable()

    def writable(self) -> bool:
        """Tell what the file tells."""
        return self._file.writable()

    def seekable(self) -> bool:
        """Tell what the file tells."""
        return self._file.seekable()

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to so many bytes, or the rest."""
        with translated(self._uri):
            return self._file.read(-1 if size is None else size)

    def readall(self) -> bytes:
        """Return the rest."""
        return self.read(-1)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer as far as one read does."""
        with translated(self._uri):
            wanted = memoryview(buffer).cast("B")
            found = self._file.read(len(wanted))
            wanted[: len(found)] = found
            return len(found)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes."""
        with translated(self._uri):
            return self._file.write(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place."""
        with translated(self._uri):
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()

    def flush(self) -> None:
        """Send what is written as far as the store takes it."""
        if not self._file.closed:
            with translated(self._uri):
                self._file.flush()

    def close(self) -> None:
        """Close the file; what was written is there now, or this raises."""
        try:
            if not self._file.closed:
                with translated(self._uri):
                    self._file.close()
        finally:
            super().close()
