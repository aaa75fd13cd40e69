"""What of a window may be pruned, in the ledger alone, on both databases."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.errors import PrunedError, StateError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.noop import is_noop, key_of_run, noop_ledger
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep import retention
from airflow_provider_blockread.ledger.upkeep.retention import (
    Bound,
    begin_pruning,
    drop_detail,
    drop_listings,
    drop_stretches,
    finish_pruning,
    old_windows,
    prunable,
    restore_plan,
)
from airflow_provider_blockread.ledger.upkeep.withdrawing import (
    begin_abandoning,
    begin_undoing,
    check_undoing,
    finish_withdrawal,
    release_files,
)
from airflow_provider_blockread.ledger.windows.exclusions import exclude_file
from airflow_provider_blockread.ledger.windows.generations import list_groups, start_generation
from airflow_provider_blockread.ledger.windows.journal import journal_entries
from airflow_provider_blockread.ledger.windows.publishing import mark_failed
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, close_empty_window, committer, open_window, publish, read_all, version


def bound(clock: Clock, keep: int = 0) -> Bound:
    """Return the bound that takes all that is older than a day."""
    return Bound(before=clock() - timedelta(days=1), keep=keep)


def prune(ledger: Ledger, clock: Clock, window: Window) -> int:
    """Prune a window to its end and return how many files became identities."""
    assert begin_pruning(ledger, window.id, bound(clock))
    moved = drop_detail(ledger, window.id)
    finish_pruning(ledger, window.id)
    return moved


@pytest.fixture
def old(ledger: Ledger, clock: Clock) -> Window:
    """A window of three files that was published two days ago, one of them excluded by hand."""
    window = open_window(ledger, "old", ["a", "b", "c"])
    exclude_file(ledger, window.id, "file:///in/c", reason="rotten", who="me")
    publish(ledger, window)
    clock.pass_seconds(2 * 86_400)
    return window


def test_identities_are_left(ledger: Ledger, clock: Clock, old: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    """In short batches; files, groups and sums go, the journal of what is published stays, and nothing is new again."""
    monkeypatch.setattr(retention, "BATCH_FILES", 2)
    found = prunable(ledger, bound(clock), limit=5)
    assert (found.windows, found.files, found.first) == (1, 3, (old,))

    assert prune(ledger, clock, old) == 3

    assert get_window(ledger, "old").pruned_at == clock()
    assert list_groups(ledger, old.id, 1) == []
    assert len(journal_entries(ledger, old.id, 1)) == 3
    assert feed_counts(ledger, FEED) == {"pruned": 3}
    again = record_files(ledger, FEED, [version(name) for name in "abcd"])
    assert (again.new, again.returned, again.modified) == (1, 0, 0)
    assert record_files(ledger, FEED, [version("a", mtime_ns=9)], complete=False).ignored == 1
    assert record_files(ledger, FEED, [version("c", mtime_ns=9)], complete=False).modified == 1
    assert list(old_windows(ledger, bound(clock))) == []


def test_what_is_at_work_is_not_old(ledger: Ledger, clock: Clock, old: Window) -> None:
    """A rebuild that began since the window was chosen keeps it; a verification that failed does not."""
    start_generation(ledger, old.id, options={}, mode="verify", clear_number=1)
    assert not begin_pruning(ledger, old.id, bound(clock))
    read_all(ledger, old, 2, clear_number=1)
    mark_failed(ledger, committer(ledger, old, 2), "no")
    assert [window.id for window in old_windows(ledger, bound(clock))] == [old.id]
    start_generation(ledger, old.id, options={}, mode="write", clear_number=2)
    assert not begin_pruning(ledger, old.id, bound(clock))
    assert open_window(ledger, "new", ["d"])
    clock.pass_seconds(9 * 86_400)
    assert list(old_windows(ledger, bound(clock))) == []


def test_newest_windows_are_kept(ledger: Ledger, clock: Clock, old: Window) -> None:
    """However old they are; of those that are published, since empty runs and windows given up would push them out."""
    for number in range(3):
        close_empty_window(ledger, FEED, f"nothing new {number}", owner="planner")
    given_up = open_window(ledger, "given up", ["d"])
    finish_withdrawal(ledger, begin_abandoning(ledger, given_up.id, who="me"))
    clock.pass_seconds(2 * 86_400)
    assert [w.id for w in old_windows(ledger, bound(clock, keep=1))] == [given_up.id]

    publish(ledger, open_window(ledger, "new", ["e"]))
    found = old_windows(ledger, bound(clock, keep=1))
    assert {w.id for w in found} == {given_up.id, old.id}


def test_a_generation_needs_its_plan(ledger: Ledger, clock: Clock, old: Window) -> None:
    """None starts from the mark on, until the plan is restored; what is left to prune then stays."""
    assert begin_pruning(ledger, old.id, bound(clock))
    with pytest.raises(PrunedError, match="was pruned on 2026-01-03 00:00:00Z: its plan is gone"):
        start_generation(ledger, old.id, options={}, mode="write", clear_number=1)
    assert begin_pruning(ledger, old.id, bound(clock))  # half pruned: continues

    group = BlockGroup(number=0, files=3, blocks=3, bytes=30, first_path="a", last_path="c")
    restore_plan(ledger, old.id, [group])
    restore_plan(ledger, old.id, [group, group])

    assert drop_detail(ledger, old.id) == 0
    finish_pruning(ledger, old.id)
    started = start_generation(ledger, old.id, options={}, mode="write", clear_number=1)
    assert [found.planned for found in list_groups(ledger, old.id, started.number)] == [group]
    assert feed_counts(ledger, FEED) == {"done": 2, "excluded": 1}


def test_a_plan_of_a_window_that_was_undone_meanwhile(ledger: Ledger, clock: Clock, old: Window) -> None:
    """Nothing is restored, and a generation is refused with the reason."""
    assert begin_pruning(ledger, old.id, bound(clock))
    begin_undoing(ledger, old.id, files="excluded", who="me")
    restore_plan(ledger, old.id, [BlockGroup(number=0, files=3, blocks=3, bytes=30, first_path="a", last_path="c")])

    with pytest.raises(StateError, match="is abandoned"):
        start_generation(ledger, old.id, options={}, mode="write", clear_number=1)


@pytest.mark.parametrize("reads", [False, True])
def test_files_that_are_identities_do_not_go_back(ledger: Ledger, clock: Clock, old: Window, reads: bool) -> None:  # noqa: FBT001
    """Once their window is pruned, also when its plan is restored, whether a read began with that or died before."""
    check_undoing(ledger, old.id, files="pending")
    assert begin_pruning(ledger, old.id, bound(clock))
    drop_detail(ledger, old.id)
    finish_pruning(ledger, old.id)
    restore_plan(ledger, old.id, [BlockGroup(number=0, files=3, blocks=3, bytes=30, first_path="a", last_path="c")])
    if reads:
        start_generation(ledger, old.id, options={}, mode="write", clear_number=1)

    with pytest.raises(PrunedError, match="was pruned before it was read again"):
        check_undoing(ledger, old.id, files="pending")
    check_undoing(ledger, old.id, files="excluded")


def test_windows_that_were_given_up_are_pruned(ledger: Ledger, clock: Clock, old: Window) -> None:
    """A day after their end; files of undone ones stay excluded, and cannot go back once they are identities."""
    given_up = open_window(ledger, "given up", ["x"])
    held = begin_abandoning(ledger, given_up.id, who="me")
    release_files(ledger, held)
    clock.pass_seconds(2 * 86_400)
    assert not begin_pruning(ledger, given_up.id, bound(clock))
    finish_withdrawal(ledger, held)
    clock.pass_seconds(2 * 86_400)
    assert prune(ledger, clock, given_up) == 0
    assert feed_counts(ledger, FEED)["pending"] == 1

    assert prune(ledger, clock, old) == 3
    with pytest.raises(PrunedError, match="cannot go back"):
        begin_undoing(ledger, old.id, files="pending", who="me")
    undone = begin_undoing(ledger, old.id, files=None, who="me")
    assert release_files(ledger, undone) == 0


def test_scans_that_no_file_names_go(ledger: Ledger, clock: Clock, old: Window) -> None:
    """The newest of a feed stays, and so do young ones."""
    for _ in range(3):
        record_files(ledger, FEED, [version("a")], complete=False)
        clock.pass_seconds(86_400)

    assert drop_listings(ledger, bound(clock)) == 2
    with ledger.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(listings)) == 2
    assert old.files == 3


def test_stretches_that_pile_up_are_forgotten(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where listings change all the time; a feed that has about as many as it should keeps them."""
    listing = [version(f"{n}", mtime_ns=n) for n in range(400)]
    record_files(ledger, FEED, listing)
    monkeypatch.setattr(retention, "_FEW_STRETCHES", 1)

    assert drop_stretches(ledger) == 0
    monkeypatch.setattr(retention, "_FILES_A_STRETCH", 400)
    assert drop_stretches(ledger) > 1
    assert drop_stretches(ledger) == 0


def test_ledgers_that_forget_belong_to_a_run(tmp_path: Path, clock: Clock) -> None:
    """Steps of one run share one, those of old runs are removed, and keys are the run's own."""
    first = noop_ledger(tmp_path, "dag/run 1", now=clock)
    open_window(first, "k", ["a"])
    again, other = noop_ledger(tmp_path, "dag/run 1", now=clock), noop_ledger(tmp_path, "dag/run 2", now=clock)

    assert get_window(again, "k").files == 1
    assert feed_counts(other, FEED) == {}
    assert first.uuid == other.uuid == "00000000-0000-0000-0000-000000000000"
    assert key_of_run(first, "k", "run 1") == "k of run 1"
    assert (key_of_run(first, "dag/g/run 1", "run 1"), key_of_run(first, " ", "run 1")) == ("dag/g/run 1", " ")
    assert (is_noop("noop://"), is_noop("sqlite:////x"), is_noop(None)) == (True, False, False)
    for ledger in (first, again, other):
        ledger.close()
    for place in tmp_path.iterdir():
        os.utime(place, (0, 0))
    noop_ledger(tmp_path, "dag/run 3", now=clock).close()
    assert len(list(tmp_path.glob("*.db"))) == 1


def test_keys_of_other_ledgers_are_left_alone(ledger: Ledger) -> None:
    """A ledger that remembers knows its windows by their keys."""
    assert key_of_run(ledger, "k", "run 1") == "k"
