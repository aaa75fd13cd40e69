"""Queries for people: lists of windows and files, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, exists, func, select, tuple_

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, find_feed, require_feed
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.schema.columns import FILE_STATES
from airflow_provider_blockread.ledger.schema.file_tables import listings, parts, taken_files
from airflow_provider_blockread.ledger.schema.rows import WINDOW_COLUMNS, generation_from, window_from
from airflow_provider_blockread.ledger.schema.tables import exclusions, feeds, files, generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.progress import (
    Progress,
    newest_generations,
    progress_of,
    windows_progress,
)
from airflow_provider_blockread.options.plan import one_of


class WindowPart(NamedTuple):
    """What a window reads of a file that spans several windows; sums are empty until it is published."""

    path: str | None  # empty once the file's row is pruned
    start: int
    end: int
    records: int | None
    bad_records: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSummary:
    """A window with its newest generation, as lists show it."""

    window: Window
    generation: Generation | None  # None while it is being planned, or if it is empty
    progress: Progress  # of the newest generation, or of a window without one
    groups_done: int
    excluded: int  # files
    shown: Generation | None  # the published one

    @property
    def published(self) -> int | None:
        """The number of the published generation."""
        return None if self.shown is None else self.shown.number


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file version as the ledger knows it."""

    file: int
    version: FileVersion
    state: str
    window: str | None
    progress: Progress | None  # of that window, while the file waits in it
    discovered_at: datetime


def list_windows(
    ledger: Ledger, feed: str | None = None, *, window: str | None = None, limit: int = 50
) -> list[WindowSummary]:
    """Return the windows of a feed, or of all, newest first; or only the one with the id `window`."""
    query = select(*WINDOW_COLUMNS).join(feeds).order_by(windows.c.created_at.desc(), windows.c.sequence.desc())
    if feed is not None:
        query = query.where(feeds.c.name == feed)
    if window is not None:
        query = query.where(windows.c.id == window)
    with ledger.reading() as connection:
        found = [window_from(row) for row in connection.execute(query.limit(limit))]
        ids = [window.id for window in found]
        newest = newest_generations(connection, ids)
        progress = progress_of(connection, found, newest, ledger.now())
        done = _by_window(connection, _groups_done(newest.values()))
        excluded = _by_window(connection, _excluded(ids))
        shown = {row.window_id: generation_from(row) for row in connection.execute(_published(ids))}
    return [
        WindowSummary(
            window=window,
            generation=newest.get(window.id),
            progress=progress[window.id],
            groups_done=done.get(window.id, 0),
            excluded=excluded.get(window.id, 0),
            shown=shown.get(window.id),
        )
        for window in found
    ]


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
    query = select(*WINDOW_COLUMNS).join(feeds).where(feeds.c.name == feed, windows.c.state == "open", ~shown)
    with ledger.reading() as connection:
        return [window_from(row) for row in connection.execute(query.order_by(windows.c.sequence))]


def windows_in_order(ledger: Ledger, feed: str) -> list[Window]:
    """Return all windows of the feed in the order in which they were planned.

    Raises:
        OptionsError: when the ledger knows no such feed.
    """
    of_feed = feeds.c.id == require_feed(ledger, feed)
    query = select(*WINDOW_COLUMNS).join(feeds).where(of_feed).order_by(windows.c.sequence)
    with ledger.reading() as connection:
        return [window_from(row) for row in connection.execute(query)]


def get_window(ledger: Ledger, id_or_key: str, feed: str | None = None) -> Window:
    """Return the window with this id or key.

    Raises:
        OptionsError: when there is no such window, or several feeds have one with this key.
    """
    query = select(*WINDOW_COLUMNS).join(feeds)
    named = query.where((windows.c.id == id_or_key) | (windows.c.key == id_or_key))
    if feed is not None:
        named = named.where(feeds.c.name == feed)
    with ledger.reading() as connection:
        found = [window_from(row) for row in connection.execute(named.order_by(feeds.c.name))]
    exact = [window for window in found if window.id == id_or_key] or found
    if not exact:
        msg = f"ledger {ledger.name} has no window {id_or_key!r}; list them with `blockread windows list`"
        raise OptionsError(msg)
    if len(exact) > 1:
        names = ", ".join(window.feed for window in exact)
        msg = f"several feeds have a window {id_or_key!r}: {names}; name the feed (--name), or give the window's id"
        raise OptionsError(msg)
    return exact[0]


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
                version=FileVersion(path=row.path, size=row.size, mtime_ns=row.mtime_ns, etag=row.etag),
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


def _by_window(connection: Connection, query: Select[str, int]) -> dict[str, int]:
    return {row[0]: row[1] for row in connection.execute(query)}


def _groups_done(newest: Iterable[Generation]) -> Select[str, int]:
    mine = tuple_(groups.c.window_id, groups.c.generation).in_([(of.window, of.number) for of in newest])
    return select(groups.c.window_id, func.count()).where(mine, groups.c.state == "done").group_by(groups.c.window_id)


def _excluded(ids: list[str]) -> Select[str, int]:
    query = select(exclusions.c.window_id, func.count()).where(exclusions.c.window_id.in_(ids))
    return query.where(exclusions.c.generation.is_(None)).group_by(exclusions.c.window_id)


def _published(ids: list[str]) -> Select[Any]:
    return select(generations).where(generations.c.window_id.in_(ids), generations.c.state == "published")
