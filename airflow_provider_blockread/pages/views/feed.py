"""One feed: its condition, its windows as a chart and as a list, and the files that no window reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from starlette.responses import Response

from airflow_provider_blockread.ledger.overview.feed_options import newest_sources
from airflow_provider_blockread.ledger.overview.feeds import feeds_at_a_glance
from airflow_provider_blockread.ledger.overview.files import excluded_files, left_out_files, waiting_files
from airflow_provider_blockread.ledger.overview.windows import (
    OPEN_STATES,
    OVER_STATES,
    WindowFilter,
    WindowRow,
    list_page,
)
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.pages.addresses import Addresses
from airflow_provider_blockread.pages.display.conditions import condition_of
from airflow_provider_blockread.pages.display.strips import Segment, Strip, strip
from airflow_provider_blockread.pages.display.upcoming import next_window
from airflow_provider_blockread.pages.display.words import duration, number, rate, size, whole
from airflow_provider_blockread.pages.site import FeedRef
from airflow_provider_blockread.pages.visit import Visit

_CHARTED = 72  # windows in the chart; the first page of the list is among them
_PAGE = 50  # rows of a list
_FIRST_YEAR, _LAST_YEAR = 1678, 2261  # whose days are wholly in 64 bits of nanoseconds
_REBUILT = "↻"
_LEAST, _PAUSE, _MOST = 0.4, 2.0, 24.0  # widths in the chart: of a window, of one before a gap, and of a gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What the bars of the chart show about a window."""

    title: str
    value: Callable[[WindowRow], float]
    text: Callable[[float], str]


def _lag_s(row: WindowRow) -> float:
    done = row.shown.published_at if row.shown else None
    return (done - row.window.created_at).total_seconds() if done else 0.0


MEASURES = {
    "records": Measure(title="records", value=lambda row: row.shown.sums.records if row.shown else 0, text=number),
    "bytes": Measure(title="bytes", value=lambda row: row.bytes, text=size),
    "speed": Measure(
        title="bytes a second",
        value=lambda row: row.groups.read_bytes / max(row.reading_s, 0.05) if row.reading_s is not None else 0,
        text=lambda value: rate(value, 1.0),
    ),
    "lag": Measure(title="time from plan to published", value=_lag_s, text=duration),
    "bad": Measure(title="bad records", value=lambda row: row.shown.sums.bad_records if row.shown else 0, text=number),
}
#: What an address asks of the page, beside the measure.
_ASKED = ("show", "state", "text", "day", "bad", "rebuilt", "before", "time", "path", "file")
#: What the lower part of the page lists.
TABS = {
    "windows": "Windows",
    "waiting": "Waiting files",
    "late": "Late files",
    "left": "Left out",
    "excluded": "Excluded files",
}


def show(visit: Visit) -> Response:
    """Return the page."""
    assert visit.feed is not None  # noqa: S101 - the route names one
    ledger, feed = visit.env.ledger, visit.feed
    [sums] = feeds_at_a_glance(ledger, [feed.id])
    now = ledger.now()
    newest = list_page(ledger, feed.id, WindowFilter(), limit=_CHARTED)
    measure = visit.asked("measure") if visit.asked("measure") in MEASURES else "records"
    tab = visit.asked("show") if visit.asked("show") in TABS else "windows"
    upcoming = next_window(sums, visit.site.schedules.next_runs(sums.dags))
    options = next((row.generation.options for row in newest if row.generation), {})
    values = {
        "sums": sums,
        "now": now,
        "condition": condition_of(sums, now, visit.quoted, upcoming),
        "upcoming": upcoming,
        "roots": _roots(newest_sources(ledger, feed.name)),
        "sink": options.get("sink", {}).get("uri", ""),
        "newest": newest,
        "drawn": _chart(newest, MEASURES[measure], visit.to, feed) if newest else None,
        "measure": measure,
        "measures": MEASURES,
        "asked": {name: value for name in _ASKED if (value := visit.request.query_params.get(name))},
        "kept": {"measure": measure} if visit.asked("measure") else {},
        "tab": tab,
        "tabs": TABS,
        "states": (*OPEN_STATES, *OVER_STATES),
    }
    is_of_windows = tab == "windows"
    listed = _windows(visit, ledger, feed.id, newest) if is_of_windows else _files(visit, ledger, feed.id, tab)
    return visit.page("feed.html", values | listed)


def _windows(visit: Visit, ledger: Ledger, feed: int, newest: list[WindowRow]) -> dict[str, Any]:
    state = visit.asked("state")
    wanted = WindowFilter(
        state=state if state in {*OPEN_STATES, *OVER_STATES} else "",
        text=visit.asked("text"),
        day=_day(visit.asked("day")),
        bad=bool(visit.asked("bad")),
        rebuilt=bool(visit.asked("rebuilt")),
    )
    before = whole(visit.asked("before"))
    rows = newest
    if before is not None or wanted != WindowFilter():
        rows = list_page(ledger, feed, wanted, before=before, limit=_PAGE + 1)
    return {"wanted": wanted, "rows": rows[:_PAGE], "more": _last(rows)}


def _files(visit: Visit, ledger: Ledger, feed: int, tab: str) -> dict[str, Any]:
    """Return the files of a tab, those behind the one with which the page before ended."""
    if tab == "excluded":
        return {"files": excluded_files(ledger, feed), "more": None}
    time, file = whole(visit.asked("time")), whole(visit.asked("file"))
    if tab == "left":
        rows = left_out_files(ledger, feed, after=file or 0, limit=_PAGE + 1)
    else:
        path = visit.request.query_params.get("path", "")
        after = None if time is None or file is None else (time, path, file)
        rows = waiting_files(ledger, feed, after=after, late=tab == "late", limit=_PAGE + 1)
    return {"files": rows[:_PAGE], "more": _last(rows)}


def _last(rows: Sequence[Any]) -> Any:  # noqa: ANN401 - a row, or None
    """Return the last row of a page, or None if no more follow."""
    return rows[_PAGE - 1] if len(rows) > _PAGE else None


def _chart(newest: Sequence[WindowRow], measure: Measure, to: Addresses, feed: FeedRef) -> Strip:
    """Return the windows as bars over a strip, each as wide as the time to the next one, within bounds."""
    rows = newest[::-1]
    most = max((measure.value(row) for row in rows), default=0) or 1
    paces = [(b.window.created_at - a.window.created_at).total_seconds() for a, b in pairwise(rows)]
    usual = sorted(paces)[len(paces) // 2] if paces else 0.0
    segments, day = [], ""
    for index, row in enumerate(rows):
        pace = paces[index] / usual if usual and index < len(paces) else 1.0
        planned = f"{row.window.created_at:%d %b}"
        segments.append(
            Segment(
                kind=row.state,
                label=_label(row, measure),
                weight=1.0 if pace > _PAUSE else max(pace, _LEAST),
                href=to.window(feed.ledger, row.window.id),
                height=measure.value(row) / most,
                tick=bool(row.shown and row.shown.sums.bad_records),
                sign=_REBUILT if row.shown and row.shown.number > 1 and row.state == "published" else "",
                caption="" if planned == day or index > len(rows) - 4 else planned,
            )
        )
        day = planned
        if pace > _PAUSE:
            label = f"No window was planned for {duration(paces[index])}"
            segments.append(Segment(kind="gap", label=label, weight=min(pace - 1, _MOST)))
    name = f"The last {plural(len(rows), 'window')}: {measure.title}, at most {measure.text(most)}"
    return strip(segments, name)


def _label(row: WindowRow, measure: Measure) -> str:
    value = measure.value(row)
    measured = f", {measure.text(value)} {measure.title if measure.title != 'bytes' else ''}".rstrip() if value else ""
    bad = f", {row.shown.sums.bad_records:,} bad" if row.shown and row.shown.sums.bad_records else ""
    again = f", generation {row.shown.number}" if row.shown and row.shown.number > 1 else ""
    return f"{row.window.key}: {row.state}{measured}{bad}{again}, planned {row.window.created_at:%Y-%m-%d %H:%M} UTC"


def _roots(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    source: Mapping[str, Any] = next(iter(sources), {})
    roots = source.get("uris") or source.get("uri") or ()
    return [roots] if isinstance(roots, str) else [str(root) for root in roots]


def _day(text: str) -> datetime | None:
    """Return the day in a part of an address, or None if it is none whose times a database holds in nanoseconds."""
    try:
        found = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return found if _FIRST_YEAR <= found.year <= _LAST_YEAR else None
