"""Tries to scan a window, distinguished by an epoch, as attempts at a group are.

The newest generation stores why the newest try failed, until another try begins or the states are found. While it is
`reading`, it has no other error: claiming it for its proof clears the error.
"""

from __future__ import annotations

from sqlalchemy import Connection, exists, select

from airflow_provider_blockread.ledger.schema.tables import generations, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import error_text


def begin_scan(ledger: Ledger, window_id: str) -> int:
    """Return the unique epoch of a new try to scan a window; the window stores the newest one."""
    mine = windows.c.id == window_id
    with ledger.writing() as connection:
        newest = {"scan_epoch": windows.c.scan_epoch + 1, "scanned_at": None}
        connection.execute(windows.update().where(mine).values(newest))
        _forget_error(connection, window_id)
        return int(connection.scalars(select(windows.c.scan_epoch).where(mine)).one())


def fail_scan(ledger: Ledger, window_id: str, epoch: int, error: str) -> None:
    """Record why a try to scan a window failed, if it is the newest try."""
    newest = exists().where(windows.c.id == window_id, windows.c.scan_epoch == epoch, windows.c.scanned_at.is_(None))
    mine = (generations.c.window_id == window_id, generations.c.state == "reading")
    with ledger.writing() as connection:
        connection.execute(generations.update().where(*mine, newest).values(error=error_text(error)))


def end_scan(ledger: Ledger, window_id: str, epoch: int) -> None:
    """Record that a try to scan a window has found the states, if it is the newest try; may be repeated."""
    unfinished = (windows.c.id == window_id, windows.c.scan_epoch == epoch, windows.c.scanned_at.is_(None))
    with ledger.writing() as connection:
        ended = connection.execute(windows.update().where(*unfinished).values(scanned_at=ledger.now()))
        if ended.rowcount:
            _forget_error(connection, window_id)


def _forget_error(connection: Connection, window_id: str) -> None:
    mine = (generations.c.window_id == window_id, generations.c.state == "reading")
    connection.execute(generations.update().where(*mine).values(error=None))
