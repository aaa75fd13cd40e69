"""Discovery: what a listing saw becomes file versions of a feed, in short batches.

A version is known by the digests of its path and content. A version is *taken* once a window planned it; until then
at most one unread version a path is kept, the newest. A listing that breaks off leaves what it recorded; the next one
finds the rest.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import path_digest, version_digest
from airflow_provider_blockread.errors import OptionsError, SourceError
from airflow_provider_blockread.ledger.dialect import driver_value, insert_many
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched, lock_feed, open_feed
from airflow_provider_blockread.ledger.model import Discovered
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.tables import IS_PENDING, files, scans

_TAKEN = frozenset({"planned", "done", "quarantined"})
_UNREAD = frozenset({"pending", "ignored"})
_MAY_RETURN = frozenset({"missing", "changed", "ignored"})
_SAMPLES = 10
_COLUMNS = (
    *("feed_id", "first_scan", "last_scan", "discovered_at"),
    *("path", "path_digest", "version_digest", "size", "mtime_ns", "etag", "state"),
)


class _Known(NamedTuple):
    id: int
    path_digest: str
    version_digest: str
    state: str


class _Seen(NamedTuple):
    version: FileVersion
    path_digest: str
    version_digest: str


@dataclass(slots=True)
class _Batch:
    """What is to be done about one batch, and the counts that go with it."""

    still_pending: list[int] = field(default_factory=list)
    returning: dict[str, list[int]] = field(default_factory=lambda: {"pending": [], "ignored": []})
    inserts: list[tuple[_Seen, str]] = field(default_factory=list)
    modified: int = 0
    ignored: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    id: int
    feed: str
    feed_id: int
    on_modified: str
    now: datetime


def record_files(
    ledger: Ledger,
    feed: str,
    versions: Iterable[FileVersion],
    *,
    on_modified: str = "ignore",
    complete: bool = True,
    batch_size: int = 10_000,
) -> Discovered:
    """Record what a listing saw and return the counts; the listing is streamed.

    Args:
        ledger: where to.
        feed: the feed's name; created when unknown.
        versions: the files, in any order.
        on_modified: a file that was taken shows another version: `ignore` (counted), `add` it, or `fail`.
        complete: the listing covers the feed; a pending file it does not show becomes `missing` until seen again.
        batch_size: files per transaction.

    Raises:
        SourceError: a taken file was modified under `fail`, or a name is not valid Unicode.
        OptionsError: when `on_modified` is another word.
    """
    if on_modified not in {"ignore", "add", "fail"}:
        msg = f"feed {feed}: on_modified must be ignore, add or fail, not {on_modified!r}"
        raise OptionsError(msg)
    scan = _begin(ledger, feed, on_modified)
    total = Discovered()
    for batch in batched(versions, batch_size):
        seen = {s.path_digest: s for s in map(_identify, batch)}
        with ledger.writing() as connection:
            total = _add(total, len(batch), _record(connection, scan, seen))
    if complete:
        total = replace(total, missing=_mark_missing(ledger, scan))
    counts = {name: getattr(total, name) for name in ("seen", "new", "modified", "ignored")}
    with ledger.writing() as connection:
        connection.execute(scans.update().where(scans.c.id == scan.id).values(finished_at=ledger.now(), **counts))
    return total


def _begin(ledger: Ledger, feed: str, on_modified: str) -> _Scan:
    feed_id, now = open_feed(ledger, feed), ledger.now()
    with ledger.writing() as connection:
        row = scans.insert().values(feed_id=feed_id, started_at=now).returning(scans.c.id)
        number = int(connection.execute(row).scalar_one())
    return _Scan(id=number, feed=feed, feed_id=feed_id, on_modified=on_modified, now=now)


def _identify(version: FileVersion) -> _Seen:
    return _Seen(version, path_digest(version.path), version_digest(version))


def _add(total: Discovered, seen: int, batch: _Batch) -> Discovered:
    return replace(
        total,
        seen=total.seen + seen,
        new=total.new + len(batch.inserts) - batch.modified,
        modified=total.modified + batch.modified,
        returned=total.returned + len(batch.returning["pending"]),
        ignored=total.ignored + len(batch.ignored),
        samples=(total.samples + tuple(batch.ignored[:_SAMPLES]))[:_SAMPLES],
    )


def _record(connection: Connection, scan: _Scan, seen: dict[str, _Seen]) -> _Batch:
    lock_feed(connection, scan.feed_id)
    # The newest scan begun, perhaps not this one: whoever began it must not call missing what is seen after.
    stamp = int(connection.execute(select(func.max(scans.c.id)).where(scans.c.feed_id == scan.feed_id)).scalar_one())
    known = _drop_replaced(connection, seen, _known(connection, scan.feed_id, list(seen)))
    batch = _Batch()
    for digest, item in seen.items():
        _decide(scan, item, known.get(digest), batch)
    update = files.update().where(files.c.id.in_(bindparam("ids", expanding=True)))
    if batch.still_pending:
        connection.execute(update.values(last_scan=stamp), {"ids": batch.still_pending})
    for state, ids in batch.returning.items():
        if ids:
            change = update.where(files.c.state.in_(_MAY_RETURN)).values(state=state, window_id=None, last_scan=stamp)
            connection.execute(change, {"ids": ids})
    if batch.inserts:
        # The columns of every new row alike; the others differ.
        alike = (scan.feed_id, scan.id, stamp, driver_value(connection, files.c.discovered_at, scan.now))
        insert_many(connection, files, _COLUMNS, [alike + _row(scan, item, state) for item, state in batch.inserts])
    return batch


def _known(connection: Connection, feed_id: int, digests: list[str]) -> dict[str, list[_Known]]:
    columns = (files.c.id, files.c.path_digest, files.c.version_digest, files.c.state)
    query = select(*columns).where(
        files.c.feed_id == feed_id, files.c.path_digest.in_(bindparam("digests", expanding=True))
    )
    known: dict[str, list[_Known]] = {}
    for row in connection.execute(query, {"digests": digests}):
        known.setdefault(row[1], []).append(_Known(*row))
    return known


def _drop_replaced(
    connection: Connection, seen: dict[str, _Seen], known: dict[str, list[_Known]]
) -> dict[str, list[_Known]]:
    """Forget unread versions that the listing shows no longer; the feed's lock keeps planners from taking them."""
    stale = {
        row.id
        for digest, rows in known.items()
        for row in rows
        if row.state in _UNREAD and row.version_digest != seen[digest].version_digest
    }
    if stale:
        connection.execute(files.delete().where(files.c.id.in_(stale), files.c.state.in_(_UNREAD)))
    # A path stays known when its only version is dropped: the new one is a modification, not a discovery.
    return {digest: [row for row in rows if row.id not in stale] for digest, rows in known.items()}


def _decide(scan: _Scan, item: _Seen, rows: list[_Known] | None, batch: _Batch) -> None:
    same = next((row for row in rows or () if row.version_digest == item.version_digest), None)
    if same is not None and same.state not in _MAY_RETURN:
        if same.state == "pending":
            batch.still_pending.append(same.id)
        return
    taken = any(row.state in _TAKEN for row in rows or ())
    if taken and scan.on_modified == "fail":
        msg = (
            f"feed {scan.feed}: {item.version.path} was modified after it was taken (now {item.version.size} bytes); "
            "restore it, or set on_modified to 'add' or 'ignore'"
        )
        raise SourceError(msg)
    state = "ignored" if taken and scan.on_modified == "ignore" else "pending"
    if state == "ignored":
        batch.ignored.append(item.version.path)
    if same is None:
        batch.modified += rows is not None
        batch.inserts.append((item, state))
    elif same.state != state:
        batch.returning[state].append(same.id)


def _row(scan: _Scan, item: _Seen, state: str) -> tuple[object, ...]:
    version, path, content = item
    try:
        version.path.encode()
    except UnicodeEncodeError as error:
        msg = f"feed {scan.feed}: the name of {version.path!r} is not UTF-8; rename the file or exclude it by a pattern"
        raise SourceError(msg) from error
    return version.path, path, content, version.size, version.mtime_ns, version.etag, state


def _mark_missing(ledger: Ledger, scan: _Scan) -> int:
    unseen = (IS_PENDING, files.c.last_scan < scan.id)
    with ledger.reading() as connection:
        ids = array("q", connection.scalars(select(files.c.id).where(files.c.feed_id == scan.feed_id, *unseen)))
    marked = 0
    for batch in batched(ids, BATCH_FILES):
        with ledger.writing() as connection:
            lock_feed(connection, scan.feed_id)
            change = files.update().where(files.c.id.in_(batch), *unseen).values(state="missing")
            marked += connection.execute(change).rowcount
    return marked
