"""The tab of a DAG: its feeds, with what waits, and thirty days of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.responses import Response

from airflow_provider_blockread.ledger.model import LateFiles
from airflow_provider_blockread.ledger.overview.calendar import Day, feed_days
from airflow_provider_blockread.ledger.overview.feeds import feeds_at_a_glance
from airflow_provider_blockread.ledger.overview.refs import feeds_of_dag
from airflow_provider_blockread.ledger.windows.selection import late_files
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.pages.display.strips import Placed, Segment, strip
from airflow_provider_blockread.pages.display.words import number
from airflow_provider_blockread.pages.site import FeedRef
from airflow_provider_blockread.pages.tabs.run_windows import airflow_ids, in_ledgers
from airflow_provider_blockread.pages.views.feeds import Entry, entries_of
from airflow_provider_blockread.pages.visit import Visit
from airflow_provider_blockread.steps.model import Environment

DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDay:
    """A day in the calendar: the number of its intervals in each state, in words and as a bar."""

    day: Day
    label: str
    href: str | None
    bar: tuple[Placed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCard:
    """A feed of the DAG."""

    entry: Entry
    calendar: tuple[CalendarDay, ...]
    late: LateFiles


def show(visit: Visit) -> Response:
    """Return the page."""
    ids = airflow_ids(visit)

    def collect(name: str, env: Environment) -> Iterator[FeedCard]:
        found = feeds_at_a_glance(env.ledger, feeds_of_dag(env.ledger, ids.dag))
        entries = entries_of(visit, name, found, env.ledger.now())
        numbers = [entry.ref.id for entry in entries]
        days, late = feed_days(env.ledger, numbers, DAYS), late_files(env.ledger, numbers)
        for entry in entries:
            calendar = tuple(_calendar(visit, entry.ref, days[entry.ref.id]))
            yield FeedCard(entry=entry, calendar=calendar, late=late[entry.ref.id])

    cards, problems = in_ledgers(visit, collect)
    return visit.page("tabs/dag.html", {"ids": ids, "cards": cards, "problems": problems})


def _calendar(visit: Visit, ref: FeedRef, days: list[Day]) -> Iterator[CalendarDay]:
    feed = visit.to.feed(ref.ledger, ref.id)
    for day in days:
        bar = strip([Segment(kind=state, label="", weight=number) for state, number in day.shares], "").pieces
        href = f"{feed}?day={day.date}" if day.windows else None
        yield CalendarDay(day=day, label=_label(day), href=href, bar=bar)


def _label(day: Day) -> str:
    if not day.windows:
        return f"{day.date}: no window"
    said = [f"{day.published} of {plural(day.windows, 'window')} published"]
    wrong = (("failed", day.failed), ("stalled", day.stalled), ("abandoned", day.abandoned))
    said += [f"{number(windows)} {state}" for state, windows in wrong if windows]
    said += [f"{number(day.empty)} with nothing new"] if day.empty else []
    said += [plural(day.rows, "row"), format_bytes(day.bytes)] if day.published else []
    said += [plural(day.bad_records, "bad record")] if day.bad_records else []
    return f"{day.date}: {', '.join(said)}"
