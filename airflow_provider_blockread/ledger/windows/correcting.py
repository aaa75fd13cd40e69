"""Correcting: an unpublished window reads newer versions of files in a new generation.

Nobody has seen a record of the older versions, so the newer ones belong to the window from the beginning of the
generation: no other window takes them, the older ones are permanently `replaced`, and later generations continue from
the newer plan. Groups that are done and contain none of these files keep their results, and the clear numbers with
which they were claimed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, select

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.ledger.schema.rows import in_generation
from airflow_provider_blockread.ledger.schema.tables import files, groups
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import lock_unfinished, newest_row, next_generation
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, adopt_versions, lock_feed_of

#: The columns that a group that is not read again takes over from an earlier generation.
RESULT_COLUMNS = (
    *("state", "epoch", "owner", "records", "bad_records", "rows", "read_bytes", "result_uri", "result_hash"),
    *("started_at", "finished_at"),
)


def start_corrected(
    ledger: Ledger,
    window_id: str,
    plan: NewerPlan,
    *,
    row: dict[str, Any],
    again: Collection[int] | None = None,
    lost: int | None = None,
) -> Generation:
    """Start a generation of an unpublished window by a plan that names newer versions, and return it.

    Args:
        ledger: the ledger to write.
        window_id: the window's id.
        plan: the plan, made from the plan of its newest generation.
        row: the generation's columns: `options`, `clear_number` and `run`.
        again: the groups to read; the others keep their results. None for all groups.
        lost: the number of its newest generation, if that was being published and can never be.

    Raises:
        ConflictError: when another generation was begun since the plan was made, or a newer version was taken.
    """
    with ledger.writing() as connection:
        lock_feed_of(connection, window_id)
        lock_unfinished(connection, window_id, lost=lost)
        base = newest_row(connection, window_id)
        if base.number != plan.base or base.state == "published":
            raise in_between(base)
        started = next_generation(connection, window_id, row | {"mode": "write", "created_at": ledger.now()}, lost=lost)
        return continue_from(connection, base, started, again, plan)


def in_between(base: Row[Any]) -> ConflictError:
    """Return the error for a plan that was not made from this generation."""
    msg = f"window {base.window_id}: generation {base.number} was begun or published in between; repeat this"
    return ConflictError(msg)


def continue_from(
    connection: Connection, base: Row[Any], started: Generation, again: Collection[int] | None, plan: NewerPlan | None
) -> Generation:
    """Give a generation the results of `base` that it keeps, and a newer plan if there is one, and return it.

    Args:
        connection: the transaction that started the generation, with feed and window locked.
        base: the row of the previous generation, as it was when the plan was made.
        started: the generation.
        again: the groups to read; the others keep their results. None for all groups.
        plan: the plan that names newer versions, or None.

    Raises:
        ConflictError: when a group is no longer done, or a newer version was taken.
    """
    published = base.state == "published"
    if again is not None:
        columns = RESULT_COLUMNS if published else (*RESULT_COLUMNS, "clear_number")
        _carry_over(connection, base, started, again, columns)
    if plan is None:
        return started
    started = adopt_versions(connection, started, plan)
    for batch in () if published else batched(plan.files, BATCH_FILES):
        older = (files.c.id.in_(batch), files.c.window_id == started.window, files.c.state == "planned")
        connection.execute(files.update().where(*older).values(state="replaced"))
    return started


def _carry_over(
    connection: Connection, base: Row[Any], started: Generation, again: Collection[int], columns: Collection[str]
) -> None:
    earlier = (in_generation(groups, started.window, base.number), groups.c.number.not_in(again))
    for row in connection.execute(select(groups).where(*earlier)).all():
        if row.state != "done":
            msg = f"window {started.window}: group {row.number} is {row.state} in generation {base.number}; repeat this"
            raise ConflictError(msg)
        change = {name: getattr(row, name) for name in columns}
        fresh = (groups.c.number == row.number, groups.c.state == "pending")
        mine = in_generation(groups, started.window, started.number)
        connection.execute(groups.update().where(mine, *fresh).values(change))
