"""Feeds at a glance: what waits, what is wrong, and what was published lately, in a few statements for all feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select

from airflow_provider_blockread.ledger.dialect import day_of
from airflow_provider_blockread.ledger.feeds import newest_listing, unlisted_since
from airflow_provider_blockread.ledger.files.unread import backlogs
from airflow_provider_blockread.ledger.model import Backlog
from airflow_provider_blockread.ledger.overview.refs import dags_by_feed
from airflow_provider_blockread.ledger.overview.windows import WindowRow, open_windows
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.tables import (
    IS_PUBLISHED,
    IS_UNSETTLED,
    feeds,
    files,
    generations,
    windows,
)
from airflow_provider_blockread.ledger.store import Ledger

DAYS = 14
"""Days that the sums of feeds cover, including today."""

_Feeds = Collection[int] | None


class DaySums(NamedTuple):
    """What was published on one day."""

    windows: int = 0
    records: int = 0
    bytes: int = 0
    bad_records: int = 0


class LastWindow(NamedTuple):
    """The window that a feed planned last."""

    id: str
    key: str
    planned_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSums:
    """The sums of a feed."""

    id: int
    name: str
    dags: frozenset[str]
    backlog: Backlog
    left_out: Mapping[str, int]  # files that are missing, changed or ignored
    days: tuple[DaySums, ...]  # of the last `DAYS` in UTC, the oldest first
    open: tuple[WindowRow, ...]  # newest first
    last_listed_at: datetime | None  # when a listing last ended
    unlisted_since: datetime | None  # when the first listing after it began; none of these has ended
    last_window: LastWindow | None
    last_published_at: datetime | None
    pace: timedelta | None  # between windows planned in the last `DAYS`; None for fewer than three

    @property
    def last_planned_at(self) -> datetime | None:
        """When its last window was planned."""
        return None if self.last_window is None else self.last_window.planned_at


def feeds_at_a_glance(ledger: Ledger, of: Collection[int] | None = None) -> list[FeedSums]:
    """Return the sums of the feeds with these numbers, ordered by name; None for all."""
    now = ledger.now()
    since = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    dates = [f"{since + timedelta(days=number):%Y-%m-%d}" for number in range(DAYS)]
    with ledger.reading() as connection:
        named = _named(connection, of)
        waiting = backlogs(connection, of)
        left_out = _left_out(connection, of)
        paces = _paces(connection, of, since)
        days, published = _published(connection, of, since)
        published |= _published_before(connection, {row.id for row in named} - published.keys())
        dags = dags_by_feed(connection, of)
        last = _last_windows(connection, of)
        at_work: dict[int, list[WindowRow]] = defaultdict(list)
        for one in open_windows(connection, now, of=of, each=True):
            at_work[one.feed_id].append(one)
    return [
        FeedSums(
            id=row.id,
            name=row.name,
            dags=dags.get(row.id, frozenset()),
            backlog=waiting.get(row.id, Backlog()),
            left_out=left_out[row.id],
            days=tuple(days[row.id].get(day, DaySums()) for day in dates),
            open=tuple(at_work[row.id]),
            last_listed_at=row.finished_at,
            unlisted_since=row.unlisted_since,
            last_window=last.get(row.id),
            last_published_at=published.get(row.id),
            pace=paces.get(row.id),
        )
        for row in named
    ]


def _of(query: Select[Any], column: Any, of: _Feeds) -> Select[Any]:  # noqa: ANN401 - a column
    return query if of is None else query.where(column.in_(of))


def _named(connection: Connection, of: _Feeds) -> Sequence[Row[Any]]:
    """Return the feeds by name, with when a listing last ended, and when the first one after it began."""
    ended = newest_listing(listings.c.finished_at.is_not(None))
    columns = (feeds.c.id, feeds.c.name, listings.c.finished_at, unlisted_since().label("unlisted_since"))
    query = select(*columns).join_from(feeds, listings, listings.c.id == ended, isouter=True)
    return connection.execute(_of(query, feeds.c.id, of).order_by(feeds.c.name)).all()


def _left_out(connection: Connection, of: _Feeds) -> dict[int, dict[str, int]]:
    query = select(files.c.feed_id, files.c.state, func.count()).where(IS_UNSETTLED)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    grouped = _of(query, files.c.feed_id, of).group_by(files.c.feed_id, files.c.state)
    for feed_id, state, number in connection.execute(grouped.order_by(files.c.feed_id, files.c.state)):
        found[feed_id][state] = number
    return found


def _last_windows(connection: Connection, of: _Feeds) -> dict[int, LastWindow]:
    other = windows.alias("other")
    last = select(func.max(other.c.sequence)).where(other.c.feed_id == feeds.c.id).scalar_subquery()
    query = select(feeds.c.id, windows.c.id, windows.c.key, windows.c.created_at)
    query = query.join_from(feeds, windows, (windows.c.feed_id == feeds.c.id) & (windows.c.sequence == last))
    return {feed: LastWindow(*window) for feed, *window in connection.execute(_of(query, feeds.c.id, of))}


def _paces(connection: Connection, of: _Feeds, since: datetime) -> dict[int, timedelta]:
    few, at = 3, windows.c.created_at
    query = select(windows.c.feed_id, func.min(at), func.max(at), func.count()).where(at >= since)
    query = _of(query, windows.c.feed_id, of).group_by(windows.c.feed_id).having(func.count() >= few)
    return {feed: (last - first) / (number - 1) for feed, first, last, number in connection.execute(query)}


def _published(
    connection: Connection, of: _Feeds, since: datetime
) -> tuple[dict[int, dict[str, DaySums]], dict[int, datetime]]:
    """Return the sums of each day of each feed, and when it published last within these days."""
    columns = ("window_id", "published_at", "records", "bytes", "bad_records")
    recent = select(*(generations.c[name] for name in columns)).where(IS_PUBLISHED, generations.c.published_at >= since)
    shown = recent.subquery()
    day = day_of(connection, shown.c.published_at).label("day")
    sums = [func.sum(shown.c[name]).label(name) for name in ("records", "bytes", "bad_records")]
    last = func.max(shown.c.published_at).label("last")
    query = select(windows.c.feed_id, day, func.count().label("windows"), last, *sums)
    # Without a condition on feeds for all of them: SQLite would look at all their windows, not at those of these days.
    query = _of(query.join(shown, shown.c.window_id == windows.c.id), windows.c.feed_id, of)
    days: dict[int, dict[str, DaySums]] = defaultdict(dict)
    found: dict[int, datetime] = {}
    for row in connection.execute(query.group_by(windows.c.feed_id, day).order_by(last)):
        days[row.feed_id][row.day] = DaySums(*map(int, (row.windows, row.records, row.bytes, row.bad_records)))
        found[row.feed_id] = row.last
    return days, found


def _published_before(connection: Connection, quiet: Collection[int]) -> dict[int, datetime]:
    """Return when each of these feeds published last; one that never did is left out."""
    if not quiet:
        return {}
    query = select(windows.c.feed_id, func.max(generations.c.published_at)).join(generations)
    found = connection.execute(query.where(windows.c.feed_id.in_(quiet)).group_by(windows.c.feed_id))
    return {feed: at for feed, at in found if at is not None}
