"""Storage options of fsspec as the Rust library object_store names them, which tables are written through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage import uris

_S3 = {
    "key": "aws_access_key_id",
    "secret": "aws_secret_access_key",
    "token": "aws_session_token",
    "endpoint_url": "aws_endpoint_url",
}
_AZURE = {
    "account_name": "azure_storage_account_name",
    "account_key": "azure_storage_account_key",
    "sas_token": "azure_storage_sas_key",
    "tenant_id": "azure_storage_tenant_id",
    "client_id": "azure_storage_client_id",
    "client_secret": "azure_storage_client_secret",
}
_STORES = ("file", "s3", "abfs", "gs")


def object_store_options(uri: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of the store that holds a place; without credentials the ambient identity counts.

    Raises:
        OptionsError: when a table cannot be in such a store.
    """
    scheme = uris.scheme_of(uri)
    if scheme not in _STORES:
        msg = f"{uri}: a table cannot be in {scheme}://, which has no atomic commit; choose {', '.join(_STORES)}"
        raise OptionsError(msg)
    if scheme == "s3":
        return _s3(options)
    if scheme == "abfs":
        return _renamed(options, _AZURE)
    return _google(options) if scheme == "gs" else {}


def iceberg_io_properties(uri: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of the store that holds a place, as pyiceberg's FileIO names them."""
    names = {
        "aws_access_key_id": "s3.access-key-id",
        "aws_secret_access_key": "s3.secret-access-key",
        "aws_session_token": "s3.session-token",
        "aws_endpoint_url": "s3.endpoint",
        "aws_region": "s3.region",
        "azure_storage_account_name": "adls.account-name",
        "azure_storage_account_key": "adls.account-key",
        "azure_storage_sas_key": "adls.sas-token",
    }
    found = {names[name]: text for name, text in object_store_options(uri, options).items() if name in names}
    # pyarrow's own client sends parts without a length, which Ceph refuses; s3fs is there, as tasks write through it.
    return found | {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"} if uris.scheme_of(uri) == "s3" else found


def _s3(options: Mapping[str, Any]) -> dict[str, str]:
    found = _renamed(options, _S3)
    client = options.get("client_kwargs") or {}
    if client.get("region_name"):
        found["aws_region"] = str(client["region_name"])
    elif "aws_endpoint_url" in found:
        found["aws_region"] = "us-east-1"  # which servers of one's own ignore, and the library demands
    if options.get("anon"):
        found["aws_skip_signature"] = "true"
    if found.get("aws_endpoint_url", "").startswith("http://"):
        found["aws_allow_http"] = "true"
    return found


def _google(options: Mapping[str, Any]) -> dict[str, str]:
    token = options.get("token")
    if token == "anon":  # noqa: S105 - a word of gcsfs, not a secret
        return {"google_skip_signature": "true"}
    return {"google_service_account_key": json.dumps(token)} if isinstance(token, dict) else {}


def _renamed(options: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    return {to: str(options[name]) for name, to in names.items() if options.get(name)}
