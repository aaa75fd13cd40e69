"""Ledgers for tests: new ones are copies of one that was migrated once, because a migration takes longer."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Engine, make_url

from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.store import Ledger, utc_now


def open_ledger(url: str, *, now: Callable[[], datetime] = utc_now) -> Ledger:
    """Return the ledger at a URL, at the newest revision; an SQLite file that is not there is made by copying."""
    ledger, address = Ledger(url, now=now), make_url(url)
    file = Path(str(address.database))
    if address.get_backend_name() != "sqlite" or file.exists():
        ledger.upgrade()
        return ledger
    file.write_bytes(_migrated())
    share_statements(ledger._live_engine())
    identity = {"uuid": str(uuid4()), "secret": secrets.token_hex(32), "created_at": ledger.now()}
    with ledger.writing(lasting=False) as connection:
        connection.execute(tables.ledger.update().values(identity))
    return ledger


def share_statements(engine: Engine) -> None:
    """Let SQLite ledgers of this process share what SQLAlchemy compiles, which it keeps by dialect and engine."""
    first = _engine()
    engine.dialect = engine.pool._dialect = first.dialect
    engine._compiled_cache = first._compiled_cache


@cache
def _engine() -> Engine:
    return Ledger("sqlite:////unused.db")._live_engine()


@cache
def _migrated() -> bytes:
    """Return the content of a file with an empty ledger."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        with closing(Ledger(f"sqlite:///{file}")) as ledger:
            ledger.upgrade()
        return file.read_bytes()
