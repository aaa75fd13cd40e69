"""Files: those that wait or are left out, those whose path contains a text, and the history of one version."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import case, false, func, literal, or_, select, true, tuple_, union

from airflow_provider_blockread.blocks.ids import path_digest
from airflow_provider_blockread.ledger.overview.windows import WindowRow, window_rows
from airflow_provider_blockread.ledger.schema.file_tables import listings, parts
from airflow_provider_blockread.ledger.schema.rows import WINDOWS
from airflow_provider_blockread.ledger.schema.tables import (
    IS_PENDING,
    IS_UNSETTLED,
    exclusions,
    feeds,
    files,
    generations,
    windows,
)
from airflow_provider_blockread.ledger.schema.upkeep_tables import cleanings, replacements
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.exclusions import EXCLUSIONS, Exclusion
from airflow_provider_blockread.ledger.windows.selection import lies_in, merged_intervals, planned_intervals

SEARCHED_FILES = 200_000
"""Files whose paths one search checks."""

_UNREAD = select(files.c.id, files.c.path, files.c.size, files.c.mtime_ns, files.c.time_ns, files.c.state)
_ROWS = (
    select(files.c.id, files.c.path, files.c.size, files.c.mtime_ns, files.c.state, files.c.feed_id)
    .add_columns(feeds.c.name, files.c.window_id, windows.c.key)
    .join(feeds, feeds.c.id == files.c.feed_id)
    .outerjoin(windows, windows.c.id == files.c.window_id)
)
_MOST_RANGES = 500  # newest ranges of planned time in which late files are looked for


class UnreadFile(NamedTuple):
    """A file that waits, or that is not read: missing, changed or ignored."""

    id: int
    path: str
    size: int
    mtime_ns: int
    time_ns: int
    state: str


class FileRow(NamedTuple):
    """A file version in some feed."""

    id: int
    path: str
    size: int
    mtime_ns: int
    state: str
    feed_id: int
    feed: str
    window: str | None
    key: str | None  # of that window


class FoundFiles(NamedTuple):
    """What a search has found, and how far it has searched."""

    files: list[FileRow]
    below: int | None  # where the search continues; None once all files are searched
    searched: float  # share of the ledger's files, from 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLife:
    """A file version, and what happened to it when."""

    id: int
    path: str
    size: int
    mtime_ns: int
    time_ns: int
    etag: str | None
    state: str
    records: int | None
    bad_records: int | None
    discovered_at: datetime | None
    replaces_at: datetime | None  # when its window began to read it in the place of an older version
    cleaning: Any | None  # the row of `cleanings`
    excluded: str | None  # why its window leaves it out
    windows: tuple[WindowRow, ...]  # that read it, or parts of it, oldest first
    parts: dict[str, tuple[int, int]]  # by window, the part that it reads, if it does not read the whole file


class FileVersions(NamedTuple):
    """The versions of a path in some feeds, and which of its own feed's versions one of them is."""

    listed: list[FileRow]  # the newest, and the one, in the order in which they were seen
    all: int
    of_feed: int
    place: int  # from 1


def waiting_files(
    ledger: Ledger, feed: int, *, after: tuple[int, str, int] | None = None, late: bool = False, limit: int = 50
) -> list[UnreadFile]:
    """Return files that no window has taken, oldest first: those after (time, path, number).

    With `late`, only files of intervals that are already planned are returned.
    """
    query = _UNREAD.where(IS_PENDING, files.c.feed_id == feed)
    order = (files.c.time_ns, files.c.path, files.c.id)
    if after is not None:
        query = query.where(tuple_(*order) > after)
    with ledger.reading() as connection:
        if late:
            # All, since neighbours merge: most feeds have a single range, whatever number of intervals has late files.
            ranges = merged_intervals(planned_intervals(connection, feed, waited_in=False))[-_MOST_RANGES:]
            query = query.where(or_(false(), *(lies_in(interval) for interval in ranges)))
        return [UnreadFile(*row) for row in connection.execute(query.order_by(*order).limit(limit))]


def left_out_files(ledger: Ledger, feed: int, *, after: int = 0, limit: int = 50) -> list[UnreadFile]:
    """Return files that are missing, changed or ignored, ordered by number: those above `after`."""
    query = _UNREAD.where(IS_UNSETTLED, files.c.feed_id == feed, files.c.id > after)
    with ledger.reading() as connection:
        return [UnreadFile(*row) for row in connection.execute(query.order_by(files.c.id).limit(limit))]


def excluded_files(ledger: Ledger, feed: int, *, limit: int = 100) -> list[Exclusion]:
    """Return the files that were most recently left out of windows, newest first."""
    query = EXCLUSIONS.where(windows.c.feed_id == feed).order_by(exclusions.c.excluded_at.desc(), exclusions.c.file_id)
    with ledger.reading() as connection:
        return [Exclusion(*row) for row in connection.execute(query.limit(limit))]


def find_files(
    ledger: Ledger, text: str, *, of: Sequence[int] | None, limit: int, below: int | None = None
) -> FoundFiles:
    """Return file versions of these feeds, or of all, whose path equals or else contains this text, newest first.

    A complete path is found at once. Otherwise a call searches the newest `SEARCHED_FILES` files, however many there
    are, and a call with `below` continues from there.
    """
    among = true() if of is None else files.c.feed_id.in_(of)
    query = _ROWS.where(among).order_by(files.c.id.desc()).limit(limit)
    holds = files.c.path.contains(text, autoescape=True)
    with ledger.reading() as connection:
        # A local path needs no scheme.
        named = files.c.path_digest.in_([path_digest(text), path_digest(f"file://{text}")])
        whole = [] if below else connection.execute(query.where(named)).all()
        if whole:
            return FoundFiles([FileRow(*row) for row in whole], None, 1.0)
        last = connection.scalar(select(func.max(files.c.id))) or 0
        start = last if below is None else min(below - 1, last)
        end = max(start - SEARCHED_FILES, 0)
        rows = connection.execute(query.where(files.c.id <= start, files.c.id > end, holds)).all()
    if len(rows) == limit:
        end = rows[-1].id - 1
    return FoundFiles([FileRow(*row) for row in rows], end + 1 if end else None, 1 - end / last if last else 1.0)


def file_life(ledger: Ledger, file: int) -> FileLife | None:
    """Return a file version and what happened to it, or None if it has no row."""
    begun = select(listings.c.started_at).where(listings.c.id == files.c.first_listing).scalar_subquery()
    began = select(func.min(generations.c.created_at)).select_from(replacements).join(generations)
    read = select(parts.c.window_id, parts.c.part_start, parts.c.part_end).where(parts.c.file_id == file)
    with ledger.reading() as connection:
        row = connection.execute(select(files, begun.label("began")).where(files.c.id == file)).one_or_none()
        if row is None:
            return None
        in_parts = {part[0]: (part[1], part[2]) for part in connection.execute(read)}
        held = WINDOWS.where(windows.c.id.in_([*in_parts, row.window_id])).order_by(windows.c.sequence)
        left = select(exclusions.c.reason).where(
            exclusions.c.window_id == row.window_id, exclusions.c.file_id == file, exclusions.c.generation.is_(None)
        )
        replaced = (replacements.c.window_id == row.window_id, replacements.c.new_file == file)
        sums = select(func.sum(parts.c.records), func.sum(parts.c.bad_records)).where(parts.c.file_id == file)
        of_parts = connection.execute(sums).one()
        return FileLife(
            **{name: getattr(row, name) for name in ("id", "path", "size", "mtime_ns", "time_ns", "etag", "state")},
            records=row.records if of_parts[0] is None else int(of_parts[0]),
            bad_records=row.bad_records if of_parts[1] is None else int(of_parts[1]),
            discovered_at=row.began,
            replaces_at=connection.scalar(began.where(*replaced)),
            cleaning=connection.execute(select(cleanings).where(cleanings.c.file_id == file)).one_or_none(),
            excluded=connection.scalar(left),
            windows=tuple(window_rows(connection, connection.execute(held).all(), ledger.now())),
            parts=in_parts,
        )


def file_versions(ledger: Ledger, file: int, path: str, *, of: Collection[int], limit: int = 200) -> FileVersions:
    """Return the versions of a file's path in these feeds."""
    among = (files.c.path_digest == path_digest(path), files.c.feed_id.in_(of))
    mine = files.c.feed_id == select(files.c.feed_id).where(files.c.id == file).scalar_subquery()
    until = mine & (files.c.id <= file)
    counts = select(func.count(), func.count(case((mine, 1))), func.count(case((until, 1)))).where(*among)
    newest = select(files.c.id).where(*among).order_by(files.c.id.desc()).limit(limit).subquery()
    query = _ROWS.where(files.c.id.in_(union(select(newest.c.id), select(literal(file)))))
    with ledger.reading() as connection:
        rows = [FileRow(*row) for row in connection.execute(query.order_by(files.c.id))]
        of_all, of_feed, place = connection.execute(counts).one()
    return FileVersions(rows, of_all, of_feed, place)
