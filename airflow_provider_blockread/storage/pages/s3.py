"""S3: ListObjectsV2 through the client of s3fs, its answers parsed here, since botocore takes 90 ms for a page."""

from __future__ import annotations

import re
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from fsspec.asyn import sync

from airflow_provider_blockread.storage.pages.model import Entry, Page
from airflow_provider_blockread.storage.pages.objects import ObjectPages

#: Written so, it comes before botocore's own `before-parse.s3.*`, which would parse the answer, too.
_EVENT = "before-parse.*.ListObjectsV2"
_ROOT = "ListBucketResult"
#: Ceph puts a key with control characters into its token, where XML has no words for them (other keys it encodes).
_NO_XML = re.compile(rb"&#x(?:0[0-8bcef]|1[0-9a-f]);", re.IGNORECASE)
_BEHIND, _LAST = "\0", "\U0010ffff"  # a cursor that begins so is a key, not a token
#: Where the answer to this task's own request goes; other requests of the same client are left alone.
_ANSWER: ContextVar[list[bytes] | None] = ContextVar("_ANSWER", default=None)


class S3Pages(ObjectPages):
    """The listings below a path of an S3 bucket, in order of keys."""

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page; S3 gives no more than 1,000 keys."""
        request: dict[str, Any] = {"Bucket": self._bucket, "Prefix": self._root + folder, "MaxKeys": self.size}
        request["EncodingType"] = "url"
        if not flat:
            request["Delimiter"] = "/"
        if cursor is not None:
            request["StartAfter" if cursor.startswith(_BEHIND) else "ContinuationToken"] = cursor.removeprefix(_BEHIND)
        return self._page(sync(self._system.loop, _ask, self._system, request))

    def _page(self, body: bytes) -> Page:
        top, mended = _listing(body)
        space = top.tag.removesuffix(_ROOT)
        cursor = _cursor(top, space)
        coded = top.findtext(f"{space}EncodingType") == "url"
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
        if cursor is not None and mended:
            cursor = _BEHIND + self._root + entries[-1].name + (_LAST if entries[-1].folder else "")
        return Page(entries=entries, cursor=cursor)

    def _named(self, key: str | None, *, coded: bool) -> str:
        return self._inside(unquote_plus(key or "") if coded else key or "")


async def _ask(system: Any, request: dict[str, Any]) -> bytes:  # noqa: ANN401 - s3fs tells no types
    """Return the answer as it came, once botocore has checked its status; retries are botocore's and the caller's."""
    await system.set_session()
    client = await system.get_s3(request["Bucket"])
    client.meta.events.register(_EVENT, _on_listing_answer, unique_id=_EVENT)
    answer: list[bytes] = []
    mine = _ANSWER.set(answer)
    try:
        await client.list_objects_v2(**request, **system.req_kw)
    finally:
        _ANSWER.reset(mine)
    if not answer:
        msg = "the answer is no listing"
        raise OSError(0, msg)
    return answer[-1]


def _on_listing_answer(response_dict: dict[str, Any], **_rest: object) -> None:
    """Keep a listing for whoever asked for it, and leave nothing of it to parse."""
    answer, body = _ANSWER.get(), response_dict["body"]
    if answer is not None and response_dict["status_code"] == 200 and b"<ListBucketResult" in body[:200]:  # noqa: PLR2004
        answer.append(body)
        response_dict["body"] = b"<ListBucketResult/>"


def _listing(body: bytes) -> tuple[ET.Element, bool]:
    """Return the answer, and whether characters had to be taken out of it."""
    sound = body if _NO_XML.search(body) is None else _NO_XML.sub(b"", body)
    try:
        top = ET.fromstring(sound)  # noqa: S314 - from the store itself, as botocore parses it
    except ET.ParseError as error:
        msg = "the answer is cut short or is no XML"
        raise OSError(0, msg) from error
    return top, sound is not body


def _cursor(top: ET.Element, space: str) -> str | None:
    cursor = top.findtext(f"{space}NextContinuationToken") or None
    truncated = top.findtext(f"{space}IsTruncated")
    if truncated not in {"true", "false"} or (truncated == "true" and cursor is None):
        msg = "the answer does not say how the listing goes on"
        raise OSError(0, msg)
    return cursor if truncated == "true" else None


@lru_cache(maxsize=4096)
def _second_ns(time: str) -> int:
    """Return a time to the second: all that looking at the object itself tells."""
    return int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()) * 10**9 if time else 0
