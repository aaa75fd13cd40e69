"""Google Cloud Storage: objects.list through the client of gcsfs, page by page."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from airflow_provider_blockread.storage.backends.objects import ObjectPages
from airflow_provider_blockread.storage.backends.pages import Entry, Page
from airflow_provider_blockread.storage.identity import from_info

_FIELDS = "nextPageToken,prefixes,items(name,size,updated,generation,etag)"


class GooglePages(ObjectPages):
    """The listings below a path of a bucket, in order of names."""

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page; the service gives no more than 1,000 objects."""
        asked = {
            "prefix": self._root + folder or None,
            "delimiter": None if flat else "/",
            "pageToken": cursor,
            "maxResults": str(self.size),
        }
        answer = self._asked(_ask, self._system, self._bucket, asked)
        folders = [Entry(self._inside(name), folder=True) for name in answer.get("prefixes", ())]
        files = [self._file(item) for item in answer.get("items", ())]
        entries = sorted(files + folders, key=itemgetter(0)) if folders else files
        return Page.of(entries, answer.get("nextPageToken") or None)

    def _file(self, item: dict[str, Any]) -> Entry:
        name = self._inside(item["name"])
        version = from_info(name, {**item, "size": int(item["size"])})
        return Entry(name, version.size, version.mtime_ns, version.etag)


async def _ask(system: Any, bucket: str, asked: dict[str, str | None]) -> dict[str, Any]:  # noqa: ANN401 - gcsfs tells no types
    options = {"json_out": True, "fields": _FIELDS}
    answer: dict[str, Any] = await system._call("GET", "b/{}/o", bucket, **asked, **options)  # noqa: SLF001 - its one door
    return answer
