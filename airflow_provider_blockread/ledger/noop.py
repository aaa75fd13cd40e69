"""Ledgers that forget: each belongs to one run, whose steps share it, and knows nothing of other runs.

All have one identity, so that a run may publish beside what earlier ones published; a work area that a real ledger
used is refused to them, and theirs to it, as between any two ledgers.
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
    """Return whether a URL asks for a ledger that forgets."""
    return url is not None and url.startswith("noop:")


def noop_ledger(folder: Path, run: str, *, now: Callable[[], datetime] = utc_now) -> Ledger:
    """Return the ledger of a run, made at its first use; those of runs long ago are removed.

    Args:
        folder: of such ledgers; all steps of a run must have access to it.
        run: names the run, among all that use the folder.
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
    """Return a window's key; of a ledger that forgets, one that no other run has.

    Without a memory, the outputs of two runs with the same key could not be distinguished.
    """
    if not key.strip() or key.endswith(run) or not forgets(ledger):
        return key
    return f"{key} of {run}"


def forgets(ledger: Ledger) -> bool:
    """Return whether a ledger belongs to one run."""
    return ledger.uuid == _IDENTITY


def _remove_old(folder: Path, before: datetime) -> None:
    for place in folder.glob("*.db*"):
        try:
            if place.stat().st_mtime < before.timestamp():
                place.unlink()
        except FileNotFoundError:  # another run removes it too
            continue
