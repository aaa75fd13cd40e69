"""The files that one task attempt stages: finished or open, and removed if the attempt fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from airflow_provider_blockread.errors import BlockReadError, FunctionError, TransientError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.at_once import answers


def counted(
    stores: Stores, files: Iterable[OutputFile], count: Callable[[OutputFile], int]
) -> Iterator[tuple[int, int]]:
    """Yield the size and the number of rows of each file, as the file itself says; `count` returns the latter."""
    return answers(stores, files, lambda file: (stores.stat(file.uri).size, count(file)), attrgetter("uri"))


class Layer(Protocol):
    """A layer of a file: an encoder, a compressor, or the store's file below them."""

    def write(self, data: Any, /) -> object:  # noqa: ANN401 - bytes, or what the encoder takes
        """Write data to this layer."""

    def close(self) -> object:
        """Pass all buffered data to the layer below."""


class StagedFile:
    """One file being written; `rows` is the number of rows so far."""

    def __init__(self, stores: Stores, uri: str) -> None:
        self.uri = uri
        self.rows = 0
        self._stores = stores
        self._file = stores.open_write(uri)
        self._layers: list[Layer] = [self._file]  # the topmost first

    def finish(self) -> OutputFile:
        """Write the end of the file, and return it once the store has it."""
        with explained(self.uri):
            for layer in self._layers:
                layer.close()
        return OutputFile(uri=self.uri, size=self._stores.stat(self.uri).size, rows=self.rows)

    def discard(self) -> None:
        """Close and abandon the file, complete or not."""
        abandon(self._layers)


def abandon(layers: Iterable[Layer]) -> None:
    """Close the layers of a file that nobody will use, whether or not it can be written any more."""
    for layer in layers:
        with contextlib.suppress(BlockReadError, pa.ArrowException, OSError, ValueError):
            layer.close()


F = TypeVar("F", bound=StagedFile)


class StagedFiles(Generic[F]):
    """The files of a writer, one open at a time."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._files: list[OutputFile] = []
        self._open: F | None = None

    def close(self) -> list[OutputFile]:
        """Finish the last file and return all of them."""
        self._finish()
        return self._files

    def abort(self) -> None:
        """Remove all files, complete or not."""
        uris = [file.uri for file in self._files]
        if self._open is not None:
            uris.append(self._open.uri)
            self._open.discard()
        for uri in uris:
            with contextlib.suppress(BlockReadError):
                self._stores.remove(uri)
        self._files, self._open = [], None

    def _finish(self) -> None:
        if self._open is not None:
            self._files.append(self._open.finish())
            self._open = None


@contextlib.contextmanager
def explained(uri: str) -> Iterator[None]:
    """Translate errors in the body into ones that say which file was written, and what to do.

    Raises:
        FunctionError: when the file cannot hold a value.
        TransientError: when the store fails.
    """
    try:
        yield
    except pa.ArrowException as error:
        msg = f"{uri} cannot hold what the function returned ({error}); cast it in the function"
        raise FunctionError(msg) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        msg = f"{uri} cannot be written ({why}); free space there, or let this account write there, then retry"
        raise TransientError(msg) from error
