"""How fast a feed is read: bytes a second of one reader, as its newest windows were measured."""

from __future__ import annotations

from sqlalchemy import func, select

from airflow_provider_blockread.ledger.feeds import find_feed
from airflow_provider_blockread.ledger.schema.tables import generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger

TINY = 16 * 2**20
"""Bytes: a window that read fewer says more about the start of its tasks than about reading."""

_MEASURED = 5  # windows whose rates count
_NEWEST = 50  # windows among which they are looked for


def reader_rates(ledger: Ledger, feed: str) -> list[int]:
    """Return the bytes a second of one reader in each of the feed's newest windows that were measured, newest first.

    A window's groups that were read and written count, whether it is published yet or not.
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
            .join(
                groups,
                (groups.c.window_id == generations.c.window_id) & (groups.c.generation == generations.c.number),
            )
            .where(generations.c.mode == "write", groups.c.state == "done", groups.c.reader_seconds > 0)
            .group_by(newest_of.c.id, newest_of.c.sequence)
            .having(read >= TINY)
            .order_by(newest_of.c.sequence.desc())
            .limit(_MEASURED)
        )
        return [max(int(int(row[0]) / row[1]), 1) for row in connection.execute(query)]
