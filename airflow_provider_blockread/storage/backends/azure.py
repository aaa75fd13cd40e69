"""Azure Blob Storage and Data Lake Gen2, through the client of adlfs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, cast

from azure.core import MatchConditions
from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage.backends.shared.identity import unquoted
from airflow_provider_blockread.storage.backends.shared.objects import (
    ObjectPages,
    ObjectStore,
    renamed,
    require_version,
    stands_for_folder,
)
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages

_LOOKS_S = 1.0  # between two looks at a copy
_TABLE_OPTIONS = {
    "account_name": "azure_storage_account_name",
    "account_key": "azure_storage_account_key",
    "sas_token": "azure_storage_sas_key",
    "tenant_id": "azure_storage_tenant_id",
    "client_id": "azure_storage_client_id",
    "client_secret": "azure_storage_client_secret",
}


class AzureStore(ObjectStore):
    """A container of an account; a version is its etag."""

    has_tags = True

    @classmethod
    def table_options(cls, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the options of the account and its credentials; without credentials, the ambient identity is used."""
        return renamed(options, _TABLE_OPTIONS)

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, object]) -> AbstractFileSystem:
        """Return the file system; refuse one that opens a different account than the URI names."""
        try:
            system = super().connect(uri, named, options)
        except ValueError:
            if options or named.get("account_name"):
                raise
            msg = (
                f"{uri}: no account of Azure is named; write abfs://container@account.dfs.core.windows.net/folder, or"
                " name a connection (conn_id)"
            )
            raise OptionsError(msg) from None
        opened = getattr(getattr(system, "service_client", None), "account_name", None)  # not every client knows it
        account, other = _primary(named.get("account_name")), _primary(opened)
        if account and other and account != other:
            msg = (
                f"{uri}: its connection opens the account {other}, not {account}; name by conn_id a connection to"
                f" {account}"
            )
            raise OptionsError(msg)
        return system

    def pages(self, path: str) -> Pages:
        """Return the listings below a path."""
        return AzurePages(self, path)

    async def delete_object(self, path: str, etag: str) -> None:
        """Delete a blob on the condition that it has this etag."""
        async with self._blob(path) as client:
            await client.delete_blob(**_if_match(etag))

    async def read_range(self, path: str, etag: str, start: int, end: int) -> bytes:
        """Return a range of a blob on the condition that it has this etag."""
        async with self._blob(path) as client:
            asked = {"offset": start, "length": end - start, "decompress": False, "retry_total": 0, **_if_match(etag)}
            answer = await client.download_blob(**asked)
            require_version(path, unquoted(answer.properties.etag or ""), etag)
            return cast("bytes", await answer.readall())

    def move(self, source: str, target: str) -> None:
        """Copy a blob, and wait until it is complete: the service may queue a copy, whose target is empty till then."""
        sync(self.system.loop, self._copy, source, target)
        self.system.invalidate_cache()

    place = move

    async def _copy(self, source: str, target: str) -> None:
        async with self._blob(source) as found, self._blob(target) as made:
            status = (await made.start_copy_from_url(found.url))["copy_status"]
            while status == "pending":
                await asyncio.sleep(_LOOKS_S)
                status = (await made.get_blob_properties()).copy.status
        if status != "success":
            msg = f"the copy is {status}"
            raise OSError(0, msg)

    def tag(self, path: str, tags: Mapping[str, str]) -> None:
        """Add tags to a blob, and keep its other tags."""
        sync(self.system.loop, self._add_tags, path, tags)

    async def _add_tags(self, path: str, tags: Mapping[str, str]) -> None:
        async with self._blob(path) as client:
            await client.set_blob_tags({**await client.get_blob_tags(), **tags})  # this call replaces all tags

    def _blob(self, path: str) -> Any:  # noqa: ANN401 - adlfs has no types
        container, _, blob = path.partition("/")
        return self.system.service_client.get_blob_client(container, blob)


def _primary(account: object) -> str:
    """Return the account in a host name, which may be a private address, or that of the secondary copy."""
    return str(account or "").partition(".")[0].removesuffix("-secondary")


def _if_match(etag: str) -> dict[str, Any]:
    return {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified}


class AzurePages(ObjectPages):
    """The listings below a path of a container: List Blobs, page by page."""

    size = 5000  # the service's maximum

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return a page of blobs."""
        options: dict[str, Any] = {"include": ["metadata"], "results_per_page": self.size, "retry_total": 0}
        if self._root + folder:
            options["name_starts_with"] = self._root + folder
        client = self._system.service_client.get_container_client(container=self._bucket)
        items, following = self.ask(_page, client.list_blobs if flat else client.walk_blobs, options, cursor)
        entries = [entry for item in items if (entry := self._entry(item)) is not None]
        return Page.of(entries if flat else sorted(entries, key=itemgetter(0)), following)

    def _entry(self, item: Any) -> Entry | None:  # noqa: ANN401 - adlfs has no types
        name = self.name_in(item.name)
        if not item.has_key("size"):
            return Entry(name, folder=True)
        if stands_for_folder(item.metadata):
            return None
        return Entry.of(name, {"size": item.size, "etag": item.etag, "last_modified": item.last_modified})


async def _page(
    listing: Callable[..., Any], options: dict[str, Any], cursor: str | None
) -> tuple[list[Any], str | None]:
    pages = listing(**options).by_page(cursor)
    async for page in pages:
        return [item async for item in page], pages.continuation_token or None
    return [], None
