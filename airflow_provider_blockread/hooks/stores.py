"""Stores with the credentials of Airflow connections: extras are allow-listed key by key, secrets stay in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FileSource, ParquetSink

if TYPE_CHECKING:
    from airflow.sdk import Connection

Credentials = dict[str, dict[str, object]]
"""Root URI -> fsspec storage options for everything below it."""


def credentials_for(source: FileSource | None, sink: ParquetSink | None) -> Credentials:
    """Return the storage options of the roots whose options name a connection; no connection is ambient identity.

    Raises:
        OptionsError: when a connection is missing or of a type that names no store.
    """
    return {root: storage_options(_connection(conn_id)) for root, conn_id in _named(source, sink)}


async def acredentials_for(source: FileSource | None) -> Credentials:
    """Return the same for a source, without holding up the event loop: for triggers.

    Raises:
        OptionsError: as `credentials_for`.
    """
    found = {root: await aconnection(conn_id) for root, conn_id in _named(source, None)}
    # Secrets are masked by a call to the supervisor, which blocks.
    return await asyncio.to_thread(lambda: {root: storage_options(one) for root, one in found.items()})


async def aconnection(conn_id: str) -> Connection:
    """Return the connection of a store, for triggers.

    Raises:
        OptionsError: when there is none of that name.
    """
    try:
        return await BaseHook.aget_connection(conn_id)
    except AirflowNotFoundException as error:
        raise OptionsError(_is_missing(conn_id)) from error


def storage_options(connection: Connection) -> dict[str, object]:
    """Return what fsspec's file system of the connection's type takes, from the connection's known fields.

    Raises:
        OptionsError: when the connection's type names no store.
    """
    make = _MAKERS.get(connection.conn_type or "")
    if make is None:
        msg = (
            f"connection {connection.conn_id!r} has type {connection.conn_type!r}, which names no store; "
            f"use one of {', '.join(sorted(_MAKERS))}, or none for ambient identity"
        )
        raise OptionsError(msg)
    return {name: value for name, value in make(connection).items() if value is not None and value != ""}


def _named(source: FileSource | None, sink: ParquetSink | None) -> list[tuple[str, str]]:
    """Return roots with the connections that options name for them."""
    named = [(root, source.conn_id) for root in source.roots] if source else []
    named += [(sink.uri, sink.conn_id), (sink.work_area, sink.conn_id)] if sink else []
    return [(root, conn_id) for root, conn_id in named if conn_id]


def _connection(conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise OptionsError(_is_missing(conn_id)) from error


def _is_missing(conn_id: str) -> str:
    return f"store: there is no connection {conn_id!r}; create it, or leave conn_id out for ambient identity"


def _aws(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    return {
        "key": connection.login,
        "secret": connection.password,
        "token": extra.get("aws_session_token"),
        "profile": extra.get("profile_name"),
        "endpoint_url": extra.get("endpoint_url") or connection.host,
        "client_kwargs": {"region_name": extra["region_name"]} if extra.get("region_name") else None,
    }


def _azure(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    principal = bool(extra.get("tenant_id"))
    return {
        "account_name": extra.get("account_name") or (connection.host or "").partition(".")[0] or connection.login,
        "account_key": extra.get("account_key") or (None if principal else connection.password),
        "connection_string": extra.get("connection_string"),
        "sas_token": extra.get("sas_token"),
        "tenant_id": extra.get("tenant_id"),
        "client_id": connection.login if principal else None,
        "client_secret": connection.password if principal else None,
    }


def _google(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    return {
        "project": extra.get("project"),
        "token": extra.get("keyfile_dict") or extra.get("key_path"),
        "endpoint_url": extra.get("endpoint_url"),
    }


def _sftp(connection: Connection) -> dict[str, object]:
    extra = connection.extra_dejson
    return {
        "host": connection.host,
        "port": connection.port,
        "username": connection.login,
        "password": connection.password,
        "key_filename": extra.get("key_file"),
    }


def _none(_connection: Connection) -> dict[str, object]:
    return {}


_MAKERS: dict[str, Callable[[Connection], dict[str, object]]] = {
    "adls": _azure,
    "aws": _aws,
    "fs": _none,
    "google_cloud_platform": _google,
    "s3": _aws,
    "sftp": _sftp,
    "ssh": _sftp,
    "wasb": _azure,
}
