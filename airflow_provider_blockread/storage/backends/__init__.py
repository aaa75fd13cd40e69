"""Listings in pages: as each store gives them, so that a folder of millions of files is never held at once."""

from __future__ import annotations

from airflow_provider_blockread.storage.backends.azure import AzurePages
from airflow_provider_blockread.storage.backends.folders import FolderPages, HdfsPages
from airflow_provider_blockread.storage.backends.google import GooglePages
from airflow_provider_blockread.storage.backends.objects import ObjectPages
from airflow_provider_blockread.storage.backends.pages import Entry, FolderLinkError, Page, Pages
from airflow_provider_blockread.storage.backends.remote import RemoteStore
from airflow_provider_blockread.storage.backends.s3 import S3Pages
from airflow_provider_blockread.storage.backends.sftp import SftpPages
from airflow_provider_blockread.storage.backends.web import WebPages

__all__ = ["Entry", "FolderLinkError", "ObjectPages", "Page", "Pages", "SftpPages", "WebPages", "pages_of"]

_KINDS: dict[str, type[AzurePages | GooglePages | HdfsPages | S3Pages | SftpPages | WebPages]] = {
    "AzureBlobFileSystem": AzurePages,
    "GCSFileSystem": GooglePages,
    "HTTPFileSystem": WebPages,
    "S3FileSystem": S3Pages,
    "SSHFileSystem": SftpPages,
    "WebHDFS": HdfsPages,
}


def pages_of(store: RemoteStore, path: str) -> Pages:
    """Return the listings below a path; the clients of stores are known by name, since not all are installed."""
    known = (_KINDS[kind.__name__] for kind in type(store.system).__mro__ if kind.__name__ in _KINDS)
    return next(known, FolderPages)(store, path)
