"""Where each feed's files come from and go, according to the options of its newest listing and generation."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, select, union

from airflow_provider_blockread.ledger.dialect import use_indexes
from airflow_provider_blockread.ledger.feeds import newest_listing
from airflow_provider_blockread.ledger.schema.file_tables import listings, taken_files
from airflow_provider_blockread.ledger.schema.tables import IS_PENDING, feeds, files, generations, windows
from airflow_provider_blockread.ledger.store import Ledger

_VERSION = ("feed_id", "path_digest", "version_digest")
_PROBED = 50
_READ = ("planned", "done", "quarantined")


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
    with ledger.reading() as connection:
        return list(connection.scalars(_newest_options(generations.c.options)))


def published_options(ledger: Ledger, feed: str) -> dict[str, Any] | None:
    """Return the options of the newest rows that a feed has published, as JSON, or None before the first ones."""
    query = select(generations.c.options).join_from(generations, windows, windows.c.id == generations.c.window_id)
    shown = (
        feeds.c.name == feed,
        windows.c.state == "open",
        generations.c.state == "published",
        generations.c.rows > 0,
    )
    newest = query.join(feeds).where(*shown).order_by(windows.c.sequence.desc()).limit(1)
    with ledger.reading() as connection:
        return connection.scalar(newest)


def options_beside(ledger: Ledger, feed: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the name and the newest options of each other feed that has read files which wait in this one, or will.

    Only the oldest and the newest files are looked for.
    """
    waiting = select(*(files.c[name] for name in _VERSION)).join(feeds).where(feeds.c.name == feed, IS_PENDING)
    some = [waiting.order_by(order).limit(_PROBED).subquery() for order in (files.c.time_ns, files.c.time_ns.desc())]
    held = [
        select(table.c.feed_id)
        .join_from(mine, table, and_(*(table.c[name] == mine.c[name] for name in _VERSION[1:])))
        .where(table.c.feed_id != mine.c.feed_id, table.c.state.in_(_READ))
        for mine in some
        for table in (files, taken_files)
    ]
    query = _newest_options(feeds.c.name, generations.c.options).join(feeds, feeds.c.id == windows.c.feed_id)
    with ledger.reading() as connection:
        use_indexes(connection)
        others = set(connection.scalars(union(*held)))
        rows = connection.execute(query.where(feeds.c.id.in_(others))).all() if others else []
        return [(name, options) for name, options in rows]


def _newest_options(*columns: ColumnElement[Any]) -> Select[Any]:
    planned = select(windows.c.feed_id, func.max(windows.c.sequence).label("sequence"))
    newest = planned.join(generations, generations.c.window_id == windows.c.id).group_by(windows.c.feed_id).subquery()
    same = (windows.c.feed_id == newest.c.feed_id) & (windows.c.sequence == newest.c.sequence)
    query = select(*columns).join_from(generations, windows, windows.c.id == generations.c.window_id).join(newest, same)
    return query.order_by(windows.c.feed_id, generations.c.number)
