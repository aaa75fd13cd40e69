"""Tries to scan a window, distinguished by a number as attempts at a group are by their epoch."""

from __future__ import annotations

from sqlalchemy import select

from airflow_provider_blockread.ledger.schema.tables import windows
from airflow_provider_blockread.ledger.store import Ledger


def begin_scan(ledger: Ledger, window_id: str) -> int:
    """Return the epoch of a new try to scan a window, which no other try has; the window keeps the newest one."""
    mine = windows.c.id == window_id
    with ledger.writing() as connection:
        newest = {"scan_epoch": windows.c.scan_epoch + 1, "scanned_at": None}
        connection.execute(windows.update().where(mine).values(newest))
        return int(connection.scalars(select(windows.c.scan_epoch).where(mine)).one())


def end_scan(ledger: Ledger, window_id: str, epoch: int) -> None:
    """Record that the newest try to scan a window, if it is this one, has found its states; may be repeated."""
    unfinished = (windows.c.id == window_id, windows.c.scan_epoch == epoch, windows.c.scanned_at.is_(None))
    with ledger.writing() as connection:
        connection.execute(windows.update().where(*unfinished).values(scanned_at=ledger.now()))
