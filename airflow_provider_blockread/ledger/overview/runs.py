"""The windows of one Airflow run, and when a feed was last published."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select

from airflow_provider_blockread.ledger.overview.windows import WindowRow, window_rows
from airflow_provider_blockread.ledger.schema.rows import WINDOWS
from airflow_provider_blockread.ledger.schema.tables import feeds, generations, windows
from airflow_provider_blockread.ledger.store import Ledger


def windows_of_run(ledger: Ledger, run: str) -> list[WindowRow]:
    """Return the windows that an Airflow run (`dag_id/run_id`) planned or read, by feed, in the order of planning."""
    planned = select(windows.c.id).where(windows.c.run == run)
    read = select(generations.c.window_id).where(generations.c.run == run)
    query = WINDOWS.where(windows.c.id.in_(planned.union(read)))
    with ledger.reading() as connection:
        rows = connection.execute(query.order_by(feeds.c.name, windows.c.sequence)).all()
        return window_rows(connection, rows, ledger.now())


def last_published(ledger: Ledger, feed: int) -> datetime | None:
    """Return when the feed's newest published window was published, or None if there is none."""
    query = select(generations.c.published_at).join(windows, windows.c.id == generations.c.window_id)
    mine = query.where(windows.c.feed_id == feed, generations.c.state == "published")
    with ledger.reading() as connection:
        found: datetime | None = connection.scalar(mine.order_by(windows.c.sequence.desc()).limit(1))
    return found
