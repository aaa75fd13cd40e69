"""Queries for people: lists of windows and files, and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import exists, func, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, find_feed, require_feed
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema.columns import FILE_STATES
from airflow_provider_blockread.ledger.schema.file_tables import listings, parts, taken_files
from airflow_provider_blockread.ledger.schema.rows import WINDOWS, version_from, window_from
from airflow_provider_blockread.ledger.schema.tables import IS_UNFINISHED, feeds, files, generations, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.progress import Progress, windows_progress
from airflow_provider_blockread.options.checks import one_of


class WindowPart(NamedTuple):
    """What a window reads of a file that spans several windows; sums are empty until it is published."""

    path: str | None  # empty once the file's row is pruned
    start: int
    end: int
    records: int | None
    bad_records: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file version as the ledger knows it."""

    file: int
    version: FileVersion
    state: str
    window: str | None
    progress: Progress | None  # of that window, while the file waits in it
    discovered_at: datetime


def list_parts(ledger: Ledger, window: str) -> list[WindowPart]:
    """Return what a window reads of files that it only partly reads."""
    columns = (files.c.path, parts.c.part_start, parts.c.part_end, parts.c.records, parts.c.bad_records)
    query = select(*columns).join_from(parts, files, files.c.id == parts.c.file_id, isouter=True)
    with ledger.reading() as connection:
        rows = connection.execute(query.where(parts.c.window_id == window).order_by(files.c.path)).all()
    return [WindowPart(*row) for row in rows]


def unpublished_windows(ledger: Ledger, feed: str) -> list[Window]:
    """Return the feed's open windows without a published generation, oldest first."""
    shown = exists().where(generations.c.window_id == windows.c.id, generations.c.state == "published")
    begun = select(generations.c.window_id).where(IS_UNFINISHED)  # without a published one there is an unfinished one
    query = WINDOWS.where(feeds.c.name == feed, windows.c.state == "open", windows.c.id.in_(begun), ~shown)
    with ledger.reading() as connection:
        return [window_from(row) for row in connection.execute(query.order_by(windows.c.sequence))]


def windows_in_order(ledger: Ledger, feed: str) -> list[Window]:
    """Return all windows of the feed in the order in which they were planned.

    Raises:
        OptionsError: when the ledger knows no such feed.
    """
    query = WINDOWS.where(feeds.c.id == require_feed(ledger, feed)).order_by(windows.c.sequence)
    with ledger.reading() as connection:
        return [window_from(row) for row in connection.execute(query)]


def get_window(ledger: Ledger, id_or_key: str, feed: str | None = None) -> Window:
    """Return the window with this id or key.

    Raises:
        OptionsError: when there is no such window or feed, or several feeds have a window with this key.
    """
    named = WINDOWS.where((windows.c.id == id_or_key) | (windows.c.key == id_or_key))
    if feed is not None:
        named = named.where(feeds.c.name == feed)
    with ledger.reading() as connection:
        found = [window_from(row) for row in connection.execute(named.order_by(feeds.c.name))]
    exact = [window for window in found if window.id == id_or_key] or found
    if not exact:
        if feed is not None:
            require_feed(ledger, feed)
        of_feed = "" if feed is None else f" of feed {feed!r}"
        msg = f"ledger {ledger.name} has no window {id_or_key!r}{of_feed}; list them with `blockread windows list`"
        raise OptionsError(msg)
    if len(exact) > 1:
        names = ", ".join(window.feed for window in exact)
        msg = f"several feeds have a window {id_or_key!r}: {names}; name the feed (--name), or give the window's id"
        raise OptionsError(msg)
    return exact[0]


def newest_sequence(ledger: Ledger, feed: str) -> int:
    """Return the number of the window that was planned last in the feed, or 0 if there is none."""
    query = select(func.max(windows.c.sequence)).join(feeds).where(feeds.c.name == feed)
    with ledger.reading() as connection:
        return int(connection.scalar(query) or 0)


def window_ids(ledger: Ledger, feed: str) -> set[str]:
    """Return the ids of all windows of the feed; a feed that the ledger does not know has none."""
    query = select(windows.c.id).join(feeds).where(feeds.c.name == feed)
    with ledger.reading() as connection:
        return set(connection.scalars(query))


def files_with_bad_records(ledger: Ledger, window_id: str) -> set[int]:
    """Return the ids of the files in which the window's published generation found bad records."""
    whole = select(files.c.id).where(files.c.window_id == window_id, files.c.bad_records > 0)
    in_parts = select(parts.c.file_id).where(parts.c.window_id == window_id)
    bad_parts = in_parts.where(parts.c.bad_records > 0)
    with ledger.reading() as connection:
        return set(connection.scalars(whole.where(files.c.id.not_in(in_parts)).union(bad_parts)))


def list_files(ledger: Ledger, feed: str, *, state: str | None = None, limit: int = 1000) -> Iterator[FileRow]:
    """Yield the feed's file versions in the order of discovery, all or those in one state.

    Raises:
        OptionsError: when there is no such state.
    """
    if state is not None:
        one_of("files", "state", state, FILE_STATES)
    with ledger.reading() as connection:
        feed_id = find_feed(connection, feed)
    query = select(files, listings.c.started_at).join(listings, listings.c.id == files.c.first_listing)
    query = query.where(files.c.feed_id == feed_id).order_by(files.c.id)
    if state is not None:
        query = query.where(files.c.state == state)
    last, left = 0, limit
    while left > 0:
        with ledger.reading() as connection:
            rows = connection.execute(query.where(files.c.id > last).limit(min(left, BATCH_FILES))).all()
        held = windows_progress(ledger, list({row.window_id for row in rows if row.state == "planned"}))
        for row in rows:
            yield FileRow(
                file=row.id,
                version=version_from(row),
                state=row.state,
                window=row.window_id,
                progress=held.get(row.window_id) if row.state == "planned" else None,
                discovered_at=row.started_at,
            )
        if not rows:
            return
        last, left = rows[-1].id, left - len(rows)


def oldest_file_ns(ledger: Ledger, window_id: str) -> int | None:
    """Return the time of the oldest file of a window, in ns since the epoch, or None if it holds no whole file."""
    query = select(func.min(files.c.time_ns)).where(files.c.window_id == window_id)
    with ledger.reading() as connection:
        oldest: int | None = connection.scalar(query)
    return oldest


def feed_counts(ledger: Ledger, feed: str) -> dict[str, int]:
    """Return the number of the feed's file versions in each state, and `pruned`; states without files are omitted."""
    query = select(files.c.state, func.count()).join(feeds).where(feeds.c.name == feed).group_by(files.c.state)
    kept = select(func.count()).select_from(taken_files).join(feeds).where(feeds.c.name == feed)
    with ledger.reading() as connection:
        found = {row[0]: row[1] for row in connection.execute(query.order_by(files.c.state))}
        pruned = int(connection.execute(kept).scalar_one())
    return found | {"pruned": pruned} if pruned else found
