"""Generations: passes over a window; at any time, at most one is shown and at most one is worked on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, Row, literal, select

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.blocks.ids import options_digest
from airflow_provider_blockread.errors import ConflictError, PrunedError, StateError
from airflow_provider_blockread.ledger.feeds import note_dag
from airflow_provider_blockread.ledger.files.cleaned import refuse_cleaned
from airflow_provider_blockread.ledger.model import Generation, Group, Window
from airflow_provider_blockread.ledger.schema.columns import UNFINISHED_STATES
from airflow_provider_blockread.ledger.schema.rows import generation_from, group_from, in_generation
from airflow_provider_blockread.ledger.schema.tables import exclusions, generations, groups, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.replacing import give_back_versions

#: States of a generation that is complete.
FINISHED = ("published", "verified")

#: What a message says about a superseded generation.
OVERTAKEN = "a newer generation has taken its place, or its window was abandoned"

#: What a message says about a window whose plan was pruned.
PRUNED = (
    "its plan is gone, so it cannot be read again; what it published stays. Read its files under another feed name"
    " (--name) and output, or restore its manifest from a backup; pruning with --keep-manifests keeps them"
)

_PLANNED_COLUMNS = ("window_id", "number", "files", "blocks", "bytes", "first_path", "last_path")


def latest_generation(ledger: Ledger, window_id: str) -> Generation:
    """Return the window's newest generation, skipping generations that were given up beside a published one.

    Raises:
        StateError: when the window has no generation, since it is empty or still being planned.
    """
    with ledger.reading() as connection:
        latest = newest_row(connection, window_id)
        given_up = latest.state == "superseded"
        return generation_from((published_row(connection, window_id) or latest) if given_up else latest)


def get_generation(ledger: Ledger, window_id: str, number: int) -> Generation:
    """Return one generation of a window.

    Raises:
        StateError: when the window has no such generation.
    """
    with ledger.reading() as connection:
        return generation_from(lock_generation(connection, window_id, number))


def list_generations(ledger: Ledger, window_id: str) -> list[Generation]:
    """Return all generations of a window in order."""
    query = select(generations).where(generations.c.window_id == window_id).order_by(generations.c.number)
    with ledger.reading() as connection:
        return [generation_from(row) for row in connection.execute(query)]


def published_generation(ledger: Ledger, window_id: str) -> Generation | None:
    """Return the generation that readers see, or None before the first one is published."""
    with ledger.reading() as connection:
        row = published_row(connection, window_id)
    return None if row is None else generation_from(row)


def start_generation(
    ledger: Ledger, window_id: str, *, options: dict[str, Any], mode: str, clear_number: int, run: str | None = None
) -> Generation:
    """Start a generation of the window, of which all groups must be read, and return it.

    Earlier unfinished generations are superseded, and their attempts fenced; the published one stays published until
    this one replaces it.

    Args:
        ledger: the ledger to write.
        window_id: the window's id.
        options: the options of the generation, as JSON.
        mode: `write`, or `verify` (read and prove, write nothing).
        clear_number: Airflow's clear number of the run that requested it.
        run: that Airflow run, if any.

    Raises:
        ConflictError: when a generation of the window is being published.
        StateError: when the window is not open.
        CleanedError: when files of the window were cleaned from the source.
    """
    row = {"options": options, "mode": mode, "clear_number": clear_number, "run": run, "created_at": ledger.now()}
    with ledger.writing() as connection:
        return next_generation(connection, window_id, row)


def recount_clears(ledger: Ledger, run: str, clear_number: int) -> None:
    """Record that an Airflow run was deleted and made again, which counts its clears from the start."""
    higher = generations.update().where(generations.c.run == run, generations.c.clear_number > clear_number)
    with ledger.writing() as connection:
        connection.execute(higher.values(clear_number=clear_number))


def replace_lost(ledger: Ledger, lost: Generation, row: dict[str, Any], *, unneeded: int = 0) -> Generation:
    """Start a generation in place of one that was being published and can never be, and return it.

    The row has its `options`, `clear_number` and `run`; see `next_generation`, also about errors.
    """
    with ledger.writing() as connection:
        now = {"mode": "write", "created_at": ledger.now()}
        return next_generation(connection, lost.window, row | now, unneeded=unneeded, lost=lost.number)


def next_generation(
    connection: Connection, window_id: str, row: dict[str, Any], *, unneeded: int = 0, lost: int | None = None
) -> Generation:
    """Insert the window's next generation and return it; see `start_generation`, also about errors.

    It has the plan and the groups of the published generation or, without one, of the previous generation. `unneeded`
    of the window's files may have been cleaned from the source. A generation that is being published can only be
    completed, unless it is the `lost` one: its publisher may be removing what was published before.
    """
    window = lock_unfinished(connection, window_id, lost=lost)
    if window is not None and window.state == "abandoned":
        msg = f"window {window_id} is abandoned, so it cannot start a generation; its files belong to later windows"
        raise StateError(msg)
    if window is not None and window.pruned_at is not None:
        msg = f"window {window_id} was pruned on {window.pruned_at:%Y-%m-%d %H:%M:%SZ}: {PRUNED}"
        raise PrunedError(msg)
    refuse_cleaned(connection, window_id, unneeded=unneeded)
    latest = newest_row(connection, window_id)
    base = published_row(connection, window_id) or latest
    supersede(connection, window_id, UNFINISHED_STATES)
    plan = {"manifest_uri": base.manifest_uri, "manifest_hash": base.manifest_hash}
    insert_generation(connection, row | plan | {"window_id": window_id, "number": latest.number + 1})
    planned = [groups.c[name] for name in _PLANNED_COLUMNS]
    fresh = [literal(value).label(name) for name, value in _fresh(latest.number + 1, row["clear_number"]).items()]
    copy = select(*planned, *fresh).where(in_generation(groups, window_id, base.number))
    connection.execute(groups.insert().from_select([c.name for c in planned] + [c.name for c in fresh], copy))
    if window is not None:
        note_dag(connection, window.feed_id, row.get("run"))
    return generation_from(newest_row(connection, window_id))


def lock_window(connection: Connection, window_id: str) -> Row[Any] | None:
    """Return the window's row, locked: until this transaction ends, no other can start a generation or a withdrawal."""
    query = select(windows).where(windows.c.id == window_id).with_for_update(key_share=True)
    return connection.execute(query).one_or_none()


def lock_unfinished(connection: Connection, window_id: str, *, lost: int | None = None) -> Row[Any] | None:
    """Lock the window and its unfinished generations, and return the window's row.

    What was read about the generations before this call may have changed.

    Raises:
        ConflictError: when one of them, other than the `lost` one, is being published.
    """
    window = lock_window(connection, window_id)
    unfinished = (generations.c.window_id == window_id, generations.c.state.in_(UNFINISHED_STATES))
    left = select(generations.c.number, generations.c.state).where(*unfinished)
    for number, state in connection.execute(left.with_for_update(key_share=True)).all():
        if state == "publishing" and number != lost:
            msg = f"window {window_id}: generation {number} is being published; repeat this once it is"
            raise ConflictError(msg)
    return window


def give_up_generation(ledger: Ledger, window_id: str, *, lost: int | None = None, who: str) -> Generation | None:
    """Supersede the generation that would replace the window's published one, and return it, or None without one.

    Its attempts are fenced, and what is published stays. `who` is recorded. A generation that is being published can
    only be completed, unless it is the `lost` one, of which the caller removes what was published.

    Raises:
        StateError: when it is half published, and can only be completed.
    """
    with ledger.writing() as connection:
        lock_window(connection, window_id)
        newest = newest_row(connection, window_id).number
        begun, shown = lock_generation(connection, window_id, newest), published_row(connection, window_id)
        if shown is None or begun.state not in UNFINISHED_STATES:
            return None
        if begun.state == "publishing" and begun.number != lost:
            half = f"window {window_id}: generation {begun.number} is half published"
            msg = f"{half}; repeat the command or clear the run that began it"
            raise StateError(msg)
        supersede(connection, window_id, UNFINISHED_STATES, given_up_by=who)
        return generation_from(begun)


def supersede(
    connection: Connection, window_id: str, states: Collection[str], *, given_up_by: str | None = None
) -> None:
    """Supersede the window's generations in these states, which somebody may give up.

    The newer versions that an unfinished one holds are released, and the files that only it leaves out are forgotten:
    its successor starts without exclusions.
    """
    give_back_versions(connection, window_id)
    own = (exclusions.c.window_id == window_id, exclusions.c.generation.is_not(None))
    connection.execute(exclusions.delete().where(*own))
    left = (generations.c.window_id == window_id, generations.c.state.in_(states))
    connection.execute(generations.update().where(*left).values(state="superseded", given_up_by=given_up_by))


def list_groups(ledger: Ledger, window_id: str, generation: int) -> list[Group]:
    """Return the generation's groups in order."""
    query = select(groups).where(in_generation(groups, window_id, generation))
    with ledger.reading() as connection:
        return [group_from(row) for row in connection.execute(query.order_by(groups.c.number))]


def insert_generation(connection: Connection, row: dict[str, Any]) -> None:
    """Insert a generation to be read."""
    digest = options_digest(row["options"])
    connection.execute(generations.insert().values(row | {"options_digest": digest, "state": "reading"}))


def insert_groups(
    connection: Connection, window_id: str, planned: Iterable[BlockGroup], clear_number: int, generation: int = 1
) -> None:
    """Insert the groups of a generation of the window, all to be read."""
    rows = [{"window_id": window_id} | asdict(group) | _fresh(generation, clear_number) for group in planned]
    if rows:
        connection.execute(groups.insert(), rows)


def lock_generation(connection: Connection, window_id: str, number: int) -> Row[Any]:
    """Return the generation's row, and make others that would change it wait until this transaction ends.

    Raises:
        StateError: when there is no such generation.
    """
    query = select(generations).where(generations.c.window_id == window_id, generations.c.number == number)
    row = connection.execute(query.with_for_update(key_share=True)).one_or_none()
    if row is None:
        msg = f"window {window_id} has no generation {number}; list it with `blockread windows show {window_id}`"
        raise StateError(msg)
    return row


def as_read_by(window: Window, generation: Generation | None) -> Window:
    """Return the window with the manifest that a generation reads; None stands for the window's own plan."""
    if generation is None or generation.manifest_uri is None or generation.manifest_hash is None:
        return window
    return replace(window, manifest_uri=generation.manifest_uri, manifest_hash=generation.manifest_hash)


def published_row(connection: Connection, window_id: str) -> Row[Any] | None:
    """Return the row of the generation that readers see, or None before the first one is published."""
    query = select(generations).where(generations.c.window_id == window_id, generations.c.state == "published")
    return connection.execute(query).one_or_none()


def newest_row(connection: Connection, window_id: str) -> Row[Any]:
    """Return the row of the window's newest generation.

    Raises:
        StateError: when the window has no generation.
    """
    query = select(generations).where(generations.c.window_id == window_id).order_by(generations.c.number.desc())
    row = connection.execute(query.limit(1)).one_or_none()
    if row is None:
        state = connection.scalar(select(windows.c.state).where(windows.c.id == window_id)) or "unknown to this ledger"
        msg = f"window {window_id} is {state}, so it has no generation; plan it first"
        raise StateError(msg)
    return row


def _fresh(generation: int, clear_number: int) -> dict[str, object]:
    return {"generation": generation, "state": "pending", "clear_number": clear_number}
