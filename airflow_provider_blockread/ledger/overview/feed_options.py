"""Where each feed's files come from and go, according to the options of its newest listing and generation."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from airflow_provider_blockread.ledger.feeds import newest_listing
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.tables import feeds, generations, windows
from airflow_provider_blockread.ledger.store import Ledger


def newest_sources(ledger: Ledger, feed: str | None = None, *, finished: bool = False) -> list[dict[str, Any]]:
    """Return the source that each feed, or only this one, has listed last, as JSON, unless it lists none.

    With `finished`, listings that are not finished, or have failed, do not count.
    """
    wanted = [listings.c.source.is_not(None)] + ([listings.c.finished_at.is_not(None)] if finished else [])
    query = select(listings.c.source).join_from(feeds, listings, listings.c.id == newest_listing(*wanted))
    with ledger.reading() as connection:
        return list(connection.scalars(query if feed is None else query.where(feeds.c.name == feed)))


def newest_options(ledger: Ledger) -> list[dict[str, Any]]:
    """Return for each feed the options of the newest generation of its newest window with a generation, as JSON."""
    planned = select(windows.c.feed_id, func.max(windows.c.sequence).label("sequence"))
    newest = planned.join(generations, generations.c.window_id == windows.c.id).group_by(windows.c.feed_id).subquery()
    same = (windows.c.feed_id == newest.c.feed_id) & (windows.c.sequence == newest.c.sequence)
    query = select(generations.c.options).join(windows, windows.c.id == generations.c.window_id).join(newest, same)
    with ledger.reading() as connection:
        return list(connection.scalars(query.order_by(windows.c.feed_id, generations.c.number)))
