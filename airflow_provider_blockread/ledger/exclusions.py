"""Exclusions: the only way a plan may shrink, each with file, reason and who."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, or_, select

from airflow_provider_blockread.blocks.ids import path_digest
from airflow_provider_blockread.errors import ConflictError, SourceError
from airflow_provider_blockread.ledger import tables
from airflow_provider_blockread.ledger.generations import UNFINISHED, lock_generation
from airflow_provider_blockread.ledger.groups import reopen_generation
from airflow_provider_blockread.ledger.known_tables import parts
from airflow_provider_blockread.ledger.parts import leave_part_out
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.tables import exclusions, files, generations, windows

#: Reasons that are file states of their own; any other text makes the file `excluded`.
_REASON_STATES = ("missing", "changed")


def exclude_file(
    ledger: Ledger, window_id: str, path: str, *, reason: str, who: str, groups: Sequence[int] = ()
) -> tuple[int, list[int]]:
    """Leave a file out of an unpublished window; return its id and the groups that must be read again.

    Groups that are done go back to `pending` with their epoch kept, and a proof of the generation no longer counts.
    A running group is left alone: its owner was told what to leave out when it claimed it. Excluding a file twice
    changes nothing more.

    Args:
        ledger: where to.
        window_id: which window.
        path: the file's canonical path.
        reason: `missing` or `changed` (the file waits to be read by a later window), or any other text (it does not).
        who: a user or task.
        groups: numbers of the groups that hold blocks of the file.

    Raises:
        SourceError: when the window does not hold the file.
        ConflictError: when the window is published, being published, or not open; or when it reads a part of the
            file, and another window goes on behind it.
    """
    state = reason if reason in _REASON_STATES else "excluded"
    with ledger.writing() as connection:
        generation = _unpublished(connection, window_id)
        file_id = _file(connection, window_id, path)
        known = (exclusions.c.window_id == window_id, exclusions.c.file_id == file_id)
        if connection.scalar(select(exclusions.c.file_id).where(*known)) is not None:
            return file_id, []
        row = {"window_id": window_id, "file_id": file_id, "path": path, "reason": reason, "who": who}
        connection.execute(exclusions.insert().values(row | {"excluded_at": ledger.now()}))
        held = (files.c.id == file_id, files.c.window_id == window_id, files.c.state.in_(("planned", "done")))
        connection.execute(files.update().where(*held).values(state=state))
        leave_part_out(connection, window_id, file_id, state=state)
        reopen_generation(connection, window_id, generation)
        return file_id, _reset(connection, window_id, generation, groups)


def excluded_files(ledger: Ledger, window_id: str) -> list[int]:
    """Return the ids of the files that a window leaves out, in order."""
    query = select(exclusions.c.file_id).where(exclusions.c.window_id == window_id).order_by(exclusions.c.file_id)
    with ledger.reading() as connection:
        return list(connection.scalars(query))


def _unpublished(connection: Connection, window_id: str) -> int:
    query = select(generations.c.number, generations.c.state).where(generations.c.window_id == window_id)
    states = {row.number: row.state for row in connection.execute(query)}
    if not states:
        msg = f"window {window_id} is not open, so it holds no files; list windows with `blockread windows list`"
        raise ConflictError(msg)
    if "published" in states.values():
        msg = f"window {window_id} is published, with this file; rebuild it if the file's records must go"
        raise ConflictError(msg)
    number = max(states)
    if lock_generation(connection, window_id, number).state not in UNFINISHED:
        msg = f"window {window_id} generation {number} is {states[number]}; read the state again"
        raise ConflictError(msg)
    return int(number)


def _file(connection: Connection, window_id: str, path: str) -> int:
    mine = (files.c.feed_id == windows.c.feed_id, files.c.path_digest == path_digest(path))
    in_parts = select(parts.c.file_id).where(parts.c.window_id == window_id)
    holds = or_(files.c.window_id == windows.c.id, files.c.id.in_(in_parts))
    query = select(files.c.id, files.c.path).join_from(windows, files, holds)
    row = connection.execute(query.where(*mine, windows.c.id == window_id)).one_or_none()
    if row is None:
        excluded = (exclusions.c.window_id == window_id, exclusions.c.path == path)
        found = connection.scalar(select(exclusions.c.file_id).where(*excluded))
        if found is None:
            msg = (
                f"window {window_id} holds no file {path}; see what it holds with `blockread windows show {window_id}`"
            )
            raise SourceError(msg)
        return int(found)
    return int(row.id)


def _reset(connection: Connection, window_id: str, generation: int, numbers: Sequence[int]) -> list[int]:
    done = (
        tables.groups.c.window_id == window_id,
        tables.groups.c.generation == generation,
        tables.groups.c.number.in_(numbers),
        tables.groups.c.state == "done",
    )
    reset = list(connection.scalars(select(tables.groups.c.number).where(*done).order_by(tables.groups.c.number)))
    change = {"state": "pending", "result_uri": None, "result_hash": None, "owner": None, "heartbeat_at": None}
    connection.execute(tables.groups.update().where(*done).values(change))
    return reset
