"""Newer versions in a window of which nothing is published: they are its own at once, and of no other window."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import ConflictError, StateError
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Generation, GroupOutcome, GroupRef, Window
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_abandoning, finish_withdrawal, release_files
from airflow_provider_blockread.ledger.windows.correcting import start_corrected
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups, start_generation
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, record_versions
from tests.ledger.make import FEED, freeze_window, open_window, pending, plan, publish, version

_NEWER = version("a", size=20, mtime_ns=9)
_ROW = {"options": {"a": 1}, "clear_number": 3, "run": "dag/run"}


def _newer(ledger: Ledger, window: Window, base: int = 1, size: int = 20) -> NewerPlan:
    old = next(row.file for row in list_files(ledger, FEED) if row.state == "planned" and row.version.path[-1] == "a")
    ids = record_versions(ledger, window, {old: version("a", size=size, mtime_ns=9)})
    return NewerPlan(base=base, manifest_uri=f"newer-{size}", manifest_hash="newer", groups=(), files=ids)


def _read(ledger: Ledger, window: Window, group: int) -> None:
    claim = claim_group(
        ledger, GroupRef(window=window.id, generation=1, group=group), owner="me", clear_number=2, stale_after_s=60
    )
    assert claim is not None
    outcome = GroupOutcome(result_uri="there", result_hash="hash", records=1, bad_records=0, rows=1, read_bytes=1)
    complete_group(ledger, claim, outcome)


def _states(ledger: Ledger) -> dict[int, tuple[str, bool]]:
    """Return state and whether a window holds it of the versions of a, by their sizes."""
    rows = [row for row in list_files(ledger, FEED) if row.version.path[-1] == "a"]
    return {row.version.size: (row.state, row.window is not None) for row in rows}


def _begin(ledger: Ledger, window: Window) -> Generation:
    return start_corrected(ledger, window.id, _newer(ledger, window), row=_ROW, again={0})


def test_it_is_the_windows_own_at_once(ledger: Ledger) -> None:
    """Other groups keep their results, under the number they were claimed by; later generations continue from there."""
    window = open_window(ledger)
    _read(ledger, window, 1)
    started = _begin(ledger, window)
    groups = [(g.state, g.clear_number, g.result_uri) for g in list_groups(ledger, window.id, 2)]

    assert (started.number, started.manifest_uri, started.run) == (2, "newer-20", "dag/run")
    assert groups == [("pending", 3, None), ("done", 2, "there")]
    assert _states(ledger) == {10: ("replaced", True), 20: ("planned", True)}
    again = start_generation(ledger, window.id, mode="write", **_ROW)
    assert (again.number, again.manifest_uri) == (3, "newer-20")
    assert _states(ledger) == {10: ("replaced", True), 20: ("planned", True)}
    assert latest_generation(ledger, window.id).number == 3


def test_it_goes_back_once(ledger: Ledger) -> None:
    """The one that it has replaced stays where it is, whatever listings show."""
    window = open_window(ledger)
    _read(ledger, window, 1)
    _begin(ledger, window)
    held = begin_abandoning(ledger, window.id, who="me")
    assert (release_files(ledger, held), release_files(ledger, held)) == (2, 0)
    finish_withdrawal(ledger, held)
    assert _states(ledger) == {10: ("replaced", True), 20: ("pending", False)}
    found = record_files(ledger, FEED, [_NEWER, version("b")], rules=Admission(on_modified="add"))

    assert (found.new, found.modified, len(pending(ledger))) == (0, 0, 2)


def test_one_generation_is_begun_by_a_plan(ledger: Ledger) -> None:
    """Another try reads the state again; what another window reads by then is refused for good."""
    window = open_window(ledger)
    newer = _newer(ledger, window)
    start_corrected(ledger, window.id, newer, row=_ROW)
    for _ in range(2):
        with pytest.raises(ConflictError, match="generation 2 was begun or published in between; repeat this") as lost:
            start_corrected(ledger, window.id, newer, row=_ROW)
        assert not isinstance(lost.value, StateError)
    publish(ledger, window, 2)
    with pytest.raises(ConflictError, match="generation 2 was begun or published"):
        start_corrected(ledger, window.id, newer, row=_ROW)


def test_a_group_that_is_reset_meanwhile_is_not_taken_over(ledger: Ledger) -> None:
    """What was done when it was looked at, and is to be read again now, starts nothing."""
    window = open_window(ledger)
    with pytest.raises(ConflictError, match="group 1 is pending in generation 1; repeat this"):
        _begin(ledger, window)
    assert latest_generation(ledger, window.id).number == 1


def test_another_window_is_quicker(ledger: Ledger) -> None:
    """A planner takes the version between the look and the start: one of the two has it."""
    window = open_window(ledger)
    record_files(ledger, FEED, [_NEWER, version("b")], rules=Admission(on_modified="add"))
    newer = _newer(ledger, window)
    other = freeze_window(ledger, plan("other", files=1), pending(ledger))
    with pytest.raises(ConflictError, match="1 of 1 newer versions were taken by another window"):
        start_corrected(ledger, window.id, newer, row=_ROW)
    assert _states(ledger) == {10: ("planned", True), 20: ("planned", True)}
    with pytest.raises(
        StateError, match=rf"planned in window {other.id} 'other'.*exclude {window.id} file:///in/a --rea"
    ):
        _newer(ledger, window)
