"""The pages of a listing."""

from __future__ import annotations

from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.sftp import SftpPages
from airflow_provider_blockread.storage.backends.shared.objects import ObjectPages
from airflow_provider_blockread.storage.backends.shared.pages import Pages


def pages(stores: Stores, root: str, size: int) -> Pages:
    """Return the listings below a root, in pages of a size where the store has pages."""
    found = stores.pages(root)
    if isinstance(found, (ObjectPages, SftpPages)):
        found.size = size
    return found
