"""Feeds by the ids in addresses of pages, with the DAGs whose runs read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, Select, literal, select

from airflow_provider_blockread.ledger.schema.tables import feed_dags, feeds, files, windows
from airflow_provider_blockread.ledger.store import Ledger


class FeedRow(NamedTuple):
    """A feed, and the DAGs whose runs planned or read its windows."""

    id: int
    name: str
    dags: frozenset[str]


def feed_row(ledger: Ledger, feed: int) -> FeedRow | None:
    """Return the feed with this number, or None."""
    return _feed(ledger, select(literal(feed)))


def all_feeds(ledger: Ledger) -> list[FeedRow]:
    """Return all feeds by name."""
    with ledger.reading() as connection:
        dags = dags_by_feed(connection)
        rows = connection.execute(select(feeds.c.id, feeds.c.name).order_by(feeds.c.name))
        return [FeedRow(row.id, row.name, dags.get(row.id, frozenset())) for row in rows]


def feed_of_window(ledger: Ledger, window: str) -> FeedRow | None:
    """Return the feed of the window with this id, or None."""
    return _feed(ledger, select(windows.c.feed_id).where(windows.c.id == window))


def feed_of_file(ledger: Ledger, file: int) -> FeedRow | None:
    """Return the feed of the file version with this number, or None if it has no row."""
    return _feed(ledger, select(files.c.feed_id).where(files.c.id == file))


def feeds_of_dag(ledger: Ledger, dag: str) -> list[int]:
    """Return the numbers of the feeds that runs of a DAG used."""
    with ledger.reading() as connection:
        return list(connection.scalars(select(feed_dags.c.feed_id).where(feed_dags.c.dag == dag)))


def _feed(ledger: Ledger, number: Select[int]) -> FeedRow | None:
    with ledger.reading() as connection:
        query = select(feeds.c.id, feeds.c.name).where(feeds.c.id == number.scalar_subquery())
        row = connection.execute(query).one_or_none()
        return None if row is None else FeedRow(*row, dags_by_feed(connection, [row.id]).get(row.id, frozenset()))


def dags_by_feed(connection: Connection, of: Collection[int] | None = None) -> dict[int, frozenset[str]]:
    """Return the DAGs whose runs used each of these feeds, by its number; None for all."""
    query = select(feed_dags.c.feed_id, feed_dags.c.dag)
    found = defaultdict(set)
    for feed, dag in connection.execute(query if of is None else query.where(feed_dags.c.feed_id.in_(of))):
        found[feed].add(dag)
    return {feed: frozenset(names) for feed, names in found.items()}
