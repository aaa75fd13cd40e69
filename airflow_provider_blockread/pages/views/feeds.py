"""All feeds of all ledgers, those that need attention first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from starlette.responses import Response

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.overview.feeds import FeedSums, feeds_at_a_glance
from airflow_provider_blockread.pages.display.conditions import CONDITIONS, Condition, condition_of
from airflow_provider_blockread.pages.display.upcoming import NextWindow, next_window
from airflow_provider_blockread.pages.site import FeedRef
from airflow_provider_blockread.pages.visit import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A feed in the list."""

    ref: FeedRef
    sums: FeedSums
    condition: Condition
    upcoming: NextWindow | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The feeds of one ledger that the visitor may see, or why there are none."""

    ledger: str
    now: datetime | None = None
    entries: tuple[Entry, ...] = ()
    hidden: int = 0
    error: str = ""


def show(visit: Visit) -> Response:
    """Return the page."""
    shown = [_of_ledger(visit, name) for name in visit.ledgers.names]
    counts = Counter(entry.condition.word for one in shown for entry in one.entries)
    ordered = [(word, counts[word]) for word in CONDITIONS if counts[word]]
    return visit.page("feeds.html", {"shown": shown, "counts": ordered})


def entries_of(visit: Visit, ledger: str, found: Iterable[FeedSums], now: datetime) -> list[Entry]:
    """Return those of a ledger's feeds that the visitor may see."""
    refs = {FeedRef(ledger=ledger, id=sums.id, name=sums.name, dags=sums.dags): sums for sums in found}
    seen = [(refs[ref], ref) for ref in visit.visitor.seen_among(list(refs))]
    runs = visit.site.schedules.next_runs(frozenset().union(*(ref.dags for _, ref in seen)))
    entries = []
    for sums, ref in seen:
        upcoming = next_window(sums, runs)
        condition = condition_of(sums, now, partial(visit.quoted, feed=ref), upcoming)
        entries.append(Entry(ref=ref, sums=sums, condition=condition, upcoming=upcoming, now=now))
    return entries


def _of_ledger(visit: Visit, name: str) -> Shown:
    try:
        ledger = visit.ledgers.open(name).ledger
        found = feeds_at_a_glance(ledger)
    except BlockReadError as error:
        return Shown(ledger=name, error=str(error))
    now = ledger.now()
    entries = entries_of(visit, name, found, now)
    entries.sort(key=lambda entry: (CONDITIONS.index(entry.condition.word), entry.ref.name))
    return Shown(ledger=name, now=now, entries=tuple(entries), hidden=len(found) - len(entries))
