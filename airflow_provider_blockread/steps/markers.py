"""The markers of changes to sinks: which change is made, and which ones the ledger knows."""

from __future__ import annotations

from functools import partial

from airflow_provider_blockread.errors import WrongLedgerError
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.schema.columns import SHOWN_STATES
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.ledger.windows.journal import journal_entries
from airflow_provider_blockread.sinks.protocol import Change, Marker
from airflow_provider_blockread.steps.model import Environment


def marker_of(env: Environment, window: Window, generation: Generation, change: Change) -> Marker:
    """Return the marker of a change that is made for a generation, with what was begun before it."""
    return Marker(
        ledger=env.ledger.uuid,
        feed=window.feed,
        window=window.id,
        number=Marker.number_of(generation.number, change),
        at=env.ledger.now(),
        is_recorded=partial(_is_recorded, env),
        known=_known(env, window),
    )


def _known(env: Environment, window: Window) -> int:
    """Return the number of the newest change of a window that was begun."""
    every = list_generations(env.ledger, window.id)
    if every and find_withdrawal(env.ledger, window.id) is not None:
        return Marker.number_of(every[-1].number, Change.WITHDRAW)
    begun = [found for found in every if _is_begun(env, window, found)]
    ends = (Change.PUBLISH if found.state in SHOWN_STATES else Change.TAKE_BACK for found in begun)
    return max(map(Marker.number_of, (found.number for found in begun), ends), default=0)


def _is_begun(env: Environment, window: Window, found: Generation) -> bool:
    """Return whether the output may show something of a generation; it shows nothing of one that was refused here."""
    if found.published_at is not None:
        return True
    is_refused = (found.error or "").startswith(WrongLedgerError.__name__)
    return not is_refused and (
        found.state in SHOWN_STATES or bool(journal_entries(env.ledger, window.id, found.number))
    )


def _is_recorded(env: Environment, window: str, number: int) -> bool:
    """Return whether no retry will look for this change of a window again."""
    every = list_generations(env.ledger, window)
    published = [found.number for found in every if found.published_at is not None]
    withdrawal = find_withdrawal(env.ledger, window)
    gone = withdrawal is not None and withdrawal.finished_at is not None
    return gone or not every or Marker.number_of(max(published, default=0), Change.PUBLISH) >= number
