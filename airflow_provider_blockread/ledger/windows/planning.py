"""Planning: take pending files, then freeze them into a window.

The key is claimed first, by a window in state `planning` with an owner, a heartbeat and an epoch; files are taken in
batches, each fenced by that epoch; one short transaction then opens the window with its first generation. Planners of
one feed work one after another. A planner that died is taken over: its files go back to `pending` when its key or any
other key of the feed is planned next.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection, Row, func, select

from airflow_provider_blockread.blocks.ids import window_id
from airflow_provider_blockread.errors import PlanConflictError, PlannerBusyError
from airflow_provider_blockread.ledger.dialect import among
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, find_feed, lock_feed, note_dag, open_feed
from airflow_provider_blockread.ledger.model import NewWindow, Window
from airflow_provider_blockread.ledger.owners import is_live
from airflow_provider_blockread.ledger.schema.rows import WINDOWS, window_from
from airflow_provider_blockread.ledger.schema.tables import feeds, files, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import insert_generation, insert_groups
from airflow_provider_blockread.ledger.windows.parts import take_parts
from airflow_provider_blockread.ledger.windows.progress import age


class Planner:
    """One attempt at planning a key: with the newest epoch, it owns the window's row and plans alone in its feed.

    As a context manager, it gives back everything that it holds unless the window was opened.
    """

    def __init__(self, ledger: Ledger, feed_id: int, window: str, epoch: int) -> None:
        self.ledger, self.feed_id, self.window, self.epoch = ledger, feed_id, window, epoch
        self.taken = 0  # files
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Give everything back, since an interrupted task must not hold files either."""
        if not self._ended:
            self.empty()

    def update(self, connection: Connection, values: dict[str, object]) -> None:
        """Change the window's row, which also proves that the plan is still ours."""
        lock_feed(connection, self.feed_id)
        held = (windows.c.id == self.window, windows.c.state == "planning", windows.c.epoch == self.epoch)
        if connection.execute(windows.update().where(*held).values(heartbeat_at=self.ledger.now(), **values)).rowcount:
            return
        owner = connection.scalar(select(windows.c.owner).where(windows.c.id == self.window))
        msg = f"window {self.window}: {owner} has taken the plan over; plan again, to continue with its window"
        raise PlanConflictError(msg)

    def take(self, batch: list[int]) -> None:
        """Move files from pending to planned, all or none; this becomes permanent when the window is opened.

        Raises:
            PlanConflictError: a file is no longer pending, or another planner has the key.
        """
        with self.ledger.writing(lasting=False) as connection:
            self.update(connection, {})
            whole = files.c.part_next_offset.is_(None)  # no part was taken since it was chosen
            mine = among(connection, files.c.id, batch)
            # Written so that the index is not used: otherwise the database scans every pending file of the feed.
            waits = (files.c.feed_id + 0 == self.feed_id, files.c.state.concat("") == "pending")
            free = (mine, *waits, whole)
            change = files.update().where(*free).values(state="planned", window_id=self.window)
            lost = len(batch) - connection.execute(change).rowcount
            if lost:
                msg = (
                    f"window {self.window}: {lost} of {len(batch)} files are no longer pending, "
                    "another planner took them or they were modified; list and plan again"
                )
                raise PlanConflictError(msg)
        self.taken += len(batch)

    def announce(self, manifest_uri: str) -> None:
        """Record where the manifest will be written, so that it is removed if the plan is not completed.

        Raises:
            PlanConflictError: another planner has the key.
        """
        with self.ledger.writing(lasting=False) as connection:
            self.update(connection, {"manifest_uri": manifest_uri})

    def release(self) -> None:
        """Give back all files that the window's row holds."""
        planned = (files.c.window_id == self.window, files.c.state == "planned")
        held = select(files.c.id).where(*planned).limit(BATCH_FILES)
        moved = 1
        while moved:
            with self.ledger.writing() as connection:
                self.update(connection, {})
                free = files.update().where(files.c.id.in_(held.scalar_subquery()), files.c.state == "planned")
                moved = connection.execute(free.values(state="pending", window_id=None)).rowcount

    def empty(self) -> None:
        """Give everything back and leave the key to a later plan."""
        self._ended = True
        self.release()
        with self.ledger.writing() as connection:
            self.update(connection, {"state": "empty"})

    def open(self, plan: NewWindow) -> None:
        """Open the window with the files that were taken, and with generation 1 to be read.

        Args:
            plan: the window; its manifest lists the files that were taken, and the parts, which are taken now.

        Raises:
            PlanConflictError: another planner has the key, or parts are no longer free.
        """
        if self.taken + len(plan.parts) != plan.files:
            msg = (
                f"window {self.window}: the plan has {plan.files} files, but {self.taken} whole files were taken;"
                " plan again"
            )
            raise PlanConflictError(msg)
        alike = ("manifest_uri", "manifest_hash", "files", "blocks", "bytes", "readers")
        opened = {name: getattr(plan, name) for name in alike} | {"state": "open", "groups": len(plan.groups)}
        first = {"window_id": self.window, "number": 1, "mode": "write", "options": plan.options, "run": plan.run}
        with self.ledger.writing() as connection:
            self.update(connection, opened)
            asked = {"clear_number": plan.clear_number, "created_at": self.ledger.now()}
            insert_generation(connection, first | asked)
            insert_groups(connection, self.window, plan.groups, plan.clear_number)
            # Now, since the next part may be taken once the window is open, and none is given back alone.
            take_parts(connection, self.window, plan.parts)
        self._ended = True


def find_window(ledger: Ledger, feed: str, key: str) -> Window | None:
    """Return the feed's window with this key, in whatever state, or None."""
    query = WINDOWS.where(feeds.c.name == feed, windows.c.key == key)
    with ledger.reading() as connection:
        row = connection.execute(query).one_or_none()
    return None if row is None else window_from(row)


def claim_window(
    ledger: Ledger,
    feed: str,
    key: str,
    *,
    owner: str,
    run: str | None = None,
    interval_ns: tuple[int, int] | None = None,
) -> Planner:
    """Return the right to plan this key, for an Airflow run if one requests it.

    Raises:
        PlannerBusyError: another planner is planning another window of the feed.
        PlanConflictError: the key is already planned, or being planned by another planner.
    """
    feed_id, now = open_feed(ledger, feed), ledger.now()
    mine = (windows.c.feed_id == feed_id, windows.c.key == key)
    with ledger.writing() as connection:
        lock_feed(connection, feed_id)
        held = connection.execute(WINDOWS.where(*mine)).one_or_none()
        if held is not None:
            _refuse_held(held, owner, now)
        _refuse_busy(connection, feed_id, key, now)
        newest = connection.scalar(select(func.max(windows.c.sequence)).where(windows.c.feed_id == feed_id))
        start_ns, end_ns = interval_ns or (None, None)
        plan = Planner(ledger, feed_id, window_id(feed, key), 1 if held is None else held.epoch + 1)
        claim = {
            "interval_start_ns": start_ns,
            "interval_end_ns": end_ns,
            "sequence": (newest or 0) + 1,
            "state": "planning",
            "epoch": plan.epoch,
            "owner": owner,
            "run": run,
            "heartbeat_at": now,
            "created_at": now,
        }
        if held is None:
            row = {"id": plan.window, "feed_id": feed_id, "key": key}
            connection.execute(windows.insert().values(claim | row))
        else:
            connection.execute(windows.update().where(*mine, windows.c.epoch == held.epoch).values(claim))
        note_dag(connection, feed_id, run)
    if held is not None:
        plan.release()
    return plan


def release_stale_plans(ledger: Ledger, feed: str, *, owner: str = "") -> int:
    """Give back the files of planners that died, and of this owner's own earlier tries; return how many plans."""
    now, released = ledger.now(), 0
    with ledger.reading() as connection:
        feed_id = find_feed(connection, feed)
        query = select(windows).where(windows.c.feed_id == feed_id, windows.c.state == "planning")
        found = connection.execute(query).all()
    for row in found:
        own = row.owner == owner
        if not own and is_live(row.owner, row.heartbeat_at, now):
            continue
        # Take the window over before emptying it: otherwise its planner could wake up and take more files.
        held = [windows.c.id == row.id, windows.c.epoch == row.epoch, windows.c.state == "planning"]
        if not own:
            held.append(windows.c.heartbeat_at == row.heartbeat_at)
        change = {"epoch": row.epoch + 1, "heartbeat_at": ledger.now(), "owner": owner or row.owner}
        with ledger.writing() as connection:
            taken = connection.execute(windows.update().where(*held).values(change)).rowcount
        if taken:
            Planner(ledger, row.feed_id, row.id, row.epoch + 1).empty()
        released += taken
    return released


def _refuse_held(held: Row[Any], owner: str, now: datetime) -> None:
    if held.state == "empty":
        return
    place = f"feed {held.feed} window {held.key!r}"
    if held.state != "planning":
        since = held.created_at.isoformat()
        msg = f"{place} is {held.state} since {since}, planned by {held.owner}; plan again, to continue with it"
        raise PlanConflictError(msg)
    if held.owner != owner and is_live(held.owner, held.heartbeat_at, now):
        beat = age(held.heartbeat_at, now)
        msg = f"{place}: {held.owner} is planning it, last heartbeat {beat}; wait, then plan again"
        raise PlanConflictError(msg)


def _refuse_busy(connection: Connection, feed_id: int, key: str, now: datetime) -> None:
    others = (windows.c.feed_id == feed_id, windows.c.state == "planning", windows.c.key != key)
    for row in connection.execute(WINDOWS.where(*others)):
        if is_live(row.owner, row.heartbeat_at, now):
            msg = f"feed {row.feed}: {row.owner} is planning window {row.key!r}; plan again when it is done"
            raise PlannerBusyError(msg)
