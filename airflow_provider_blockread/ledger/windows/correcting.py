"""Correcting: a window of which nothing is published reads newer versions of files in a new generation.

Nobody has seen a record of the older versions, so that the newer ones are the window's own from the beginning of the
generation: no other window takes them, the older ones are `replaced` for good, and what comes after goes on from the
newer plan. Groups that are done and hold none of these files keep their results, and the numbers under which they were
claimed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, select

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.ledger.schema.tables import files, groups
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import lock_unfinished, newest_row, next_generation
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, lock_feed_of, take_versions

#: What a group that is not read again takes over from an earlier generation.
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
    """Return a new pass over a window of which nothing is published, by a plan that names newer versions.

    Args:
        ledger: where to.
        window_id: which window.
        plan: that was made from the plan of its newest generation.
        row: what the generation is: `options`, `clear_number` and `run`.
        again: the groups to be read; the others keep their results. None for all.
        lost: the number of its newest generation, where that was being published and never can be.

    Raises:
        ConflictError: when another generation was begun since the plan was made, or a newer version was taken.
    """
    with ledger.writing() as connection:
        lock_feed_of(connection, window_id)
        lock_unfinished(connection, window_id, lost=lost)
        row = row | {"mode": "write", "created_at": ledger.now()}
        return begin_corrected(connection, window_id, plan, row=row, again=again, lost=lost)


def begin_corrected(
    connection: Connection,
    window_id: str,
    plan: NewerPlan,
    *,
    row: dict[str, Any],
    again: Collection[int] | None,
    lost: int | None = None,
) -> Generation:
    """Insert the generation that `start_corrected` returns, once feed and window are locked."""
    base = newest_row(connection, window_id)
    if base.number != plan.base or base.state == "published":
        msg = f"window {window_id}: generation {base.number} was begun or published in between; repeat this"
        raise ConflictError(msg)
    started = next_generation(connection, window_id, row, lost=lost)
    if again is not None:
        carry_over(connection, base, started, again, columns=(*RESULT_COLUMNS, "clear_number"))
    started = take_versions(connection, started, plan)
    for batch in batched(plan.files, BATCH_FILES):
        older = (files.c.id.in_(batch), files.c.window_id == window_id, files.c.state == "planned")
        connection.execute(files.update().where(*older).values(state="replaced"))
    return started


def carry_over(
    connection: Connection,
    base: Row[Any],
    started: Generation,
    again: Collection[int],
    *,
    columns: Collection[str] = RESULT_COLUMNS,
) -> None:
    """Make the groups that are not read again done, with the results of an earlier generation.

    Raises:
        ConflictError: when one of them is no longer done there.
    """
    of_window = groups.c.window_id == started.window
    query = select(groups).where(of_window, groups.c.generation == base.number, groups.c.number.not_in(again))
    for row in connection.execute(query).all():
        if row.state != "done":
            msg = f"window {started.window}: group {row.number} is {row.state} in generation {base.number}; repeat this"
            raise ConflictError(msg)
        change = {name: getattr(row, name) for name in columns}
        fresh = (groups.c.generation == started.number, groups.c.number == row.number, groups.c.state == "pending")
        connection.execute(groups.update().where(of_window, *fresh).values(change))
