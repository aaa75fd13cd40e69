"""Object stores' files, read by ranges that the store itself refuses once the object is another version.

S3 and Azure Blob compare an etag with each request, Google is asked for a generation; each answer tells what it is of,
which is looked at, too, since some servers ignore the condition. So what is read of a version is that version's,
however often the object is overwritten and put back between two reads.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.errors import FileChangedError, SourceError
from airflow_provider_blockread.storage.identity import unquoted
from airflow_provider_blockread.storage.ranges import Fetch


async def _s3(system: AbstractFileSystem, path: str, etag: str, start: int, end: int) -> bytes:
    bucket, key, _ = system.split_path(path)
    asked = {"Bucket": bucket, "Key": key, "Range": f"bytes={start}-{end - 1}", "IfMatch": f'"{etag}"'}
    answer = await system._call_s3("get_object", **asked, **system.req_kw)  # noqa: SLF001 - no public call has IfMatch
    async with answer["Body"] as body:
        _check_told(path, unquoted(answer.get("ETag", "")), etag)
        return cast("bytes", await body.read())


async def _azure(system: AbstractFileSystem, path: str, etag: str, start: int, end: int) -> bytes:
    from azure.core import MatchConditions  # noqa: PLC0415 - an extra

    container, _, blob = path.partition("/")
    async with system.service_client.get_blob_client(container, blob) as client:
        same = {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified}
        answer = await client.download_blob(offset=start, length=end - start, **same)
        _check_told(path, unquoted(answer.properties.etag or ""), etag)
        return cast("bytes", await answer.readall())


async def _google(system: AbstractFileSystem, path: str, generation: str, start: int, end: int) -> bytes:
    url, asked = system.url(path, generation=generation), {"Range": f"bytes={start}-{end - 1}"}
    headers, data = await system._call("GET", url, headers=asked)  # noqa: SLF001 - cat_file keeps the headers back
    told = headers.get("X-Goog-Generation")
    if told is None:  # an emulator, which may not have looked at the generation either
        told = (await system._get_object(path))["generation"]  # noqa: SLF001 - info() may answer from a cache
    _check_told(path, str(told), generation)
    return cast("bytes", data)


def _check_told(path: str, told: str, planned: str) -> None:
    if not told:
        msg = f"{path}: the server does not tell of which version its answer is; copy the file to a store that does"
        raise SourceError(msg, path)
    if told != planned:
        msg = (
            f"{path} is no longer the version that was planned: planned {planned}, the store gave {told}; restore it,"
            " or exclude it with `blockread windows exclude`, then retry"
        )
        raise FileChangedError(msg, path)


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
