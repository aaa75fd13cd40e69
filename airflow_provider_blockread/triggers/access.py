"""Access for a trigger's helper to the ledger, the stores and a table's catalog, from Airflow's connections."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.hooks.stores import aaccess_of, acredentials_for
from airflow_provider_blockread.options.values import from_json

if TYPE_CHECKING:
    from airflow_provider_blockread.options import FileSource, Sink


async def access(
    source: Mapping[str, Any] | None,
    ledger_conn_id: str | None,
    *,
    run: str = "",
    sink: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return `ledger`, `stores` and `access` of a request; connections are awaited, as the triggerer requires.

    `source` and `sink` are as JSON. The result contains credentials: pass it only to a helper's standard input.

    Raises:
        OptionsError: when a connection is missing or of the wrong type.
    """
    read = cast("FileSource | None", None if source is None else from_json(source))
    written = cast("Sink | None", None if sink is None else from_json(sink))
    ledger, stores, catalogs = await asyncio.gather(
        LedgerHook(ledger_conn_id, run=run).alocate(), acredentials_for(read, written), aaccess_of(written)
    )
    return {"ledger": ledger, "stores": stores, "access": catalogs}
