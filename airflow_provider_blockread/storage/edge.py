"""The edge to the stores: their errors become this package's, once, with the place and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import BlockReadError, FileMissingError, SourceError, TransientError


@contextmanager
def translated(uri: str) -> Iterator[None]:
    """Turn what a store raises about `uri` into an error that names it.

    Raises:
        FileMissingError: when nothing is there.
        SourceError: when access is denied, or it is a folder where a file is needed or the other way round.
        TransientError: for any other input or output error.
    """
    try:
        yield
    except OSError as error:
        raise as_error(uri, error) from error


def as_error(uri: str, error: OSError) -> BlockReadError:
    """Return the error of this package that says what an error of the operating system or of a store means."""
    if isinstance(error, FileNotFoundError):
        return FileMissingError(
            f"{uri} does not exist; restore it, or exclude it from its window (`blockread windows exclude`)"
        )
    if isinstance(error, PermissionError):
        return SourceError(f"{uri}: access denied; let the account that runs this (or its connection) in, then retry")
    if isinstance(error, FileExistsError):
        return SourceError(f"{uri} is a file where a folder is needed; correct the path, or move the file away")
    if isinstance(error, NotADirectoryError):
        return SourceError(f"{uri}: a part of this path is a file where a folder is needed; correct the path")
    if isinstance(error, IsADirectoryError):
        return SourceError(f"{uri} is a folder where a file is needed; correct the path")
    reason = error.strerror or type(error).__name__
    return TransientError(f"{uri}: the store failed ({reason}); try again when it is back")
