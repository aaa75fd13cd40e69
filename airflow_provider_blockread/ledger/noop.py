"""Ledgers without a memory: each belongs to one run, whose steps share it, and knows nothing about other runs.

All have the same identity, so that a run may publish beside what earlier runs published. They refuse a work area that a
real ledger has used, and a real ledger refuses theirs, as between any two ledgers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from airflow_provider_blockread.blocks.ids import digest
from airflow_provider_blockread.ledger.store import Ledger, utc_now

_IDENTITY = str(UUID(int=0))
#: How long a run can still be cleared.
_KEPT = timedelta(days=30)


def is_noop(url: str | None) -> bool:
    """Return whether a URL names a ledger without a memory."""
    return url is not None and url.startswith("noop:")


def noop_ledger(folder: Path, run: str, *, now: Callable[[], datetime] = utc_now) -> Ledger:
    """Return the ledger of a run, which is created at first use; ledgers of old runs are removed.

    Args:
        folder: the folder of such ledgers; all steps of a run must have access to it.
        run: identifies the run among all runs that use the folder.
        now: the clock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{digest('run', run)}.db"
    if not place.exists():
        _remove_old(folder, now() - _KEPT)
    ledger = Ledger(f"sqlite:///{place.absolute()}", now=now)
    ledger.upgrade(identity=_IDENTITY)
    return ledger


def key_of_run(ledger: Ledger, key: str, run: str) -> str:
    """Return a window's key; in a ledger without a memory, a key that no other run has.

    Without a memory, the outputs of two runs with the same key could not be distinguished.
    """
    if not key.strip() or key.endswith(run) or not forgets(ledger):
        return key
    return f"{key} of {run}"


def forgets(ledger: Ledger) -> bool:
    """Return whether a ledger has no memory, that is, belongs to a single run."""
    return ledger.uuid == _IDENTITY


def _remove_old(folder: Path, before: datetime) -> None:
    for place in folder.glob("*.db*"):
        try:
            if place.stat().st_mtime < before.timestamp():
                place.unlink()
        except FileNotFoundError:  # another run has removed it
            continue
