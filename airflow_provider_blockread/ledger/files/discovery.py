"""Discovery: records the files of a listing as file versions of a feed, in short batches.

A version is identified by the digests of its path and content. It is *taken* once a window has planned it; of the
versions that are not taken, only the newest of a path is kept. Each listing that shows it decides again which time it
has and whether it may be taken. What an aborted listing has recorded stays; the next one adds the rest.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import path_digest, version_digest
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.ledger.dialect import among, driver_digest, insert_many
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched, lock_feed, open_feed
from airflow_provider_blockread.ledger.files.admission import EVERY_FILE, LEFT_OUT, Admission
from airflow_provider_blockread.ledger.files.known import Known, drop_replaced, known_versions, was_taken
from airflow_provider_blockread.ledger.files.stretches import ASKED, KnownStretches, Stretch, by_files, cut
from airflow_provider_blockread.ledger.model import Discovered
from airflow_provider_blockread.ledger.overlap import overlapped
from airflow_provider_blockread.ledger.schema.columns import SHORT, short_number
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.tables import IS_PENDING, files
from airflow_provider_blockread.ledger.store import Ledger

_MAY_MOVE = frozenset({"pending", "missing", "changed", "ignored"})
_SAMPLES = 10
_STALE = timedelta(days=1)
_COLUMNS = (
    *("state", "feed_id", "first_listing", "last_listing"),
    *("path", "size", "mtime_ns", "etag", "path_digest", "version_digest", "time_ns"),
)


class Listed(NamedTuple):
    """A file in a listing, and what the rules say about it: its time, and why it is left out, if it is."""

    path: str
    size: int
    mtime_ns: int
    etag: str | None
    path_digest: str
    version_digest: str
    time_ns: int
    left_out: str | None

    @property
    def version(self) -> FileVersion:
        """The file's version."""
        return FileVersion(*self[:4])


@dataclass(slots=True)
class Batch:
    """The changes to make for one batch of files, and their counts."""

    still_pending: list[int] = field(default_factory=list)
    moved: dict[str, list[int]] = field(default_factory=lambda: {"pending": [], "ignored": []})  # by their new state
    retimed: list[dict[str, int]] = field(default_factory=list)
    inserts: dict[str, list[Listed]] = field(default_factory=lambda: {"pending": [], "ignored": []})  # by their state
    modified: int = 0
    ignored: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    untimed: list[str] = field(default_factory=list)
    cut_short: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One listing of a feed."""

    id: int
    feed: str
    feed_id: int
    rules: Admission


def record_files(
    ledger: Ledger,
    feed: str,
    versions: Iterable[FileVersion],
    *,
    rules: Admission = EVERY_FILE,
    complete: bool = True,
    batch_size: int = BATCH_FILES // 2,
) -> Discovered:
    """Record the files of a listing, which is streamed, and return the counts.

    Args:
        ledger: the ledger to write.
        feed: the feed's name; an unknown feed is created.
        versions: the files, in any order.
        rules: which files may be taken, and what time each has.
        complete: whether the listing shows all files that the rules cover; if so, a pending one that it does not show
            becomes `missing` until it is seen again. Others do, for which listings at work may plan, after a day.
        batch_size: files per transaction, fewer than usual, since each is both looked up and inserted.

    Raises:
        SourceError: a taken file was modified or a file has no time, under `fail`; or a name is not valid Unicode.
    """
    listing = _begin(ledger, feed, rules)
    total = Discovered()
    known = KnownStretches(ledger, listing.feed_id, listing.id)
    new = by_files(known.new_in(cut(versions, batch_size), batch_size), batch_size)

    def record(shown: tuple[list[Stretch], dict[str, Listed]]) -> Batch:
        # If a power failure undoes this, the next listing finds it again; only the end of this listing must last.
        with ledger.writing(lasting=False) as connection:
            found = _record(connection, listing, shown[1])
            known.remember(connection, shown[0])
        return found

    # For a known listing there is little to record, and two alternating Python threads would take longer than one.
    identified = ((some, by_path(some, rules)) for some in new)
    for found in overlapped(record, identified, ahead=ASKED, at_once=lambda: known.mostly_known):
        total = _add(total, found)
    total = replace(total, seen=known.seen)
    if complete:
        missing, begun = _mark_missing(ledger, listing, known)
        total = replace(total, missing=missing, cut_short=total.cut_short + begun)
    counts = {name: getattr(total, name) for name in ("seen", "new", "modified", "ignored")}
    with ledger.writing() as connection:
        connection.execute(
            listings.update().where(listings.c.id == listing.id).values(finished_at=ledger.now(), **counts)
        )
    return total


def _begin(ledger: Ledger, feed: str, rules: Admission) -> Listing:
    feed_id = open_feed(ledger, feed)
    with ledger.writing() as connection:
        source = None if rules.source is None else rules.source.to_json()
        row = listings.insert().values(feed_id=feed_id, started_at=ledger.now(), source=source).returning(listings.c.id)
        number = int(connection.execute(row).scalar_one())
    return Listing(id=number, feed=feed, feed_id=feed_id, rules=rules)


def by_path(new: Iterable[Stretch], rules: Admission) -> dict[str, Listed]:
    """Return the files of stretches by the digests of their paths."""
    listed = (identify(version, rules) for stretch in new for version in stretch.versions)
    return {item.path_digest: item for item in listed}


def identify(version: FileVersion, rules: Admission) -> Listed:
    """Return a file with its digests and what the rules say about it, to be looked up."""
    return Listed(*version, path_digest(version.path), version_digest(version)[:SHORT], *rules.admit(version))


def _add(total: Discovered, batch: Batch) -> Discovered:
    left_out = {name: getattr(total, name) + batch.left_out[name] for name in LEFT_OUT}
    return replace(
        total,
        new=total.new + sum(map(len, batch.inserts.values())) - batch.modified,
        modified=total.modified + batch.modified,
        waiting=total.waiting + len(batch.still_pending),
        returned=total.returned + len(batch.moved["pending"]),
        ignored=total.ignored + len(batch.ignored),
        cut_short=(total.cut_short + tuple(batch.cut_short)),
        samples=(total.samples + tuple(batch.ignored[:_SAMPLES]))[:_SAMPLES],
        untimed_samples=(total.untimed_samples + tuple(batch.untimed[:_SAMPLES]))[:_SAMPLES],
        **left_out,
    )


def _record(connection: Connection, listing: Listing, seen: dict[str, Listed]) -> Batch:
    lock_feed(connection, listing.feed_id)
    # The newest listing that has begun, perhaps not this one: it must not call files missing that were seen meanwhile.
    stamp = int(
        connection.execute(select(func.max(listings.c.id)).where(listings.c.feed_id == listing.feed_id)).scalar_one()
    )
    shown = {digest: item.version_digest for digest, item in seen.items()}
    known = known_versions(connection, listing.feed_id, list(seen))
    known, cut_short = drop_replaced(connection, listing.feed_id, shown, known)
    batch = Batch(cut_short=[seen[digest].path for digest in cut_short])
    for digest, item in seen.items():
        decide(listing, item, known.get(digest), batch)
    if batch.still_pending:
        still = among(connection, files.c.id, batch.still_pending)
        connection.execute(files.update().where(still).values(last_listing=stamp))
    for state, ids in batch.moved.items():
        if ids:
            moved = (among(connection, files.c.id, ids), files.c.state.in_(_MAY_MOVE))
            change = files.update().where(*moved).values(state=state, window_id=None, last_listing=stamp)
            connection.execute(change)
    if batch.retimed:
        one = files.update().where(files.c.id == bindparam("number"))  # still unread: the feed is locked
        connection.execute(one.values(time_ns=bindparam("time")), batch.retimed)
    for state, items in batch.inserts.items():
        if items:
            alike = (state, listing.feed_id, listing.id, stamp)
            insert_many(connection, files, _COLUMNS, [alike + row for row in _rows(connection, listing, items)])
    return batch


def decide(listing: Listing, item: Listed, rows: list[Known] | None, batch: Batch) -> str:
    """Add to the batch what must be done about a file with these known versions, and return the file's new state.

    Raises:
        SourceError: as `record_files` does.
    """
    if rows is None and item.left_out is None:  # most files of a first listing
        batch.inserts["pending"].append(item)
        return "pending"
    same = next((row for row in rows or () if row.version_digest == item.version_digest), None)
    if same is not None and same.state not in _MAY_MOVE:
        return same.state
    waits = same is not None and same.state == "pending"
    state = "pending" if waits else _state_of_new(listing, item, [row for row in rows or () if row is not same], batch)
    begun = same is not None and bool(same.part_next_offset)  # then the rest is read, whatever its time
    if state == "pending" and item.left_out is not None and not begun:
        state = "ignored"
        _leave_out(listing, item, item.left_out, batch)
    if same is None:
        batch.modified += rows is not None
        batch.inserts[state].append(item)
        return state
    if same.state != state:
        batch.moved[state].append(same.id)
    elif waits:
        batch.still_pending.append(same.id)
    if same.time_ns != item.time_ns:
        batch.retimed.append({"number": same.id, "time": item.time_ns})
    return state


def _state_of_new(listing: Listing, item: Listed, others: list[Known], batch: Batch) -> str:
    """Return the state of a version that does not wait yet, by `on_modified` if its path was taken."""
    if not was_taken(others, reads_empty=listing.rules.reads_empty) or listing.rules.on_modified == "add":
        return "pending"
    if listing.rules.on_modified == "fail":
        msg = (
            f"feed {listing.feed}: {item.path} was modified after it was taken (now {item.size} bytes); "
            "restore it, or set on_modified to 'add' or 'ignore'"
        )
        raise SourceError(msg)
    batch.ignored.append(item.path)
    return "ignored"


def _leave_out(listing: Listing, item: Listed, why: str, batch: Batch) -> None:
    batch.left_out[why] += 1
    if why != "untimed":
        return
    if listing.rules.on_untimed == "fail":
        pattern = listing.rules.pattern
        where = "the store reports none" if pattern is None else f"time_pattern {pattern.text!r} finds none in its path"
        msg = (
            f"feed {listing.feed}: {item.path} has no time: {where}; correct the pattern, leave the file out by"
            " `exclude`, or set on_untimed to 'ignore'"
        )
        raise SourceError(msg)
    batch.untimed.append(item.path)


def _rows(connection: Connection, listing: Listing, items: list[Listed]) -> list[tuple[object, ...]]:
    """Return the rest of the rows of new files, in the driver's own types."""
    of_path = driver_digest(connection)
    for item in items:
        try:
            item.path.encode()
        except UnicodeEncodeError as error:
            name = f"feed {listing.feed}: the name of {item.path!r}"
            msg = f"{name} is not UTF-8; rename the file or exclude it by a pattern"
            raise SourceError(msg) from error
    return [
        (path, size, mtime_ns, etag, of_path(digest), short_number(version), time_ns)
        for path, size, mtime_ns, etag, digest, version, time_ns, _ in items
    ]


def _mark_missing(ledger: Ledger, listing: Listing, known: KnownStretches) -> tuple[int, tuple[str, ...]]:
    """Return how many pending files the listing does not show, and the paths of those that windows read in part."""
    unseen = (IS_PENDING, files.c.last_listing < listing.id)
    past = (listings.c.feed_id == listing.feed_id, listings.c.started_at < ledger.now() - _STALE)
    stale = func.coalesce(select(func.max(listings.c.id)).where(*past).scalar_subquery(), 0)
    query = select(files.c.id, files.c.path, files.c.part_next_offset, files.c.last_listing <= stale)
    query = query.where(files.c.feed_id == listing.feed_id, *unseen)
    ids, begun = array("q"), list[str]()
    with ledger.reading() as connection:
        for number, path, offset, is_stale in connection.execute(query):
            if known.would_update(path) and (is_stale or listing.rules.covers(path)):
                ids.append(number)
                begun += [path] if offset else []
    marked = 0
    for batch in batched(ids, BATCH_FILES):
        with ledger.writing() as connection:
            lock_feed(connection, listing.feed_id)
            change = files.update().where(among(connection, files.c.id, batch), *unseen).values(state="missing")
            marked += connection.execute(change).rowcount
    return marked, tuple(begun)
