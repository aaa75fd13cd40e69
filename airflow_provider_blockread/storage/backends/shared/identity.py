"""File versions from what a store says about a file. Times are nanoseconds since the epoch, UTC."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options.parsing.times import nanoseconds

#: A generation comes first: Google's etag also changes with the metadata.
_ETAGS = ("generation", "ETag", "etag", "version_id", "sha", "hex", "blob_id")  # the last ones of git and its hosts
_HTTP, _FTP = "Last-Modified", "modify"
_TIMES = ("mtime", "LastModified", "last_modified", "modified", "updated", "created", _HTTP, _FTP)


def from_stat(uri: str, found: os.stat_result) -> FileVersion:
    """Return the version on the local disk: size and modification time."""
    return FileVersion(uri, found.st_size, found.st_mtime_ns)


def from_info(uri: str, info: Mapping[str, object]) -> FileVersion:
    """Return the version that an info dictionary of fsspec describes; a listing and a stat of one file agree.

    Raises:
        SourceError: if the store does not report the size.
    """
    size = info.get("size")
    if not isinstance(size, int):
        msg = f"{uri}: the store does not report the file's size, so it cannot be split; copy it to a store that does"
        raise SourceError(msg)
    etags = (str(info[key]) for key in _ETAGS if info.get(key))
    times = (_time(key, info[key]) for key in _TIMES if info.get(key) is not None)
    millis = info.get("modificationTime")  # WebHDFS
    mtime_ns = millis * 10**6 if isinstance(millis, int) else _nanoseconds(next(times, None))
    etag = next(etags, None)
    return FileVersion(path=uri, size=size, mtime_ns=mtime_ns, etag=None if etag is None else unquoted(etag))


def _time(key: str, time: object) -> object:
    """Return a time with the precision that all requests share: S3 lists fractions of seconds, but HEAD does not."""
    if key == "LastModified" and isinstance(time, datetime):
        return time.replace(microsecond=0)
    try:
        if key == _HTTP:
            return parsedate_to_datetime(str(time))
        return datetime.strptime(str(time)[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC) if key == _FTP else time
    except ValueError:  # as in FTP's older listings, which have no year
        return None


def unquoted(etag: str) -> str:
    """Return an etag as versions hold it, without HTTP's quotes and the sign of a weak etag."""
    return etag.removeprefix("W/").strip('"')


def _nanoseconds(time: object) -> int:
    """Return a time in ns, rounded to the microsecond: floats are not more precise, and all forms must be equal."""
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            return 0
    if isinstance(time, datetime):
        return nanoseconds(time if time.tzinfo else time.replace(tzinfo=UTC))
    if isinstance(time, (int, float)):
        return round(time * 10**6) * 1000
    return 0
