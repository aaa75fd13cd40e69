"""The claim protocol of groups: one owner at a time, distinguished from earlier ones by an epoch.

A claim raises the epoch. An owner with an older epoch is refused at its next heartbeat and at completion, so a worker
that was wrongly considered dead does no harm when it wakes up.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, exists, or_, select

from airflow_provider_blockread.errors import CompleteError, ConflictError, FencedError, StateError
from airflow_provider_blockread.ledger.model import Claim, Group, GroupOutcome, GroupRef
from airflow_provider_blockread.ledger.owners import is_live
from airflow_provider_blockread.ledger.schema.rows import group_from, in_generation, row_from
from airflow_provider_blockread.ledger.schema.tables import exclusions, generations, groups
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import FINISHED, OVERTAKEN, lock_generation
from airflow_provider_blockread.ledger.windows.progress import owned
from airflow_provider_blockread.observer import Tally

_MAX_ERROR_CHARS = 10_000
_IS_RUNNING = groups.c.state == "running"
#: What an attempt finds in its columns when it begins.
_NOTHING_YET: dict[str, int | None] = {
    **dict.fromkeys(("finished_at", "error", "result_uri", "result_hash", "spec_hash", "application"), None),
    **dict.fromkeys(("holder", "blocks_done", "records_done", "bad_records_done", "bytes_done"), 0),
    **dict.fromkeys(("progress_at", "spark_ui"), None),
}


def claim_group(ledger: Ledger, ref: GroupRef, *, owner: str, clear_number: int, stale_after_s: float) -> Claim | None:
    """Return the right to run a group, or None if it is already done at this clear number.

    An owner may always take over from itself, and anybody from an owner whose heartbeat is older than `stale_after_s`,
    or whose process is known to be gone. A higher clear number reads a done group again, unless its generation is
    already being published.

    Raises:
        OwnedError: when another live owner holds the group.
        FencedError: when the same owner runs it with a higher clear number, so this is a try from before the clear.
        CompleteError: when the group must be read again, but the generation is published or verified.
        StateError: when the generation is superseded, or there is no such group.
    """
    now = ledger.now()
    with ledger.writing() as connection:
        generation = lock_generation(connection, ref.window, ref.generation)
        group = _group(connection, ref)
        if _is_done(ref, group, generation.state, clear_number):
            return None
        _refuse_zombie(ref, group, owner, clear_number)
        _refuse_foreign(ref, group, owner, now, stale_after_s)
        if group.state == "done" or generation.state != "reading":
            reopen_generation(connection, ref.window, ref.generation)
        change = {
            "state": "running",
            "epoch": group.epoch + 1,
            "owner": owner,
            "heartbeat_at": now,
            "stale_after_s": stale_after_s,
            "clear_number": clear_number,
            "started_at": now,
            **_NOTHING_YET,
        }
        held = (*_is(ref), groups.c.epoch == group.epoch, groups.c.state == group.state)
        if connection.execute(groups.update().where(*held).values(change)).rowcount != 1:
            raise _overtaken(connection, ref, group.epoch)
        excluded = tuple(connection.scalars(left_out_by(ref.window, ref.generation)))
        return Claim(ref=ref, epoch=group.epoch + 1, owner=owner, excluded=excluded)


def adopt_group(ledger: Ledger, claim: Claim) -> Claim:
    """Return the claim with which a later try of the same task continues an epoch; the earlier try is fenced.

    Raises:
        FencedError: when another try was first.
    """
    holder = claim.holder + 1
    _change(ledger, claim, {"holder": holder, "heartbeat_at": ledger.now()})
    return replace(claim, holder=holder)


def is_adopted(ledger: Ledger, claim: Claim) -> bool:
    """Return whether a later try continues the epoch of a claim, and thus owns its application."""
    query = select(groups.c.epoch, groups.c.holder).where(*_is(claim.ref))
    with ledger.reading() as connection:
        row = connection.execute(query).one_or_none()
    return row is not None and row.epoch == claim.epoch and row.holder != claim.holder


def get_group(ledger: Ledger, ref: GroupRef) -> Group:
    """Return a group.

    Raises:
        StateError: when there is no such group.
    """
    with ledger.reading() as connection:
        return group_from(_group(connection, ref, locked=False))


def running_before(ledger: Ledger, ref: GroupRef) -> list[Group]:
    """Return the group in earlier generations with an attempt that may still run on a cluster."""
    mine = (groups.c.window_id == ref.window, groups.c.number == ref.group, groups.c.generation < ref.generation)
    query = select(groups).where(*mine, groups.c.state == "running", groups.c.spec_hash.is_not(None))
    with ledger.reading() as connection:
        return [group_from(row) for row in connection.execute(query)]


def left_out_by(window_id: str, generation: int | None) -> Select[int]:
    """Return the query for the sorted ids of the files that a generation leaves out."""
    holds = or_(exclusions.c.generation.is_(None), exclusions.c.generation == generation)
    query = select(exclusions.c.file_id).where(exclusions.c.window_id == window_id, holds)
    return query.order_by(exclusions.c.file_id)


def heartbeat(ledger: Ledger, claim: Claim) -> None:
    """Record that the owner is alive.

    Raises:
        FencedError: when a newer epoch or generation has taken over; the work must then stop.
    """
    _change(ledger, claim, {"heartbeat_at": ledger.now()})


def record_submission(ledger: Ledger, claim: Claim, *, spec_hash: str, application: str | None = None) -> None:
    """Record that the attempt's application may run on a cluster from now on; the same owner's next try may adopt it.

    Args:
        ledger: the ledger.
        claim: the claim of the attempt.
        spec_hash: the hash of its job specification.
        application: its id on the cluster, once the cluster has accepted it.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    _change(ledger, claim, {"spec_hash": spec_hash, "application": application, "heartbeat_at": ledger.now()})


def record_progress(ledger: Ledger, claim: Claim, tally: Tally, *, application: str = "", ui: str = "") -> None:
    """Record what the attempt has read so far; blocks and bytes are capped at the planned numbers.

    Args:
        ledger: the ledger.
        claim: the claim of the attempt.
        tally: what it has read.
        application: its id, as its driver says; ignored if a cluster has given it an id, by which it can be killed.
        ui: the address of its live pages.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    change = {
        "blocks_done": case((groups.c.blocks < tally.blocks, groups.c.blocks), else_=tally.blocks),
        "records_done": tally.records,
        "bad_records_done": tally.bad_records,
        "bytes_done": case((groups.c.bytes < tally.bytes, groups.c.bytes), else_=tally.bytes),
        "progress_at": ledger.now(),
        "application": case((groups.c.spec_hash.is_(None), application or None), else_=groups.c.application),
        "spark_ui": ui or None,
    }
    _change(ledger, claim, change)


def complete_group(ledger: Ledger, claim: Claim, outcome: GroupOutcome) -> None:
    """Record the result of the attempt; the group is done. May be repeated with the same result.

    Raises:
        FencedError: when a newer epoch or generation has taken over; the result must then not be used.
    """
    change = row_from(outcome) | {"state": "done", "finished_at": ledger.now()}
    same = (groups.c.result_uri == outcome.result_uri, groups.c.result_hash == outcome.result_hash)
    _change(ledger, claim, change, or_(_IS_RUNNING, and_(groups.c.state == "done", *same)))


def fail_group(ledger: Ledger, claim: Claim, error: str) -> None:
    """Record that the attempt failed; the next claim starts over.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    _change(ledger, claim, {"state": "failed", "error": error_text(error), "finished_at": ledger.now()})


def reopen_generation(connection: Connection, window_id: str, number: int) -> None:
    """Reopen an unpublished generation so that more of it can be read; attempts to prove or publish it are fenced.

    Raises:
        StateError: when it is being published, or is complete.
    """
    open_states = (generations.c.state.in_(("reading", "proven", "failed")),)
    mine = (generations.c.window_id == window_id, generations.c.number == number)
    change = {
        "state": "reading",
        "error": None,
        "publish_epoch": generations.c.publish_epoch + 1,
        "publish_owner": None,
        "publish_heartbeat_at": None,
    }
    if connection.execute(generations.update().where(*mine, *open_states).values(change)).rowcount != 1:
        msg = f"window {window_id} generation {number} is being published or is complete; clear the run to rebuild it"
        raise StateError(msg)


def error_text(error: str) -> str:
    """Return the text in a form that can be stored: without NUL, which PostgreSQL refuses, and truncated."""
    return error.replace("\x00", "\\x00")[:_MAX_ERROR_CHARS]


def _is(ref: GroupRef) -> tuple[ColumnElement[bool], ...]:
    return in_generation(groups, ref.window, ref.generation), groups.c.number == ref.group


def _group(connection: Connection, ref: GroupRef, *, locked: bool = True) -> Row[Any]:
    query = select(groups).where(*_is(ref))
    row = connection.execute(query.with_for_update() if locked else query).one_or_none()
    if row is None:
        msg = f"there is no {ref}; list the groups with `blockread windows show {ref.window}`"
        raise StateError(msg)
    return row


def _is_done(ref: GroupRef, group: Row[Any], generation_state: str, clear_number: int) -> bool:
    if generation_state == "superseded":
        msg = f"{ref}: {OVERTAKEN}; clear the run from its plan on"
        raise StateError(msg)
    # A generation that is being published can only be completed: its groups stay done, whatever was cleared.
    if group.state == "done" and (clear_number <= group.clear_number or generation_state == "publishing"):
        return True
    if generation_state == "publishing":
        msg = f"{ref}: its generation is being published; let the commit finish, then clear the run to rebuild it"
        raise ConflictError(msg)
    if generation_state in FINISHED:
        msg = f"{ref}: its generation is {generation_state}; clear the run from its plan on to rebuild it"
        raise CompleteError(msg)
    return False


def _refuse_zombie(ref: GroupRef, group: Row[Any], owner: str, clear_number: int) -> None:
    # All tries of an Airflow task have the same owner; only the clear number says which of two should stop.
    if group.state == "running" and group.owner == owner and clear_number < group.clear_number:
        msg = f"{ref}: cleared since this task began (clear number {group.clear_number}, not {clear_number}); stop"
        raise FencedError(msg)


def _refuse_foreign(ref: GroupRef, group: Row[Any], owner: str, now: datetime, stale_after_s: float) -> None:
    beat = group.heartbeat_at
    if group.state == "running" and group.owner != owner and is_live(group.owner, beat, now, stale_after_s):
        work = f"{ref}: {group.owner} is running it"
        raise owned(work, beat, now)


def _change(
    ledger: Ledger, claim: Claim, change: dict[str, object], may_change: ColumnElement[bool] = _IS_RUNNING
) -> None:
    ref = claim.ref
    read_on = exists().where(
        generations.c.window_id == ref.window, generations.c.number == ref.generation, generations.c.state == "reading"
    )
    held = (*_is(ref), groups.c.epoch == claim.epoch, groups.c.holder == claim.holder, may_change, read_on)
    with ledger.writing() as connection:
        if connection.execute(groups.update().where(*held).values(change)).rowcount != 1:
            raise _overtaken(connection, ref, claim.epoch)


def _overtaken(connection: Connection, ref: GroupRef, epoch: int) -> FencedError:
    columns = (*groups.c["state", "epoch", "owner", "holder"], generations.c.state.label("generation_state"))
    query = select(*columns).join(generations).where(*_is(ref))
    row = connection.execute(query).one_or_none()
    now = (
        "gone"
        if row is None
        else f"{row.state} at epoch {row.epoch} by {row.owner}, adopted {row.holder} times, generation"
        f" {row.generation_state}"
    )
    return FencedError(f"{ref}: epoch {epoch} no longer holds it ({now}); stop, this attempt's output will not be used")
