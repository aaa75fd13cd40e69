"""Object stores' files, read by ranges that the store itself refuses once the object is another version.

S3 and Azure Blob compare an etag with each request, Google is asked for a generation and tells which one it gave: so
what is read of a version is that version's, however often the object is overwritten and put back between two reads.
"""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from typing import cast

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.errors import SourceError

Fetch = Callable[[int, int], bytes]
"""The bytes [start, end) of one version of one object."""

_READ_AHEAD = 8 * 2**20  # bytes that are fetched at once
_TRIES = 3  # at a range whose answer broke off


async def _s3(system: AbstractFileSystem, path: str, etag: str, start: int, end: int) -> bytes:
    bucket, key, _ = system.split_path(path)
    asked = {"Bucket": bucket, "Key": key, "Range": f"bytes={start}-{end - 1}", "IfMatch": f'"{etag}"'}
    answer = await system._call_s3("get_object", **asked, **system.req_kw)  # noqa: SLF001 - no public call has IfMatch
    async with answer["Body"] as body:
        return cast("bytes", await body.read())


async def _azure(system: AbstractFileSystem, path: str, etag: str, start: int, end: int) -> bytes:
    from azure.core import MatchConditions  # noqa: PLC0415 - an extra

    container, _, blob = path.partition("/")
    async with system.service_client.get_blob_client(container, blob) as client:
        same = {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified}
        answer = await client.download_blob(offset=start, length=end - start, **same)
        return cast("bytes", await answer.readall())


async def _google(system: AbstractFileSystem, path: str, generation: str, start: int, end: int) -> bytes:
    url, asked = system.url(path, generation=generation), {"Range": f"bytes={start}-{end - 1}"}
    headers, data = await system._call("GET", url, headers=asked)  # noqa: SLF001 - cat_file keeps the headers back
    told = headers.get("X-Goog-Generation")
    if told is None:  # an emulator, which may not have looked at the generation either
        told = (await system._get_object(path))["generation"]  # noqa: SLF001 - info() may answer from a cache
    if str(told) != generation:
        msg = f"{path} is another generation now; plan again"
        raise SourceError(msg)
    return cast("bytes", data)


_Range = Callable[[AbstractFileSystem, str, str, int, int], Awaitable[bytes]]
#: By the package that the file system comes from: its protocols have many names.
_RANGES: dict[str, _Range] = {"s3fs": _s3, "adlfs": _azure, "gcsfs": _google}


def pinned(system: AbstractFileSystem, path: str, etag: str | None) -> Fetch | None:
    """Return what fetches ranges of one version of an object, None where the store cannot be held to a version."""
    ranges = _RANGES.get(type(system).__module__.partition(".")[0])
    if ranges is None or etag is None:
        return None

    def fetch(start: int, end: int) -> bytes:
        return cast("bytes", sync(system.loop, ranges, system, path, etag, start, end))

    return fetch


class RangedFile(io.RawIOBase):
    """A file as ranges of one version, several MiB at once; reads may come back short.

    Args:
        fetch: gives a range; raises this package's errors.
        size: of the version, in bytes.
        name: of the file, for messages.
    """

    def __init__(self, fetch: Fetch, size: int, name: str) -> None:
        self._fetch, self._size, self.name = fetch, size, name
        self._position = 0
        self._kept, self._kept_at = b"", 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, and return it; nothing is fetched."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Return some bytes from the position on, none at the end.

        Raises:
            SourceError: when the store gives more than was asked for, or keeps giving less.
        """
        want = self._size if size is None or size < 0 else size
        want = min(want, self._size - self._position)
        if want <= 0:
            return b""
        if not self._kept_at <= self._position < self._kept_at + len(self._kept):
            end = min(self._position + max(want, _READ_AHEAD), self._size)
            self._kept, self._kept_at = b"", self._position  # one window at a time
            self._kept = exactly(self._fetch, self._position, end, self.name)
        low = self._position - self._kept_at
        data = self._kept if not low and want >= len(self._kept) else self._kept[low : low + want]
        self._position += len(data)
        return data


def exactly(fetch: Fetch, start: int, end: int, name: str) -> bytes:
    """Return the bytes [start, end), asked for again when an answer breaks off.

    Raises:
        SourceError: when the store gives more than was asked for, or keeps giving less.
    """
    have = 0
    for _ in range(_TRIES):
        data = fetch(start, end)
        if len(data) == end - start:
            return data
        have = len(data)
        if have > end - start:
            break
    msg = (
        f"{name}: asked for bytes [{start}, {end}), the store gives {have} bytes; copy the file to a store that gives"
        " ranges of it as asked"
    )
    raise SourceError(msg, name)
