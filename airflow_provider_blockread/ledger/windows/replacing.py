"""Replacing: a generation reads newer versions of files in place of those with which its window was planned.

Such a generation has its own plan. Beside a published one, it holds each newer version as `planned` from the beginning,
so that no other window takes it; publishing makes it `done` and the older one `replaced`, in one transaction. If
another generation takes its place, or the window is given up, the newer versions go back to their previous state; a
failed generation may be tried again and keeps them. Later generations continue from the plan of the published one. If
nothing is published, `correcting` describes the differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from sqlalchemy import Connection, Row, case, func, or_, select

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.blocks.ids import path_digest, version_digest
from airflow_provider_blockread.errors import ConflictError, StateError, shell_word
from airflow_provider_blockread.ledger.dialect import among
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched, lock_feed
from airflow_provider_blockread.ledger.model import Generation, Publication, Window
from airflow_provider_blockread.ledger.schema.columns import REPLACING_STATES, SHORT, UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.file_tables import listings, parts, taken_files
from airflow_provider_blockread.ledger.schema.rows import in_generation, version_from
from airflow_provider_blockread.ledger.schema.tables import files, generations, groups, windows
from airflow_provider_blockread.ledger.schema.upkeep_tables import replacements
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.parts import giving_up_command, is_shown

_UNREAD = {"records": None, "bad_records": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerPlan:
    """The plan of a generation that reads newer versions of some files; its manifest is already written."""

    base: int  # the generation from whose plan it was made: the published one or, without one, the newest
    manifest_uri: str
    manifest_hash: str
    groups: Sequence[BlockGroup]
    files: Mapping[int, int]  # id of the newer version by id of the older one
    holders: frozenset[int] | None = None  # groups that contain them; None if all groups must be read for them


def check_versions(ledger: Ledger, window: Window, found: Sequence[FileVersion]) -> None:
    """Make sure that the window may read these newer versions now.

    Raises:
        StateError: when another window has taken one of them, naming it.
    """
    for batch in batched(found, BATCH_FILES // 2):
        with ledger.reading() as connection:
            feed_id = connection.scalar(select(windows.c.feed_id).where(windows.c.id == window.id))
            _known(connection, int(feed_id or 0), window, batch)


def record_versions(ledger: Ledger, window: Window, found: Mapping[int, FileVersion]) -> dict[int, int]:
    """Return the ids of newer versions, by the ids of the files that they replace in the window.

    Versions that no listing has recorded yet are recorded now, as `ignored`; the next listing decides about them again.

    Raises:
        StateError: when another window has taken one of them, naming it.
    """
    ids: dict[int, int] = {}
    for batch in batched(found.items(), BATCH_FILES // 2):
        wanted = dict(batch)
        with ledger.writing() as connection:
            feed_id = lock_feed_of(connection, window.id)
            known = _known(connection, feed_id, window, wanted.values())
            new = {old: version for old, version in wanted.items() if _key(version) not in known}
            if new:
                _insert(connection, feed_id, new)
                known = _known(connection, feed_id, window, wanted.values())
        ids |= {old: known[_key(version)] for old, version in wanted.items()}
    return ids


def replaced_by(ledger: Ledger, window_id: str, generation: int) -> dict[int, FileVersion]:
    """Return the newer versions that a generation reads, by the ids of the files that they replace."""
    query = select(replacements.c.old_file, files).join_from(replacements, files, files.c.id == replacements.c.new_file)
    mine = in_generation(replacements, window_id, generation)
    with ledger.reading() as connection:
        rows = connection.execute(query.where(mine)).all()
    return {row.old_file: version_from(row) for row in rows}


def lock_feed_of(connection: Connection, window_id: str) -> int:
    """Make listings and plans of the window's feed wait, and return its id; call it before the window is locked."""
    feed_id = int(connection.execute(select(windows.c.feed_id).where(windows.c.id == window_id)).scalar_one())
    lock_feed(connection, feed_id)
    return feed_id


def adopt_versions(connection: Connection, started: Generation, plan: NewerPlan) -> Generation:
    """Make a generation that was started in this transaction read the newer plan and hold the newer versions.

    Raises:
        ConflictError: when one of them was taken, or has changed again, since the plan was made.
    """
    of_window = generations.c.window_id == started.window
    change = {"manifest_uri": plan.manifest_uri, "manifest_hash": plan.manifest_hash}
    connection.execute(generations.update().where(of_window, generations.c.number == started.number).values(change))
    mine = in_generation(groups, started.window, started.number)
    for group in plan.groups:
        other = (groups.c.number == group.number, groups.c.bytes != group.bytes)
        connection.execute(groups.update().where(mine, *other).values(bytes=group.bytes))
    for batch in batched(plan.files.items(), BATCH_FILES):
        _adopt(connection, started, dict(batch))
    return replace(started, manifest_uri=plan.manifest_uri, manifest_hash=plan.manifest_hash)


def give_back_versions(connection: Connection, window_id: str) -> None:
    """Release the newer versions that the window's unfinished generation holds, since another takes its place now.

    If nothing is published, they belong to the window, whatever generation reads them.
    """
    if not is_shown(connection, window_id, ("published",)):  # a half of an unfinished one is taken back
        return
    unfinished = generations.c.state.in_(UNFINISHED_STATES)
    query = select(replacements.c.generation).join(generations)
    number = connection.scalar(query.where(replacements.c.window_id == window_id, unfinished).limit(1))
    if number is None:
        return
    mine = in_generation(replacements, window_id, number)
    was = select(replacements.c.was).where(mine, replacements.c.new_file == files.c.id).scalar_subquery()
    # A running listing may already have passed the file, and must not call it missing.
    newest = select(func.max(listings.c.id)).where(listings.c.feed_id == files.c.feed_id).scalar_subquery()
    change = {
        "state": was,
        "window_id": case((was == "replaced", files.c.window_id)),
        "last_listing": func.coalesce(newest, files.c.last_listing),
    }
    held = (files.c.id.in_(select(replacements.c.new_file).where(mine)), files.c.window_id == window_id)
    connection.execute(files.update().where(*held, files.c.state == "planned").values(change))


def settle_versions(connection: Connection, held: Publication, batch: Sequence[int]) -> None:
    """Mark the older versions of files in the batch as `replaced` if this generation publishes the newer ones."""
    mine = in_generation(replacements, held.window, held.generation)
    older = select(replacements.c.old_file).where(mine, among(connection, replacements.c.new_file, batch))
    change = {"state": "replaced"} | _UNREAD
    connection.execute(files.update().where(files.c.id.in_(older), files.c.window_id == held.window).values(change))


def _key(version: FileVersion) -> tuple[str, str]:
    return path_digest(version.path), version_digest(version)[:SHORT]


def _known(
    connection: Connection, feed_id: int, window: Window, wanted: Iterable[FileVersion]
) -> dict[tuple[str, str], int]:
    """Return the ids of the recorded versions, by their digests, after a check that the window may take them."""
    paths = {_key(version): version.path for version in wanted}
    known: dict[tuple[str, str], int] = {}
    for table in (taken_files, files):
        of_paths = table.c.path_digest.in_([path for path, _ in paths])
        rows = connection.execute(select(table).where(table.c.feed_id == feed_id, of_paths)).all()
        for row in (row for row in rows if (row.path_digest, row.version_digest) in paths):
            key = (row.path_digest, row.version_digest)
            if table is taken_files:
                _refuse(connection, window, paths[key], f"is {row.state} in a window that was pruned")
            _refuse_taken(connection, window, row)
            known[key] = row.id
    return known


def _refuse_taken(connection: Connection, window: Window, row: Row[Any]) -> None:
    # `planned` by this window itself, by an unpublished generation whose place another one takes.
    own = row.window_id == window.id and row.state in {"planned", "replaced"}
    free = row.window_id is None and row.part_next_offset is None and row.state in REPLACING_STATES
    if own or free:
        return
    of_file = select(parts.c.window_id).where(parts.c.file_id == row.id).order_by(parts.c.part_start)
    holder = connection.scalar(of_file.limit(1)) or row.window_id
    key = connection.scalar(select(windows.c.key).where(windows.c.id == holder))
    _refuse(
        connection,
        window,
        row.path,
        f"is {row.state} in window {holder} {key!r}, which has taken it",
        f", or give that window up first ({giving_up_command(connection, holder)})",
    )


def _refuse(connection: Connection, window: Window, path: str, why: str, otherwise: str = "") -> NoReturn:
    leave_out = (
        "leave the file out"
        if is_shown(connection, window.id)
        else f"leave it out (`blockread windows exclude {window.id} {shell_word(path)} --reason changed`)"
    )
    msg = (
        f"window {window.id} {window.key!r}: the newer version of {path} {why}, and each version is read only once;"
        f" {leave_out}{otherwise}"
    )
    raise StateError(msg)


def _insert(connection: Connection, feed_id: int, new: Mapping[int, FileVersion]) -> None:
    query = select(files.c.id, files.c.mtime_ns, files.c.time_ns).where(files.c.id.in_(list(new)))
    named = {row.id: row.time_ns for row in connection.execute(query).all() if row.time_ns != row.mtime_ns}
    alike = _listed_last(connection, feed_id) | {"state": "ignored"}
    # A time from the path stays the same.
    rows = [_row(version) | alike | ({"time_ns": named[old]} if old in named else {}) for old, version in new.items()]
    connection.execute(files.insert(), rows)


def insert_pruned(connection: Connection, window_id: str, file: int, version: FileVersion) -> None:
    """Insert the row of a file that the window read and that was pruned, so that its state may change again.

    Call it before the window is locked; it does nothing unless the version was pruned.
    """
    feed_id = lock_feed_of(connection, window_id)
    row = _row(version)
    pruned = [taken_files.c[name] == row[name] for name in ("path_digest", "version_digest")]
    if connection.execute(taken_files.delete().where(taken_files.c.feed_id == feed_id, *pruned)).rowcount:
        held = {"id": file, "window_id": window_id, "state": "done"}
        connection.execute(files.insert().values(row | _listed_last(connection, feed_id) | held))


def _listed_last(connection: Connection, feed_id: int) -> dict[str, int]:
    """Return the columns of a file of the feed's newest listing."""
    newest = connection.scalar(select(func.max(listings.c.id)).where(listings.c.feed_id == feed_id)) or 0
    return {"feed_id": feed_id, "first_listing": newest, "last_listing": newest}


def _row(version: FileVersion) -> dict[str, object]:
    digests = {"path_digest": path_digest(version.path), "version_digest": version_digest(version)}
    return version._asdict() | digests | {"time_ns": version.mtime_ns}


def _adopt(connection: Connection, started: Generation, pairs: Mapping[int, int]) -> None:
    query = select(files.c.id, files.c.state).where(
        files.c.id.in_(list(pairs.values())),
        files.c.state.in_(REPLACING_STATES),
        files.c.part_next_offset.is_(None),
        or_(files.c.window_id.is_(None), files.c.window_id == started.window),
    )
    was = {row.id: row.state for row in connection.execute(query.with_for_update()).all()}
    lost = [new for new in pairs.values() if new not in was]
    if lost:
        msg = (
            f"window {started.window}: {len(lost)} of {len(pairs)} newer versions were taken by another window, or have"
            " changed once more, since they were looked at; repeat the command"
        )
        raise ConflictError(msg)
    alike = {"window_id": started.window, "generation": started.number}
    rows = [alike | {"old_file": old, "new_file": new, "was": was[new]} for old, new in pairs.items()]
    connection.execute(replacements.insert(), rows)
    change = {"state": "planned", "window_id": started.window}
    connection.execute(files.update().where(files.c.id.in_(list(was))).values(change))
