"""Feeds at a glance: what waits, what is wrong, and what was published lately, in a few statements for all feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, case, func, select

from airflow_provider_blockread.ledger.dialect import day_of
from airflow_provider_blockread.ledger.files.unread import backlogs
from airflow_provider_blockread.ledger.model import Backlog
from airflow_provider_blockread.ledger.overview.refs import feed_dags
from airflow_provider_blockread.ledger.overview.windows import WindowRow, open_windows
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.tables import IS_UNSETTLED, feeds, files, generations, windows
from airflow_provider_blockread.ledger.store import Ledger

DAYS = 14
"""Days that the sums of feeds cover, including today."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSums:
    """The sums of a feed."""

    id: int
    name: str
    dags: frozenset[str]
    backlog: Backlog
    left_out: Mapping[str, int]  # files that are missing, changed or ignored
    days: Mapping[str, DaySums]  # by day in UTC, as 2026-11-22, of the last `DAYS`
    open: tuple[WindowRow, ...]  # newest first
    last_listed_at: datetime | None  # when a listing last ended
    last_planned_at: datetime | None
    last_window: LastWindow | None
    last_published_at: datetime | None
    pace: timedelta | None  # between windows planned in the last `DAYS`; None for fewer than three

    def count(self, *states: str) -> int:
        """Return how many open windows are in one of these states of progress."""
        return sum(one.state in states for one in self.open)


@dataclass
class _Times:
    planned: datetime | None = None
    published: datetime | None = None
    listed: datetime | None = None
    pace: timedelta | None = None
    days: dict[str, DaySums] = field(default_factory=dict)


def feeds_at_a_glance(ledger: Ledger, feed: int | None = None) -> list[FeedSums]:
    """Return the sums of all feeds, ordered by name, or of the feed with this number."""
    now = ledger.now()
    since = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    with ledger.reading() as connection:
        named = connection.execute(_of(select(feeds.c.id, feeds.c.name), feeds.c.id, feed).order_by(feeds.c.name)).all()
        waiting = backlogs(connection, feed)
        left_out = _left_out(connection, feed)
        times = _times(connection, feed, since)
        dags = feed_dags(connection, feed)
        last = _last_windows(connection, feed)
        at_work: dict[int, list[WindowRow]] = defaultdict(list)
        for one in open_windows(connection, now, of=None if feed is None else [feed], each=True):
            at_work[one.feed_id].append(one)
    return [
        FeedSums(
            id=row.id,
            name=row.name,
            dags=dags.get(row.id, frozenset()),
            backlog=waiting.get(row.id, Backlog()),
            left_out=left_out.get(row.id, {}),
            days=times[row.id].days,
            open=tuple(at_work.get(row.id, ())),
            last_listed_at=times[row.id].listed,
            last_planned_at=times[row.id].planned,
            last_window=last.get(row.id),
            last_published_at=times[row.id].published,
            pace=times[row.id].pace,
        )
        for row in named
    ]


def _of(query: Select[Any], column: Any, feed: int | None) -> Select[Any]:  # noqa: ANN401 - a column
    return query if feed is None else query.where(column == feed)


def _left_out(connection: Connection, feed: int | None) -> dict[int, dict[str, int]]:
    query = select(files.c.feed_id, files.c.state, func.count()).where(IS_UNSETTLED)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    grouped = _of(query, files.c.feed_id, feed).group_by(files.c.feed_id, files.c.state)
    for feed_id, state, number in connection.execute(grouped.order_by(files.c.feed_id, files.c.state)):
        found[feed_id][state] = number
    return found


def _times(connection: Connection, feed: int | None, since: datetime) -> defaultdict[int, _Times]:
    found: defaultdict[int, _Times] = defaultdict(_Times)
    listed = select(listings.c.feed_id, func.max(listings.c.finished_at).label("at")).group_by(listings.c.feed_id)
    for row in connection.execute(_of(listed, listings.c.feed_id, feed)):
        found[row.feed_id].listed = row.at
    for row in connection.execute(_planned(feed, since)):
        found[row.feed_id].planned, found[row.feed_id].pace = row.last, _pace(row)
    for row in connection.execute(_published(connection, feed, since)):
        times = found[row.feed_id]
        times.published = max(filter(None, (times.published, row.last)))
        if row.day is not None:
            sums = (row.windows, row.records, row.bytes, row.bad_records)
            times.days[row.day] = DaySums(*map(int, sums))
    return found


def _last_windows(connection: Connection, feed: int | None) -> dict[int, LastWindow]:
    newest = _of(select(func.max(windows.c.sequence).label("sequence"), windows.c.feed_id), windows.c.feed_id, feed)
    last = newest.group_by(windows.c.feed_id).subquery()
    same = (windows.c.feed_id == last.c.feed_id) & (windows.c.sequence == last.c.sequence)
    query = select(windows.c.feed_id, windows.c.id, windows.c.key).join(last, same)
    return {row.feed_id: LastWindow(row.id, row.key) for row in connection.execute(query)}


def _planned(feed: int | None, since: datetime) -> Select[Any]:
    recent = case((windows.c.created_at >= since, windows.c.created_at))
    query = select(
        windows.c.feed_id,
        func.max(windows.c.created_at).label("last"),
        func.min(recent).label("first"),
        func.count(recent).label("number"),
    )
    return _of(query, windows.c.feed_id, feed).group_by(windows.c.feed_id)


def _pace(row: Row[Any]) -> timedelta | None:
    few = 3
    return None if row.number < few else (row.last - row.first) / (row.number - 1)


def _published(connection: Connection, feed: int | None, since: datetime) -> Select[Any]:
    """Return the query for the sums of each day, with a row without a day for all time before `since`."""
    day = case((generations.c.published_at >= since, day_of(connection, generations.c.published_at))).label("day")
    sums = [func.sum(generations.c[name]).label(name) for name in ("records", "bytes", "bad_records")]
    last = func.max(generations.c.published_at).label("last")
    query = select(windows.c.feed_id, day, func.count().label("windows"), last, *sums)
    query = query.join(generations, generations.c.window_id == windows.c.id).where(generations.c.state == "published")
    return _of(query, windows.c.feed_id, feed).group_by(windows.c.feed_id, day)
