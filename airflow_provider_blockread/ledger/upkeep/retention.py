"""Retention: drops the details of old windows, and keeps only what prevents their files from being read again.

A window can be pruned if a generation of it is published, or it was given up, and nothing is being done with it.
`pruned_at` is set first, in one statement that checks all of these conditions again; from then on no generation starts
before the plan is restored. Details are dropped in batches, the groups last: a window with `pruned_at` and groups is
half pruned, and the next call continues with it. The window, its generations, its exclusions, and the journal of what
is published are kept forever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.ledger.dialect import insert_or_ignore
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema.columns import TAKEN_STATES
from airflow_provider_blockread.ledger.schema.file_tables import listings, stretches, taken_files
from airflow_provider_blockread.ledger.schema.journal_tables import outputs, publications
from airflow_provider_blockread.ledger.schema.rows import WINDOWS, window_from
from airflow_provider_blockread.ledger.schema.tables import feeds, file_sums, files, generations, groups, windows
from airflow_provider_blockread.ledger.schema.upkeep_tables import cleanings, withdrawals
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import insert_groups, lock_window
from airflow_provider_blockread.ledger.windows.replacing import lock_feed_of

_PAGE = 1000  # windows held at once
_FEW_STRETCHES = 1000
_FILES_A_STRETCH = 4  # a quarter of what a listing makes of them
_TAKEN_COLUMNS = ("feed_id", "path_digest", "version_digest", "state")
_HAS_GROUPS = exists().where(groups.c.window_id == windows.c.id)
_TAKEN = files.c.state.in_(TAKEN_STATES)  # of which only the identity stays
_KEPT = select(func.count()).where(files.c.window_id == windows.c.id, _TAKEN).scalar_subquery().label("kept")
_HALF_PRUNED = and_(windows.c.pruned_at.is_not(None), _HAS_GROUPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Which windows are old: given up, or published and not among the newest of their feed, before a certain time."""

    before: datetime
    keep: int
    feed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prunable:
    """The windows that pruning by a bound would process."""

    windows: int
    files: int
    first: tuple[Window, ...]  # the oldest of them, with the number of files that they would lose
    listings: int  # to which no file refers then


def prunable(ledger: Ledger, bound: Bound, *, limit: int) -> Prunable:
    """Return the number of windows that are old or half pruned, and the oldest of them."""
    old = _old(bound).add_columns(_KEPT)
    chosen = old.subquery()
    with ledger.reading() as connection:
        count, total = connection.execute(select(func.count(), func.sum(chosen.c.kept)).select_from(chosen)).one()
        first = old.order_by(windows.c.created_at, windows.c.id).limit(limit)
        found = tuple(replace(window_from(row), files=row.kept) for row in connection.execute(first))
        listed = len(_old_listings(connection, bound, without=_old(bound).with_only_columns(windows.c.id)))
    return Prunable(windows=int(count), files=int(total or 0), first=found, listings=listed)


def old_windows(ledger: Ledger, bound: Bound) -> Iterator[Window]:
    """Yield the windows that are old or half pruned."""
    return by_page(ledger, _old(bound))


def begin_pruning(ledger: Ledger, window_id: str, bound: Bound) -> bool:
    """Mark a window as pruned, so that no generation of it starts; return whether this call may prune it.

    It may not if something has happened to the window since it was chosen.
    """
    with ledger.writing() as connection:
        lock_window(connection, window_id)
        if connection.scalar(select(windows.c.id).where(windows.c.id == window_id, _HALF_PRUNED)) is not None:
            return True
        old = (windows.c.id == window_id, windows.c.pruned_at.is_(None), or_(is_settled(bound), _is_given_up(bound)))
        return connection.execute(windows.update().where(*old).values(pruned_at=ledger.now())).rowcount == 1


def drop_detail(ledger: Ledger, window_id: str, *, keep_cleanings: bool = False) -> int:
    """Drop the sums and journals of a window that is being pruned, and return how many files became identities.

    The records about cleaned files are dropped too, unless the window may be read again. If the plan is restored
    meanwhile, this ends, and what is left stays.
    """
    shown = select(generations.c.number).where(generations.c.window_id == window_id, generations.c.state == "published")
    of_sums = file_sums.c.window_id == window_id
    while _drop_some(ledger, window_id, file_sums.c.file_id, of_sums):
        pass
    for table in (publications, outputs):
        unseen = and_(table.c.window_id == window_id, table.c.generation.not_in(shown))
        while _drop_some(ledger, window_id, table.c.seq, unseen):
            pass
    moved = 0
    while batch := _move_files(ledger, window_id, keep_cleanings=keep_cleanings):
        moved += batch
    return moved


def is_pruned(ledger: Ledger, window_id: str) -> bool:
    """Return whether the window's details are deleted, or being deleted."""
    with ledger.reading() as connection:
        return connection.scalar(select(windows.c.pruned_at).where(windows.c.id == window_id)) is not None


def finish_pruning(ledger: Ledger, window_id: str) -> None:
    """Drop the groups, the last of the window's details. May be repeated."""
    with ledger.writing() as connection:
        if _is_being_pruned(connection, window_id):
            connection.execute(groups.delete().where(groups.c.window_id == window_id))


def restore_plan(ledger: Ledger, window_id: str, planned: Iterable[BlockGroup]) -> None:
    """Insert a pruned window's groups again, as its manifest lists them, so that a generation can start."""
    with ledger.writing() as connection:
        if not _is_being_pruned(connection, window_id):
            return
        # The plan is that of the published generation, from which the next one continues.
        shown = (generations.c.window_id == window_id, generations.c.state == "published")
        number = connection.scalar(select(generations.c.number).where(*shown))
        if number is None:  # undone meanwhile
            return
        connection.execute(groups.delete().where(groups.c.window_id == window_id, groups.c.generation == number))
        insert_groups(connection, window_id, planned, 0, number)
        connection.execute(windows.update().where(windows.c.id == window_id).values(pruned_at=None))


def drop_listings(ledger: Ledger, bound: Bound) -> int:
    """Delete old listings to which no remaining file refers, and return how many; each feed's newest one is kept."""
    with ledger.reading() as connection:
        ids = _old_listings(connection, bound)
    for batch in batched(ids, BATCH_FILES):
        with ledger.writing() as connection:
            connection.execute(listings.delete().where(listings.c.id.in_(batch)))
    return len(ids)


def _old_listings(connection: Connection, bound: Bound, *, without: Select[Any] | None = None) -> list[int]:
    """Return the listings that may go now, or once the windows `without` are pruned."""
    of_feed = select(feeds.c.id) if bound.feed is None else select(feeds.c.id).where(feeds.c.name == bound.feed)
    newest = select(func.max(listings.c.id)).group_by(listings.c.feed_id)
    old = select(listings.c.id).where(listings.c.started_at < bound.before, listings.c.feed_id.in_(of_feed))
    refers = select(files.c.first_listing).distinct()
    if without is not None:
        refers = refers.where(or_(files.c.window_id.is_(None), ~_TAKEN, files.c.window_id.not_in(without)))
    used = set(connection.scalars(refers))
    return [number for number in connection.scalars(old.where(listings.c.id.not_in(newest))) if number not in used]


def drop_stretches(ledger: Ledger) -> int:
    """Forget the stretches of feeds that have far more stretches than their files need, and return how many.

    They accumulate as files come and go; the next listing remembers those that it shows again.
    """
    dropped = 0
    with ledger.reading() as connection:
        held = select(stretches.c.feed_id, func.count()).group_by(stretches.c.feed_id)
        counts = [(feed_id, count) for feed_id, count in connection.execute(held) if count > _FEW_STRETCHES]
    for feed_id, count in counts:
        with ledger.reading() as connection:
            known = [select(func.count()).where(table.c.feed_id == feed_id) for table in (files, taken_files)]
            expected = sum(int(connection.execute(query).scalar_one()) for query in known) // _FILES_A_STRETCH
        if count > expected:
            with ledger.writing() as connection:
                dropped += connection.execute(stretches.delete().where(stretches.c.feed_id == feed_id)).rowcount
    return dropped


def by_page(ledger: Ledger, wanted: Select[Any]) -> Iterator[Window]:
    """Yield windows by id, page by page, so that no cursor stays open while the caller processes them."""
    query, last = wanted.order_by(windows.c.id).limit(_PAGE), ""
    while True:
        with ledger.reading() as connection:
            page = [window_from(row) for row in connection.execute(query.where(windows.c.id > last))]
        if not page:
            return
        yield from page
        last = page[-1].id


def of_feed(feed: str | None) -> Select[Any]:
    """Return the query for the windows of this feed, or of all."""
    return WINDOWS if feed is None else WINDOWS.where(feeds.c.name == feed)


def is_settled(bound: Bound | None = None) -> ColumnElement[bool]:
    """Return the condition: published, and nobody is about to change that; a failed verification is over."""
    mine = generations.c.window_id == windows.c.id
    shown = exists().where(mine, generations.c.state == "published")
    if bound is not None:
        shown = shown.where(generations.c.published_at < bound.before)
    failed = and_(generations.c.state == "failed", generations.c.mode == "write")
    busy = exists().where(mine, or_(generations.c.state.in_(("reading", "proven", "publishing")), failed))
    return and_(windows.c.state == "open", shown, ~busy)


def _old(bound: Bound) -> Select[Any]:
    """Return the query for the windows that `begin_pruning` would accept."""
    place = func.row_number().over(partition_by=windows.c.feed_id, order_by=windows.c.sequence.desc())
    shown = exists().where(generations.c.window_id == windows.c.id, generations.c.state == "published")
    ranked = select(windows.c.id, place.label("place")).where(shown).subquery()
    query = of_feed(bound.feed).outerjoin(ranked, ranked.c.id == windows.c.id)
    fit = or_(and_(ranked.c.place > bound.keep, is_settled(bound)), _is_given_up(bound))
    return query.where(or_(and_(fit, windows.c.pruned_at.is_(None)), _HALF_PRUNED))


def _is_given_up(bound: Bound) -> ColumnElement[bool]:
    over = exists().where(withdrawals.c.window_id == windows.c.id, withdrawals.c.finished_at < bound.before)
    return and_(windows.c.state == "abandoned", over)


def _is_being_pruned(connection: Connection, window_id: str) -> bool:
    query = select(windows.c.pruned_at).where(windows.c.id == window_id).with_for_update(key_share=True)
    return connection.scalar(query) is not None


def _drop_some(ledger: Ledger, window_id: str, key: Any, which: ColumnElement[bool]) -> int:  # noqa: ANN401 - a column
    with ledger.writing() as connection:
        if not _is_being_pruned(connection, window_id):
            return 0
        batch = list(connection.scalars(select(key).where(which).limit(BATCH_FILES)))
        return connection.execute(key.table.delete().where(which, key.in_(batch))).rowcount


def _move_files(ledger: Ledger, window_id: str, *, keep_cleanings: bool) -> int:
    """Turn some of the window's files into identities, and return how many."""
    taken = (files.c.window_id == window_id, _TAKEN)
    with ledger.writing() as connection:
        lock_feed_of(connection, window_id)  # so that a listing sees each file in one of the tables
        if not _is_being_pruned(connection, window_id):
            return 0
        states = select(files.c.id, files.c.state).where(*taken).limit(BATCH_FILES).with_for_update()
        batch = {row.id: row.state for row in connection.execute(states)}
        copy = select(*(files.c[name] for name in _TAKEN_COLUMNS)).where(files.c.id.in_(batch))
        connection.execute(insert_or_ignore(connection, taken_files).from_select(_TAKEN_COLUMNS, copy))
        connection.execute(files.delete().where(files.c.id.in_(batch)))
        # A replaced file is needed by no read, which could not tell this any longer.
        over = [file for file, state in batch.items() if not keep_cleanings or state == "replaced"]
        connection.execute(cleanings.delete().where(cleanings.c.file_id.in_(over)))
        return len(batch)
