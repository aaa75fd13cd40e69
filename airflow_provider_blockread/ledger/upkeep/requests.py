"""Requests: commands that process many windows, and which generation of each window was started for them.

A request is identified by its action and arguments until it is finished, so that the same command, repeated after a
crash or a failure, continues with what it began instead of doing it again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import and_, case, func, literal, select

from airflow_provider_blockread.blocks.ids import options_digest
from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.dialect import insert_or_ignore
from airflow_provider_blockread.ledger.model import Generation, Request
from airflow_provider_blockread.ledger.schema.rows import generation_from, value_from
from airflow_provider_blockread.ledger.schema.tables import generations, windows
from airflow_provider_blockread.ledger.schema.upkeep_tables import request_generations, requests
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.correcting import continue_from, in_between
from airflow_provider_blockread.ledger.windows.generations import (
    lock_unfinished,
    newest_row,
    next_generation,
    published_row,
)
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, lock_feed_of

_STARTED = request_generations.c


def find_request(ledger: Ledger, action: str, arguments: dict[str, Any]) -> Request | None:
    """Return the unfinished request with these arguments, or None."""
    query = select(requests).where(requests.c.digest == _digest(action, arguments), requests.c.finished_at.is_(None))
    with ledger.reading() as connection:
        row = connection.execute(query).one_or_none()
    return None if row is None else value_from(Request, row)


def open_request(ledger: Ledger, action: str, arguments: dict[str, Any], *, who: str) -> Request:
    """Return the unfinished request with these arguments; if there is none, begin it."""
    found = find_request(ledger, action, arguments)
    # A repeated command takes the windows that were planned before this time, so it must not be earlier than that of
    # any window there is, such as one that was planned on a host whose clock is ahead.
    newest = select(func.max(windows.c.created_at)).scalar_subquery()
    while found is None:  # another process may begin or finish the same one meanwhile
        row = {"action": action, "arguments": arguments, "digest": _digest(action, arguments), "who": who}
        now = literal(ledger.now(), windows.c.created_at.type)
        began_at = case((newest > now, newest), else_=now)
        with ledger.writing() as connection:
            connection.execute(insert_or_ignore(connection, requests).values(row | {"began_at": began_at}))
        found = find_request(ledger, action, arguments)
    return found


def finish_request(ledger: Ledger, request: Request) -> None:
    """Record that all of it is done, or given up; the same command is then a new request. May be repeated."""
    unfinished = (requests.c.id == request.id, requests.c.finished_at.is_(None))
    with ledger.writing() as connection:
        connection.execute(requests.update().where(*unfinished).values(finished_at=ledger.now()))


def requested_generations(ledger: Ledger, request: Request) -> dict[str, Generation]:
    """Return the newest generation that was started for the request, by window."""
    same = and_(generations.c.window_id == _STARTED.window_id, generations.c.number == _STARTED.generation)
    query = select(generations).join(request_generations, same).where(_STARTED.request_id == request.id)
    with ledger.reading() as connection:
        rows = connection.execute(query.order_by(generations.c.number)).all()
    return {row.window_id: generation_from(row) for row in rows}


def was_requested(ledger: Ledger, generation: Generation) -> bool:
    """Return whether a request started this generation."""
    mine = (_STARTED.window_id == generation.window, _STARTED.generation == generation.number)
    with ledger.reading() as connection:
        return connection.scalar(select(_STARTED.request_id).where(*mine).limit(1)) is not None


def start_requested(
    ledger: Ledger,
    request: Request,
    window_id: str,
    *,
    again: Collection[int] | None = None,
    plan: NewerPlan | None = None,
    unneeded: int = 0,
) -> Generation:
    """Start a new generation of a published window, with the options of the published one, and return it.

    An unpublished window is read with the options of its newest generation, and by a newer plan. A
    request that is handed over to an Airflow run names the run, and its clear number, in its arguments.

    Args:
        ledger: the ledger to write.
        request: the request that starts it.
        window_id: the window's id.
        again: the groups to read; the others are done, with the published results. None for all groups.
        plan: the plan if newer versions of files are read; None for the published plan.
        unneeded: the number of its files that were cleaned from the source, but are not read again.

    Raises:
        CleanedError: when other files of the window were cleaned from the source.
        ConflictError: when the request is finished, or the plan no longer fits; or when the window is not published,
            and no newer plan is given.
    """
    still_open = (requests.c.id == request.id, requests.c.finished_at.is_(None))
    with ledger.writing() as connection:
        if connection.scalar(select(requests.c.id).where(*still_open).with_for_update(key_share=True)) is None:
            msg = f"the {request.action} that {request.who} began was finished by another process; repeat the command"
            raise ConflictError(msg)
        if plan is not None:
            lock_feed_of(connection, window_id)
        lock_unfinished(connection, window_id)
        shown = published_row(connection, window_id)
        if shown is None and plan is None:
            msg = f"window {window_id} is no longer published; repeat the command to see its current state"
            raise ConflictError(msg)
        base = shown or newest_row(connection, window_id)
        if plan is not None and plan.base != base.number:
            raise in_between(base)
        kept = {name: getattr(base, name) for name in ("options", "clear_number", "run")}
        kept |= {name: request.arguments[name] for name in ("clear_number", "run") if name in request.arguments}
        mode = "verify" if request.action == "verify" else "write"
        row = kept | {"mode": mode, "created_at": ledger.now()}
        started = next_generation(connection, window_id, row, unneeded=unneeded)
        started = continue_from(connection, base, started, again, plan)
        mine = {"request_id": request.id, "window_id": window_id, "generation": started.number}
        connection.execute(request_generations.insert().values(mine))
        return started


def _digest(action: str, arguments: dict[str, Any]) -> str:
    return options_digest({"action": action, "arguments": arguments})
