"""Access for a trigger's helper to the ledger, the stores and a table's catalog, from Airflow's connections."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.hooks.stores import aaccess_of, acredentials_for
from airflow_provider_blockread.options import FileSource, Sink


async def access(
    source: FileSource | None, ledger_conn_id: str | None, *, run: str = "", sink: Sink | None = None
) -> dict[str, Any]:
    """Return `ledger`, `stores` and `access` of a request; connections are awaited, as the triggerer requires.

    The result contains credentials: pass it only to a helper's standard input.

    Raises:
        OptionsError: when a connection is missing or of the wrong type.
    """
    ledger, stores, catalogs = await asyncio.gather(
        LedgerHook(ledger_conn_id, run=run).alocate(),
        acredentials_for(source, sink),
        aaccess_of(sink),
    )
    return {"ledger": ledger, "stores": stores, "access": catalogs}
