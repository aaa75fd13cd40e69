"""Parts: a file that exceeds a window's limits is read by several windows in order, each a contiguous range of blocks.

A part is taken only while the window of the previous part is open, and given back only while no window continues from
it. Its journal is written only if the previous part is published and ended where this one began. The end of this part
is kept beside its sums, and later parts continue from there only once all its steps are done: a rebuild that stops
halfway leaves the published end. Once the next part is published, that end does not change. Therefore all published
parts of a file together are one reading of it, without gap or overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, exists, func, select

from airflow_provider_blockread.errors import ConflictError, PlanConflictError, ProofError, StateError
from airflow_provider_blockread.ledger.dialect import among
from airflow_provider_blockread.ledger.model import FilePart, Publication
from airflow_provider_blockread.ledger.schema.columns import SHOWN_STATES
from airflow_provider_blockread.ledger.schema.file_tables import parts
from airflow_provider_blockread.ledger.schema.rows import in_generation
from airflow_provider_blockread.ledger.schema.tables import file_sums, files, generations, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.proof.model import PartBorders

_UNREAD = ("pending", "missing", "changed", "ignored")  # possible states of the rest of a file
_BEFORE, _AFTER = parts.alias("before"), parts.alias("after")  # other parts of the same file
_IS_BEFORE = and_(_BEFORE.c.file_id == parts.c.file_id, _BEFORE.c.part_end == parts.c.part_start)
_IS_AFTER = and_(_AFTER.c.file_id == parts.c.file_id, _AFTER.c.part_start >= parts.c.part_end)


def take_parts(connection: Connection, window_id: str, planned: Iterable[FilePart]) -> None:
    """Make a window hold parts, each of which begins where the newest part of its file ends.

    Raises:
        PlanConflictError: when another planner, or a change of the file, came first.
    """
    for part in planned:
        before = select(windows.c.state).join(parts).where(parts.c.file_id == part.file, parts.c.part_end == part.start)
        # A transaction that gives that window up waits, and then sees that this window continues its file.
        state = connection.scalar(before.with_for_update(of=windows, key_share=True)) if part.start else "open"
        begun = files.c.part_next_offset == part.start if part.start else files.c.part_next_offset.is_(None)
        held = {"state": "planned", "window_id": window_id} if part.is_last else {}
        free = (files.c.id == part.file, files.c.state == "pending", begun)
        change = files.update().where(*free).values(part_next_offset=part.end, **held)
        if state != "open" or connection.execute(change).rowcount != 1:
            msg = (
                f"window {window_id}: file {part.file} no longer waits to be read from byte {part.start} on, another"
                " planner took it or it was modified; list and plan again"
            )
            raise PlanConflictError(msg)
        row = {"window_id": window_id, "file_id": part.file, "part_start": part.start, "part_end": part.end}
        connection.execute(parts.insert().values(row))


def part_ends_before(ledger: Ledger, window_id: str) -> dict[int, tuple[int, int]]:
    """Return, by file, where reading must continue in the window's parts: next start and state of the previous part.

    Raises:
        ConflictError: when a previous part is not published, naming its window.
    """
    shown = exists().where(generations.c.state == "published", generations.c.window_id == _BEFORE.c.window_id)
    query = (
        select(parts, _BEFORE.c.next_start.label("begin"), _BEFORE.c.exit_state.label("entry"), files.c.path)
        .add_columns(windows.c.id.label("earlier"), windows.c.key, shown.label("shown"))
        .join_from(parts, _BEFORE, _IS_BEFORE)
        .join(windows, windows.c.id == _BEFORE.c.window_id)
        .outerjoin(files, files.c.id == parts.c.file_id)
        .where(parts.c.window_id == window_id)
        .order_by(parts.c.file_id)
    )
    with ledger.reading() as connection:
        rows = connection.execute(query).all()
    for row in rows:
        if not row.shown:
            msg = (
                f"window {window_id} continues at byte {row.part_start} of {_name(row.path, row.file_id)}; the part"
                f" before is in window {row.earlier} {row.key!r}, which is not published: let that one be published"
                " first (clear what failed in its run), then clear this task"
            )
            raise ConflictError(msg)
    return {row.file_id: (row.begin, row.entry) for row in rows}


def chain_parts(connection: Connection, held: Publication, read: Iterable[PartBorders]) -> None:
    """Make sure that the parts that a generation is about to publish connect to their neighbours.

    Raises:
        ConflictError: when a previous part is no longer published.
        StateError: when they are not the window's parts.
        ProofError: when a part does not begin where the previous one ends, or does not end where the published next
            one begins.
    """
    found = {borders.file: borders for borders in read}
    mine = select(parts.c.file_id).where(parts.c.window_id == held.window).order_by(parts.c.file_id)
    planned = list(connection.scalars(mine))
    if planned != sorted(found):
        msg = f"{held}: parts of files {planned} are planned, but of {sorted(found)} proven; clear this task"
        raise ConflictError(msg)
    for file in planned:
        # Locked until the end of the transaction: neighbours that are about to be published wait for each other.
        query = select(parts).where(parts.c.file_id == file).order_by(parts.c.part_start)
        rows = connection.execute(query.with_for_update()).all()
        _chain(connection, held, found[file], {row.part_start: row for row in rows})


def _chain(connection: Connection, held: Publication, found: PartBorders, rows: Mapping[int, Row[Any]]) -> None:
    mine, after = rows.get(found.start), rows.get(found.end)
    before = next((row for row in rows.values() if row.part_end == found.start), None)
    where = f"{held}: bytes [{found.start}, {found.end}) of {found.path}"
    placed = mine is not None and (mine.window_id, mine.part_end) == (held.window, found.end)
    if mine is None or not placed or (before is None) != (found.start == 0):
        msg = f"{where} are not the part that the ledger holds; clear the run from its plan on"
        raise StateError(msg)
    if before is not None:
        shown, moving = (is_shown(connection, before.window_id, (state,)) for state in ("published", "publishing"))
        if not shown or moving:  # a half published rebuild may end elsewhere than what it replaces
            msg = f"{where}: the part before, in window {before.window_id}, is not published; let it be published first"
            raise ConflictError(msg)
        if (before.next_start, before.exit_state) != (found.first_start, found.entry_state):
            msg = (
                f"{where} were read from byte {found.first_start} on in state {found.entry_state}, but window"
                f" {before.window_id} ends at byte {before.next_start} in state {before.exit_state}; clear the run"
                " from its plan on, with the record format of that window"
            )
            raise ProofError(msg)
    same = (mine.next_start, mine.exit_state) == (found.next_start, found.exit_state)
    if after is not None and not same and is_shown(connection, after.window_id):
        msg = (
            f"{where} end at byte {found.next_start} in state {found.exit_state}, but window {after.window_id} is"
            f" published from byte {mine.next_start} in state {mine.exit_state} on; undo that window first"
            f" (`blockread windows undo {after.window_id} --files pending`), or restore the format"
        )
        raise ProofError(msg)


def keep_part_sums(connection: Connection, held: Publication, batch: list[int]) -> None:
    """Store in the rows of parts what was read, and where each ends, for those of the files that are read in parts."""
    sums = (in_generation(file_sums, held.window, held.generation), file_sums.c.file_id == parts.c.file_id)
    change = {
        "records": select(file_sums.c.records).where(*sums).scalar_subquery(),
        "bad_records": select(func.nullif(file_sums.c.bad_records, 0)).where(*sums).scalar_subquery(),
        "next_start": select(file_sums.c.next_start).where(*sums).scalar_subquery(),
        "exit_state": select(file_sums.c.exit_state).where(*sums).scalar_subquery(),
    }
    mine = (parts.c.window_id == held.window, among(connection, parts.c.file_id, batch))
    connection.execute(parts.update().where(*mine).values(change))


def refuse_followed(connection: Connection, window_id: str, *, to: str, file: int | None = None) -> None:
    """Refuse to give up parts from which other windows continue.

    Args:
        connection: a transaction that has locked what is given up.
        window_id: the window's id.
        to: the new state of its files; for `pending`, all later parts must already have been given back.
        file: check only this file.

    Raises:
        StateError: naming the newest of those windows.
    """
    query = (
        select(_AFTER.c.window_id, windows.c.key, _AFTER.c.part_start, _AFTER.c.file_id, files.c.path)
        .join_from(parts, _AFTER, _IS_AFTER)
        .join(windows, windows.c.id == _AFTER.c.window_id)
        .outerjoin(files, files.c.id == _AFTER.c.file_id)
        .where(parts.c.window_id == window_id)
        .order_by(_AFTER.c.part_start.desc())
    )
    if to != "pending":
        query = query.where(windows.c.state == "open")
    if file is not None:
        query = query.where(parts.c.file_id == file)
    row = connection.execute(query.limit(1)).one_or_none()
    if row is None:
        return
    msg = (
        f"window {window_id} holds a part of {_name(row.path, row.file_id)}, and window {row.window_id} {row.key!r}"
        f" continues after it, at byte {row.part_start}: parts are given up from the last one on, so give that"
        f" window up first, by {giving_up_command(connection, row.window_id, to=to)}"
    )
    raise StateError(msg)


def giving_up_parts(ledger: Ledger, file: int) -> list[str]:
    """Return the commands that give up all windows with parts of a file, in the order in which they must run."""
    query = select(parts.c.window_id).where(parts.c.file_id == file).order_by(parts.c.part_start.desc())
    with ledger.reading() as connection:
        return [giving_up_command(connection, window_id) for window_id in connection.scalars(query).all()]


def giving_up(ledger: Ledger, window_id: str) -> str:
    """Return the command that gives up a window, so that another one can read its files."""
    with ledger.reading() as connection:
        return giving_up_command(connection, window_id)


def giving_up_command(connection: Connection, window_id: str, *, to: str = "pending") -> str:
    """Return the command that gives up a window in its current state, and makes its files `pending` or `excluded`."""
    state = connection.scalar(select(windows.c.state).where(windows.c.id == window_id))
    if state == "open" and not is_shown(connection, window_id):
        return f"`blockread windows abandon {window_id}`"
    return f"`blockread windows undo {window_id}{' --files pending' if to == 'pending' else ''}`"


def give_back(connection: Connection, window_id: str) -> int:
    """Make the window's parts available again, and return how many files wait from where these parts began.

    If the part before one stays excluded, the file stays excluded from that one on: nothing could continue there.
    """
    waiting = 0
    for row in connection.execute(select(parts).where(parts.c.window_id == window_id)).all():
        refuse_followed(connection, window_id, to="pending", file=row.file_id)
        back = {"part_next_offset": row.part_start or None}
        change = files.update().where(files.c.id == row.file_id).values(back).returning(files.c.state)
        waiting += connection.execute(change).scalar_one_or_none() == "pending"
        holder = connection.scalar(_given_up_before(window_id).where(parts.c.file_id == row.file_id))
        if holder is not None:
            mine = (files.c.id == row.file_id, files.c.window_id == window_id)
            connection.execute(files.update().where(*mine).values(state="excluded", window_id=holder))
        connection.execute(parts.delete().where(*_is(window_id, row.file_id)))
    return waiting


def excluded_before(ledger: Ledger, window_id: str) -> list[str]:
    """Return, in order, the given up windows that hold the parts before those of a window."""
    with ledger.reading() as connection:
        return sorted(set(connection.scalars(_given_up_before(window_id))))


def _given_up_before(window_id: str) -> Select[str]:
    query = select(_BEFORE.c.window_id).join_from(parts, _BEFORE, _IS_BEFORE)
    query = query.join(windows, windows.c.id == _BEFORE.c.window_id)
    return query.where(parts.c.window_id == window_id, windows.c.state == "abandoned")


def end_files(connection: Connection, window_id: str, *, state: str) -> int:
    """Assign to the window, unread, the rest of each file of which it holds a part; return how many there are."""
    mine = select(parts.c.file_id).where(parts.c.window_id == window_id)
    # Including what a later window left out as missing or changed, since it may come back.
    rest = (files.c.id.in_(mine), files.c.state.in_(_UNREAD))
    return connection.execute(files.update().where(*rest).values(state=state, window_id=window_id)).rowcount


def leave_part_out(connection: Connection, window_id: str, file: int, *, state: str) -> None:
    """Remove a window's part of a file from the window; the file, read up to that part, gets this state.

    Raises:
        StateError: when another window continues after the part.
    """
    row = connection.execute(select(parts).where(*_is(window_id, file))).one_or_none()
    if row is None:
        return
    connection.execute(select(files.c.id).where(files.c.id == file).with_for_update())  # a planner may want the rest
    refuse_followed(connection, window_id, to="excluded", file=file)
    waits = case((files.c.state == "pending", state), else_=files.c.state)
    values = {"state": waits, "window_id": window_id, "part_next_offset": row.part_start or None}
    connection.execute(files.update().where(files.c.id == file).values(values))
    connection.execute(parts.delete().where(*_is(window_id, file)))


def windows_behind(ledger: Ledger, window_id: str, path: str) -> list[str]:
    """Return the windows that hold later parts of a path than this window, the newest first."""
    query = (
        select(_AFTER.c.window_id)
        .join_from(parts, _AFTER, _IS_AFTER)
        .join(windows, windows.c.id == _AFTER.c.window_id)
        .join(files, files.c.id == parts.c.file_id)
        .where(parts.c.window_id == window_id, files.c.path == path, windows.c.state == "open")
    )
    with ledger.reading() as connection:
        return list(connection.scalars(query.order_by(_AFTER.c.part_start.desc())))


def _is(window_id: str, file: int) -> tuple[Any, ...]:
    return parts.c.window_id == window_id, parts.c.file_id == file


def is_shown(connection: Connection, window_id: str, states: Collection[str] = SHOWN_STATES) -> bool:
    """Return whether a generation of a window is in one of these states, by which readers see something of it."""
    shown = (generations.c.window_id == window_id, generations.c.state.in_(states))
    return connection.scalar(select(generations.c.number).where(*shown).limit(1)) is not None


def _name(path: str | None, file: int) -> str:
    return path or f"file {file}"  # whose row was pruned
