"""Ledgers by their place, as one process names it to another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from airflow_provider_blockread.errors import LedgerSchemaError
from airflow_provider_blockread.ledger.noop import noop_ledger
from airflow_provider_blockread.ledger.store import Ledger, default_url


def open_ledger(place: Mapping[str, str]) -> Ledger:
    """Return a ledger, after checking its schema; only an embedded one is created or migrated.

    Args:
        place: its `url`, the folder in which it is `embedded`, or the folder of `noop` ledgers and the `run`.

    Raises:
        LedgerSchemaError: when the schema is not this package's.
        LedgerUnavailableError: when the database cannot be reached.
    """
    if "noop" in place:
        return noop_ledger(Path(place["noop"]), place["run"])
    ledger = Ledger(place["url"] if "url" in place else default_url(place["embedded"]))
    try:
        ledger.check()
    except LedgerSchemaError:
        if "embedded" not in place:
            raise
        ledger.upgrade()
    return ledger
