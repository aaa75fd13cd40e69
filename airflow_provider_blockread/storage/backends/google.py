"""Google Cloud Storage, through the client of gcsfs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from operator import itemgetter
from typing import Any, cast

from gcsfs.retry import HttpError, is_retriable, validate_response

from airflow_provider_blockread.storage.backends.shared.objects import ObjectPages, ObjectStore, require_version
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages
from airflow_provider_blockread.storage.ranges import require_range

_FIELDS = "nextPageToken,prefixes,items(name,size,updated,generation,etag)"


class GoogleStore(ObjectStore):
    """A bucket; a version is its generation."""

    @classmethod
    def table_options(cls, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the options with the key of a service account; without a key, the ambient identity is used."""
        token = options.get("token")
        if token == "anon":  # noqa: S105 - a word of gcsfs, not a secret
            return {"google_skip_signature": "true"}
        return {"google_service_account_key": json.dumps(token)} if isinstance(token, dict) else {}

    def pages(self, path: str) -> Pages:
        """Return the listings below a path."""
        return GooglePages(self, path)

    async def delete_object(self, path: str, etag: str) -> None:
        """Delete an object on the condition that it has this generation."""
        bucket, key, _ = self.system.split_path(path)
        await self.system._call("DELETE", "b/{}/o/{}", bucket, key, ifGenerationMatch=etag)  # noqa: SLF001 - no other way

    async def read_range(self, path: str, etag: str, start: int, end: int) -> bytes:
        """Return a range of an object, as it is stored, on the condition that it has this generation.

        gcsfs would decompress a range of an object marked as compressed.
        """
        asked = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "gzip"}
        headers, data = await _once(self.system, f"{self.system.url(path)}&generation={etag}", {}, asked)
        found = headers.get("X-Goog-Generation")
        if found is None:  # an emulator, which may also have ignored the generation
            found = (await self.system._get_object(path))["generation"]  # noqa: SLF001 - info() may answer from a cache
        require_version(path, str(found), etag)
        require_range(path, headers.get("Content-Range"), start, end)
        return data


class GooglePages(ObjectPages):
    """The listings below a path of a bucket: objects.list, page by page."""

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of at most 1,000 objects, the service's maximum."""
        asked = {
            "prefix": self._root + folder or None,
            "delimiter": None if flat else "/",
            "pageToken": cursor,
            "maxResults": str(self.size),
        }
        answer = self.ask(_page, self._system, self._bucket, asked)
        folders = [Entry(self.name_in(name), folder=True) for name in answer.get("prefixes", ())]
        files = [Entry.of(self.name_in(i["name"]), {**i, "size": int(i["size"])}) for i in answer.get("items", ())]
        entries = sorted(files + folders, key=itemgetter(0)) if folders else files
        return Page.of(entries, answer.get("nextPageToken") or None)


async def _page(system: Any, bucket: str, asked: dict[str, str | None]) -> dict[str, Any]:  # noqa: ANN401 - gcsfs has no types
    url = system._format_path("b/{}/o", (bucket,))  # noqa: SLF001 - no public call pages
    _, body = await _once(system, url, {**asked, "fields": _FIELDS})
    return cast("dict[str, Any]", json.loads(body))


async def _once(
    system: Any,  # noqa: ANN401 - as above
    url: str,
    parameters: Mapping[str, str | None],
    headers: Mapping[str, str] | None = None,
) -> tuple[Mapping[str, str], bytes]:
    """Return the headers and the body of an answer to a request, which gcsfs would repeat although its caller does.

    The body is as it was sent if the request says in which encodings; otherwise it is decompressed.
    """
    plain = not headers or "Accept-Encoding" not in headers
    try:
        options = {"params": system._get_params(parameters), "headers": system._get_headers(headers)}  # noqa: SLF001 - no public call has these options
        await system._set_session()  # noqa: SLF001 - as above
        async with system.session.get(url, auto_decompress=plain, timeout=system.requests_timeout, **options) as answer:
            body = await answer.read()
        validate_response(answer.status, body, url)
    except HttpError as error:
        # gcsfs says so of a token that was not renewed, also because the server of tokens failed, which may pass.
        if error.code == HTTPStatus.UNAUTHORIZED and is_retriable(error):
            error.error_code = "TokenRefreshRequired"
        raise
    return answer.headers, body
