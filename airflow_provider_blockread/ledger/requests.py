"""Requests: commands that go over many windows, and which generation of each was started for them.

A request is known by its action and arguments until it is finished, so that the same command, repeated after a crash
or a failure, goes on with what it began instead of doing it again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, and_, select

from airflow_provider_blockread.blocks.ids import options_digest
from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.dialect import insert_or_ignore
from airflow_provider_blockread.ledger.generations import lock_unfinished, next_generation
from airflow_provider_blockread.ledger.model import Generation, Request
from airflow_provider_blockread.ledger.replacing import NewerPlan, lock_feed_of, take_versions
from airflow_provider_blockread.ledger.rows import generation_from
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.tables import generations, groups
from airflow_provider_blockread.ledger.upkeep_tables import request_generations, requests

_RESULT_COLUMNS = (
    *("state", "epoch", "owner", "records", "bad_records", "rows", "read_bytes", "result_uri", "result_hash"),
    *("started_at", "finished_at"),
)


def find_request(ledger: Ledger, action: str, arguments: dict[str, Any]) -> Request | None:
    """Return the unfinished request of these arguments, None where there is none."""
    query = select(requests).where(
        requests.c.digest == _digest(action, arguments),
        requests.c.finished_at.is_(None),
    )
    with ledger.reading() as connection:
        row = connection.execute(query).one_or_none()
    return None if row is None else _request_from(row)


def open_request(ledger: Ledger, action: str, arguments: dict[str, Any], *, who: str) -> Request:
    """Return the unfinished request of these arguments, begun now where there is none."""
    found = find_request(ledger, action, arguments)
    while found is None:  # somebody else may begin the same one now, or finish it just then
        row = {"action": action, "arguments": arguments, "digest": _digest(action, arguments), "who": who}
        with ledger.writing() as connection:
            connection.execute(insert_or_ignore(connection, requests), row | {"began_at": ledger.now()})
        found = find_request(ledger, action, arguments)
    return found


def finish_request(ledger: Ledger, request: Request) -> None:
    """Record that all of it is done, or given up: the same command begins anew. May be repeated."""
    unfinished = (requests.c.id == request.id, requests.c.finished_at.is_(None))
    with ledger.writing() as connection:
        connection.execute(requests.update().where(*unfinished).values(finished_at=ledger.now()))


def requested_generations(ledger: Ledger, request: Request) -> dict[str, Generation]:
    """Return the newest generation that was started for the request, by window."""
    started = request_generations.c
    same = and_(generations.c.window_id == started.window_id, generations.c.number == started.generation)
    query = select(generations).join(request_generations, same).where(started.request_id == request.id)
    with ledger.reading() as connection:
        rows = connection.execute(query.order_by(generations.c.number)).all()
    return {row.window_id: generation_from(row) for row in rows}


def start_requested(
    ledger: Ledger,
    request: Request,
    window_id: str,
    *,
    again: Collection[int] | None = None,
    plan: NewerPlan | None = None,
    unneeded: int = 0,
) -> Generation:
    """Return a new pass over a published window, under the options of what is published.

    Args:
        ledger: where to.
        request: that asks for it.
        window_id: which window.
        again: the groups to be read; the others are done, with the results of what is published. None for all.
        plan: where newer versions of files are read; None for the plan of what is published.
        unneeded: so many of its files were cleaned from the source, and are not read again.

    Raises:
        CleanedError: when others of its files were cleaned from the source.
        ConflictError: when the window is not published, the request is finished, or the plan no longer fits.
    """
    published = (generations.c.window_id == window_id, generations.c.state == "published")
    still_open = (requests.c.id == request.id, requests.c.finished_at.is_(None))
    with ledger.writing() as connection:
        if connection.scalar(select(requests.c.id).where(*still_open).with_for_update(key_share=True)) is None:
            msg = f"the {request.action} that {request.who} began was finished by somebody else; repeat the command"
            raise ConflictError(msg)
        if plan is not None:
            lock_feed_of(connection, window_id)
        lock_unfinished(connection, window_id)
        shown = connection.execute(select(generations).where(*published)).one_or_none()
        if shown is None:
            msg = f"window {window_id} is no longer published; repeat the command, which says what it is now"
            raise ConflictError(msg)
        if plan is not None and plan.base != shown.number:
            msg = f"window {window_id}: generation {shown.number} was published in between; repeat the command"
            raise ConflictError(msg)
        kept = {name: getattr(shown, name) for name in ("options", "clear_number", "run")}
        row = kept | {"mode": "write", "created_at": ledger.now()}
        started = next_generation(connection, window_id, row, unneeded=unneeded)
        mine = {"request_id": request.id, "window_id": window_id, "generation": started.number}
        connection.execute(request_generations.insert().values(mine))
        if again is not None:
            _carry_over(connection, shown, started, again)
        if plan is None:
            return started
        take_versions(connection, started, plan)
        return replace(started, manifest_uri=plan.manifest_uri, manifest_hash=plan.manifest_hash)


def _carry_over(connection: Connection, shown: Row[Any], started: Generation, again: Collection[int]) -> None:
    """Make the groups that are not read again done, with the results of the published generation."""
    of_window = groups.c.window_id == started.window
    query = select(groups).where(of_window, groups.c.generation == shown.number, groups.c.number.not_in(again))
    for row in connection.execute(query).all():
        if row.state != "done":
            msg = (
                f"window {started.window}: group {row.number} is {row.state} where it is published; repeat the command"
            )
            raise ConflictError(msg)
        change = {name: getattr(row, name) for name in _RESULT_COLUMNS}
        fresh = (groups.c.generation == started.number, groups.c.number == row.number, groups.c.state == "pending")
        connection.execute(groups.update().where(of_window, *fresh).values(change))


def _digest(action: str, arguments: dict[str, Any]) -> str:
    return options_digest({"action": action, "arguments": arguments})


def _request_from(row: Row[Any]) -> Request:
    return Request(id=row.id, action=row.action, arguments=row.arguments, who=row.who, began_at=row.began_at)
