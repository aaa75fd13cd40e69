"""A ledger's health: its database, what is stuck, and how to fix it."""

from __future__ import annotations

from starlette.responses import Response

from airflow_provider_blockread.ledger.overview.health import (
    MOST_PRUNABLE,
    OLD,
    Unfinished,
    ledger_database,
    ledger_health,
    recent_windows,
)
from airflow_provider_blockread.ledger.overview.refs import feed_of_window
from airflow_provider_blockread.pages.display.commands import clear_command, continuing, run_of, trigger_command
from airflow_provider_blockread.pages.display.conditions import count_of_windows
from airflow_provider_blockread.pages.visit import SeenFeeds, Visit
from airflow_provider_blockread.steps.upkeep.sweeping import find_leftovers

_SEARCHED = 50  # newest windows whose work areas are searched
_SEARCH_S = 5.0


def show(visit: Visit) -> Response:
    """Return the page, with leftovers if the query asks for them; feeds that the visitor may not see are omitted.

    What is about the ledger as a whole, and so about all feeds, is for those who may see them all.
    """
    ledger = visit.env.ledger
    seen = visit.seen(visit.ledger)
    found = ledger_health(ledger, list(seen))
    looks = bool(visit.asked("leftovers")) and not seen.hidden
    recent = recent_windows(ledger, list(seen), limit=_SEARCHED) if looks else None
    listings = [one for one in found.listings if one.feed_id in seen]
    values = {
        "recent": {} if recent is None else {window.id: window for window in recent},
        "leftovers": None if recent is None else find_leftovers(visit.env, recent, within_s=_SEARCH_S),
        "found": found,
        "database": None if seen.hidden else ledger_database(ledger),
        "stuck": count_of_windows(len(found.stuck), len(found.stuck)),
        "name": visit.ledger,
        "uuid": ledger.uuid,
        "address": ledger.address,
        "seen": seen,
        "listings": listings,
        "late": sum(map(found.is_late, listings)),
        "unfinished": [
            (one, continuing(one, ledger.address)) for one in found.unfinished if _may_see(visit, one, seen)
        ],
        "clears": {one.window.id: clear_command(run) for one in found.stuck if (run := run_of(one)) is not None},
        "lists_again": {feed: trigger_command(min(ref.dags)) for feed, ref in seen.items() if ref.dags},
        "old_days": OLD.days,
        "most_prunable": MOST_PRUNABLE,
        "errors": {one.window.id: visit.quoted(one.error, seen[one.feed_id]) for one in found.stuck},
    }
    return visit.page("health.html", values)


def _may_see(visit: Visit, one: Unfinished, seen: SeenFeeds) -> bool:
    """Return whether an unfinished command is about a feed that the visitor may see; its arguments name it."""
    if one.feed_id is not None:
        return one.feed_id in seen
    if one.arguments.get("feed") is not None:
        return one.arguments["feed"] in {ref.name for ref in seen.values()}
    about = feed_of_window(visit.env.ledger, str(one.arguments.get("window")))
    if about is None:  # a key, which any feed may have
        return not seen.hidden
    return about.id in seen
