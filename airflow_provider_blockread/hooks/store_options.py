"""Airflow's connection types as fsspec's storage options, with the fields that Airflow's own providers define.

Options contain JSON values only, because they are passed to the driver as JSON; key files are read here, because
executors do not have them. A field that no file system supports is refused, not ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.assumed_role import Keys, assume_role

if TYPE_CHECKING:
    from airflow.sdk import Connection

_AZURE_FIELDS = (
    "account_host",
    "anon",
    "managed_identity_client_id",
    "sas_token",
    "workload_identity_client_id",
    "workload_identity_tenant_id",
)


def aws_keys(connection: Connection) -> tuple[Keys, str | None]:
    """Return the keys of an `aws` connection (those of its role, if it has one), and the profile to use without keys.

    Raises:
        BlockReadError: as `assume_role` does.
    """
    extra = connection.extra_dejson
    keys: Keys = (connection.login, connection.password, extra.get("aws_session_token"))
    if not all(keys[:2]):
        keys = (extra.get("aws_access_key_id"), extra.get("aws_secret_access_key"), keys[2])
    if extra.get("role_arn"):
        return assume_role(connection, keys), None
    return keys, extra.get("profile_name")


def _aws(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    keys, profile = aws_keys(connection)
    config = dict(extra.get("config_kwargs") or {})
    anonymous = config.get("signature_version") == "unsigned"
    if anonymous:
        del config["signature_version"]
    client = {"region_name": extra.get("region_name"), "verify": extra.get("verify")}
    own = (extra.get("service_config") or {}).get("s3") or {}
    return {
        "key": keys[0],
        "secret": keys[1],
        "token": keys[2],
        "profile": profile,
        "endpoint_url": own.get("endpoint_url") or extra.get("endpoint_url") or connection.host,
        "client_kwargs": {name: value for name, value in client.items() if value is not None} or None,
        "config_kwargs": config or None,
        "anon": True if anonymous else None,
    }


def _azure(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    if extra.get("connection_string"):
        return {"connection_string": extra["connection_string"]}
    tenant = extra.get("tenant_id") or extra.get("tenant")
    account = _azure_account(connection, principal=bool(tenant))
    key = extra.get("account_key") or extra.get("shared_access_key") or (None if tenant else connection.password)
    if key and (connection.host or "").startswith("http://"):  # the addresses of adlfs are always https
        named = f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};BlobEndpoint={connection.host};"
        return {"connection_string": named}
    own = {name: extra.get(name) for name in _AZURE_FIELDS}
    return own | {
        "account_name": account,
        "account_key": key,
        "tenant_id": tenant,
        "client_id": connection.login if tenant else None,
        "client_secret": connection.password if tenant else None,
    }


def _azure_account(connection: Connection, *, principal: bool) -> str | None:
    """Return the account: from a field, the first part of the host, or the login, unless that names a principal."""
    named = connection.extra_dejson.get("account_name")
    host = connection.host or ""
    first = (urlsplit(host if "://" in host else f"//{host}").hostname or "").partition(".")[0]
    login = None if principal else connection.login
    account: str | None = named or (first if "." in host and not host.startswith("http://") else login or first)
    return account


def _google(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    for name in ("credential_config_file", "impersonation_chain", "key_secret_name"):
        if extra.get(name):
            raise _refused(connection, name, "give a key by keyfile_dict or key_path, or give the hosts an identity")
    key = _file(connection, "key_path") if extra.get("key_path") else extra.get("keyfile_dict")
    token = _json(connection, key) if isinstance(key, str) and key else key
    return {
        "project": extra.get("project"),
        "token": "anon" if extra.get("is_anonymous") else token,
        "endpoint_url": extra.get("endpoint_url"),
    }


def _ssh(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    key = extra.get("private_key") or (_file(connection, "key_file") if extra.get("key_file") else None)
    return _fields(connection) | {
        "client_keys": [key] if key else None,
        "passphrase": extra.get("private_key_passphrase"),
        "known_hosts": _known_hosts(connection),
    }


def _known_hosts(connection: Connection) -> object:
    """Return the server's key from the connection, or None to accept any key, which is Airflow's default."""
    extra = connection.extra_dejson
    key = str(extra.get("host_key") or "")
    if key:
        return f"* {key if ' ' in key else f'ssh-rsa {key}'}\n"
    if str(extra.get("no_host_key_check", True)).lower() == "false":
        raise _refused(connection, "no_host_key_check=false without host_key", "give the server's key as host_key")
    return None


def _fields(connection: Connection) -> dict[str, object]:
    """Return the connection's fields under the names that fsspec usually gives them."""
    return {
        "host": connection.host,
        "port": connection.port,
        "username": connection.login,
        "password": connection.password,
    }


def _file(connection: Connection, field: str) -> str:
    path = connection.extra_dejson[field]
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = (
            f"connection {connection.conn_id!r}: {field} names {path}, which cannot be read ({type(error).__name__});"
            " correct the path, or put the key itself into the connection"
        )
        raise OptionsError(msg) from error


def _json(connection: Connection, text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        msg = f"connection {connection.conn_id!r}: the key is not a JSON object; paste the content of the key file"
        raise OptionsError(msg) from None  # the cause would quote the key
    return found


def _refused(connection: Connection, what: str, instead: str) -> OptionsError:
    return OptionsError(f"connection {connection.conn_id!r}: {what} is not supported; {instead}")


MAKERS: dict[str, Callable[[Connection], dict[str, object]]] = {
    "adls": _azure,
    "aws": _aws,
    "azure_data_lake": _azure,
    "fs": lambda _connection: {},
    "generic": lambda connection: _fields(connection) | connection.extra_dejson,  # as fsspec's own options
    "google_cloud_platform": _google,
    "s3": _aws,
    "sftp": _ssh,
    "ssh": _ssh,
    "wasb": _azure,
}
"""Connection type -> function that returns the storage options of a connection; the caller drops empty ones."""
