"""What people ask the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.overview import windows as overview
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows import queries
from airflow_provider_blockread.ledger.windows.exclusions import exclude_file
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window, list_files, unpublished_windows
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, close_empty_window, open_window, publish, version


def test_windows_are_listed_newest_first(ledger: Ledger, clock: Clock) -> None:
    """Each with its newest generation, its progress, its exclusions and what is published."""
    first = open_window(ledger, "k1", ["a", "b"])
    exclude_file(ledger, first.id, "file:///in/a", reason="rotten", who="me")
    publish(ledger, first)
    rebuilt = start_generation(ledger, first.id, options={}, mode="write", clear_number=1)
    clock.pass_seconds(1)
    second = open_window(ledger, "k2", ["c"])
    clock.pass_seconds(1)
    empty = close_empty_window(ledger, "other", "k3", owner="me")

    found = list_windows(ledger)

    assert [summary.window for summary in found] == [empty, second, first]
    assert [row.shown and row.shown.number for row in found] == [None, None, 1]
    assert [summary.excluded for summary in found] == [0, 0, 1]
    assert unpublished_windows(ledger, FEED) == [second]
    assert found[0].generation is None
    assert found[2].generation == rebuilt
    assert found[2].groups.done == 0
    assert [summary.window for summary in list_windows(ledger, FEED, limit=1)] == [second]
    assert list_windows(ledger, "unknown") == []


def test_a_statement_names_some_of_many_windows(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are listed: for 12,000 unfinished ones in one statement, PostgreSQL's stack is not deep enough."""
    monkeypatch.setattr(overview, "_BATCH", 2)
    for number in range(5):
        open_window(ledger, f"k{number}", [f"{number}"])
    given: list[int] = []

    @event.listens_for(ledger._live_engine(), "before_cursor_execute")
    def note(*call: Any) -> None:
        given.append(len(call[3]))

    assert len(list_windows(ledger, limit=2)) == 2
    of_two = max(given)
    assert len({row.window.id for row in list_windows(ledger, limit=5)}) == 5
    assert max(given) == of_two


def test_a_window_is_found_by_id_or_key(ledger: Ledger) -> None:
    """A key that several feeds have needs the feed."""
    window = open_window(ledger, "k", ["a"])
    other = close_empty_window(ledger, "other", "k", owner="me")

    assert get_window(ledger, window.id) == window
    assert get_window(ledger, "k", "other") == other
    with pytest.raises(OptionsError, match="several feeds have a window 'k': logs, other"):
        get_window(ledger, "k")
    with pytest.raises(OptionsError, match="has no window 'zzz'; list them"):
        get_window(ledger, "zzz")
    with pytest.raises(OptionsError, match="has no window 'zzz' of feed 'other'; list them"):
        get_window(ledger, "zzz", "other")
    with pytest.raises(OptionsError, match="knows no feed 'nope'; correct the name: it knows logs, other"):
        get_window(ledger, "k", "nope")


def test_files_are_listed_by_state(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of discovery, page by page, up to the limit."""
    monkeypatch.setattr(queries, "BATCH_FILES", 3)
    window = open_window(ledger, names=[f"{n}" for n in range(8)])
    exclude_file(ledger, window.id, "file:///in/5", reason="missing", who="me")

    names = [row.version.path for row in list_files(ledger, FEED)]
    assert names == [f"file:///in/{n}" for n in range(8)]
    assert len(list(list_files(ledger, FEED, limit=5))) == 5
    (gone,) = list_files(ledger, FEED, state="missing")
    assert (gone.version, gone.window) == (version("5"), window.id)
    assert list(list_files(ledger, "unknown")) == []


def test_counts_of_an_unknown_feed_are_empty(ledger: Ledger) -> None:
    """Nothing is known, so nothing is counted."""
    assert feed_counts(ledger, "unknown") == {}
