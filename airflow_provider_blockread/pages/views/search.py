"""Search: feeds by name, windows by key or id, files by path, in all ledgers that the visitor may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import Response

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.overview.files import FoundFiles, find_files
from airflow_provider_blockread.ledger.overview.windows import WindowRow, find_windows
from airflow_provider_blockread.ledger.windows.progress import windows_progress
from airflow_provider_blockread.pages.display.words import whole
from airflow_provider_blockread.pages.site import FeedRef
from airflow_provider_blockread.pages.visit import Visit

_MOST = 50  # hits of each kind in each ledger
_LEAST_CHARS = 2
_NOTHING = FoundFiles([], None, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What was found in one ledger."""

    ledger: str
    feeds: tuple[FeedRef, ...] = ()
    windows: tuple[WindowRow, ...] = ()
    found: FoundFiles = _NOTHING
    states: Mapping[str, str] = field(default_factory=dict)  # of unpublished windows that hold found files
    error: str = ""

    @property
    def size(self) -> int:
        """The number of hits."""
        return len(self.feeds) + len(self.windows) + len(self.found.files)


def show(visit: Visit) -> Response:
    """Return the page; with `below`, only the files of one ledger below this number."""
    text, below, only = visit.asked("q"), whole(visit.asked("below")), visit.asked("ledger")
    names = [name for name in visit.ledgers.names if below is None or name == only]
    hits = [_in_ledger(visit, name, text, below) for name in names] if len(text) >= _LEAST_CHARS else []
    values = {"text": text, "hits": hits, "below": below, "least": _LEAST_CHARS, "most": _MOST}
    return visit.page("search.html", values)


def _in_ledger(visit: Visit, name: str, text: str, below: int | None) -> Hits:
    try:
        ledger, seen = visit.ledgers.open(name).ledger, visit.seen(name)
        among = list(seen) if seen.hidden else None  # a filter is slow for a million rows
        found = find_files(ledger, text, of=among, limit=_MOST, below=below)
        holding = {file.window for file in found.files if file.window and file.state == "planned"}
        states = {window: one.state for window, one in windows_progress(ledger, sorted(holding)).items()}
        if below is not None:
            return Hits(ledger=name, found=found, states=states)
        return Hits(
            ledger=name,
            feeds=tuple(ref for ref in seen.values() if text.casefold() in ref.name.casefold())[:_MOST],
            windows=tuple(find_windows(ledger, text, of=list(seen), limit=_MOST)),
            found=found,
            states=states,
        )
    except BlockReadError as error:
        return Hits(ledger=name, error=str(error))
