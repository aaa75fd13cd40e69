"""Selection: which pending files the next window takes, in a stable order and within limits.

A file is *late* if its time is in the interval of a window that was planned without it: it arrived afterwards, or the
limits of that window left it out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, literal_column, or_, select, tuple_

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched, find_feed
from airflow_provider_blockread.ledger.files.admission import bounds_ns
from airflow_provider_blockread.ledger.model import FilePart, LateFiles, PendingFile
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.ledger.schema.file_tables import parts
from airflow_provider_blockread.ledger.schema.tables import feeds, files, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.limits import Cuts, within
from airflow_provider_blockread.options import Selection

Interval = tuple[int, int]

_ORDER = (files.c.time_ns, files.c.path, files.c.id)
_COLUMNS = select(files.c.id, files.c.path, files.c.size, files.c.mtime_ns, files.c.etag, files.c.time_ns)
_TIME = 5  # the column of the time, followed by those of a part
#: Windows in these states take no more files of their interval.
_PLANNED = windows.c.state.in_(("open", "empty", "abandoned"))
_WAITS: ColumnElement[bool] = literal_column("files.state = 'pending'")  # `IS_PENDING` beside another `state`
_HOLDS = and_(windows.c.interval_start_ns <= files.c.time_ns, files.c.time_ns < windows.c.interval_end_ns)
_SHOWN = 3  # intervals that a message names
_RANGES = 200  # per statement


def pending_files(
    ledger: Ledger,
    feed: str,
    selection: Selection,
    *,
    interval_ns: Interval | None = None,
    block_size: int | Callable[[FileVersion], int | None],
    covers: Callable[[str], bool] | None = None,
) -> Iterator[PendingFile]:
    """Yield the pending files that a window may take, oldest or newest first by (time, path).

    Files that windows have read in part come before all others, and `start_from` and `max_age` do not apply to them.
    Nothing is locked: another window may have taken a file by the time the window is frozen.

    Args:
        ledger: the ledger to read.
        feed: the feed's name; an unknown feed has no files.
        selection: what to take, in which order, how much; `late="next"` takes late files of other intervals too.
        interval_ns: the half-open interval for `select="interval"`, in nanoseconds since the epoch.
        block_size: bytes, or a function that returns them for a file, or None for a file that is one block, however
            large it is; `max_blocks` counts such blocks.
        covers: whether the window may take a file of this path; others of the feed are left to windows that may.

    Raises:
        OptionsError: when `select="interval"` has no interval; raised at once, not while iterating.
    """
    if not callable(block_size) and block_size < 1:
        msg = f"feed {feed}: block_size must be at least 1 byte, not {block_size}"
        raise OptionsError(msg)
    ranges: list[Interval | None] = [None]
    own: Interval | None = None
    with ledger.reading() as connection:
        feed_id = find_feed(connection, feed)
        if selection.select == "interval":
            if interval_ns is None:
                msg = f"feed {feed}: select='interval' needs a run with a data interval; use select='arrival' here"
                raise OptionsError(msg)
            own = interval_ns
            planned = planned_intervals(connection, feed_id) if selection.late == "next" else []
            ranges = [*merged_intervals([interval_ns, *planned])]
    # A listing applies both bounds to files, but paths from upstream are not a listing of files that already wait.
    query = _COLUMNS.where(files.c.feed_id == feed_id, _WAITS, files.c.part_next_offset.is_(None))
    for bound in bounds_ns(selection, ledger.now()):
        if bound is not None:
            query = query.where(files.c.time_ns >= bound)
    in_order = ranges if selection.order == "oldest" else ranges[::-1]
    begun = _of_ranges(ledger, _rests(feed_id), in_order, selection.order)
    found: Iterable[tuple[PendingFile, int]] = chain(begun, _of_ranges(ledger, query, in_order, selection.order))
    if covers is not None:
        found = (item for item in found if covers(item[0].version.path))
    # With a ledger without a memory, every run would begin the same file again.
    size_of = block_size if callable(block_size) else lambda _: block_size
    cuts = Cuts(size_of=size_of, splits=not forgets(ledger))
    return within(selection.limits, cuts, _with_lateness(found, own))


def late_files(ledger: Ledger, of: Collection[int], *, besides: Interval | None = None) -> dict[int, LateFiles]:
    """Return the files of each of these feeds that wait in planned intervals, except those of the interval `besides`.

    This takes two statements for all feeds, or three if intervals overlap.
    """
    mine = select(func.min(files.c.time_ns)).where(files.c.feed_id == feeds.c.id, _WAITS).scalar_subquery()
    query = select(feeds.c.id, mine).where(feeds.c.id.in_(of), mine.is_not(None))
    with ledger.reading() as connection:
        earliest = {row[0]: row[1] for row in connection.execute(query)}
    found = _late(ledger, earliest, besides) if earliest else {}
    return {feed: found.get(feed, LateFiles()) for feed in of}


def _late(ledger: Ledger, earliest: Mapping[int, int], besides: Interval | None) -> dict[int, LateFiles]:
    """Return the late files of feeds, of which the time of the earliest waiting file is given."""
    interval = (windows.c.feed_id, windows.c.interval_start_ns, windows.c.interval_end_ns)
    waits = _WAITS if besides is None else and_(_WAITS, ~lies_in(besides))
    # Counted per interval from the index: a join might compare every window with every waiting file. The window of an
    # interval sorts before its further windows.
    mine = select(func.count()).select_from(files).where(files.c.feed_id == windows.c.feed_id, waits, _HOLDS)
    held = mine.correlate(windows).scalar_subquery()
    # Most intervals have ended before all of these times.
    planned = (windows.c.feed_id.in_(earliest), _PLANNED, windows.c.interval_end_ns > min(earliest.values()))
    query = select(*interval, func.min(windows.c.key), held).where(*planned).group_by(*interval).order_by(*interval)
    keys: dict[int, list[str]] = defaultdict(list)
    intervals: dict[int, list[Interval]] = defaultdict(list)
    counts: dict[int, int] = defaultdict(int)
    with ledger.reading() as connection:
        for feed, start, end, key, number in connection.execute(query):
            if number:
                keys[feed].append(key)
                intervals[feed].append((start, end))
                counts[feed] += number
        overlapping = {feed: found for feed, found in intervals.items() if any(a[1] > b[0] for a, b in pairwise(found))}
        counts |= _counted_once(connection, overlapping, waits)
    return {feed: LateFiles(files=counts[feed], windows=tuple(of_feed[:_SHOWN])) for feed, of_feed in keys.items()}


def _counted_once(
    connection: Connection, intervals: Mapping[int, list[Interval]], waits: ColumnElement[bool]
) -> dict[int, int]:
    """Return how many files wait in overlapping intervals, counting each file once."""
    found: dict[int, int] = defaultdict(int)
    ranges = [(feed, one) for feed, of_feed in intervals.items() for one in merged_intervals(of_feed)]
    for some in batched(ranges, _RANGES):
        inside = or_(*(and_(files.c.feed_id == feed, lies_in(one)) for feed, one in some))
        query = select(files.c.feed_id, func.count()).where(waits, inside).group_by(files.c.feed_id)
        for feed, number in connection.execute(query):
            found[feed] += number
    return found


def window_files(ledger: Ledger, window_id: str, *, order: str) -> Iterator[PendingFile]:
    """Yield the files that a window holds, in the order in which `pending_files` yielded them."""
    in_parts = select(parts.c.file_id).where(parts.c.window_id == window_id)
    of_parts = _COLUMNS.add_columns(parts.c.part_start, parts.c.part_end, literal_column("0"))
    held = of_parts.join(parts, parts.c.file_id == files.c.id).where(parts.c.window_id == window_id)
    whole = _COLUMNS.where(files.c.window_id == window_id, files.c.id.not_in(in_parts))
    return _with_lateness(chain(_ordered(ledger, held, order), _ordered(ledger, whole, order)), None)


def _rests(feed_id: int | None) -> Select[Any]:
    """Return the query for waiting files of which open windows hold parts, with the rest of each and its number."""
    other = parts.alias("other")
    number = select(func.count() + 1).where(other.c.file_id == files.c.id).scalar_subquery()
    newest = and_(files.c.id == parts.c.file_id, files.c.part_next_offset == parts.c.part_end)
    query = _COLUMNS.add_columns(parts.c.part_end, files.c.size.label("part_size"), number)
    # Starts from the feed's windows, since it may have a million files.
    query = query.select_from(windows).join(parts, parts.c.window_id == windows.c.id).join(files, newest)
    return query.where(windows.c.feed_id == feed_id, windows.c.state == "open", files.c.state == "pending")


def planned_intervals(connection: Connection, feed_id: int | None, *, waited_in: bool = True) -> list[Interval]:
    """Return the intervals of the feed's planned windows: those in which files still wait, or all."""
    query = select(windows.c.interval_start_ns, windows.c.interval_end_ns)
    query = query.where(windows.c.feed_id == feed_id, windows.c.interval_start_ns.is_not(None), _PLANNED)
    if waited_in:
        waits = (files.c.feed_id == feed_id, _WAITS)
        earliest = select(func.min(files.c.time_ns)).where(*waits).scalar_subquery()
        query = query.where(windows.c.interval_end_ns > earliest, exists().where(*waits, _HOLDS))
    return [(start, end) for start, end in connection.execute(query)]


def merged_intervals(intervals: list[Interval]) -> list[Interval]:
    """Return the same times as disjoint intervals, merged and in order."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def lies_in(interval: Interval) -> ColumnElement[bool]:
    """Return the condition that a file's time is in an interval."""
    return and_(files.c.time_ns >= interval[0], files.c.time_ns < interval[1])


def _with_lateness(found: Iterable[tuple[PendingFile, int]], own: Interval | None) -> Iterator[PendingFile]:
    if own is None:
        return map(itemgetter(0), found)
    return (item if own[0] <= time_ns < own[1] else item._replace(late=True) for item, time_ns in found)


def _of_ranges(
    ledger: Ledger, wanted: Select[Any], ranges: Iterable[Interval | None], order: str
) -> Iterator[tuple[PendingFile, int]]:
    """Yield the wanted files and their times, range after range."""
    for interval in ranges:
        yield from _ordered(ledger, wanted if interval is None else wanted.where(lies_in(interval)), order)


def _ordered(ledger: Ledger, wanted: Select[Any], order: str) -> Iterator[tuple[PendingFile, int]]:
    query = wanted.limit(BATCH_FILES)
    query = query.order_by(*(column if order == "oldest" else column.desc() for column in _ORDER))
    page: Select[Any] = query
    while True:
        # Page by page from the index, without an open cursor, since the caller writes a manifest in between.
        with ledger.reading() as connection:
            rows = connection.execute(page).all()
        for row in rows:
            version = FileVersion(*row[1:_TIME])
            part = None if len(row) == _TIME + 1 else _part(row[0], version.size, *row[_TIME + 1 :])
            yield PendingFile(row[0], version, part), row[_TIME]
        if len(rows) < BATCH_FILES:
            return
        place, last = tuple_(*_ORDER), (rows[-1].time_ns, rows[-1].path, rows[-1].id)
        page = query.where(place > last if order == "oldest" else place < last)


def _part(file: int, size: int, start: int, end: int, number: int) -> FilePart:
    return FilePart(file=file, start=start, end=end, number=number, is_last=end == size)
