"""Feeds at a glance: what waits, what is wrong, and what was published lately, in a few statements for all feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
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


def feeds_at_a_glance(ledger: Ledger, of: Collection[int] | None = None) -> list[FeedSums]:
    """Return the sums of the feeds with these numbers, ordered by name; None for all."""
    now = ledger.now()
    since = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    with ledger.reading() as connection:
        named = connection.execute(_of(select(feeds.c.id, feeds.c.name), feeds.c.id, of).order_by(feeds.c.name)).all()
        waiting = backlogs(connection, of)
        left_out = _left_out(connection, of)
        times = _times(connection, of, since)
        dags = feed_dags(connection, of)
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


def _of(query: Select[Any], column: Any, of: _Feeds) -> Select[Any]:  # noqa: ANN401 - a column
    return query if of is None else query.where(column.in_(of))


def _left_out(connection: Connection, of: _Feeds) -> dict[int, dict[str, int]]:
    query = select(files.c.feed_id, files.c.state, func.count()).where(IS_UNSETTLED)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    grouped = _of(query, files.c.feed_id, of).group_by(files.c.feed_id, files.c.state)
    for feed_id, state, number in connection.execute(grouped.order_by(files.c.feed_id, files.c.state)):
        found[feed_id][state] = number
    return found


def _times(connection: Connection, of: _Feeds, since: datetime) -> defaultdict[int, _Times]:
    found: defaultdict[int, _Times] = defaultdict(_Times)
    listed = select(listings.c.feed_id, func.max(listings.c.finished_at).label("at")).group_by(listings.c.feed_id)
    for row in connection.execute(_of(listed, listings.c.feed_id, of)):
        found[row.feed_id].listed = row.at
    for row in connection.execute(_planned(of, since)):
        found[row.feed_id].planned, found[row.feed_id].pace = row.last, _pace(row)
    for row in connection.execute(_published(connection, of, since)):
        times = found[row.feed_id]
        times.published = max(filter(None, (times.published, row.last)))
        sums = (row.windows, row.records, row.bytes, row.bad_records)
        times.days[row.day] = DaySums(*map(int, sums))
    others = [feed for feed, times in found.items() if times.published is None]
    last = select(windows.c.feed_id, func.max(generations.c.published_at).label("at")).join(generations)
    for row in connection.execute(_of(last, windows.c.feed_id, others).group_by(windows.c.feed_id)):
        found[row.feed_id].published = row.at
    return found


def _last_windows(connection: Connection, of: _Feeds) -> dict[int, LastWindow]:
    newest = _of(select(func.max(windows.c.sequence).label("sequence"), windows.c.feed_id), windows.c.feed_id, of)
    last = newest.group_by(windows.c.feed_id).subquery()
    same = (windows.c.feed_id == last.c.feed_id) & (windows.c.sequence == last.c.sequence)
    query = select(windows.c.feed_id, windows.c.id, windows.c.key).join(last, same)
    return {row.feed_id: LastWindow(row.id, row.key) for row in connection.execute(query)}


def _planned(of: _Feeds, since: datetime) -> Select[Any]:
    recent = case((windows.c.created_at >= since, windows.c.created_at))
    query = select(
        windows.c.feed_id,
        func.max(windows.c.created_at).label("last"),
        func.min(recent).label("first"),
        func.count(recent).label("number"),
    )
    return _of(query, windows.c.feed_id, of).group_by(windows.c.feed_id)


def _pace(row: Row[Any]) -> timedelta | None:
    few = 3
    return None if row.number < few else (row.last - row.first) / (row.number - 1)


def _published(connection: Connection, of: _Feeds, since: datetime) -> Select[Any]:
    """Return the query for the sums of each day."""
    columns = ("window_id", "published_at", "records", "bytes", "bad_records")
    recent = select(*(generations.c[name] for name in columns)).where(IS_PUBLISHED, generations.c.published_at >= since)
    shown = recent.subquery()
    day = day_of(connection, shown.c.published_at).label("day")
    sums = [func.sum(shown.c[name]).label(name) for name in ("records", "bytes", "bad_records")]
    last = func.max(shown.c.published_at).label("last")
    query = select(windows.c.feed_id, day, func.count().label("windows"), last, *sums)
    query = query.join(shown, shown.c.window_id == windows.c.id)
    return _of(query, windows.c.feed_id, of).group_by(windows.c.feed_id, day)
