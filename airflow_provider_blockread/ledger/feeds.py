"""Feeds by name, and the lock that serializes listings and plans of one feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, ScalarSelect, func, select

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.dialect import insert_or_ignore
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.tables import feed_dags, feeds
from airflow_provider_blockread.ledger.store import Ledger

#: Files per transaction: some tens of milliseconds, so that other processes do not wait long, even on a busy host.
BATCH_FILES = 5_000
_NAMED = 10  # feeds that a message names

T = TypeVar("T")


def find_feed(connection: Connection, name: str) -> int | None:
    """Return the feed's id, or None if no listing or plan has named it yet."""
    found = connection.scalar(select(feeds.c.id).where(feeds.c.name == name))
    return None if found is None else int(found)


def require_feed(ledger: Ledger, name: str) -> int:
    """Return the feed's id.

    Raises:
        OptionsError: when the ledger knows no such feed; the message names some feeds that it knows.
    """
    with ledger.reading() as connection:
        found = find_feed(connection, name)
        if found is not None:
            return found
        known = list(connection.scalars(select(feeds.c.name).order_by(feeds.c.name).limit(_NAMED + 1)))
    names = ", ".join(known[:_NAMED]) + (" and others" if len(known) > _NAMED else "")
    msg = f"ledger {ledger.name} knows no feed {name!r}; correct the name: it knows {names or 'none yet'}"
    raise OptionsError(msg)


def open_feed(ledger: Ledger, name: str) -> int:
    """Return the feed's id, after creating an unknown feed."""
    with ledger.reading() as connection:
        found = find_feed(connection, name)
    if found is not None:
        return found
    with ledger.writing() as connection:
        connection.execute(insert_or_ignore(connection, feeds, "name"), {"name": name, "created_at": ledger.now()})
        return int(connection.execute(select(feeds.c.id).where(feeds.c.name == name)).scalar_one())


def note_dag(connection: Connection, feed_id: int, run: str | None) -> None:
    """Remember the DAG whose run, `dag_id/run_id`, plans or reads a window of the feed."""
    if run is not None:
        used = {"feed_id": feed_id, "dag": run.partition("/")[0]}
        connection.execute(insert_or_ignore(connection, feed_dags), used)


def newest_listing(*wanted: ColumnElement[bool]) -> ScalarSelect[Any]:
    """Return the number of a feed's newest listing that meets the conditions, in a query over feeds.

    Each feed costs one look at an index, however many listings it has.
    """
    query = select(func.max(listings.c.id)).where(listings.c.feed_id == feeds.c.id, *wanted)
    return query.correlate(feeds).scalar_subquery()


def unlisted_since() -> ScalarSelect[Any]:
    """Return when the first listing after a feed's last finished one began, or null, in a query over feeds."""
    later = listings.alias("later")
    ended = func.coalesce(newest_listing(listings.c.finished_at.is_not(None)), 0)
    query = select(func.min(later.c.started_at)).where(later.c.feed_id == feeds.c.id, later.c.id > ended)
    return query.correlate(feeds).scalar_subquery()


def lock_feed(connection: Connection, feed_id: int) -> None:
    """Make other listings and plans of the feed wait until this transaction ends.

    They change the same files in different orders, which without the lock would lead to deadlocks in PostgreSQL.
    """
    connection.execute(select(feeds.c.id).where(feeds.c.id == feed_id).with_for_update(key_share=True))


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
