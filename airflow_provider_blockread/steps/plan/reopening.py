"""Reopening: files that arrived too late for the window of their interval get further windows of that interval.

A frozen plan never grows, so the window of the interval stays as it is. Its further windows have the same interval, and
its key followed by `/late-1`, `/late-2`, ...; each is planned once, published and rebuilt like any other.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.windows.generations import FINISHED, latest_generation
from airflow_provider_blockread.ledger.windows.planning import find_window
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import Limits
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.plan.discovering import discover, scope_of


def of_interval(env: Environment, request: PlanRequest) -> PlanRequest:
    """Return the request for the window that a plan of an interval works on with `late="reopen"`.

    That is the interval's window until it is published, then its newest further window until that is published, then a
    new one if late files wait. If no files wait, the interval's window is replayed, unless the run has just published
    late files and is done. A further window that came to nothing, because its planner died or its files vanished, is
    ignored: the next late files get its key.
    """
    if request.selection.select != "interval" or request.selection.late != "reopen":
        return request
    chain = _chain(env, request)
    if len(chain) > 1 and chain[-1].state == "empty":
        chain.pop()
    if not chain or chain[-1].state in {"planning", "empty"}:
        return replace(request, key=chain[-1].key) if chain else request
    for window in chain:
        generation = _newest(env, window)
        if generation is not None and generation.state not in FINISHED:
            return replace(request, key=window.key)
    discover(env, request)
    if _waits(env, request):
        return replace(request, key=_key(request, len(chain)))
    newest = _newest(env, chain[-1])
    if len(chain) > 1 and newest is not None and newest.clear_number >= request.clear_number:
        return replace(request, key=chain[-1].key)
    return request


def _chain(env: Environment, request: PlanRequest) -> list[Window]:
    """Return the window of the interval and its further windows, in order."""
    chain: list[Window] = []
    while (window := find_window(env.ledger, request.feed, _key(request, len(chain)))) is not None:
        chain.append(window)
    return chain


def _key(request: PlanRequest, number: int) -> str:
    return f"{request.key}/late-{number}" if number else request.key


def _newest(env: Environment, window: Window) -> Generation | None:
    return latest_generation(env.ledger, window.id) if window.state == "open" else None


def _waits(env: Environment, request: PlanRequest) -> bool:
    one = replace(request.selection, limits=Limits(max_files=1))
    covers = scope_of(request)
    found = pending_files(env.ledger, request.feed, one, interval_ns=request.interval_ns, block_size=1, covers=covers)
    return next(iter(found), None) is not None
