"""Which files a plan would take now, and what a feed has recorded since a mark. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Select, func, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, find_feed
from airflow_provider_blockread.ledger.files.admission import EVERY_FILE, Admission
from airflow_provider_blockread.ledger.files.discovery import Batch, Listing, by_path, decide
from airflow_provider_blockread.ledger.files.known import known_versions, left_by
from airflow_provider_blockread.ledger.files.stretches import KnownStretches, by_files, cut
from airflow_provider_blockread.ledger.model import Backlog
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.rows import version_from
from airflow_provider_blockread.ledger.schema.tables import IS_PENDING, files
from airflow_provider_blockread.ledger.store import Ledger


def unread_files(
    ledger: Ledger,
    feed: str,
    versions: Iterable[FileVersion],
    *,
    rules: Admission = EVERY_FILE,
    interval_ns: tuple[int, int] | None = None,
) -> Iterator[FileVersion]:
    """Yield the files of a listing that `record_files` would leave pending, in its order, streamed.

    Known files are skipped stretch by stretch, as in a plan's own listing.

    Args:
        ledger: the ledger that knows the feed.
        feed: the feed's name; an unknown feed has taken nothing.
        versions: the files.
        rules: which files may be taken, and what time each has.
        interval_ns: only files with times in this half-open interval, in ns since the epoch; None for all.

    Raises:
        SourceError: a taken file was modified or a file has no time, under `fail`.
    """
    listing = Listing(id=0, feed=feed, feed_id=_feed(ledger, feed) or 0, rules=rules)
    known, size = KnownStretches(ledger, listing.feed_id, 0), BATCH_FILES // 2
    for new in by_files(known.new_in(cut(versions, size), size), size):
        seen = by_path(new, rules)
        with ledger.reading() as connection:
            rows = known_versions(connection, listing.feed_id, list(seen))
        for digest, item in seen.items():
            of_path = rows.get(digest)
            left = None if of_path is None else left_by(of_path, item.version_digest)
            in_time = interval_ns is None or interval_ns[0] <= item.time_ns < interval_ns[1]
            if in_time and decide(listing, item, left, Batch()) == "pending":
                yield item.version


def newest_file(ledger: Ledger) -> int:
    """Return the mark after the last file that this ledger has recorded, in any feed, or 0 if there is none."""
    with ledger.reading() as connection:
        return int(connection.scalar(select(func.max(files.c.id))) or 0)


def newest_pending(ledger: Ledger, feed: str) -> int:
    """Return the mark after the last discovered pending file, or 0 if no file is pending."""
    query = select(func.max(files.c.id)).where(files.c.feed_id == _feed(ledger, feed), IS_PENDING)
    with ledger.reading() as connection:
        return int(connection.scalar(query) or 0)


def backlog(ledger: Ledger, feed: str) -> Backlog:
    """Return what the feed has found but no window has taken."""
    with ledger.reading() as connection:
        number = find_feed(connection, feed)
        return Backlog() if number is None else backlogs(connection, [number]).get(number, Backlog())


def backlogs(connection: Connection, of: Collection[int] | None = None) -> dict[int, Backlog]:
    """Return what each of these feeds has found but no window has taken, by the feed's number; None for all."""
    size = func.sum(files.c.size - func.coalesce(files.c.part_next_offset, 0))
    sums = (func.count().label("files"), size.label("bytes"), func.min(files.c.time_ns).label("oldest_ns"))
    query = select(files.c.feed_id, *sums, func.min(files.c.first_listing).label("listing")).where(IS_PENDING)
    mine = query if of is None else query.where(files.c.feed_id.in_(of))
    waiting = mine.group_by(files.c.feed_id).subquery()
    seen = select(waiting, listings.c.started_at).outerjoin(listings, listings.c.id == waiting.c.listing)
    return {
        row.feed_id: Backlog(files=row.files, bytes=int(row.bytes), oldest_ns=row.oldest_ns, seen_at=row.started_at)
        for row in connection.execute(seen)
    }


def pending_since(ledger: Ledger, feed: str, mark: int, until: int) -> Iterator[FileVersion]:
    """Yield the pending files discovered after a mark, up to and including another, in order of discovery."""
    feed_id = _feed(ledger, feed)
    columns: Select[Any] = select(files.c.id, files.c.path, files.c.size, files.c.mtime_ns, files.c.etag)
    query = columns.where(files.c.feed_id == feed_id, IS_PENDING, files.c.id <= until).order_by(files.c.id)
    while True:
        # Page by page, so that no cursor stays open while the caller processes the files.
        with ledger.reading() as connection:
            rows = connection.execute(query.where(files.c.id > mark).limit(BATCH_FILES)).all()
        yield from map(version_from, rows)
        if len(rows) < BATCH_FILES:
            return
        mark = rows[-1].id


def _feed(ledger: Ledger, feed: str) -> int | None:
    with ledger.reading() as connection:
        return find_feed(connection, feed)
