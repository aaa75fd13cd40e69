"""A feed day by day: which windows each day has, and what was published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select

from airflow_provider_blockread.ledger.dialect import day_of
from airflow_provider_blockread.ledger.overview.windows import open_windows
from airflow_provider_blockread.ledger.schema.tables import generations, windows
from airflow_provider_blockread.ledger.store import Ledger

_DAY_NS = 86_400 * 1_000_000_000
_STATES = ("failed", "stalled", "planned", "published", "empty", "abandoned")  # of windows, the worst first
_NUMBERS = ("records", "bad_records", "bytes", "rows")
_SUMS = ("windows", *_STATES, *_NUMBERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day in UTC: the day of a window's interval, or of its planning if it has no interval."""

    date: date
    windows: int = 0
    failed: int = 0  # whose newest work ended in an error; what is published of them is counted, too
    stalled: int = 0
    planned: int = 0
    published: int = 0
    empty: int = 0
    abandoned: int = 0
    records: int = 0  # this and the following fields: of what is published
    bad_records: int = 0
    bytes: int = 0
    rows: int = 0

    @property
    def state(self) -> str:
        """The worst state of its windows in one word; `gap` for a day without windows."""
        return next((state for state, _ in self.shares), "gap")

    @property
    def shares(self) -> tuple[tuple[str, int], ...]:
        """The number of its windows in each state, the worst states first; states without windows are omitted."""
        return tuple((state, number) for state in _STATES if (number := getattr(self, state)))


def feed_days(ledger: Ledger, feeds: Collection[int], days: int) -> dict[int, list[Day]]:
    """Return the last days of each of these feeds, including today, the oldest first."""
    today = ledger.now().astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    found: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    start = windows.c.interval_start_ns
    with ledger.reading() as connection:
        open_ = open_windows(connection, ledger.now(), of=feeds, each=True)
        wrong = {state: [one.window.id for one in open_ if one.state == state] for state in ("failed", "stalled")}
        of_intervals = _sums(wrong, start // _DAY_NS, feeds, start >= int(since.timestamp()) * 1_000_000_000)
        for row in connection.execute(of_intervals):
            name = str(datetime.fromtimestamp(int(row.day) * 86_400, UTC).date())
            found[row.feed_id, name] = {sum_: int(getattr(row, sum_)) for sum_ in _SUMS}
        planned = and_(start.is_(None), windows.c.created_at >= since)
        for row in connection.execute(_sums(wrong, day_of(connection, windows.c.created_at), feeds, planned)):
            sums = found[row.feed_id, str(row.day)]
            sums |= {sum_: sums.get(sum_, 0) + int(getattr(row, sum_)) for sum_ in _SUMS}
    dates = [first + timedelta(days=number) for number in range(days)]
    return {feed: [Day(date=one, **found.get((feed, str(one)), {})) for one in dates] for feed in feeds}


def _sums(
    wrong: Mapping[str, Collection[str]], day: ColumnElement[Any], feeds: Collection[int], wanted: ColumnElement[bool]
) -> Select[Any]:
    """Return the query for the sums of each day, given the windows of each state that heartbeats tell."""
    shown = generations.alias("shown")
    are_wrong = {state: windows.c.id.in_(ids) for state, ids in wrong.items()}
    is_open = windows.c.state.in_(("planning", "open"))
    states = {
        **are_wrong,
        "planned": and_(is_open, shown.c.number.is_(None), ~or_(*are_wrong.values())),
        "published": shown.c.number.is_not(None),
        **{state: windows.c.state == state for state in ("empty", "abandoned")},
    }
    query = select(
        windows.c.feed_id,
        day.label("day"),
        func.count().label("windows"),
        *(func.count(case((condition, 1))).label(state) for state, condition in states.items()),
        *(func.coalesce(func.sum(shown.c[name]), 0).label(name) for name in _NUMBERS),
    )
    query = query.outerjoin(shown, and_(shown.c.window_id == windows.c.id, shown.c.state == "published"))
    return query.where(windows.c.feed_id.in_(feeds), wanted).group_by(windows.c.feed_id, day)
