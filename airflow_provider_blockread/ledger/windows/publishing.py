"""Proving and publishing a generation: with its own epoch, a journal written first, and repeatable steps.

reading -> proven -> publishing -> published; a `verify` generation goes reading -> proven -> verified. After a crash
anywhere, the next claim says in which state it was left, and the steps from there on may be repeated.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, case, func, select

from airflow_provider_blockread.errors import ConflictError, FencedError, StateError
from airflow_provider_blockread.ledger.dialect import among
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.model import Publication
from airflow_provider_blockread.ledger.owners import is_live
from airflow_provider_blockread.ledger.schema.journal_tables import publications
from airflow_provider_blockread.ledger.schema.rows import group_from, in_generation
from airflow_provider_blockread.ledger.schema.tables import file_sums, files, generations, groups
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.exclusions import settle_exclusions
from airflow_provider_blockread.ledger.windows.generations import FINISHED, OVERTAKEN, lock_generation
from airflow_provider_blockread.ledger.windows.groups import error_text
from airflow_provider_blockread.ledger.windows.parts import keep_part_sums
from airflow_provider_blockread.ledger.windows.progress import group_progress, owned
from airflow_provider_blockread.ledger.windows.replacing import settle_versions
from airflow_provider_blockread.options.parsing.sizes import first_of
from airflow_provider_blockread.proof.model import Sums

#: States in which a generation is proven or published.
WORKING = ("reading", "proven", "publishing")
_NOBODY = {"publish_owner": None, "publish_heartbeat_at": None}
_SHOWN = 10  # undone groups or entries that a message lists


def claim_publication(
    ledger: Ledger, window_id: str, generation: int, *, owner: str, stale_after_s: float
) -> Publication:
    """Return the right to prove and publish a generation; its `state` says where to continue.

    A generation that is already complete is returned unchanged. A failed proof may be tried again.

    Raises:
        OwnedError: when another live owner is publishing it.
        StateError: when groups are not done, or a newer generation has replaced it.
    """
    now = ledger.now()
    with ledger.writing() as connection:
        row = lock_generation(connection, window_id, generation)
        held = Publication(
            window=window_id, generation=generation, epoch=row.publish_epoch, owner=owner, state=row.state
        )
        if row.state in FINISHED:
            return held
        if row.state == "superseded":
            msg = f"{held}: {OVERTAKEN}; clear the run from its plan on"
            raise StateError(msg)
        _refuse_foreign(held, row, now, stale_after_s)
        _refuse_undone(connection, held, now)
        claim = replace(held, epoch=held.epoch + 1, state="reading" if row.state == "failed" else row.state)
        change = {
            "state": claim.state,
            # If this attempt dies, a refusal by the output must still be known, so that another generation may start.
            "error": row.error if row.state == "publishing" else None,
            "publish_epoch": claim.epoch,
            "publish_owner": owner,
            "publish_heartbeat_at": now,
        }
        _update(connection, held, (row.state,), change)
        return claim


def check_publication(ledger: Ledger, publication: Publication) -> None:
    """Make sure that the claim still holds, and record that the owner is alive.

    Raises:
        FencedError: when a newer epoch or generation has taken over; the work must then stop.
    """
    with ledger.writing(lasting=False) as connection:  # a power failure that undoes the heartbeat also ends its owner
        hold(connection, publication, WORKING, {"publish_heartbeat_at": ledger.now()})


def let_go(ledger: Ledger, publication: Publication) -> None:
    """Record that nobody publishes it now, so that the next publisher need not wait; its state does not change.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    with ledger.writing() as connection:
        hold(connection, publication, WORKING, _NOBODY)


def mark_failed(ledger: Ledger, publication: Publication, error: str) -> None:
    """Record why proving or publishing failed.

    A generation whose journal is written stays `publishing`, since it can only be completed.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    with ledger.writing() as connection:
        row = lock_generation(connection, publication.window, publication.generation)
        state = "publishing" if row.state == "publishing" else "failed"
        change = {"state": state, "error": error_text(error)} | _NOBODY
        hold(connection, publication, WORKING, change)


def mark_proven(ledger: Ledger, publication: Publication, sums: Sums) -> None:
    """Record the proof's sums; the generation may be published.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
        ConflictError: when it is already being published.
    """
    now = ledger.now()
    change = {"state": "proven", "error": None, "proven_at": now, "publish_heartbeat_at": now} | asdict(sums)
    with ledger.writing() as connection:
        hold(connection, publication, ("reading", "proven"), change)


def finish_publication(ledger: Ledger, publication: Publication) -> None:
    """Show this generation instead of the previous one; the window's files are done. May be repeated.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
        ConflictError: when steps of the journal are not done, or the generation is not being published.
    """
    if _is_finished(ledger, publication, "published"):
        return
    check_publication(ledger, publication)
    _refuse_open_steps(ledger, publication)
    # Before the switch, and in batches: a window of a million files must not cause one long transaction. From here on
    # publishing can only be completed, so nobody is misled by files that are done a moment early.
    _settle_files(ledger, publication)
    now = ledger.now()
    shown = (generations.c.window_id == publication.window, generations.c.state == "published")
    with ledger.writing() as connection:
        lock_generation(connection, publication.window, publication.generation)
        connection.execute(generations.update().where(*shown).values(state="superseded"))
        hold(connection, publication, ("publishing",), {"state": "published", "error": None, "published_at": now})
        settle_exclusions(connection, publication)


def mark_announced(ledger: Ledger, window_id: str, generation: int) -> None:
    """Record that a task has told the output's readers about a published generation."""
    mine = (generations.c.window_id == window_id, generations.c.number == generation)
    with ledger.writing() as connection:
        connection.execute(generations.update().where(*mine).values(announced_at=ledger.now()))


def finish_verification(ledger: Ledger, publication: Publication) -> None:
    """Record that a `verify` generation was proven; what is published stays. May be repeated.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
        ConflictError: when the generation is not proven.
        StateError: when it must be published instead.
    """
    if _is_finished(ledger, publication, "verified"):
        return
    with ledger.writing() as connection:
        row = lock_generation(connection, publication.window, publication.generation)
        if row.mode != "verify":
            msg = f"{publication}: it is to be published, not only verified; write its journal"
            raise StateError(msg)
    drop_file_sums(ledger, publication)
    with ledger.writing() as connection:
        hold(connection, publication, ("proven",), {"state": "verified"})


def drop_file_sums(ledger: Ledger, held: Publication) -> None:
    """Drop what is recorded to have been read from each file: by an earlier proof, or by a verification.

    After a verification, the rows of files still describe what is published.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    sums = in_generation(file_sums, held.window, held.generation)
    while batch := _first_read(ledger, held):
        with ledger.writing() as connection:
            hold(connection, held, WORKING, {"publish_heartbeat_at": ledger.now()})
            connection.execute(file_sums.delete().where(sums, file_sums.c.file_id <= batch[-1]))


def hold(connection: Connection, held: Publication, states: tuple[str, ...], change: Mapping[str, object]) -> None:
    """Change the generation's row, which also proves that the publication still has its owner.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
        ConflictError: when the generation is not in any of these states.
    """
    if _update(connection, held, states, change):
        return
    row = lock_generation(connection, held.window, held.generation)
    if row.publish_epoch != held.epoch or row.state == "superseded":
        msg = f"{held}: epoch {held.epoch} no longer publishes it ({row.state}, epoch {row.publish_epoch}); stop"
        raise FencedError(msg)
    msg = f"{held} is {row.state}, which must be {' or '.join(states)} here; claim it again and continue from its state"
    raise ConflictError(msg)


def _update(connection: Connection, held: Publication, states: tuple[str, ...], change: Mapping[str, object]) -> bool:
    mine = (
        generations.c.window_id == held.window,
        generations.c.number == held.generation,
        generations.c.publish_epoch == held.epoch,
        generations.c.state.in_(states),
    )
    return connection.execute(generations.update().where(*mine).values(change)).rowcount == 1


def _refuse_foreign(held: Publication, row: Row[Any], now: datetime, stale_after_s: float) -> None:
    beat = row.publish_heartbeat_at
    if row.publish_owner != held.owner and is_live(row.publish_owner, beat, now, stale_after_s):
        work = f"{held}: {row.publish_owner} is publishing it"
        raise owned(work, beat, now)


def _refuse_undone(connection: Connection, held: Publication, now: datetime) -> None:
    query = select(groups).where(in_generation(groups, held.window, held.generation), groups.c.state != "done")
    found = map(group_from, connection.execute(query.order_by(groups.c.number)))
    undone = [f"{group.ref.group} ({group_progress(group, now)})" for group in found]
    if undone:
        msg = f"{held}: groups {first_of(undone, _SHOWN)} are not done; clear their read tasks, then this one"
        raise StateError(msg)


def _refuse_open_steps(ledger: Ledger, held: Publication) -> None:
    mine = in_generation(publications, held.window, held.generation)
    with ledger.reading() as connection:
        open_steps = connection.scalar(select(func.count()).where(mine, publications.c.state != "done"))
    if open_steps:
        msg = f"{held}: {open_steps} steps of its journal are not done; take them, confirm them, then finish"
        raise ConflictError(msg)


def _is_finished(ledger: Ledger, held: Publication, state: str) -> bool:
    with ledger.reading() as connection:
        row = lock_generation(connection, held.window, held.generation)
    return bool(row.state == state and row.publish_epoch == held.epoch)


def _settle_files(ledger: Ledger, held: Publication) -> None:
    """Move what was read from each file into its row, where it takes a tenth of the space, and mark it as done."""
    sums = in_generation(file_sums, held.window, held.generation)
    change = {
        "state": case((files.c.state == "planned", "done"), else_=files.c.state),
        "records": file_sums.c.records,
        "bad_records": func.nullif(file_sums.c.bad_records, 0),
    }
    read = (files.c.id == file_sums.c.file_id, files.c.window_id == held.window, sums)
    while batch := _first_read(ledger, held):
        with ledger.writing() as connection:
            hold(connection, held, ("publishing",), {"publish_heartbeat_at": ledger.now()})
            connection.execute(files.update().where(*read, file_sums.c.file_id <= batch[-1]).values(change))
            settle_versions(connection, held, batch)
            keep_part_sums(connection, held, batch)
            connection.execute(file_sums.delete().where(sums, file_sums.c.file_id <= batch[-1]))
    planned = files.c.state == "planned"
    with ledger.reading() as connection:  # files from which nothing was read, such as empty ones; usually none
        unread = select(files.c.id).where(files.c.window_id == held.window, planned)
        ids = array("q", connection.scalars(unread))
    for batch in batched(ids, BATCH_FILES):
        with ledger.writing() as connection:
            hold(connection, held, ("publishing",), {"publish_heartbeat_at": ledger.now()})
            connection.execute(files.update().where(among(connection, files.c.id, batch), planned).values(state="done"))
            settle_versions(connection, held, batch)


def _first_read(ledger: Ledger, held: Publication) -> list[int]:
    """Return the first files, by number, of which it is recorded what was read.

    A range selects their rows later: PostgreSQL, which has no statistics about rows that have just come, would compare
    each row of the generation with each file of a list.
    """
    sums = in_generation(file_sums, held.window, held.generation)
    query = select(file_sums.c.file_id).where(sums).order_by(file_sums.c.file_id).limit(BATCH_FILES)
    with ledger.reading() as connection:
        return list(connection.scalars(query))
