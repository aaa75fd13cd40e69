"""Freezing a plan: keys, owners, races and crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest

from airflow_provider_blockread.errors import PlanConflictError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.owners import STALE_S
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows import planning
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups
from airflow_provider_blockread.ledger.windows.planning import find_window, release_stale_plans
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, close_empty_window, freeze_window, open_window, pending, plan, version


class CrashError(BaseException):
    """The process is gone, without any of its handlers."""


def _find(ledger: Ledger, *names: str) -> list[int]:
    record_files(ledger, FEED, [version(name) for name in names], complete=False)
    return pending(ledger)


def _crash_while_planning(ledger: Ledger, key: str, files: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_plan: object) -> None:
        raise CrashError

    def stream() -> Iterator[int]:
        yield from files
        raise CrashError

    with monkeypatch.context() as patch:
        patch.setattr(planning, "BATCH_FILES", 1)
        patch.setattr(planning.Planner, "empty", die)
        with pytest.raises(CrashError):
            freeze_window(ledger, plan(key, files=len(files), owner="dead"), stream())


def test_a_frozen_window_holds_files_groups_and_generation(ledger: Ledger) -> None:
    """What was planned is there, to be read by generation 1."""
    window = open_window(ledger, names=["a", "b", "c"], groups=2)

    assert find_window(ledger, FEED, "k") == window
    assert (window.state, window.sequence, window.files, window.groups) == ("open", 1, 3, 2)
    assert feed_counts(ledger, FEED) == {"planned": 3}
    generation = latest_generation(ledger, window.id)
    assert (generation.number, generation.state, generation.mode) == (1, "reading", "write")
    assert generation.options == {"delimiter": ","}
    groups = list_groups(ledger, window.id, 1)
    assert [(group.ref.group, group.state, group.epoch) for group in groups] == [(0, "pending", 0), (1, "pending", 0)]
    assert groups[0].planned == plan("k", files=3).groups[0]


def test_windows_are_numbered_in_the_order_of_planning(ledger: Ledger) -> None:
    """Each window of a feed has the next number; another feed counts for itself."""
    assert open_window(ledger, "k1", ["a"]).sequence == 1
    assert open_window(ledger, "k2", ["b"]).sequence == 2
    assert close_empty_window(ledger, "other", "k1", owner="me").sequence == 1


def test_a_planned_key_is_refused(ledger: Ledger) -> None:
    """A key that has its window is not planned again, and the files stay pending."""
    open_window(ledger)
    files = _find(ledger, "c")

    with pytest.raises(PlanConflictError, match="'k' is open"):
        freeze_window(ledger, plan("k", files=1), files)
    with pytest.raises(PlanConflictError, match="'k' is open"):
        close_empty_window(ledger, FEED, "k", owner="planner")
    assert pending(ledger) == files


def test_an_empty_window_is_replaced(ledger: Ledger) -> None:
    """A later plan of a key that had nothing to read takes it over."""
    empty = close_empty_window(ledger, FEED, "k", owner="first")

    assert (empty.state, empty.files) == ("empty", 0)
    assert close_empty_window(ledger, FEED, "k", owner="second").state == "empty"
    assert open_window(ledger).id == empty.id


def test_a_file_that_was_taken_refuses_the_whole_plan(ledger: Ledger) -> None:
    """A plan that lost one file holds none, and its key is free for the next plan."""
    files = _find(ledger, "a", "b")
    open_window(ledger, "first", ["a", "b"])
    fresh = _find(ledger, "c")

    with pytest.raises(PlanConflictError, match="1 of 2 files are no longer pending"):
        freeze_window(ledger, plan("k", files=2), [fresh[0], files[0]])

    assert pending(ledger) == fresh
    assert freeze_window(ledger, plan("k", files=1), fresh).state == "open"


def test_a_file_that_was_modified_refuses_the_plan(ledger: Ledger) -> None:
    """A version replaced between selection and freeze cannot be frozen any more."""
    files = _find(ledger, "a")
    record_files(ledger, FEED, [version("a", size=11)])

    with pytest.raises(PlanConflictError, match="no longer pending"):
        freeze_window(ledger, plan("k", files=1), files)


def test_a_plan_that_miscounts_is_refused(ledger: Ledger) -> None:
    """The manifest's count and the files given must agree."""
    files = _find(ledger, "a", "b")

    with pytest.raises(PlanConflictError, match="has 3 files, but 2 whole files were taken"):
        freeze_window(ledger, plan("k", files=3), files)
    assert pending(ledger) == files


def test_an_interrupted_planner_holds_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops a planner between two batches, its files are pending again."""
    files = _find(ledger, "a", "b")
    monkeypatch.setattr(planning, "BATCH_FILES", 1)

    def stream() -> Iterator[int]:
        yield files[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        freeze_window(ledger, plan("k", files=2), stream())
    assert pending(ledger) == files


def test_the_same_owner_takes_its_crashed_plan_over(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry of the same task need not wait for the heartbeat to grow stale."""
    files = _find(ledger, "a", "b")
    _crash_while_planning(ledger, "k", files, monkeypatch)
    assert pending(ledger) == []

    assert close_empty_window(ledger, FEED, "k", owner="dead").state == "empty"
    assert pending(ledger) == files


def test_a_live_foreign_planner_is_a_conflict(ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its heartbeat is stale a planner keeps its key; then anybody takes it, and its files."""
    files = _find(ledger, "a", "b")
    _crash_while_planning(ledger, "k", files, monkeypatch)
    clock.pass_seconds(STALE_S)
    with pytest.raises(PlanConflictError, match="dead is planning it, last heartbeat 120 s ago"):
        close_empty_window(ledger, FEED, "k", owner="other")

    clock.pass_seconds(1)
    close_empty_window(ledger, FEED, "k", owner="other")

    assert pending(ledger) == files


def test_a_plan_of_another_key_frees_what_a_dead_planner_held(
    ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planner whose key is never planned again does not wedge its feed."""
    files = _find(ledger, "a", "b")
    _crash_while_planning(ledger, "never again", files, monkeypatch)
    clock.pass_seconds(STALE_S + 1)

    close_empty_window(ledger, FEED, "next", owner="other")

    assert pending(ledger) == files


def test_a_planner_that_wakes_up_after_it_was_taken_over_stops(
    ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old planner neither takes more files nor frees those of the new one."""
    files = _find(ledger, "a", "b")
    monkeypatch.setattr(planning, "BATCH_FILES", 1)

    def sleepy() -> Iterator[int]:
        yield files[0]
        clock.pass_seconds(STALE_S + 1)
        freeze_window(ledger, plan("k", files=1, owner="new"), files[1:])
        yield files[1]

    with pytest.raises(PlanConflictError, match="new has taken the plan over"):
        freeze_window(ledger, plan("k", files=2, owner="old"), sleepy())

    window = find_window(ledger, FEED, "k")
    assert window is not None
    assert (window.state, window.owner, window.files) == ("open", "new", 1)
    assert pending(ledger) == files[:1]


def test_a_planner_that_wakes_up_among_the_files_of_another_stops(
    ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the new planner is still at it, the old one takes no file for its key and frees none."""
    files = _find(ledger, "a", "b", "c")
    monkeypatch.setattr(planning, "BATCH_FILES", 1)

    def sleepy() -> Iterator[int]:
        yield files[0]
        clock.pass_seconds(STALE_S + 1)
        assert release_stale_plans(ledger, FEED) == 1
        _crash_while_planning(ledger, "k", files[1:2], monkeypatch)
        yield files[2]

    with pytest.raises(PlanConflictError, match="dead has taken the plan over"):
        freeze_window(ledger, plan("k", files=2, owner="old"), sleepy())

    assert pending(ledger) == [files[0], files[2]]


def test_a_dead_planner_is_fenced_before_its_files_are_given_back(ledger: Ledger, clock: Clock) -> None:
    """A planner that wakes up while its plan is released takes nothing more; its key is free."""
    files = _find(ledger, "a")
    old = planning.claim_window(ledger, FEED, "k", owner="old")
    clock.pass_seconds(STALE_S + 1)
    assert release_stale_plans(ledger, FEED) == 1
    assert release_stale_plans(ledger, FEED) == 0

    window = freeze_window(ledger, plan("k", files=0, owner="new"), [])
    for call in (lambda: old.take(files), old.release, old.empty):
        with pytest.raises(PlanConflictError, match="new has taken the plan over"):
            call()

    assert find_window(ledger, FEED, "k") == window
    assert pending(ledger) == files


def _race(*calls: Callable[[], object]) -> list[object]:
    """Run the calls at once and return what each gave or raised."""
    start = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        start.wait()
        try:
            return call()
        except PlanConflictError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.mark.parametrize("keys", [("k", "k"), ("k1", "k2")])
def test_two_planners_never_share_a_file(ledger: Ledger, keys: tuple[str, str]) -> None:
    """Of planners that race for the same files one wins, and holds them all."""
    files = _find(ledger, *(f"{n}" for n in range(50)))

    won = _race(
        lambda: freeze_window(ledger, plan(keys[0], files=50, owner="one"), files),
        lambda: freeze_window(ledger, plan(keys[1], files=50, owner="two"), reversed(files)),
    )

    assert sorted(isinstance(result, PlanConflictError) for result in won) == [False, True]
    assert feed_counts(ledger, FEED) == {"planned": 50}


def test_a_plan_and_a_scan_at_once(ledger: Ledger) -> None:
    """A scan that runs while its feed is planned leaves the plan alone."""
    names = [f"{n}" for n in range(200)]
    files = _find(ledger, *names)

    _race(
        lambda: freeze_window(ledger, plan("k", files=200), files),
        lambda: record_files(ledger, FEED, [version(name) for name in reversed(names)], batch_size=20),
    )

    assert feed_counts(ledger, FEED) == {"planned": 200}


def test_a_plan_and_a_scan_of_modified_files_at_once(ledger: Ledger) -> None:
    """Whichever comes first, a path is never both planned in one version and pending in another."""
    names = [f"{n}" for n in range(20)]
    changed = [version(name, size=11) for name in names]
    for turn in range(5):
        feed = f"feed {turn}"
        record_files(ledger, feed, [version(name) for name in names])
        files = pending(ledger, feed)

        frozen, _ = _race(
            partial(freeze_window, ledger, plan("k", files=20, feed=feed), files),
            partial(record_files, ledger, feed, changed),
        )

        lost = isinstance(frozen, PlanConflictError)
        assert feed_counts(ledger, feed) == ({"pending": 20} if lost else {"planned": 20, "ignored": 20})
