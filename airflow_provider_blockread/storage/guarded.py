"""An open file of a store whose failures, even in the middle of a stream, are this package's errors."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

from airflow_provider_blockread.storage.backends.shared.errors import translated

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


def guarded(uri: str, file: BinaryIO) -> BinaryIO:
    """Return the file with its errors translated; files on the local disk or in memory are returned unchanged."""
    return (
        file if isinstance(file, (io.FileIO, io.BufferedWriter, io.BytesIO)) else cast("BinaryIO", _Guarded(uri, file))
    )


class _Guarded(io.RawIOBase):
    """A file of a store whose errors name its URI."""

    def __init__(self, uri: str, file: BinaryIO) -> None:
        super().__init__()
        self._uri = uri
        self._file = file

    def readable(self) -> bool:
        return self._file.readable()

    def writable(self) -> bool:
        return self._file.writable()

    def seekable(self) -> bool:
        return self._file.seekable()

    def read(self, size: int | None = -1, /) -> bytes:
        with translated(self._uri):
            return self._file.read(-1 if size is None else size)

    def readall(self) -> bytes:
        return self.read(-1)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer with the bytes of one read."""
        with translated(self._uri):
            wanted = memoryview(buffer).cast("B")
            found = self._file.read(len(wanted))
            wanted[: len(found)] = found
            return len(found)

    def write(self, data: ReadableBuffer, /) -> int:
        with translated(self._uri):
            return self._file.write(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with translated(self._uri):
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """Send what was written, as far as the store accepts it."""
        if not self._file.closed:
            with translated(self._uri):
                self._file.flush()

    def close(self) -> None:
        """Close the file; raises unless everything that was written is stored."""
        try:
            if not self._file.closed:
                with translated(self._uri):
                    self._file.close()
        finally:
            super().close()
