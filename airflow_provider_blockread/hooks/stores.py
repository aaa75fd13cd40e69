"""Stores with the credentials of Airflow connections; secrets stay in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.store_options import MAKERS
from airflow_provider_blockread.options import FileList, FileSource, ParquetSink
from airflow_provider_blockread.storage import uris

if TYPE_CHECKING:
    from airflow.sdk import Connection

Credentials = dict[str, dict[str, object]]
"""Root URI -> fsspec storage options for everything below it."""


def credentials_for(source: FileSource | None, sink: ParquetSink | None, listed: FileList | None = None) -> Credentials:
    """Return the storage options of the roots whose options name a connection; no connection is ambient identity.

    Raises:
        OptionsError: when a connection is missing or of a type that names no store.
    """
    named = _named(source, sink, listed)
    # Each connection once: a role is assumed by asking a service.
    options = {conn_id: storage_options(_connection(conn_id)) for conn_id in {conn_id for _, conn_id in named}}
    return {root: options[conn_id] for root, conn_id in named}


async def acredentials_for(source: FileSource | None) -> Credentials:
    """Return the same for a source, without holding up the event loop: for triggers.

    Raises:
        OptionsError: as `credentials_for`.
    """
    named = _named(source, None)
    found = {conn_id: await aconnection(conn_id) for conn_id in {conn_id for _, conn_id in named}}
    # Secrets are masked by a call to the supervisor, which blocks; to assume a role is another.
    options = await asyncio.to_thread(lambda: {conn_id: storage_options(one) for conn_id, one in found.items()})
    return {root: options[conn_id] for root, conn_id in named}


async def aconnection(conn_id: str) -> Connection:
    """Return the connection of a store, for triggers.

    Raises:
        OptionsError: when there is none of that name.
    """
    try:
        return await BaseHook.aget_connection(conn_id)
    except AirflowNotFoundException as error:
        raise OptionsError(_is_missing(conn_id)) from error


def _connections_of(source: FileSource) -> list[tuple[str, str | None]]:
    """Return the roots with their connections: the one of all, or that of the longest place which holds the root."""
    if source.conn_id is None or isinstance(source.conn_id, str):
        return [(root, source.conn_id) for root in source.roots]
    places = {uris.canonical(place): conn_id for place, conn_id in source.conn_id.items()}
    found: list[tuple[str, str | None]] = []
    used = set()
    for root in source.roots:
        holding = [place for place in places if uris.relative_to(uris.canonical(root), place) is not None]
        place = max(holding, key=len, default=None)
        used.add(place)
        found.append((root, None if place is None else places[place]))
    if idle := places.keys() - used:
        msg = f"file_source: conn_id names {min(idle)}, which holds no root; name one of {', '.join(source.roots)}"
        raise OptionsError(msg)
    return found


def storage_options(connection: Connection) -> dict[str, object]:
    """Return what fsspec's file system of the connection's type takes, from the connection's known fields.

    Raises:
        OptionsError: when the connection's type names no store, or asks for what no file system here can do.
    """
    make = MAKERS.get(connection.conn_type or "")
    if make is None:
        msg = (
            f"connection {connection.conn_id!r} has type {connection.conn_type!r}, which names no store; "
            f"use one of {', '.join(sorted(MAKERS))}, or none for ambient identity"
        )
        raise OptionsError(msg)
    return {name: value for name, value in make(connection).items() if value is not None and value != ""}


def _named(
    source: FileSource | None, sink: ParquetSink | None, listed: FileList | None = None
) -> list[tuple[str, str]]:
    """Return roots with the connections that options name for them."""
    named = _connections_of(source) if source else []
    named += [(sink.uri, sink.conn_id), (sink.work_area, sink.conn_id)] if sink else []
    named += [(listed.uri, listed.conn_id)] if listed else []
    return [(root, conn_id) for root, conn_id in named if conn_id]


def _connection(conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise OptionsError(_is_missing(conn_id)) from error


def _is_missing(conn_id: str) -> str:
    return f"store: there is no connection {conn_id!r}; create it, or leave conn_id out for ambient identity"
