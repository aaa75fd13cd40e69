"""Files opened at a version: every byte that is read is from that version, or the file counts as changed."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import (
    BlockReadError,
    FileChangedError,
    FileMissingError,
    SourceError,
    TransientError,
)
from airflow_provider_blockread.options import Bounds, moment
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.disk_calls import real_path
from airflow_provider_blockread.storage.backends.shared.errors import as_error
from airflow_provider_blockread.storage.backends.shared.identity import from_stat
from airflow_provider_blockread.storage.listing.roots import Inside
from airflow_provider_blockread.storage.patience import Patience
from airflow_provider_blockread.storage.ranges import Fetch, RangedFile
from airflow_provider_blockread.storage.reopened import ReopenedFile
from airflow_provider_blockread.storage.stores import Stores


@contextmanager
def open_version(stores: Stores, version: FileVersion, bounds: Bounds, until: int | None = None) -> Iterator[BinaryIO]:
    """Yield a version of a file as a seekable binary file whose reads may come back short.

    Bytes from `until` on are not prefetched.

    If the store accepts conditional requests, each of them names the version, and no other check is needed. Otherwise
    the version is checked before and after, and when a read fails, to find out whether a change is the cause. On the
    local disk the opened file and its path are checked, so that no link can be replaced in between.

    Raises:
        FileMissingError: if the file is gone.
        FileChangedError: if it is another version now, or was at any read if the store compares versions.
        SourceError: if a link leads out of the bounds.
    """
    stores = stores.within(bounds)
    fetch = stores.pinned(version) if version.size else None
    with _gone_or_changed(stores, version):
        if fetch is not None:
            checked = _checked(stores, version, fetch)
            with RangedFile(checked, version.size, version.path, until=until) as ranges:
                yield cast("BinaryIO", ranges)
            return
        with _opened(stores, version, bounds) as file:
            try:
                yield file
            except (FileMissingError, FileChangedError):
                raise
            except BlockReadError:
                check_version(stores, version)
                raise
        check_version(stores, version)


def check_version(stores: Stores, version: FileVersion) -> None:
    """Make sure that a file is still that version; requests are retried while the store fails.

    Raises:
        FileMissingError: if the file is gone.
        FileChangedError: if it is another version.
    """
    _compare(patient_version_now(stores, version), version)


def patient_version_now(stores: Stores, version: FileVersion) -> FileVersion:
    """Return the version of a file as it is now, as `version_now` does; requests are retried while the store fails."""
    return Patience().ask(version.path, lambda: version_now(stores, version))


def version_now(stores: Stores, version: FileVersion) -> FileVersion:
    """Return the version of a file as it is now; its path must be canonical, as in every plan."""
    path = uris.local_path(version.path)
    if path is not None:
        try:
            found = os.stat(path)  # noqa: PTH116 - making a Path costs more than the call
        except (OSError, UnicodeEncodeError):
            return stores.stat(version.path)
        if stat.S_ISREG(found.st_mode):
            return from_stat(version.path, found)
    return stores.stat(version.path)


def is_no_file(stores: Stores, uri: str) -> bool:
    """Return whether something is there that is not a file: a folder, a pipe, a socket or a device."""
    return stores.exists(uri) and not stores.holds_file(uri)


@contextmanager
def _gone_or_changed(stores: Stores, version: FileVersion) -> Iterator[None]:
    """Add the path to errors about a file that is gone, changed or no file now, so that a policy can exclude it."""
    try:
        yield
    except (FileMissingError, FileChangedError) as error:
        raise type(error)(str(error), version.path) from error
    except SourceError as error:
        if not is_no_file(stores, version.path):
            raise
        msg = (
            f"{version.path} is a folder, a pipe or a device where a file is needed, not what was planned; restore it,"
            " or exclude it with `blockread windows exclude`, then retry"
        )
        raise FileChangedError(msg, version.path) from error


def _compare(found: FileVersion, version: FileVersion) -> None:
    if not same_version(found, version):
        msg = (
            f"{version.path} is no longer the version that was planned: planned {_describe(version)}, found"
            f" {_describe(found)}; restore it, or exclude it with `blockread windows exclude`, then retry"
        )
        raise FileChangedError(msg, version.path)


@contextmanager
def _opened(stores: Stores, version: FileVersion, bounds: Bounds) -> Iterator[BinaryIO]:
    """Yield an open file after a check that it is the version and, on the local disk, within bounds."""
    if uris.local_path(version.path) is None:
        check_version(stores, version)
        with ReopenedFile(lambda: stores.open_read(version.path), version.size, version.path) as remote:
            yield cast("BinaryIO", remote)
        return
    with stores.open_read(version.path) as file:
        if bounds.link_roots is not None:
            _check_place(cast("io.FileIO", file), version.path, bounds.link_roots)
        _compare(from_stat(version.path, os.fstat(file.fileno())), version)
        yield file


def _check_place(file: io.FileIO, uri: str, roots: Sequence[str]) -> None:
    try:
        place = real_path(file.fileno())
    except OSError as error:
        msg = (
            f"{uri}: this system does not show the path of an open file (no /proc), so links cannot be kept inside the"
            " source; set FileSource(follow_links='anywhere'), then clear the run from its plan on"
        )
        raise SourceError(msg, uri) from error
    if place != uris.local_path(uri) and not Inside(roots).holds(place):
        msg = (
            f"{uri} is reached by a link out of the source's roots, to {uris.readable_uri(place)}; exclude the file"
            " (`blockread windows exclude`), or let links lead there: add that folder to the roots, or set"
            " FileSource(follow_links='anywhere') (--follow-links anywhere), then clear the run from its plan on"
        )
        raise SourceError(msg, uri)


def _checked(stores: Stores, version: FileVersion, fetch: Fetch) -> Fetch:
    """Return a fetch that retries while the store fails, and raises on a refusal if the file is gone or changed."""

    def answer(start: int, end: int) -> bytes:
        try:
            return fetch(start, end)
        except Exception as error:  # clients raise different errors for a condition that is false
            if not isinstance(as_error(version.path, error), TransientError):
                _compare(version_now(stores, version), version)
            raise

    return lambda start, end: Patience().ask(version.path, lambda: answer(start, end))


def _describe(version: FileVersion) -> str:
    if version.etag:
        return f"{version.size} bytes, etag {version.etag}"
    time_ns = version.mtime_ns
    return f"{version.size} bytes, modified at {moment(time_ns):%Y-%m-%d %H:%M:%S}.{time_ns % 10**9:09d}Z"
