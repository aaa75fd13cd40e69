"""Feeds by the ids in addresses of pages, with the DAGs whose runs read them."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from sqlalchemy import Connection, select

from airflow_provider_blockread.ledger.dialect import text_before_slash
from airflow_provider_blockread.ledger.schema.tables import feeds, files, generations, windows
from airflow_provider_blockread.ledger.store import Ledger


class FeedRow(NamedTuple):
    """A feed, and the DAGs whose runs planned or read its windows."""

    id: int
    name: str
    dags: frozenset[str]


def feed_row(ledger: Ledger, feed: int) -> FeedRow | None:
    """Return the feed with this number, or None."""
    with ledger.reading() as connection:
        name = connection.scalar(select(feeds.c.name).where(feeds.c.id == feed))
        return None if name is None else FeedRow(feed, name, feed_dags(connection, feed).get(feed, frozenset()))


def all_feeds(ledger: Ledger) -> list[FeedRow]:
    """Return all feeds by name."""
    with ledger.reading() as connection:
        dags = feed_dags(connection)
        rows = connection.execute(select(feeds.c.id, feeds.c.name).order_by(feeds.c.name))
        return [FeedRow(row.id, row.name, dags.get(row.id, frozenset())) for row in rows]


def feed_of_window(ledger: Ledger, window: str) -> FeedRow | None:
    """Return the feed of the window with this id, or None."""
    with ledger.reading() as connection:
        feed = connection.scalar(select(windows.c.feed_id).where(windows.c.id == window))
    return None if feed is None else feed_row(ledger, feed)


def feed_of_file(ledger: Ledger, file: int) -> FeedRow | None:
    """Return the feed of the file version with this number, or None if it has no row."""
    with ledger.reading() as connection:
        feed = connection.scalar(select(files.c.feed_id).where(files.c.id == file))
    return None if feed is None else feed_row(ledger, feed)


def feed_dags(connection: Connection, feed: int | None = None) -> dict[int, frozenset[str]]:
    """Return the DAGs whose runs used a feed, or each feed, by its number."""
    read = select(windows.c.feed_id, generations.c.run).join(generations, generations.c.window_id == windows.c.id)
    found = defaultdict(set)
    for query in (select(windows.c.feed_id, windows.c.run), read):
        mine = query if feed is None else query.where(windows.c.feed_id == feed)
        runs = mine.where(query.selected_columns.run.is_not(None)).subquery()
        dag = text_before_slash(connection, runs.c.run)
        for feed_id, name in connection.execute(select(runs.c.feed_id, dag).distinct()):
            found[feed_id].add(name)
    return {feed_id: frozenset(names) for feed_id, names in found.items()}
