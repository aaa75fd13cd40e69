"""A ledger's health: its database, what is stuck, and what was begun but never finished."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, func, literal, select, text

from airflow_provider_blockread.ledger import migrations
from airflow_provider_blockread.ledger.feeds import newest_listing, unlisted_since
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.overview.windows import WindowRow, open_windows
from airflow_provider_blockread.ledger.schema.columns import metadata
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.rows import WINDOWS, window_from
from airflow_provider_blockread.ledger.schema.tables import IS_PUBLISHED, feeds, generations, windows
from airflow_provider_blockread.ledger.schema.upkeep_tables import IS_BEGUN, cleanings, requests, withdrawals
from airflow_provider_blockread.ledger.store import Ledger

OLD = timedelta(days=90)
"""Age after which the page proposes to prune a published window's details."""

MOST_PRUNABLE = 10_000
"""The number of prunable windows from which on they are not counted further."""

_MOST_COUNTED = 100_000  # rows of a table, in some milliseconds
_LATE = timedelta(hours=1)  # after which an unfinished listing has died, or is very long

_SIZES = text(
    "SELECT relname AS name, reltuples AS rows, pg_total_relation_size(oid) AS bytes FROM pg_class"
    " WHERE oid = ANY (ARRAY (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) name))"
)


class TableRows(NamedTuple):
    """A table, and its number of rows as far as it is known without counting millions of rows."""

    name: str
    rows: int
    note: str  # `rows`, `rows or more`, or `rows, as the database estimates`


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """What the health page shows of a ledger as a whole, about all of its feeds."""

    name: str  # SQLite or PostgreSQL
    revision: str
    bytes: int
    tables: tuple[TableRows, ...]  # the largest first
    prunable: int  # windows published longer ago than `OLD` that still have their details, up to `MOST_PRUNABLE`


class Unfinished(NamedTuple):
    """A command that was begun but has not ended."""

    what: str
    feed_id: int | None
    window: str | None
    who: str
    began_at: datetime
    arguments: Mapping[str, Any]  # that it was given, as far as the ledger knows them


class NewestListing(NamedTuple):
    """The newest listing of a feed."""

    feed_id: int
    feed: str
    began_at: datetime
    finished_at: datetime | None
    seen: int
    unlisted_since: datetime | None  # when the first listing after the last finished one began


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What the health page shows of a ledger."""

    stuck: tuple[WindowRow, ...]  # failed and stalled windows, at most `MOST_OPEN`
    at_work: tuple[WindowRow, ...]
    unfinished: tuple[Unfinished, ...]
    listings: tuple[NewestListing, ...]  # the newest of each feed
    now: datetime

    def is_late(self, listing: NewestListing) -> bool:
        """Return whether a listing of the feed should have ended by now, however often it was begun again."""
        return listing.unlisted_since is not None and listing.unlisted_since < self.now - _LATE


def ledger_health(ledger: Ledger, of: Collection[int] | None = None) -> Health:
    """Return the health of a ledger, with the windows of these feeds; None for all."""
    now = ledger.now()
    with ledger.reading() as connection:
        found = open_windows(connection, now, of=of)
        return Health(
            stuck=tuple(one for one in found if one.state in {"failed", "stalled"}),
            at_work=tuple(one for one in found if one.state not in {"failed", "stalled", "waiting"}),
            unfinished=tuple(_unfinished(connection)),
            listings=tuple(_listings(connection)),
            now=now,
        )


def ledger_database(ledger: Ledger) -> Database:
    """Return what is to know about a ledger as a whole."""
    with ledger.reading() as connection:
        size, rows = _size_and_rows(connection)
        return Database(
            name={"sqlite": "SQLite"}.get(connection.dialect.name, "PostgreSQL"),
            revision=migrations.current(connection) or "",
            bytes=size,
            tables=rows,
            prunable=_prunable(connection, ledger.now() - OLD),
        )


def recent_windows(ledger: Ledger, feeds_: Collection[int], *, limit: int) -> list[Window]:
    """Return the windows of some feeds that still have their details, newest first."""
    mine = (windows.c.feed_id.in_(feeds_), windows.c.state == "open", windows.c.pruned_at.is_(None))
    query = WINDOWS.where(*mine).order_by(windows.c.created_at.desc()).limit(limit)
    with ledger.reading() as connection:
        return [window_from(row) for row in connection.execute(query)]


def _size_and_rows(connection: Connection) -> tuple[int, tuple[TableRows, ...]]:
    """Return the bytes of all tables, and the number of rows of each."""
    estimated: dict[str, int] = {}
    if connection.dialect.name == "sqlite":
        file = Path(str(connection.engine.url.database))
        names = (file, file.with_name(f"{file.name}-wal"))
        size = sum(name.stat().st_size for name in names if name.exists())
    else:
        found = connection.execute(_SIZES, {"names": list(metadata.tables)}).all()
        size = sum(int(row.bytes) for row in found)
        estimated = {row.name: int(row.rows) for row in found}
    rows = [_rows(connection, table, estimated.get(table.name, 0)) for table in metadata.tables.values()]
    return size, tuple(sorted(rows, key=lambda one: -one.rows))


def _rows(connection: Connection, table: Table, estimated: int) -> TableRows:
    if estimated > _MOST_COUNTED:
        return TableRows(table.name, estimated, "rows, as the database estimates")
    some = select(literal(1)).select_from(table).limit(_MOST_COUNTED).subquery()
    counted = connection.scalar(select(func.count()).select_from(some)) or 0
    return TableRows(
        table.name, counted, "row" if counted == 1 else "rows or more" if counted == _MOST_COUNTED else "rows"
    )


def _unfinished(connection: Connection) -> list[Unfinished]:
    asked = select(requests.c.action, requests.c.who, requests.c.began_at, requests.c.arguments)
    asked = asked.where(requests.c.finished_at.is_(None))
    taken = select(windows.c.feed_id, *(withdrawals.c[name] for name in ("window_id", "who", "began_at", "files")))
    taken = taken.join(windows, windows.c.id == withdrawals.c.window_id).where(withdrawals.c.finished_at.is_(None))
    begun = select(cleanings.c.window_id, func.min(cleanings.c.who), func.min(cleanings.c.began_at)).where(IS_BEGUN)
    of_windows = begun.group_by(cleanings.c.window_id).subquery()
    cleaned = select(windows.c.feed_id, of_windows).join(windows, windows.c.id == of_windows.c.window_id)
    found = [Unfinished(action, None, None, *row) for action, *row in connection.execute(asked.limit(100))]
    for feed, window, who, began_at, files in connection.execute(taken.limit(100)):
        found.append(Unfinished("withdrawal", feed, window, who, began_at, {"files": files}))
    for feed, window, who, began_at in connection.execute(cleaned.limit(100)):
        found.append(Unfinished("cleaning", feed, window, who, began_at, {}))
    return found


def _listings(connection: Connection) -> list[NewestListing]:
    of_listing = (listings.c.started_at, listings.c.finished_at, listings.c.seen)
    columns = (feeds.c.id, feeds.c.name, *of_listing, unlisted_since().label("unlisted_since"))
    query = select(*columns).join_from(feeds, listings, listings.c.id == newest_listing())
    return [NewestListing(*row) for row in connection.execute(query.order_by(feeds.c.name))]


def _prunable(connection: Connection, before: datetime) -> int:
    old = select(generations.c.window_id).where(IS_PUBLISHED, generations.c.published_at < before).subquery()
    some = select(windows.c.id).join(old, old.c.window_id == windows.c.id).where(windows.c.pruned_at.is_(None))
    return connection.scalar(select(func.count()).select_from(some.limit(MOST_PRUNABLE).subquery())) or 0
