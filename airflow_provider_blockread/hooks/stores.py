"""Stores with the credentials of Airflow connections; secrets stay in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.connections import afind_connection, find_connection, hint_for_triggers
from airflow_provider_blockread.hooks.store_options import MAKERS
from airflow_provider_blockread.options import FileList, FileSource, Sink
from airflow_provider_blockread.storage import uris

if TYPE_CHECKING:
    from airflow.sdk import Connection

Credentials = dict[str, dict[str, object]]
"""Root URI -> fsspec storage options for everything below it."""


def credentials_for(source: FileSource | None, sink: Sink | None, listed: FileList | None = None) -> Credentials:
    """Return the storage options of the roots that have a connection; others use the ambient identity.

    Raises:
        OptionsError: when a connection is missing, or its type is not that of a store.
        TransientError: when Airflow could not look the connection up.
    """
    named = _named(source, sink, listed)
    return _resolved(named, {conn_id: connection_of(conn_id) for conn_id in {conn_id for _, conn_id in named}})


def _resolved(named: list[tuple[str, str]], found: Mapping[str, Connection]) -> Credentials:
    options = {conn_id: storage_options(one) for conn_id, one in found.items()}  # once each: a role calls a service
    return {root: options[conn_id] for root, conn_id in named}


def access_of(sink: Sink | None) -> dict[str, dict[str, str]]:
    """Return the properties in the connection of a sink's catalog or database, by connection id; empty without one.

    Raises:
        OptionsError: when the connection is missing.
        TransientError: when Airflow could not look the connection up.
    """
    conn_id = None if sink is None else sink.access_conn_id
    return {} if conn_id is None else {conn_id: access_by(connection_of(conn_id))}


async def aaccess_of(sink: Sink | None) -> dict[str, dict[str, str]]:
    """Return the same as `access_of`, for triggers: without blocking the event loop.

    Raises:
        OptionsError, TransientError: as `access_of`.
    """
    conn_id = None if sink is None else sink.access_conn_id
    return {} if conn_id is None else {conn_id: access_by(await aconnection(conn_id))}


def access_by(connection: Connection) -> dict[str, str]:
    """Return the properties of a catalog or database from a connection: its extra, URI and credentials."""
    own = {name: value for name, value in connection.extra_dejson.items() if isinstance(value, str)}
    if connection.host and "uri" not in own:
        own["uri"] = connection.host if "://" in connection.host else connection.get_uri()
    if connection.password and "token" not in own:
        named = f"{connection.login}:{connection.password}" if connection.login else connection.password
        own |= {"credential" if connection.login else "token": named}
    return own


async def acredentials_for(source: FileSource | None, sink: Sink | None) -> Credentials:
    """Return the same as `credentials_for`, for triggers: without blocking the event loop.

    Raises:
        OptionsError, TransientError: as `credentials_for`.
    """
    named = _named(source, sink)
    found = {conn_id: await aconnection(conn_id) for conn_id in {conn_id for _, conn_id in named}}
    return await asyncio.to_thread(_resolved, named, found)  # masking secrets and assuming a role are blocking calls


async def aconnection(conn_id: str) -> Connection:
    """Return the connection of a store, for triggers.

    Raises:
        OptionsError: when it does not exist.
        TransientError: when Airflow could not look the connection up.
    """
    return _required(conn_id, await afind_connection(conn_id), hint_for_triggers())


def _connections_of(source: FileSource) -> list[tuple[str, str | None]]:
    """Return the roots with their connections: the common one, or that of the longest folder that contains the root."""
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
        msg = f"file_source: conn_id names {min(idle)}, which contains no root; name one of {', '.join(source.roots)}"
        raise OptionsError(msg)
    return found


def storage_options(connection: Connection) -> dict[str, object]:
    """Return the storage options for fsspec from the connection's known fields.

    Raises:
        OptionsError: when the connection's type is not that of a store, or a field is not supported.
    """
    require_type(connection, sorted(MAKERS), "", "is not that of a store")
    options = MAKERS[str(connection.conn_type)](connection)
    return {name: value for name, value in options.items() if value is not None and value != ""}


def require_type(connection: Connection, types: Sequence[str], topic: str, what: str) -> None:
    """Refuse a connection of another type than these; `what` completes the message, which begins with `topic`.

    Raises:
        OptionsError: when it has another type.
    """
    if connection.conn_type not in types:
        msg = (
            f"{topic}connection {connection.conn_id!r} has type {connection.conn_type!r}, which {what}; use one of"
            f" {', '.join(types)}, or none for ambient identity"
        )
        raise OptionsError(msg)


def _named(source: FileSource | None, sink: Sink | None, listed: FileList | None = None) -> list[tuple[str, str]]:
    """Return the roots that have connections, each with its connection."""
    named = _connections_of(source) if source else []
    named += sink.connections.items() if sink else []
    named += [(listed.uri, listed.conn_id)] if listed else []
    return [(root, conn_id) for root, conn_id in named if conn_id]


def connection_of(conn_id: str) -> Connection:
    """Return the connection of a store, catalog or database.

    Raises:
        OptionsError: when it does not exist.
        TransientError: when Airflow could not look the connection up.
    """
    return _required(conn_id, find_connection(conn_id))


def _required(conn_id: str, found: Connection | None, hint: str = "") -> Connection:
    if found is None:
        msg = f"store: there is no connection {conn_id!r}; create it, or leave conn_id out for ambient identity{hint}"
        raise OptionsError(msg)
    return found
