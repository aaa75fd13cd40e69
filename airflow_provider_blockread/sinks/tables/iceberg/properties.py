"""The options of a store as properties of pyiceberg's FileIO."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.registry import table_options

_NAMES = {
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_endpoint_url": "s3.endpoint",
    "aws_region": "s3.region",
    "azure_storage_account_name": "adls.account-name",
    "azure_storage_account_key": "adls.account-key",
    "azure_storage_sas_key": "adls.sas-token",
}


def io_properties(uri: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return fsspec's options of the store that holds a place, as pyiceberg's FileIO names them."""
    found = {_NAMES[name]: text for name, text in table_options(uri, options).items() if name in _NAMES}
    # pyarrow's own client sends parts without a length, which Ceph refuses; s3fs is installed, since tasks use it.
    return found | {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"} if uris.scheme_of(uri) == "s3" else found
