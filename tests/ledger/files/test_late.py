"""Files of an interval that was planned before they came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import LateFiles
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows import planning
from airflow_provider_blockread.ledger.windows.selection import late_files, merged_intervals, pending_files
from airflow_provider_blockread.options import Selection
from tests.ledger.make import FEED, close_empty_window, freeze_window, plan, version

NEXT, REPORT = Selection(select="interval"), Selection(select="interval", late="report")
Interval = tuple[int, int]


def _land(ledger: Ledger, *times: int) -> None:
    record_files(ledger, FEED, [version(f"{time:02d}", mtime_ns=time) for time in times], complete=False)


def _taken(ledger: Ledger, interval: Interval, selection: Selection = NEXT) -> dict[str, bool]:
    """Return the names of the files that a window of this interval takes, and whether they are late."""
    found = pending_files(ledger, FEED, selection, interval_ns=interval, block_size=4)
    return {item.version.path.rpartition("/")[2]: item.late for item in found}


def _plan(ledger: Ledger, interval: Interval, selection: Selection = NEXT, key: str | None = None) -> None:
    found = [item.file for item in pending_files(ledger, FEED, selection, interval_ns=interval, block_size=4)]
    name = key or f"{interval[0]:02d}"
    if found:
        freeze_window(ledger, replace(plan(name, files=len(found)), interval_ns=interval), found)
    else:
        close_empty_window(ledger, FEED, name, owner="planner", interval_ns=interval)


def _late(ledger: Ledger, feed: str, interval: Interval) -> LateFiles:
    """Return the files that are late when this interval is planned."""
    number = open_feed(ledger, feed)
    return late_files(ledger, [number], besides=interval)[number]


@pytest.mark.parametrize("empty", [False, True])
def test_the_next_window_takes_late_files(ledger: Ledger, *, empty: bool) -> None:
    """Files of a planned interval, an empty one too, join the next window; those of intervals to come do not."""
    _land(ledger, 25)
    if not empty:
        _land(ledger, 11)
    _plan(ledger, (10, 20))
    _land(ledger, 12, 5, 31)

    assert _taken(ledger, (20, 30)) == {"12": True, "25": False}
    assert list(_taken(ledger, (20, 30), replace(NEXT, order="newest"))) == ["25", "12"]
    assert _taken(ledger, (20, 30), REPORT) == {"25": False}


def test_late_files_are_counted_with_their_windows(ledger: Ledger) -> None:
    """Each file counts once, though windows overlap; the interval being planned does not count."""
    for start in (0, 10, 20):
        _plan(ledger, (start, start + 10))
    _plan(ledger, (0, 10), key="00/late-1")
    _plan(ledger, (0, 30), key="whole")
    _land(ledger, 1, 2, 11, 25, 40)

    assert _late(ledger, FEED, (20, 30)) == LateFiles(files=3, windows=("00", "whole", "10"))
    assert _late(ledger, FEED, (0, 30)) == LateFiles()
    assert _late(ledger, "other", (0, 1)) == LateFiles()


def test_a_plan_under_way_makes_no_file_late(ledger: Ledger) -> None:
    """What another planner is about to take is left to it."""
    planning.claim_window(ledger, FEED, "10", owner="other", interval_ns=(10, 20))
    _land(ledger, 11, 21)

    assert _taken(ledger, (20, 30)) == {"21": False}
    assert _late(ledger, FEED, (20, 30)) == LateFiles()


def test_intervals_are_merged() -> None:
    """Neighbours and overlapping ones become one, so that years of windows are few questions."""
    assert merged_intervals([(20, 30), (0, 10), (10, 20), (25, 26), (40, 50)]) == [(0, 30), (40, 50)]
