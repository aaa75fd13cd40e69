"""Files opened at a version: every byte that is read is that version's, or the file counts as changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import BlockReadError, FileChangedError, FileMissingError, TransientError
from airflow_provider_blockread.storage.edge import as_error
from airflow_provider_blockread.storage.patience import Patience
from airflow_provider_blockread.storage.ranges import Fetch, RangedFile
from airflow_provider_blockread.storage.stores import Stores


@contextmanager
def open_version(stores: Stores, version: FileVersion) -> Iterator[BinaryIO]:
    """Give a version of a file as a seekable binary file whose reads may come back short.

    A store that takes conditional requests is held to the version in each of them, and asked nothing else. Elsewhere
    the version is looked at before and after; and when a read fails in between, to tell whether that is why.

    Raises:
        FileMissingError: when the file is gone.
        FileChangedError: when it is another version now; or was one at any read, if the store can tell.
    """
    fetch = stores.pinned(version) if version.size else None
    with _named(version):
        if fetch is not None:
            yield cast("BinaryIO", RangedFile(_checked(stores, version, fetch), version.size, version.path))
            return
        check_version(stores, version)
        try:
            with stores.open_read(version.path) as file:
                yield file
        except (FileMissingError, FileChangedError):
            raise
        except BlockReadError:
            check_version(stores, version)
            raise
        check_version(stores, version)


def check_version(stores: Stores, version: FileVersion) -> None:
    """Look whether a file is still that version.

    Raises:
        FileMissingError: when it is gone.
        FileChangedError: when it is another one.
    """
    found = stores.stat(version.path)
    if not same_version(found, version):
        msg = (
            f"{version.path} is no longer the version that was planned: planned {_describe(version)}, found"
            f" {_describe(found)}; restore it, or exclude it with `blockread windows exclude`, then retry"
        )
        raise FileChangedError(msg, version.path)


def _checked(stores: Stores, version: FileVersion, fetch: Fetch) -> Fetch:
    """Return a fetch that waits for a store that fails, and says of a refusal whether the file is gone or changed."""

    def answer(start: int, end: int) -> bytes:
        try:
            return fetch(start, end)
        except Exception as error:  # stores and clients differ in what they say of a condition that does not hold
            if not isinstance(as_error(version.path, error), TransientError):
                check_version(stores, version)
            raise

    return lambda start, end: Patience().ask(version.path, lambda: answer(start, end), time.sleep)


@contextmanager
def _named(version: FileVersion) -> Iterator[None]:
    """Give what says that a file is gone or changed the path, by which a policy may exclude it."""
    try:
        yield
    except (FileMissingError, FileChangedError) as error:
        raise type(error)(str(error), version.path) from error


def _describe(version: FileVersion) -> str:
    identity = f"etag {version.etag}" if version.etag else f"modified at {version.mtime_ns} ns"
    return f"{version.size} bytes, {identity}"
