"""How fast a feed is read: bytes per second of one reader, as measured in its newest windows."""

from __future__ import annotations

from sqlalchemy import func, select

from airflow_provider_blockread.ledger.feeds import find_feed
from airflow_provider_blockread.ledger.schema.tables import generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger

TINY = 16 * 2**20
"""Bytes: the rate of a smaller window depends more on the start of its tasks than on reading."""

_MEASURED = 5  # windows whose rates are used
_NEWEST = 50  # windows in which these are looked for


def reader_rates(ledger: Ledger, feed: str) -> list[int]:
    """Return the bytes per second of one reader in each of the feed's newest measured windows, newest first.

    Groups that were read and written count, whether their window is already published or not.
    """
    read, spent = func.sum(groups.c.read_bytes), func.sum(groups.c.reader_seconds)
    with ledger.reading() as connection:
        feed_id = find_feed(connection, feed)
        newest = select(windows.c.id, windows.c.sequence).where(windows.c.feed_id == feed_id)
        newest_of = newest.order_by(windows.c.sequence.desc()).limit(_NEWEST).subquery()
        query = (
            select(read, spent)
            .select_from(newest_of)
            .join(generations, generations.c.window_id == newest_of.c.id)
            .join(groups)
            .where(generations.c.mode == "write", groups.c.state == "done", groups.c.reader_seconds > 0)
            .group_by(newest_of.c.id, newest_of.c.sequence)
            .having(read >= TINY)
            .order_by(newest_of.c.sequence.desc())
            .limit(_MEASURED)
        )
        return [max(int(int(row[0]) / row[1]), 1) for row in connection.execute(query)]
