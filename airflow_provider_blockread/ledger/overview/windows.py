"""Windows for lists: page by page, newest first, with the progress of each and of its groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, case, exists, func, or_, select, tuple_

from airflow_provider_blockread.ledger.feeds import batched
from airflow_provider_blockread.ledger.model import Generation, Group, Window
from airflow_provider_blockread.ledger.overview.unfinished import unfinished_in, urgent_windows
from airflow_provider_blockread.ledger.schema.columns import UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.rows import WINDOWS, generation_from, window_from
from airflow_provider_blockread.ledger.schema.tables import exclusions, feeds, generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.progress import Progress, newest_generations, progress_of
from airflow_provider_blockread.options import nanoseconds

JUDGED = 100
"""Windows that a statement reads whose state depends on heartbeats."""

_BATCH = 500  # windows a statement
_IDS = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")

#: States of progress in which a window is not over.
OPEN_STATES = ("planning", "waiting", "reading", "proving", "publishing", "stalled", "failed")
OVER_STATES = ("published", "empty", "abandoned")


class GroupSums(NamedTuple):
    """What the groups of a generation have done so far."""

    done: int = 0
    blocks_done: int = 0
    read_bytes: int = 0
    records: int = 0
    began_at: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None  # of a group that failed
    running_bytes: int = 0  # that running attempts have read
    running_since: datetime | None = None
    reported_at: datetime | None = None  # when one of these reported last


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRow:
    """A window, the newest of its generations, the one that readers see, and the one that is looked at."""

    window: Window
    feed_id: int
    generation: Generation | None  # the newest one
    shown: Generation | None  # the published one
    progress: Progress  # of the newest one
    excluded: int  # files
    viewed: Generation | None  # `current`, unless another one is requested
    groups: GroupSums  # of the viewed one

    @property
    def state(self) -> str:
        """The progress of the window in one word; for a published window with newer work, that of the work."""
        over = self.progress.state in {"superseded", "verified"}
        return "published" if over and self.shown is not None else self.progress.state

    @property
    def current(self) -> Generation | None:
        """The generation that the state is about: the published one, unless newer work goes on or failed."""
        return self.shown if self.state == "published" else self.generation

    @property
    def is_current(self) -> bool:
        """Whether the viewed generation is the one that the state is about."""
        return self.viewed is self.current

    @property
    def bytes(self) -> int:
        """What was read of the files for what is published; before that, what the plan has of them."""
        return self.shown.sums.bytes if self.shown is not None else self.window.bytes

    @property
    def error(self) -> str | None:
        """Why its newest work failed, or None."""
        if self.progress.state not in {"failed", "stalled"}:
            return None
        return (self.generation.error if self.generation else None) or self.groups.error

    @property
    def reading_s(self) -> float | None:
        """Seconds from the first group's start to the last one's end; None before all are done, and once pruned."""
        began, ended = self.groups.began_at, self.groups.ended_at
        is_read = self.groups.done == self.window.groups
        return (ended - began).total_seconds() if is_read and began is not None and ended is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFilter:
    """Which windows of a feed to list; an empty field means all."""

    state: str = ""  # one of `OPEN_STATES` and `OVER_STATES`
    text: str = ""  # in the key, or with which the id begins, or which holds it
    day: datetime | None = None  # of the interval's beginning, or of the planning: its first moment
    bad: bool = False  # with bad records in what is published
    rebuilt: bool = False  # with more than one generation


def list_page(
    ledger: Ledger, feed: int, wanted: WindowFilter, *, before: int | None = None, limit: int = 50
) -> list[WindowRow]:
    """Return windows of a feed, newest first: those whose sequence is below `before`."""
    query = WINDOWS.where(windows.c.feed_id == feed).order_by(windows.c.sequence.desc())
    query = _filtered(query, wanted)
    judged = wanted.state in OPEN_STATES
    size = JUDGED if judged else limit
    found: list[WindowRow] = []
    with ledger.reading() as connection:
        while len(found) < limit:
            older = query if before is None else query.where(windows.c.sequence < before)
            rows = connection.execute(older.limit(size)).all()
            some = window_rows(connection, rows, ledger.now())
            found += [one for one in some if not judged or one.progress.state == wanted.state]
            if len(rows) < size:
                break
            before = rows[-1].sequence
    return found[:limit]


def list_windows(
    ledger: Ledger, feed: str | None = None, *, window: str | None = None, state: str | None = None, limit: int = 50
) -> list[WindowRow]:
    """Return the windows of the feed with this name, or of all, newest first; or only the one with the id `window`.

    `state`, one of `OPEN_STATES` and `OVER_STATES`, leaves out those in other states.
    """
    query = _filtered(_newest_first(), WindowFilter(state=state or ""))
    if feed is not None:
        query = query.where(feeds.c.name == feed)
    if window is not None:
        query = query.where(windows.c.id == window)
    judged = state in OPEN_STATES
    found: list[WindowRow] = []
    now = ledger.now()
    with ledger.reading() as connection:
        rows = connection.execute(query if judged else query.limit(limit)).all()  # few are unfinished
        for some in batched(rows, _BATCH):
            found += [one for one in window_rows(connection, some, now) if not judged or one.progress.state == state]
            if len(found) >= limit:
                break
    return found[:limit]


def window_row(ledger: Ledger, window: str) -> WindowRow | None:
    """Return the window with this id, or None."""
    return next(iter(list_windows(ledger, window=window)), None)


def viewing(ledger: Ledger, row: WindowRow, generation: Generation) -> WindowRow:
    """Return the window with another of its generations as the viewed one."""
    with ledger.reading() as connection:
        return _viewing(connection, [replace(row, viewed=generation)])[0]


def viewed_groups(ledger: Ledger, row: WindowRow) -> list[Group]:
    """Return the groups of the viewed generation of a window, in order; empty before it is planned."""
    return [] if row.viewed is None else list_groups(ledger, row.window.id, row.viewed.number)


def open_windows(
    connection: Connection, now: datetime, *, of: Collection[int] | None = None, each: bool = False
) -> list[WindowRow]:
    """Return unfinished windows, and published ones that are read again, of these feeds, newest first.

    Where there are more than `MOST_OPEN`, in `each` feed or in all together, those that failed or stalled remain.
    """
    found: list[WindowRow] = []
    for ids in batched(urgent_windows(connection, of, each=each), _BATCH):
        found += window_rows(connection, connection.execute(WINDOWS.where(windows.c.id.in_(ids))).all(), now)
    return sorted(found, key=lambda one: (one.window.created_at, one.window.sequence), reverse=True)


def find_windows(ledger: Ledger, text: str, *, of: Sequence[int], limit: int) -> list[WindowRow]:
    """Return the newest windows of these feeds whose key contains a text, or whose id begins with it or is in it.

    The names of output files, of folders of the work area and of Spark applications hold ids.
    """
    query = _newest_first().where(_named(text), windows.c.feed_id.in_(of)).limit(limit)
    with ledger.reading() as connection:
        return window_rows(connection, connection.execute(query).all(), ledger.now())


def window_rows(connection: Connection, rows: Sequence[Any], now: datetime) -> list[WindowRow]:
    """Return the windows of rows of `WINDOWS`, with everything that lists show."""
    found = [window_from(row) for row in rows]
    ids = [window.id for window in found]
    newest = newest_generations(connection, ids)
    progress = progress_of(connection, found, newest, now)
    published = select(generations).where(generations.c.window_id.in_(ids), generations.c.state == "published")
    shown = {row.window_id: generation_from(row) for row in connection.execute(published)}
    excluded = _counts(connection, ids)
    listed = [
        WindowRow(
            window=window,
            feed_id=row.feed_id,
            generation=newest.get(window.id),
            shown=shown.get(window.id),
            progress=progress[window.id],
            excluded=excluded.get(window.id, 0),
            viewed=None,
            groups=GroupSums(),
        )
        for window, row in zip(found, rows, strict=True)
    ]
    return _viewing(connection, [replace(one, viewed=one.current) for one in listed])


def _viewing(connection: Connection, rows: Sequence[WindowRow]) -> list[WindowRow]:
    """Return windows with the sums of the groups of their viewed generations."""
    sums = _group_sums(connection, [row.viewed for row in rows if row.viewed is not None])
    return [replace(row, groups=sums.get(row.window.id) or _proven_sums(row)) for row in rows]


def _proven_sums(row: WindowRow) -> GroupSums:
    """Return the sums of groups that are pruned, as far as a proof has them, or of none before the plan."""
    if row.viewed is None or row.viewed.proven_at is None:
        return GroupSums()
    window, sums = row.window, row.viewed.sums
    return GroupSums(done=window.groups, blocks_done=window.blocks, read_bytes=sums.bytes, records=sums.records)


def _named(text: str) -> ColumnElement[bool]:
    held = [windows.c.id.in_(ids)] if (ids := _IDS.findall(text)) else []
    return or_(windows.c.key.icontains(text, autoescape=True), windows.c.id.startswith(text, autoescape=True), *held)


def _newest_first() -> Select[Any]:
    return WINDOWS.order_by(windows.c.created_at.desc(), windows.c.sequence.desc())


def _filtered(query: Select[Any], wanted: WindowFilter) -> Select[Any]:
    mine = generations.c.window_id == windows.c.id
    if wanted.state in OPEN_STATES:
        query = unfinished_in(query, wanted.state)
    elif wanted.state == "published":
        query = query.where(exists().where(mine, generations.c.state == "published"))
        query = query.where(~exists().where(mine, generations.c.state.in_(UNFINISHED_STATES)))
    elif wanted.state:
        query = query.where(windows.c.state == wanted.state)
    if wanted.text:
        query = query.where(_named(wanted.text))
    if wanted.day is not None:
        end = wanted.day + timedelta(days=1)
        start, (first, last) = windows.c.interval_start_ns, map(nanoseconds, (wanted.day, end))
        planned = and_(start.is_(None), windows.c.created_at >= wanted.day, windows.c.created_at < end)
        query = query.where(or_(and_(start >= first, start < last), planned))
    if wanted.bad:
        query = query.where(exists().where(mine, generations.c.state == "published", generations.c.bad_records > 0))
    if wanted.rebuilt:
        query = query.where(exists().where(mine, generations.c.number > 1, generations.c.mode == "write"))
    return query


def _group_sums(connection: Connection, viewed: Iterable[Generation]) -> Mapping[str, GroupSums]:
    is_done, is_running = groups.c.state == "done", groups.c.state == "running"
    sums = {  # by field of the returned value
        "done": func.sum(case((is_done, 1), else_=0)),
        "blocks_done": func.sum(case((is_done, groups.c.blocks), else_=groups.c.blocks_done)),
        "read_bytes": func.sum(case((is_done, groups.c.read_bytes), else_=groups.c.bytes_done)),
        "records": func.sum(case((is_done, groups.c.records), else_=groups.c.records_done)),
        "running_bytes": func.sum(case((is_running, groups.c.bytes_done), else_=0)),
    }
    others = {
        "began_at": func.min(groups.c.started_at),
        "ended_at": func.max(groups.c.finished_at),
        "error": func.min(groups.c.error),
        "running_since": func.min(case((is_running, groups.c.started_at))),
        "reported_at": func.max(case((is_running, groups.c.progress_at))),
    }
    named = (column.label(name) for name, column in (sums | others).items())
    pairs = [(of.window, of.number) for of in viewed]
    same = tuple_(groups.c.window_id, groups.c.generation).in_(pairs)
    mine = and_(groups.c.window_id.in_([window for window, _ in pairs]), same)  # SQLite uses the index for one column
    found = {}
    for row in connection.execute(select(groups.c.window_id, *named).where(mine).group_by(groups.c.window_id)):
        values = row._asdict()
        window = values.pop("window_id")
        found[window] = GroupSums(**values | {name: int(values[name]) for name in sums})
    return found


def _counts(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    query = select(exclusions.c.window_id, func.count()).where(exclusions.c.window_id.in_(ids))
    rows = connection.execute(query.where(exclusions.c.generation.is_(None)).group_by(exclusions.c.window_id))
    return {row[0]: row[1] for row in rows}
