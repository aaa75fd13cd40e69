"""Files put into stores by any name that these take, past fsspec, which gives some names another meaning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import requests
from azure.storage.blob import BlobServiceClient

from tests.servers.all import s3_client
from tests.servers.store import Store

Put = Callable[[str, bytes], None]


def putter(store: Store, root: str) -> Put:
    """Return what puts a file of a name, relative to a new root, into a store."""
    place = root.partition("://")[2]
    return _PUTTERS[store.name](store, place)


def _s3(store: Store, bucket: str) -> Put:
    client = s3_client(store)

    def put(name: str, data: bytes) -> None:
        client.put_object(Bucket=bucket, Key=name, Body=data)

    return put


def _azure(store: Store, container: str) -> Put:
    text = str(store.options["connection_string"])
    client = BlobServiceClient.from_connection_string(text).get_container_client(container)

    def put(name: str, data: bytes) -> None:
        client.upload_blob(name, data, overwrite=True)

    return put


def _google(store: Store, bucket: str) -> Put:
    session, endpoint = requests.Session(), store.options["endpoint_url"]

    def put(name: str, data: bytes) -> None:
        address = f"{endpoint}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
        session.post(address, data=data, timeout=60).raise_for_status()

    return put


def _sftp(_store: Store, place: str) -> Put:
    folder = Path("/", place.partition("/")[2])

    def put(name: str, data: bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return put


_PUTTERS: dict[str, Callable[[Store, str], Put]] = {
    "azurite": _azure,
    "ceph": _s3,
    "gcs": _google,
    "moto": _s3,
    "sftp": _sftp,
}
