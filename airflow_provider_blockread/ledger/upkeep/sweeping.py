"""Sweeping: which windows keep their details, but may have leftovers of attempts or of plans in the work area."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import exists, func, or_, select

from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.owners import process_owner
from airflow_provider_blockread.ledger.schema.rows import generation_from
from airflow_provider_blockread.ledger.schema.tables import generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.retention import by_page, is_settled, of_feed
from airflow_provider_blockread.ledger.windows.generations import FINISHED
from airflow_provider_blockread.ledger.windows.planning import Planner
from airflow_provider_blockread.ledger.windows.replacing import lock_feed_of

_LONGEST_ATTEMPT = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The generations of a window, and the results of the attempts that count for those that are complete."""

    generations: list[Generation]
    results: list[str]  # URIs


def unswept_windows(ledger: Ledger, feed: str | None) -> Iterator[Window]:
    """Yield published windows without work in progress whose attempts may have left something, of this feed or of all.

    These are the windows of which a generation has begun since they were swept.
    """
    later = exists().where(generations.c.window_id == windows.c.id, generations.c.created_at >= windows.c.swept_at)
    unswept = or_(windows.c.swept_at.is_(None), later)
    return by_page(ledger, of_feed(feed).where(windows.c.pruned_at.is_(None), unswept, is_settled()))


def attempts_of(ledger: Ledger, window_ids: Collection[str]) -> list[Attempts]:
    """Return the attempts at some windows, in the order of their ids here, by two statements for all of them."""
    begun: dict[str, list[Generation]] = defaultdict(list)
    accepted: dict[str, list[str]] = defaultdict(list)
    mine = generations.c.window_id.in_(window_ids)
    results = select(groups.c.window_id, groups.c.result_uri).join(generations)
    with ledger.reading() as connection:
        for row in connection.execute(select(generations).where(mine).order_by(generations.c.number)):
            begun[row.window_id].append(generation_from(row))
        is_complete = generations.c.state.in_(FINISHED)
        for window_id, uri in connection.execute(results.where(mine, is_complete, groups.c.result_uri.is_not(None))):
            accepted[window_id].append(uri)
    return [Attempts(generations=begun[window_id], results=accepted[window_id]) for window_id in window_ids]


def mark_swept(ledger: Ledger, window_ids: Collection[str]) -> None:
    """Record that nothing is left of the attempts of some windows, at most `BATCH_FILES`, unless they ended recently.

    An attempt that has lost its claim may write for some time after another one has ended the generation.
    """
    now = ledger.now()
    ended = func.coalesce(generations.c.published_at, generations.c.proven_at, generations.c.created_at)
    recent = exists().where(generations.c.window_id == windows.c.id, ended > now - _LONGEST_ATTEMPT)
    with ledger.writing() as connection:
        connection.execute(windows.update().where(windows.c.id.in_(window_ids), ~recent).values(swept_at=now))


def unopened_windows(ledger: Ledger, feed: str | None) -> Iterator[Window]:
    """Yield empty windows with a manifest, whose planner died or gave up, of this feed or of all."""
    return by_page(ledger, of_feed(feed).where(windows.c.state == "empty", windows.c.manifest_uri != ""))


def claim_unopened(ledger: Ledger, window: Window, *, who: str) -> Planner | None:
    """Return the right to plan a window that is still empty, or None; while it is held, nobody else writes its plan.

    Once what is left is removed, the holder announces that there is no manifest.
    """
    left = (windows.c.id == window.id, windows.c.state == "empty", windows.c.manifest_uri == window.manifest_uri)
    claim = {"state": "planning", "epoch": windows.c.epoch + 1, "owner": process_owner(who)}
    with ledger.writing() as connection:
        feed_id = lock_feed_of(connection, window.id)
        if not connection.execute(
            windows.update().where(*left).values(claim | {"heartbeat_at": ledger.now()})
        ).rowcount:
            return None
        epoch = connection.execute(select(windows.c.epoch).where(windows.c.id == window.id)).scalar_one()
    return Planner(ledger, feed_id, window.id, epoch)
