"""Exclusions: the only way in which a plan may shrink, each recorded with file, reason and who."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Row, and_, func, or_, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import path_digest
from airflow_provider_blockread.errors import ConflictError, SourceError, StateError, shell_word
from airflow_provider_blockread.ledger.model import Publication, Window
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.schema.columns import UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.file_tables import parts
from airflow_provider_blockread.ledger.schema.rows import in_generation
from airflow_provider_blockread.ledger.schema.tables import exclusions, feeds, file_sums, files, generations, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import lock_generation, published_generation
from airflow_provider_blockread.ledger.windows.groups import left_out_by, reopen_generation
from airflow_provider_blockread.ledger.windows.parts import leave_part_out
from airflow_provider_blockread.ledger.windows.replacing import insert_pruned

#: Reasons that are also file states; any other text makes the file `excluded`.
_REASON_STATES = ("missing", "changed")


class InPlan(NamedTuple):
    """What a window's plan has of a file: the groups with its blocks and, if it has any, its id and version."""

    groups: Sequence[int] = ()
    id: int | None = None  # of a window that was pruned, the ledger itself no longer knows it
    version: FileVersion | None = None


_UNKNOWN = InPlan()


def exclude_file(
    ledger: Ledger, window_id: str, path: str, *, reason: str, who: str, plan: InPlan = _UNKNOWN
) -> tuple[int, list[int]]:
    """Leave a file out of an unpublished generation; return its id and the groups that must be read again.

    If nothing of the window is published, the file is left out of the window. If a generation with the file is
    published, only the generation that will replace it leaves the file out: until then, the file is done, and what is
    published has its records.

    Groups that are done go back to `pending` and keep their epoch, and a proof of the generation no longer counts.
    A running group is not changed: its claim says what it leaves out. Excluding a file twice has no further effect.

    Args:
        ledger: the ledger to write.
        window_id: the window's id.
        path: the file's canonical path.
        reason: `missing` or `changed` (the file waits to be read by a later window), or any other text (it does not).
        who: a user or task.
        plan: what the window's plan has of the file.

    Raises:
        SourceError: when the window does not hold the file.
        StateError: when the window is published and not being rebuilt, or is being published, or not open; or when
            it reads a part of the file, and is published or another window continues after it.
    """
    state = reason if reason in _REASON_STATES else "excluded"
    with ledger.writing() as connection:
        if plan.id is not None and plan.version is not None:
            insert_pruned(connection, window_id, plan.id, plan.version)
        generation, replaces, file_id = _leaving_out(connection, window_id, path, plan.id)
        mine = or_(exclusions.c.generation.is_(None), exclusions.c.generation == generation)
        known = (exclusions.c.window_id == window_id, exclusions.c.file_id == file_id, mine)
        if connection.scalar(select(exclusions.c.file_id).where(*known)) is not None:
            return file_id, []
        row = {"window_id": window_id, "file_id": file_id, "path": path, "reason": reason, "who": who}
        alone = {"generation": generation if replaces else None, "excluded_at": ledger.now()}
        connection.execute(exclusions.insert().values(row | alone))
        read = (in_generation(file_sums, window_id, generation), file_sums.c.file_id == file_id)
        connection.execute(file_sums.delete().where(*read))
        if not replaces:
            held = (files.c.id == file_id, files.c.window_id == window_id, files.c.state.in_(("planned", "done")))
            connection.execute(files.update().where(*held).values(state=state))
            leave_part_out(connection, window_id, file_id, state=state)
        reopen_generation(connection, window_id, generation)
        return file_id, _reset(connection, window_id, generation, plan.groups)


def check_exclusion(ledger: Ledger, window_id: str, path: str, *, planned: int | None = None) -> tuple[int, bool, int]:
    """Return the generation from which a file can be excluded now, whether it replaces a published one, and its id.

    Raises:
        SourceError: as `exclude_file` does.
        StateError: as `exclude_file` does, except if another window continues after this one.
    """
    with ledger.reading() as connection:
        return _leaving_out(connection, window_id, path, planned)


def excluded_files(ledger: Ledger, window_id: str, generation: int | None = None) -> list[int]:
    """Return the sorted ids of the files that a generation of a window (None: every generation) leaves out."""
    with ledger.reading() as connection:
        return list(connection.scalars(left_out_by(window_id, generation)))


def without_excluded(ledger: Ledger, window: Window, generation: int | None = None) -> Window:
    """Return a window with the number and bytes of the files that it does not leave out.

    What is published of it has these bytes, even if the ledger no longer knows the files. With a generation that is to
    replace what is published, files that only this one leaves out are missing, too.
    """
    part = and_(parts.c.window_id == exclusions.c.window_id, parts.c.file_id == exclusions.c.file_id)
    held = func.coalesce(parts.c.part_end - parts.c.part_start, files.c.size)
    query = select(exclusions.c.generation, func.count(), func.coalesce(func.sum(held), 0)).select_from(exclusions)
    query = query.outerjoin(files, files.c.id == exclusions.c.file_id).outerjoin(parts, part)
    mine = query.where(exclusions.c.window_id == window.id).group_by(exclusions.c.generation)
    with ledger.reading() as connection:
        sums = {number: (int(count), int(size)) for number, count, size in connection.execute(mine)}
    count, size = sums.get(None, (0, 0))
    own_count, own_size = (0, 0) if generation is None else sums.get(generation, (0, 0))
    shown = published_generation(ledger, window.id)
    left = max(window.bytes - size, 0) if shown is None else shown.sums.bytes
    return replace(window, files=window.files - count - own_count, bytes=max(left - own_size, 0))


#: Exclusions, as `Exclusion` needs them.
EXCLUSIONS = (
    select(*(exclusions.c[name] for name in ("file_id", "path", "reason", "who", "excluded_at")))
    .add_columns(windows.c.id, windows.c.key)
    .join(windows, windows.c.id == exclusions.c.window_id)
)


class Exclusion(NamedTuple):
    """A file that is left out of a window, and why."""

    file: int
    path: str
    reason: str
    who: str
    at: datetime
    window: str
    key: str


def list_exclusions(ledger: Ledger, window_id: str, generation: int, *, limit: int) -> list[Exclusion]:
    """Return the first files that a generation leaves out, ordered by path."""
    ids = left_out_by(window_id, generation).order_by(None)
    mine = (exclusions.c.window_id == window_id, exclusions.c.file_id.in_(ids))
    query = EXCLUSIONS.where(*mine).order_by(exclusions.c.path)
    with ledger.reading() as connection:
        return [Exclusion(*row) for row in connection.execute(query.limit(limit))]


def settle_exclusions(connection: Connection, held: Publication) -> None:
    """Exclude from the whole window the files that only the generation that is now published has left out."""
    own = in_generation(exclusions, held.window, held.generation)
    for state in (*_REASON_STATES, None):
        why = exclusions.c.reason.not_in(_REASON_STATES) if state is None else exclusions.c.reason == state
        mine = (files.c.id.in_(select(exclusions.c.file_id).where(own, why)), files.c.window_id == held.window)
        gone = {"state": state or "excluded", "records": None, "bad_records": None}
        connection.execute(files.update().where(*mine, files.c.state == "done").values(gone))
    connection.execute(exclusions.update().where(own).values(generation=None))


def _leaving_out(connection: Connection, window_id: str, path: str, planned: int | None) -> tuple[int, bool, int]:
    query = select(generations.c.number, generations.c.state, generations.c.mode)
    rows = {row.number: row for row in connection.execute(query.where(generations.c.window_id == window_id))}
    if not rows:
        msg = f"window {window_id} is not open, so it holds no files; list windows with `blockread windows list`"
        raise StateError(msg)
    file_id = _file(connection, window_id, path, planned)
    generation, replaces = _unpublished(connection, window_id, rows)
    if replaces:
        _refuse_part(connection, window_id, file_id)
    return generation, replaces, file_id


def _unpublished(connection: Connection, window_id: str, rows: Mapping[int, Row[int, str, str]]) -> tuple[int, bool]:
    """Return the generation to be published, and whether it replaces a published one."""
    states = {number: row.state for number, row in rows.items()}
    number = max(states)
    given_up = states[number] == "superseded" and "published" in states.values()
    if rows[number].mode == "verify" or states[number] == "published" or given_up:
        msg = (
            f"window {window_id} is published with this file's records; to remove them, move the file out of the"
            f" source, begin `blockread windows rebuild {window_id}`, which stops there, repeat this command, and then"
            f" the rebuild; or undo the whole window with `blockread windows undo {window_id}`"
        )
        raise StateError(msg)
    if states[number] == "publishing":
        msg = f"window {window_id} is half published; let its commit end, then repeat this command"
        raise ConflictError(msg)
    if lock_generation(connection, window_id, number).state not in UNFINISHED_STATES:
        look = f"look at it with `blockread windows show {window_id}`"
        msg = f"window {window_id} generation {number} is {states[number]}; {look}"
        raise StateError(msg)
    return int(number), "published" in states.values()


def _refuse_part(connection: Connection, window_id: str, file_id: int) -> None:
    part = (parts.c.window_id == window_id, parts.c.file_id == file_id)
    if connection.scalar(select(parts.c.file_id).where(*part)) is not None:
        msg = (
            f"window {window_id} is published with a part of this file, so the file cannot be left out of its rebuild;"
            f" undo the whole window with `blockread windows undo {window_id}`"
        )
        raise StateError(msg)


def _file(connection: Connection, window_id: str, path: str, planned: int | None) -> int:
    mine = (files.c.feed_id == windows.c.feed_id, files.c.path_digest == path_digest(path))
    in_parts = select(parts.c.file_id).where(parts.c.window_id == window_id)
    holds = or_(files.c.window_id == windows.c.id, files.c.id.in_(in_parts))
    query = select(files.c.id, files.c.path).join_from(windows, files, holds)
    held = (*mine, windows.c.id == window_id, files.c.state != "replaced")
    found = connection.execute(query.where(*held)).all()
    if len(found) > 1:
        msg = (
            f"window {window_id} is about to read a newer version of {path}; give that up first with"
            f" `blockread windows abandon {window_id}`"
        )
        raise StateError(msg)
    if not found:
        excluded = (exclusions.c.window_id == window_id, exclusions.c.path == path)
        known = connection.scalar(select(exclusions.c.file_id).where(*excluded)) or planned
        if known is None:
            feed = connection.scalar(select(feeds.c.name).join(windows).where(windows.c.id == window_id))
            msg = (
                f"window {window_id} holds no file {path}; see what it holds with"
                f" `blockread files list {shell_word(str(feed))}`"
            )
            raise SourceError(msg, path)
        return int(known)
    return int(found[0].id)


def _reset(connection: Connection, window_id: str, generation: int, numbers: Sequence[int]) -> list[int]:
    group = tables.groups.c
    done = (in_generation(tables.groups, window_id, generation), group.number.in_(numbers), group.state == "done")
    reset = list(connection.scalars(select(group.number).where(*done).order_by(group.number)))
    change = {"state": "pending", "result_uri": None, "result_hash": None, "owner": None, "heartbeat_at": None}
    connection.execute(tables.groups.update().where(*done).values(change))
    return reset
