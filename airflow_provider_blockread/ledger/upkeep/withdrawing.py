"""Withdrawals: a window is given up for good, and its files go back to the feed or stay excluded.

One transaction makes the window `abandoned` and all its generations superseded, which fences every process that reads,
proves or publishes it, and records the new state of the files. The caller removes the output, and only then are files
moved, in batches. `finished_at` is set last: after a crash, a repeated call continues.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select, union

from airflow_provider_blockread.errors import ConflictError, OptionsError, PrunedError, StateError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, lock_feed
from airflow_provider_blockread.ledger.files.cleaned import refuse_cleaned
from airflow_provider_blockread.ledger.model import Withdrawal
from airflow_provider_blockread.ledger.owners import is_live
from airflow_provider_blockread.ledger.schema.columns import SHOWN_STATES, UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.file_tables import listings, parts
from airflow_provider_blockread.ledger.schema.tables import exclusions, files, generations, groups, windows
from airflow_provider_blockread.ledger.schema.upkeep_tables import withdrawals
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import supersede
from airflow_provider_blockread.ledger.windows.parts import end_files, give_back, refuse_followed
from airflow_provider_blockread.ledger.windows.progress import owned
from airflow_provider_blockread.options.upkeep import WITHDRAWN_FILES

_UNREAD = {"records": None, "bad_records": None}
_HELD = ("planned", "done")  # states of a file that a window holds


def find_withdrawal(ledger: Ledger, window_id: str) -> Withdrawal | None:
    """Return the window's withdrawal, begun or finished, or None."""
    with ledger.reading() as connection:
        return _found(connection, window_id)


def check_abandoning(ledger: Ledger, window_id: str) -> None:
    """Make sure that `begin_abandoning` may be called now.

    Raises:
        StateError: when the window is not open, or readers see something of it.
    """
    with ledger.reading() as connection:
        _require_window(connection, window_id)
        _refuse_shown(connection, window_id)
        refuse_followed(connection, window_id, to="pending")


def check_undoing(ledger: Ledger, window_id: str, *, files: str | None = None) -> Withdrawal | None:
    """Make sure that `begin_undoing` may be called now, except for cleaned files; return what it would continue with.

    Raises:
        StateError: when nothing of the window is published, or its files should be excluded but are back in the feed.
        OwnedError: when a live owner is publishing it.
        PrunedError: when its files should go back, but were pruned.
    """
    with ledger.reading() as connection:
        _require_window(connection, window_id)
        held = _found(connection, window_id)
        if held is None:
            _refuse_unseen_or_live(connection, window_id, ledger.now())
            _refuse_state(connection, window_id, files or "excluded")
        else:
            _is_changed(connection, held, files)
    return held


def begin_abandoning(ledger: Ledger, window_id: str, *, who: str) -> Withdrawal:
    """Give up an unpublished window, so that its files can go back to `pending`; may be repeated.

    Raises:
        StateError: when it is not open, or readers see something of it.
    """
    with ledger.writing() as connection:
        _require_window(connection, window_id, lock=True)
        held = _found(connection, window_id)
        if held is not None:
            return held
        _refuse_shown(connection, window_id, lock=True)
        refuse_followed(connection, window_id, to="pending")
        return _begin(ledger, connection, window_id, Withdrawal(window=window_id, files="pending", who=who))


def begin_undoing(ledger: Ledger, window_id: str, *, files: str | None, who: str) -> Withdrawal:
    """Give up a published or half published window, so that its output can be removed; may be repeated.

    Args:
        ledger: the ledger to write.
        window_id: the window's id.
        files: their new state: `pending`, to be read by a later window, or `excluded`, which is the default of a
            first call. A repeated call may still request `pending` after `excluded`.
        who: a user or task.

    Raises:
        StateError: when nothing of it is published, or its files should be excluded but are already back in the feed.
        OwnedError: when a live owner is publishing it.
        PrunedError: when its files should go back, but were pruned.
        CleanedError: when its files should go back, but were cleaned from the source.
        OptionsError: when `files` is another word.
    """
    if files not in {None, *WITHDRAWN_FILES}:
        msg = f"window {window_id}: files must be {' or '.join(WITHDRAWN_FILES)}, not {files!r}"
        raise OptionsError(msg)
    with ledger.writing() as connection:
        _require_window(connection, window_id, lock=True)
        held = _found(connection, window_id)
        if held is not None:
            return _changed(connection, held, files)
        _refuse_unseen_or_live(connection, window_id, ledger.now(), lock=True)
        _refuse_state(connection, window_id, files or "excluded")
        if files == "pending":
            refuse_cleaned(connection, window_id)
        asked = Withdrawal(window=window_id, files=files or "excluded", who=who)
        return _begin(ledger, connection, window_id, asked)


def release_files(ledger: Ledger, withdrawal: Withdrawal) -> int:
    """Give the window's files the state that its withdrawal names, and return how many changed; may be repeated.

    Files that were excluded by hand, or found missing or changed, stay as they are.

    Raises:
        ConflictError: when this is not the window's withdrawal.
    """
    window, moved, last = withdrawal.window, _release_parts(ledger, withdrawal), 0
    by_hand = select(exclusions.c.file_id).where(exclusions.c.window_id == window)
    states = (*_HELD, "excluded") if withdrawal.files == "pending" else _HELD
    mine = (files.c.window_id == window, files.c.state.in_(states), files.c.id.not_in(by_hand))
    while True:
        # By id, so that all pages together scan the table once.
        page = select(files.c.id).where(*mine, files.c.id > last).order_by(files.c.id).limit(BATCH_FILES)
        with ledger.reading() as connection:
            batch = list(connection.scalars(page))
        if not batch:
            return moved
        last = batch[-1]
        with ledger.writing() as connection:
            change = _lock_release(connection, withdrawal)
            update = files.update().where(files.c.id.between(batch[0], last), *mine).values(change)
            moved += connection.execute(update).rowcount


def _release_parts(ledger: Ledger, withdrawal: Withdrawal) -> int:
    """Give the window's parts back, or end their files with them; return how many files the window does not own."""
    with ledger.writing() as connection:
        _lock_release(connection, withdrawal)
        if withdrawal.files == "pending":
            return give_back(connection, withdrawal.window)
        return end_files(connection, withdrawal.window, state=withdrawal.files)


def finish_withdrawal(ledger: Ledger, withdrawal: Withdrawal) -> None:
    """Record that nothing of the window is left in the output, and its files have their new state; may be repeated."""
    with ledger.writing() as connection:
        unfinished = (*_same(withdrawal), withdrawals.c.finished_at.is_(None))
        connection.execute(withdrawals.update().where(*unfinished).values(finished_at=ledger.now()))


def _found(connection: Connection, window_id: str) -> Withdrawal | None:
    row = connection.execute(select(withdrawals).where(withdrawals.c.window_id == window_id)).one_or_none()
    if row is None:
        return None
    return Withdrawal(window=window_id, files=row.files, who=row.who, finished_at=row.finished_at)


def _require_window(connection: Connection, window_id: str, *, lock: bool = False) -> None:
    """Refuse a window that cannot be given up; with `lock`, no generation starts until this transaction ends."""
    query = select(windows.c.state).where(windows.c.id == window_id)
    state = connection.scalar(query.with_for_update(key_share=True) if lock else query)
    if state not in {"open", "abandoned"}:
        found = state or "unknown to this ledger"
        msg = f"window {window_id} is {found} and holds no plan to give up; list windows with `blockread windows list`"
        raise StateError(msg)


def _refuse_state(connection: Connection, window_id: str, files: str) -> None:
    """Refuse a state that the window's files cannot be given."""
    refuse_followed(connection, window_id, to=files)
    if files == "pending":
        _refuse_pruned(connection, window_id)


def _refuse_pruned(connection: Connection, window_id: str) -> None:
    begun = select(func.count()).where(generations.c.window_id == window_id)
    undone = select(func.count()).where(groups.c.window_id == window_id, groups.c.state != "done")
    counts = (begun.scalar_subquery().label("begun"), undone.scalar_subquery().label("undone"))
    query = select(windows.c.pruned_at, windows.c.files, windows.c.groups, *counts).where(windows.c.id == window_id)
    window = connection.execute(query).one()
    # A window that was pruned gets its plan back, groups that are not done, to be read in another generation; its files
    # are still identities only.
    as_read = window.begun == 1 and window.groups and not window.undone
    if window.pruned_at is None and (as_read or _known_files(connection, window_id) >= window.files):
        return
    when = "before it was read again" if window.pruned_at is None else f"on {window.pruned_at:%Y-%m-%d %H:%M:%SZ}"
    msg = (
        f"window {window_id} was pruned {when}: the ledger no longer knows which files were its own, so they cannot go"
        " back; let them stay excluded, and read them under another feed name"
    )
    raise PrunedError(msg)


def _known_files(connection: Connection, window_id: str) -> int:
    """Return how many of the files that a window was planned with are still known, or were left out of it."""
    left_out = select(exclusions.c.file_id).where(exclusions.c.window_id == window_id)
    # Not joined by OR, for which PostgreSQL would read all files of the ledger.
    whole = select(files.c.id).where(files.c.window_id == window_id)
    held = files.c.id.in_(union(whole, select(parts.c.file_id).where(parts.c.window_id == window_id)))
    known = select(func.count()).where(held, files.c.state != "replaced", files.c.id.not_in(left_out))
    excluded = select(func.count()).select_from(exclusions).where(exclusions.c.window_id == window_id)
    return sum(int(connection.execute(query).scalar_one()) for query in (known, excluded))


def _generations(connection: Connection, window_id: str, *, lock: bool) -> list[Row[Any]]:
    # Newest first, in the order in which a publisher locks them.
    query = select(generations).where(generations.c.window_id == window_id).order_by(generations.c.number.desc())
    return list(connection.execute(query.with_for_update(key_share=True) if lock else query))


def _refuse_shown(connection: Connection, window_id: str, *, lock: bool = False) -> None:
    shown = [row for row in _generations(connection, window_id, lock=lock) if row.state in SHOWN_STATES]
    if shown:
        what = "published" if shown[0].state == "published" else "half published"
        undo = f"undo it with `blockread windows undo {window_id}`"
        way = undo if len(shown) == 1 else "repeat the command or clear the run that began it"
        msg = f"window {window_id} is {what}; {way}"
        raise StateError(msg)


def _refuse_unseen_or_live(connection: Connection, window_id: str, now: datetime, *, lock: bool = False) -> None:
    rows = _generations(connection, window_id, lock=lock)
    if not any(row.state in SHOWN_STATES for row in rows):
        msg = f"nothing of window {window_id} is published; use `blockread windows abandon {window_id}`"
        raise StateError(msg)
    for row in rows:
        if row.state in UNFINISHED_STATES and is_live(row.publish_owner, row.publish_heartbeat_at, now):
            work = f"window {window_id}: {row.publish_owner} is publishing generation {row.number}"
            raise owned(work, row.publish_heartbeat_at, now)


def _begin(ledger: Ledger, connection: Connection, window_id: str, asked: Withdrawal) -> Withdrawal:
    of_window = (windows.c.id == window_id, windows.c.state == "open")
    if connection.execute(windows.update().where(*of_window).values(state="abandoned")).rowcount != 1:
        msg = f"window {window_id} was withdrawn without a record; restore the ledger from a backup"
        raise StateError(msg)
    supersede(connection, window_id, (*UNFINISHED_STATES, "published"))
    row = {"window_id": window_id, "files": asked.files, "who": asked.who, "began_at": ledger.now()}
    connection.execute(withdrawals.insert().values(row))
    return asked


def _is_changed(connection: Connection, held: Withdrawal, wanted: str | None) -> bool:
    """Return whether the files get another state now: excluded ones may still go back, but not vice versa."""
    if wanted in {None, held.files}:
        return False
    if wanted == "excluded":
        msg = f"window {held.window}: its files have gone back to pending already; give up the window that reads them"
        raise StateError(msg)
    _refuse_state(connection, held.window, "pending")
    return True


def _changed(connection: Connection, held: Withdrawal, wanted: str | None) -> Withdrawal:
    """Return the withdrawal with the newly requested state of its files."""
    if not _is_changed(connection, held, wanted):
        return held
    refuse_cleaned(connection, held.window)
    change = {"files": "pending", "finished_at": None}
    connection.execute(withdrawals.update().where(*_same(held)).values(change))
    return Withdrawal(window=held.window, files="pending", who=held.who)


def _lock_release(connection: Connection, withdrawal: Withdrawal) -> dict[str, object]:
    """Make listings and plans of the feed wait, and return the new values of a file of the window."""
    query = select(windows.c.feed_id).join(withdrawals, withdrawals.c.window_id == windows.c.id)
    mine = query.where(*_same(withdrawal), windows.c.state == "abandoned")
    # Locked until the files have moved: a command that requests another state waits, and then sees the new one.
    feed_id = connection.scalar(mine.with_for_update(of=withdrawals, key_share=True))
    if feed_id is None:
        msg = f"window {withdrawal.window}: its withdrawal was changed by another process; repeat the command"
        raise ConflictError(msg)
    lock_feed(connection, feed_id)
    if withdrawal.files == "excluded":
        return {"state": "excluded", **_UNREAD}
    # A running listing may already have passed the file, and must not call it missing.
    newest = connection.scalar(select(func.max(listings.c.id)).where(listings.c.feed_id == feed_id))
    return {"state": "pending", "window_id": None, **_UNREAD} | ({"last_listing": newest} if newest else {})


def _same(withdrawal: Withdrawal) -> tuple[ColumnElement[bool], ...]:
    return withdrawals.c.window_id == withdrawal.window, withdrawals.c.files == withdrawal.files
