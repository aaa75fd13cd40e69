"""S3 and servers that speak its protocol, through the client of s3fs.

Answers of ListObjectsV2 are parsed here, since botocore takes 90 ms for a page. One regular expression extracts the
files of the usual form from an answer, in a third of a parser's time. What remains must be well-formed XML without
files; otherwise the whole answer is parsed.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Any, cast
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from botocore.exceptions import ClientError
from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.storage.backends.shared.identity import unquoted
from airflow_provider_blockread.storage.backends.shared.objects import (
    ObjectPages,
    ObjectStore,
    renamed,
    require_version,
)
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages
from airflow_provider_blockread.storage.ranges import REQUESTS, require_range

#: A handler of this event runs before botocore's own `before-parse.s3.*`, which would also parse the answer.
_EVENT = "before-parse.*.ListObjectsV2"
#: A handler of this event that comes first decides whether botocore repeats a request.
_FAILED = "needs-retry.s3"
_ROOT = "ListBucketResult"
#: Ceph puts a key with control characters, which XML cannot express, into its token (it encodes other keys).
_NO_XML = re.compile(rb"&#x(?:0[0-8bcef]|1[0-9a-f]);", re.IGNORECASE)
_TEXT = r"[ -%'-;=?-~]"  # ASCII that stands for itself in XML
_FILE = re.compile(
    rf"<Contents><Key>({_TEXT}++)</Key><LastModified>([0-9T:-]{{19}}+)(?:\.[0-9]++)?Z</LastModified>"
    rf"<ETag>(?:&quot;|&#34;|\")([0-9A-Za-z-]++)(?:&quot;|&#34;|\")</ETag>"
    rf"(?:<([A-Za-z]++)>{_TEXT}*+</\4>)*?<Size>([0-9]++)</Size>(?:<([A-Za-z]++)>{_TEXT}*+</\6>)*+</Contents>"
)
_STEP = _FILE.groups + 1
#: Anything else in an answer that determines which files exist, or where the next page begins.
_MORE = re.compile(r"<Contents|<CommonPrefixes|&#|(?!\A)<[!?]")
_BEHIND, _LAST = "\0", "\U0010ffff"  # a cursor that begins so is a key, not a token
_EPOCH, _SECOND = datetime(1970, 1, 1), timedelta(seconds=1)  # noqa: DTZ001 - the times that it is taken from are UTC
#: Receives the answer to this task's own request; other requests of the same client stay as they are.
_ANSWER: ContextVar[list[bytes] | None] = ContextVar("_ANSWER", default=None)
#: Whether this task's request is repeated by the caller.
_ONCE: ContextVar[bool] = ContextVar("_ONCE", default=False)

_TABLE_OPTIONS = {
    "key": "aws_access_key_id",
    "secret": "aws_secret_access_key",
    "token": "aws_session_token",
    "endpoint_url": "aws_endpoint_url",
}


class S3Store(ObjectStore):
    """A bucket; a version is its ETag."""

    has_tags = True

    @classmethod
    def table_options(cls, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the options with keys, address and region; without keys, the ambient identity is used."""
        found = renamed(options, _TABLE_OPTIONS)
        client = options.get("client_kwargs") or {}
        if client.get("region_name"):
            found["aws_region"] = str(client["region_name"])
        elif "aws_endpoint_url" in found:
            found["aws_region"] = "us-east-1"  # required by the library; servers other than Amazon's ignore it
        if options.get("anon"):
            found["aws_skip_signature"] = "true"
        if found.get("aws_endpoint_url", "").startswith("http://"):
            found["aws_allow_http"] = "true"
        return found

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, object]) -> AbstractFileSystem:
        """Return the file system, with as many connections as a task has concurrent requests; botocore has only 10."""
        config = {"max_pool_connections": REQUESTS, **cast("Mapping[str, object]", options.get("config_kwargs") or {})}
        return super().connect(uri, named, {**options, "config_kwargs": config})

    def pages(self, path: str) -> Pages:
        """Return the listings below a path."""
        return S3Pages(self, path)

    def remove_folder(self, path: str) -> None:
        """Delete all objects below a folder; s3fs would not say which of them the store keeps, and expands globs."""
        try:
            sync(self.system.loop, self._delete_below, path)
        finally:
            self.system.invalidate_cache()

    async def _delete_below(self, path: str) -> None:
        bucket, key, _ = self.system.split_path(path)
        call = self.system._call_s3  # noqa: SLF001 - no other way
        token: dict[str, str] = {}
        while True:
            page = await call("list_objects_v2", Bucket=bucket, Prefix=f"{key}/", **token)
            if found := [{"Key": item["Key"]} for item in page.get("Contents", ())]:
                answer = await call("delete_objects", Bucket=bucket, Delete={"Objects": found, "Quiet": True})
                if kept := answer.get("Errors"):
                    raise ClientError({"Error": kept[0]}, "DeleteObjects")
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    async def delete_object(self, path: str, etag: str) -> None:
        """Delete an object on the condition that it has this ETag."""
        bucket, key, _ = self.system.split_path(path)
        await self.system._call_s3("delete_object", Bucket=bucket, Key=key, IfMatch=f'"{etag}"')  # noqa: SLF001 - no other way

    async def read_range(self, path: str, etag: str, start: int, end: int) -> bytes:
        """Return a range of an object on the condition that it has this ETag."""
        bucket, key, _ = self.system.split_path(path)
        asked = {"Bucket": bucket, "Key": key, "Range": f"bytes={start}-{end - 1}", "IfMatch": f'"{etag}"'}
        async with _asked_once(self.system, bucket) as client:
            options = self.system._get_s3_method_kwargs(client.get_object, **asked, **self.system.req_kw)  # noqa: SLF001 - with those of the connection
            answer = await client.get_object(**options)
        async with answer["Body"] as body:
            require_version(path, unquoted(answer.get("ETag", "")), etag)
            require_range(path, answer.get("ContentRange"), start, end)
            return cast("bytes", await body.read())

    def tag(self, path: str, tags: Mapping[str, str]) -> None:
        """Add tags to an object, and keep its other tags."""
        self.system.put_tags(path, dict(tags), mode="m")


class S3Pages(ObjectPages):
    """The listings below a path of a bucket: ListObjectsV2, page by page."""

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of at most 1,000 keys, the maximum of S3."""
        request: dict[str, Any] = {"Bucket": self._bucket, "Prefix": self._root + folder, "MaxKeys": self.size}
        request["EncodingType"] = "url"
        if not flat:
            request["Delimiter"] = "/"
        if cursor is not None:
            request["StartAfter" if cursor.startswith(_BEHIND) else "ContinuationToken"] = cursor.removeprefix(_BEHIND)
        body = self.ask(_page, self._system, request)
        return self._plain(body) or self._parsed(body)

    def _plain(self, body: bytes) -> Page | None:
        """Return the page of an answer that contains only files of the usual form, or None for other answers."""
        pieces = _FILE.split(body.decode("latin-1"))
        rest = "".join(pieces[::_STEP])
        if _MORE.search(rest) is not None:
            return None
        top, _ = _listing(rest.encode("latin-1"))
        cursor, coded = _goes_on(top, top.tag.removesuffix(_ROOT))
        _, keys, times, etags, _, sizes, *_ = (pieces[start::_STEP] for start in range(_STEP))
        text, start = "\n".join(("", *keys)), "\n" + self._root
        if coded:
            text = unquote_plus(text.replace("%2F", "/"))  # some encode each slash, which is slow to decode one by one
        if not text.count("\n") == text.count(start) == len(keys):
            return None
        return Page(
            names=text.replace(start, "\n").split("\n")[1:],
            sizes=list(map(int, sizes)),
            times=list(map(_second_ns, times)),
            etags=etags,
            cursor=cursor,
        )

    def _parsed(self, body: bytes) -> Page:
        top, cut = _listing(body)
        space = top.tag.removesuffix(_ROOT)
        cursor, coded = _goes_on(top, space)
        key, size, time, etag = (f"{space}{field}" for field in ("Key", "Size", "LastModified", "ETag"))
        files = [
            Entry(
                self._named(item.findtext(key), coded=coded),
                int(item.findtext(size) or 0),
                _second_ns((item.findtext(time) or "")[:19]),
                (item.findtext(etag) or "").strip('"') or None,
            )
            for item in top.iterfind(f"{space}Contents")
        ]
        folders = [
            Entry(self._named(item.findtext(f"{space}Prefix"), coded=coded), folder=True)
            for item in top.iterfind(f"{space}CommonPrefixes")
        ]
        entries = sorted(files + folders, key=itemgetter(0)) if folders else files
        if cursor is not None and cut:
            cursor = _BEHIND + self._root + entries[-1].name + (_LAST if entries[-1].folder else "")
        return Page.of(entries, cursor)

    def _named(self, key: str | None, *, coded: bool) -> str:
        return self.name_in(unquote_plus(key or "") if coded else key or "")


@asynccontextmanager
async def _asked_once(system: Any, bucket: str) -> AsyncIterator[Any]:  # noqa: ANN401 - s3fs has no types
    """Yield the client of a bucket, which in the body leaves it to the caller to repeat a request that fails."""
    await system.set_session()
    client = await system.get_s3(bucket)
    client.meta.events.register_first(_FAILED, _on_failure, unique_id=_FAILED)
    mine = _ONCE.set(True)
    try:
        yield client
    finally:
        _ONCE.reset(mine)


async def _page(system: Any, request: dict[str, Any]) -> bytes:  # noqa: ANN401 - as above
    """Return the body of the answer after botocore has checked its status."""
    answer: list[bytes] = []
    async with _asked_once(system, request["Bucket"]) as client:
        client.meta.events.register(_EVENT, _on_listing_answer, unique_id=_EVENT)
        mine = _ANSWER.set(answer)
        try:
            await client.list_objects_v2(**request, **system.req_kw)
        finally:
            _ANSWER.reset(mine)
    if not answer:
        msg = "the answer is not a listing"
        raise OSError(0, msg)
    return answer[-1]


def _on_listing_answer(response_dict: dict[str, Any], **_rest: object) -> None:
    """Keep a listing for the request that asked for it, so that botocore has nothing to parse."""
    answer, body = _ANSWER.get(), response_dict["body"]
    if answer is not None and response_dict["status_code"] == 200 and b"<ListBucketResult" in body[:200]:  # noqa: PLR2004
        answer.append(body)
        response_dict["body"] = b"<ListBucketResult/>"


def _on_failure(
    response: tuple[Any, dict[str, Any]] | None,
    operation: Any,  # noqa: ANN401 - botocore has no types
    caught_exception: Exception | None,
    **_rest: object,
) -> None:
    """Let a request fail that its caller repeats; botocore follows some refusals to another region.

    The error is raised here, since aiobotocore before 3.8 takes any answer, even False, for a pause before a repeat.
    """
    if not _ONCE.get():
        return
    if caught_exception is not None:
        raise caught_exception
    if response is not None and (response[0].status_code == 429 or response[0].status_code >= 500):  # noqa: PLR2004
        raise ClientError(response[1], operation.name)


def _listing(body: bytes) -> tuple[ET.Element, bool]:
    """Return the parsed answer, and whether characters had to be removed from it."""
    clean = body if _NO_XML.search(body) is None else _NO_XML.sub(b"", body)
    try:
        top = ET.fromstring(clean)  # noqa: S314 - from the store itself, as botocore parses it
    except ET.ParseError as error:
        msg = "the answer is truncated or not XML"
        raise OSError(0, msg) from error
    return top, clean is not body


def _goes_on(top: ET.Element, space: str) -> tuple[str | None, bool]:
    """Return the cursor of the next page, and whether keys are percent-encoded."""
    cursor = top.findtext(f"{space}NextContinuationToken") or None
    truncated = top.findtext(f"{space}IsTruncated")
    if truncated not in {"true", "false"} or (truncated == "true" and cursor is None):
        msg = "the answer does not say how the listing continues"
        raise OSError(0, msg)
    return cursor if truncated == "true" else None, top.findtext(f"{space}EncodingType") == "url"


@lru_cache(maxsize=4096)
def _second_ns(time: str) -> int:
    """Return a time in ns, truncated to seconds, since HEAD returns no fractions."""
    return (datetime.fromisoformat(time) - _EPOCH) // _SECOND * 10**9 if time else 0
