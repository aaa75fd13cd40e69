"""Late files of many feeds at once: those that wait in intervals that are already planned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from itertools import pairwise

from sqlalchemy import Connection, and_, func, or_, select

from airflow_provider_blockread.ledger.feeds import batched
from airflow_provider_blockread.ledger.model import LateFiles
from airflow_provider_blockread.ledger.schema.tables import IS_PENDING, files, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.selection import PLANNED_STATES, Interval, lies_in, merged_intervals

_SHOWN = 3  # intervals that are named
_RANGES = 200  # in one statement


def late_files_of(ledger: Ledger, feeds: Collection[int]) -> dict[int, LateFiles]:
    """Return the late files of these feeds, by the feed's number, with one statement, or two if intervals overlap."""
    interval = (windows.c.feed_id, windows.c.interval_start_ns, windows.c.interval_end_ns)
    holds = and_(windows.c.interval_start_ns <= files.c.time_ns, files.c.time_ns < windows.c.interval_end_ns)
    # Counted per interval from the index: a join might compare every window with every waiting file.
    mine = select(func.count()).select_from(files).where(files.c.feed_id == windows.c.feed_id, IS_PENDING, holds)
    held = mine.correlate(windows).scalar_subquery().label("files")
    planned = (windows.c.state.in_(PLANNED_STATES), windows.c.interval_start_ns.is_not(None))
    query = select(*interval, func.min(windows.c.key).label("key"), held).where(windows.c.feed_id.in_(feeds), *planned)
    keys: dict[int, list[str]] = defaultdict(list)
    intervals: dict[int, list[Interval]] = defaultdict(list)
    counts: dict[int, int] = defaultdict(int)
    with ledger.reading() as connection:
        for feed, start, end, key, number in connection.execute(query.group_by(*interval).order_by(*interval)):
            if number:
                keys[feed].append(key)
                intervals[feed].append((start, end))
                counts[feed] += number
        overlapping = {feed: found for feed, found in intervals.items() if any(a[1] > b[0] for a, b in pairwise(found))}
        counts |= _counted_once(connection, overlapping)
    return {feed: LateFiles(files=counts[feed], windows=tuple(keys[feed][:_SHOWN])) for feed in feeds}


def _counted_once(connection: Connection, intervals: dict[int, list[Interval]]) -> dict[int, int]:
    """Return how many files wait in overlapping intervals, counting each file once."""
    found: dict[int, int] = defaultdict(int)
    ranges = [(feed, one) for feed, of_feed in intervals.items() for one in merged_intervals(of_feed)]
    for some in batched(ranges, _RANGES):
        inside = or_(*(and_(files.c.feed_id == feed, lies_in(one)) for feed, one in some))
        query = select(files.c.feed_id, func.count()).where(IS_PENDING, inside).group_by(files.c.feed_id)
        for feed, number in connection.execute(query):
            found[feed] += number
    return found
