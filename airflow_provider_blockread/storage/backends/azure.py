"""Azure Blob Storage: List Blobs through the client of adlfs, page by page."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from airflow_provider_blockread.storage.backends.objects import ObjectPages, stands_for_folder
from airflow_provider_blockread.storage.backends.pages import Entry, Page
from airflow_provider_blockread.storage.identity import from_info


class AzurePages(ObjectPages):
    """The listings below a path of a container, in order of names."""

    size = 5000  # the service gives no more

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of blobs; trying again is left to the caller."""
        options: dict[str, Any] = {"include": ["metadata"], "results_per_page": self.size, "retry_total": 0}
        if self._root + folder:
            options["name_starts_with"] = self._root + folder
        items, following = self._asked(_ask, self._list(flat=flat), options, cursor)
        entries = [entry for item in items if (entry := self._entry(item)) is not None]
        return Page.of(entries if flat else sorted(entries, key=itemgetter(0)), following)

    def _list(self, *, flat: bool) -> Callable[..., Any]:
        client = self._system.service_client.get_container_client(container=self._bucket)
        found: Callable[..., Any] = client.list_blobs if flat else client.walk_blobs
        return found

    def _entry(self, item: Any) -> Entry | None:  # noqa: ANN401 - loaded with the store only
        name = self._inside(item.name)
        if not item.has_key("size"):
            return Entry(name, folder=True)
        if stands_for_folder(item.metadata):
            return None
        info = {"size": item.size, "etag": item.etag, "last_modified": item.last_modified}
        version = from_info(name, info)
        return Entry(name, version.size, version.mtime_ns, version.etag)


async def _ask(
    listing: Callable[..., Any], options: dict[str, Any], cursor: str | None
) -> tuple[list[Any], str | None]:
    pages = listing(**options).by_page(cursor)
    async for page in pages:
        return [item async for item in page], pages.continuation_token or None
    return [], None
