"""The progress of windows and groups: the only place that converts stored states to the words that people see.

A stored state says what was recorded last; only the owner's heartbeat shows whether work continues. Work whose owner is
known to have ended, or whose heartbeat is stale, is `stalled`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, case, func, select, tuple_

from airflow_provider_blockread.errors import OwnedError
from airflow_provider_blockread.ledger.feeds import batched
from airflow_provider_blockread.ledger.model import Generation, Group, Window
from airflow_provider_blockread.ledger.owners import STALE_S, is_live
from airflow_provider_blockread.ledger.schema.columns import UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.rows import (
    WINDOWS,
    generation_from,
    in_generation,
    value_from,
    window_from,
)
from airflow_provider_blockread.ledger.schema.tables import generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_BATCH = 500  # windows per statement
_LONG = timedelta(days=1)  # for a window to wait; its run has most likely been deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of something in one word, and the time of its owner's last heartbeat.

    `planning`, `reading`, `proving`, `publishing`: an owner is at work. `waiting`: no owner is at work, and nothing is
    wrong. `stalled`: the owner has ended. `failed`: an attempt ended with an error, and none is running. Finished are
    `done` groups, `published`, `verified` and `superseded` generations, `empty` and `abandoned` windows.
    """

    state: str
    last_sign_at: datetime | None
    seen_at: datetime  # when it was determined

    @property
    def is_left(self) -> bool:
        """Whether a person must look at it: it failed, its owner has ended, or it has waited for more than a day."""
        heard = self.last_sign_at or self.seen_at
        return self.state in {"failed", "stalled"} or (self.state == "waiting" and self.seen_at - heard > _LONG)

    def __str__(self) -> str:
        if self.state == "failed" or not self.is_left:
            return self.state
        return f"{self.state} (last sign of life {age(self.last_sign_at, self.seen_at)})"

    @property
    def dated(self) -> str:
        """The same as text, with the time itself: for what a person confirms later, when the age is another one."""
        heard = "never" if self.last_sign_at is None else f"{self.last_sign_at:%Y-%m-%d %H:%M:%SZ}"
        return f"{self.state} (last sign of life {heard})" if self.state == "stalled" else self.state

    def to_json(self) -> dict[str, str | None]:
        """Return the word and the time of the last heartbeat, in ISO 8601, UTC."""
        heard = self.last_sign_at
        return {"state": self.state, "last_sign_at": None if heard is None else heard.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sign:
    """The relevant values of a running group, or of all other groups in one state; without an owner none is at work."""

    state: str
    owner: str | None
    heartbeat_at: datetime | None
    finished_at: datetime | None
    stale_after_s: float = STALE_S

    def is_live(self, now: datetime) -> bool:
        return is_live(self.owner, self.heartbeat_at, now, self.stale_after_s)


def group_progress(group: Group, now: datetime) -> Progress:
    """Return the progress of a group."""
    sign = value_from(_Sign, group)
    words = {"pending": "waiting", "running": "reading" if sign.is_live(now) else "stalled"}
    heard = group.heartbeat_at if group.state == "running" else _newest(group.heartbeat_at, group.finished_at)
    return Progress(state=words.get(group.state, group.state), last_sign_at=heard, seen_at=now)


def windows_progress(ledger: Ledger, ids: Sequence[str]) -> dict[str, Progress]:
    """Return the progress of windows, by id: that of the newest generation, if there is one."""
    found: dict[str, Progress] = {}
    now = ledger.now()
    with ledger.reading() as connection:
        for batch in batched(ids, _BATCH):
            some = connection.execute(WINDOWS.where(windows.c.id.in_(batch))).all()
            found |= progress_of(connection, map(window_from, some), newest_generations(connection, batch), now)
    return found


def progress_of(
    connection: Connection, found: Iterable[Window], newest: Mapping[str, Generation], now: datetime
) -> dict[str, Progress]:
    """Return the progress of windows, by id, given the newest generation of each."""
    signs = _signs(connection, [of for of in newest.values() if of.state in UNFINISHED_STATES])
    return {window.id: _of_window(window, newest.get(window.id), signs[window.id], now) for window in found}


def window_progress(ledger: Ledger, window_id: str) -> Progress:
    """Return the progress of a window."""
    return windows_progress(ledger, [window_id])[window_id]


def newest_generations(connection: Connection, ids: Sequence[str]) -> dict[str, Generation]:
    """Return the newest generation of each window that has one, by the window's id."""
    newest = select(generations.c.window_id, func.max(generations.c.number).label("number"))
    newest_of = newest.where(generations.c.window_id.in_(ids)).group_by(generations.c.window_id).subquery()
    same = and_(generations.c.window_id == newest_of.c.window_id, generations.c.number == newest_of.c.number)
    rows = connection.execute(select(generations).join(newest_of, same))
    return {row.window_id: generation_from(row) for row in rows}


def require_idle(ledger: Ledger, generation: Generation, *, owner: str) -> None:
    """Refuse to supersede a generation while another owner is at work on it.

    Raises:
        OwnedError: naming the owner.
    """
    if generation.state not in UNFINISHED_STATES:
        return
    now, mine = ledger.now(), in_generation(groups, generation.window, generation.number)
    readers = select(groups.c.owner, groups.c.heartbeat_at, groups.c.stale_after_s)
    with ledger.reading() as connection:
        rows = connection.execute(readers.where(mine, groups.c.state == "running")).all()
    publisher = (generation.publish_owner, generation.publish_heartbeat_at, STALE_S)
    for other, beat, stale_after_s in (publisher, *rows):
        if other != owner and is_live(other, beat, now, stale_after_s):
            work = f"window {generation.window}: {other} is at work on generation {generation.number}"
            raise owned(work, beat, now)


def owned(work: str, heartbeat_at: datetime | None, now: datetime) -> OwnedError:
    """Return the error about the work of another owner, who is alive."""
    beat = age(heartbeat_at, now)
    return OwnedError(f"{work}, last heartbeat {beat}; wait for it, or stop it and retry when its heartbeat is stale")


def age(heartbeat_at: datetime | None, now: datetime) -> str:
    """Return how old a heartbeat is, for messages: `12 s ago`, `14 min ago`, `5 min ahead of this clock`, `never`."""
    if heartbeat_at is None:
        return "never"
    passed = (now - heartbeat_at).total_seconds()
    seconds, since = abs(passed), "ago" if passed >= 0 else "ahead of this clock"
    for unit, size, most in (("s", 1.0, 2 * _MINUTE), ("min", _MINUTE, 2 * _HOUR), ("h", _HOUR, 2 * _DAY)):
        if seconds <= most:
            return f"{seconds / size:.0f} {unit} {since}"
    return f"{seconds / _DAY:.0f} days {since}"


def _of_window(window: Window, newest: Generation | None, signs: Sequence[_Sign], now: datetime) -> Progress:
    if window.state == "open" and newest is not None:
        return _of_generation(newest, signs, now)
    stalled = window.state == "planning" and not is_live(window.owner, window.heartbeat_at, now)
    return Progress(state="stalled" if stalled else window.state, last_sign_at=window.heartbeat_at, seen_at=now)


def _of_generation(newest: Generation, signs: Sequence[_Sign], now: datetime) -> Progress:
    if newest.publish_owner is not None:
        heard: datetime | None = newest.publish_heartbeat_at
    else:
        running = [sign.heartbeat_at for sign in signs if sign.state == "running"]
        others = (time for sign in signs for time in (sign.heartbeat_at, sign.finished_at))
        heard = _newest(*running) or _newest(newest.created_at, newest.proven_at, newest.published_at, *others)
    return Progress(state=_word(newest, signs, now), last_sign_at=heard, seen_at=now)


def _word(newest: Generation, signs: Sequence[_Sign], now: datetime) -> str:
    if newest.state not in UNFINISHED_STATES:
        return newest.state
    if newest.publish_owner is not None:
        at_work = "publishing" if newest.state in {"proven", "publishing"} and newest.mode == "write" else "proving"
        return at_work if is_live(newest.publish_owner, newest.publish_heartbeat_at, now) else "stalled"
    if newest.error is not None:  # even if it is half published
        return "failed"
    states = {sign.state for sign in signs} if newest.state == "reading" else set()
    if any(sign.is_live(now) for sign in signs if sign.state == "running"):
        return "reading"
    return next((word for state, word in (("failed", "failed"), ("running", "stalled")) if state in states), "waiting")


def _signs(connection: Connection, found: Sequence[Generation]) -> dict[str, list[_Sign]]:
    """Return the heartbeats of the groups of generations, one per window; running groups are listed one by one."""
    signs = defaultdict(list)
    one = case((groups.c.state == "running", groups.c.number), else_=-1)
    columns = ("owner", "heartbeat_at", "finished_at", "stale_after_s")
    newest = [func.max(groups.c[name]).label(name) for name in columns]
    query = select(groups.c.window_id, groups.c.state, *newest).group_by(groups.c.window_id, groups.c.state, one)
    mine = tuple_(groups.c.window_id, groups.c.generation).in_([(of.window, of.number) for of in found])
    of_windows = groups.c.window_id.in_([of.window for of in found])  # SQLite uses the index for one column
    for row in connection.execute(query.where(of_windows, mine)):
        signs[row.window_id].append(value_from(_Sign, row))
    return signs


def _newest(*times: datetime | None) -> datetime | None:
    known: Iterable[datetime] = (time for time in times if time is not None)
    return max(known, default=None)
