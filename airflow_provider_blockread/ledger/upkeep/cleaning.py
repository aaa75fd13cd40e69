"""Cleaning: what is done with files at the source once they are published, recorded before it is done.

A file is fit if every window that has read it, in any feed of this ledger, has been published for longer than the grace
period and is not being read again, and no feed waits for it. The transaction that records the cleaning checks this
again and locks those windows, so that no generation that would read the file can start.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, or_, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import path_digest
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.files.known import known_versions
from airflow_provider_blockread.ledger.schema.columns import UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.file_tables import parts
from airflow_provider_blockread.ledger.schema.rows import version_from
from airflow_provider_blockread.ledger.schema.tables import feeds, files, generations, windows
from airflow_provider_blockread.ledger.schema.upkeep_tables import cleanings
from airflow_provider_blockread.ledger.store import Ledger

#: Files whose cleaning is recorded at once; each is then cleaned separately.
BATCH = 500
_WAITING = frozenset({"pending", "planned", "missing", "changed"})  # states in which a feed may yet read a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Which files of a feed are cleaned: those published before a time, and not cleaned in this way yet."""

    feed: str
    action: str  # archive | delete | tag
    before: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanFile:
    """A file version that is fit."""

    ids: tuple[int, ...]  # the feed's own id, then those of other feeds that have read the same version
    version: FileVersion
    window: str
    begun: tuple[str, str | None] | None = None  # action and target that an earlier call recorded, but did not do


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPage:
    """Some files of a feed, in the order of their ids."""

    files: tuple[CleanFile, ...]
    left: Mapping[str, int]  # files that are left alone, by reason: waiting (for another feed), busy (read again)
    waiting_for: frozenset[str]  # those other feeds
    last: int  # the id to continue after


def next_page(ledger: Ledger, fit: Fit, *, after: int) -> CleanPage | None:
    """Return the next files that were published long enough ago, or None if there are no more.

    Raises:
        OptionsError: when the ledger knows no such feed.
    """
    feed = require_feed(ledger, fit.feed)
    old = exists().where(generations.c.window_id == files.c.window_id, _is_old(fit.before))
    query = (
        select(files.c.id)
        .outerjoin(cleanings, cleanings.c.file_id == files.c.id)
        .where(files.c.id > after, files.c.feed_id == feed, files.c.state == "done", old, _is_due(fit))
        .order_by(files.c.id)
        .limit(BATCH)
    )
    with ledger.reading() as connection:
        ids = list(connection.scalars(query))
        if not ids:
            return None
        found, left, waits_for = _fit_files(connection, fit, ids)
        names = frozenset(connection.scalars(select(feeds.c.name).where(feeds.c.id.in_(waits_for))))
    return CleanPage(files=tuple(found), left=left, waiting_for=names, last=ids[-1])


def knows_file(ledger: Ledger, feed: str, path: str) -> bool:
    """Return whether the feed has ever taken or listed a file of this canonical path.

    Raises:
        OptionsError: when the ledger knows no such feed.
    """
    known = require_feed(ledger, feed)
    with ledger.reading() as connection:
        return bool(known_versions(connection, known, [path_digest(path)]))


def write_down(ledger: Ledger, fit: Fit, planned: Mapping[int, str | None], *, who: str) -> list[CleanFile]:
    """Record what is about to be done, and return those of the files that are still fit for it.

    Args:
        ledger: the ledger to write.
        fit: what will be done.
        planned: the target of each file (None, except for `archive`), by the feed's own id of the file.
        who: a user or task.
    """
    if not planned:
        return []
    with ledger.writing() as connection:
        found, *_ = _fit_files(connection, fit, list(planned))
        ids = [number for file in found for number in file.ids]
        _lock_windows(connection, ids)
        found, *_ = _fit_files(connection, fit, [file.ids[0] for file in found])
        ids = [number for file in found for number in file.ids]
        connection.execute(cleanings.delete().where(cleanings.c.file_id.in_(ids)))
        targets = {number: planned[file.ids[0]] for file in found for number in file.ids}
        alike = {"action": fit.action, "state": "planned", "who": who, "began_at": ledger.now()}
        columns = (files.c.id, files.c.version_digest, files.c.window_id, files.c.path)
        rows = connection.execute(select(*columns).where(files.c.id.in_(ids), files.c.window_id.is_not(None))).all()
        values = [
            {"file_id": n, "version_digest": digest, "window_id": window, "path": path, "target": targets[n]} | alike
            for n, digest, window, path in rows
        ]
        if values:
            connection.execute(cleanings.insert(), values)
    return found


def write_target(ledger: Ledger, file: CleanFile, target: str) -> None:
    """Record that a file goes to another target, before it is moved."""
    with ledger.writing() as connection:
        mine = (cleanings.c.file_id.in_(file.ids), cleanings.c.state == "planned")
        connection.execute(cleanings.update().where(*mine).values(target=target))


def finish_cleaning(ledger: Ledger, done: Mapping[str, Sequence[CleanFile]]) -> None:
    """Record the outcome for files, which are given by their new state; may be repeated."""
    with ledger.writing() as connection:
        for state, found in done.items():
            ids = [number for file in found for number in file.ids]
            # If two cleanings run at the same time, one finds the files of the other gone. A rebuild may have seen a
            # file in its place just before it was removed.
            before = ("planned", "gone", "restored") if state == "done" else ("planned",)
            mine = (cleanings.c.file_id.in_(ids), cleanings.c.state.in_(before))
            change = {"state": state, "finished_at": ledger.now()}
            connection.execute(cleanings.update().where(*mine).values(change))


def _is_due(fit: Fit) -> ColumnElement[bool]:
    """Return the condition: not cleaned yet, or only begun; restored long ago; or tagged, and now to be removed."""
    back = and_(cleanings.c.state == "restored", cleanings.c.finished_at < fit.before)
    due = or_(cleanings.c.file_id.is_(None), cleanings.c.state == "planned", back)
    tagged = and_(cleanings.c.action == "tag", cleanings.c.state == "done")
    return due if fit.action == "tag" else or_(due, tagged)


def _is_old(before: datetime) -> ColumnElement[bool]:
    return and_(generations.c.state == "published", generations.c.published_at < before)


def _fit_files(connection: Connection, fit: Fit, ids: Sequence[int]) -> tuple[list[CleanFile], Counter[str], set[int]]:
    """Return the files among these that are fit, the number of the others by reason, and the feeds that need these."""
    joined = files.outerjoin(cleanings, cleanings.c.file_id == files.c.id)
    begun = (cleanings.c.state.label("cleaning"), cleanings.c.action, cleanings.c.target)
    query = select(files, *begun).select_from(joined).where(files.c.id.in_(ids), files.c.state == "done", _is_due(fit))
    own = connection.execute(query.order_by(files.c.id)).all()
    same = _same_versions(connection, own)
    holders = _holders(connection, [row for rows in same.values() for row in rows])
    settled = _settled(connection, fit, {window for held in holders.values() for window in held})
    found, left, waits_for = [], Counter[str](), set[int]()
    for row in own:
        rows = same[row.path_digest, row.version_digest]
        if waiting := {other.feed_id for other in rows if other.state in _WAITING}:
            left["waiting"] += 1
            waits_for |= waiting
        elif not all(holders[other.id] <= settled for other in rows if other.state == "done"):
            left["busy"] += 1
        else:
            found.append(_clean_file(row, rows))
    return found, left, waits_for


def _clean_file(row: Row[Any], rows: Iterable[Row[Any]]) -> CleanFile:
    others = (other.id for other in rows if other.state == "done" and other.id != row.id)
    return CleanFile(
        ids=(row.id, *others),
        version=version_from(row),
        window=row.window_id,
        begun=(row.action, row.target) if row.cleaning == "planned" else None,
    )


def _same_versions(connection: Connection, own: Sequence[Row[Any]]) -> dict[tuple[str, str], list[Row[Any]]]:
    """Return the rows of all feeds with the same versions, by the digests of path and version."""
    found: dict[tuple[str, str], list[Row[Any]]] = defaultdict(list)
    query = select(files).where(files.c.path_digest.in_([row.path_digest for row in own]))
    for row in connection.execute(query):
        found[row.path_digest, row.version_digest].append(row)
    return found


def _holders(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, set[str]]:
    """Return the windows that have read each file, or a part of it."""
    held = {row.id: {row.window_id} for row in rows}
    query = select(parts.c.file_id, parts.c.window_id).where(parts.c.file_id.in_(list(held)))
    for file, window in connection.execute(query):
        held[file].add(window)
    return held


def _settled(connection: Connection, fit: Fit, ids: set[str]) -> set[str]:
    """Return the windows among these that were published long enough ago, and are not (about to be) read again."""
    mine = generations.c.window_id == windows.c.id
    busy = exists().where(mine, generations.c.state.in_(UNFINISHED_STATES))
    shown = exists().where(mine, _is_old(fit.before))
    query = select(windows.c.id).where(windows.c.id.in_(ids), windows.c.state == "open", shown, ~busy)
    return set(connection.scalars(query))


def _lock_windows(connection: Connection, ids: Sequence[int]) -> None:
    """Keep generations that would read one of these files from starting until this transaction ends."""
    in_parts = select(parts.c.window_id).where(parts.c.file_id.in_(ids))
    whole = select(files.c.window_id).where(files.c.id.in_(ids))
    query = select(windows.c.id).where(or_(windows.c.id.in_(whole), windows.c.id.in_(in_parts)))
    connection.execute(query.order_by(windows.c.id).with_for_update(key_share=True)).all()
