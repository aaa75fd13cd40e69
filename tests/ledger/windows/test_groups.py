"""The claim protocol of groups, every branch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from airflow_provider_blockread.errors import ConflictError, FencedError, OwnedError
from airflow_provider_blockread.ledger.model import Claim, Group, GroupRef
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups, start_generation
from airflow_provider_blockread.ledger.windows.groups import (
    claim_group,
    complete_group,
    fail_group,
    heartbeat,
    record_progress,
    record_submission,
)
from airflow_provider_blockread.ledger.windows.publishing import check_publication, mark_failed, mark_proven
from airflow_provider_blockread.observer import Tally
from tests.ledger.clock import Clock
from tests.ledger.make import STALE_S, SUMS, claim, committer, open_window, outcome, publish, read_all, ref


def _group(ledger: Ledger, group: GroupRef) -> Group:
    return list_groups(ledger, group.window, group.generation)[group.group]


def _ask(ledger: Ledger, group: GroupRef, owner: str = "reader", clear_number: int = 0) -> Claim | None:
    return claim_group(ledger, group, owner=owner, clear_number=clear_number, stale_after_s=STALE_S)


def test_a_group_is_claimed_and_completed(ledger: Ledger, clock: Clock) -> None:
    """The claim has epoch 1; the result is kept; a second claim finds it done."""
    group = ref(open_window(ledger), 1)
    held = claim(ledger, group)
    assert (held.epoch, held.excluded) == (1, ())
    assert _group(ledger, group).state == "running"
    clock.pass_seconds(5)

    complete_group(ledger, held, outcome(group))

    done = _group(ledger, group)
    assert (done.state, done.records, done.rows, done.bytes) == ("done", 5, 5, 50)
    assert (done.result_uri, done.result_hash) == ("file:///area/1/1/1.json", "hash")
    assert done.started_at is not None
    assert done.finished_at is not None
    assert (done.finished_at - done.started_at).total_seconds() == 5
    assert _ask(ledger, group) is None
    assert _ask(ledger, group, owner="other") is None


def test_progress_is_of_the_newest_attempt(ledger: Ledger, clock: Clock) -> None:
    """It never exceeds the plan, starts from nothing with each claim, and a zombie reports none."""
    group = ref(open_window(ledger))
    first = claim(ledger, group)
    clock.pass_seconds(5)

    record_progress(ledger, first, Tally(blocks=10**6, records=7, bad_records=1, bytes=10**9))

    row = _group(ledger, group)
    assert (row.blocks_done, row.bytes_done) == (row.planned.blocks, row.planned.bytes)
    assert (row.records_done, row.bad_records_done, row.progress_at) == (7, 1, clock())
    assert row.progress_at != row.heartbeat_at
    second = claim(ledger, group)
    row = _group(ledger, group)
    assert (row.blocks_done, row.records_done, row.bad_records_done, row.bytes_done) == (0, 0, 0, 0)
    assert row.progress_at is None
    with pytest.raises(FencedError, match="epoch 1 no longer holds it"):
        record_progress(ledger, first, Tally(blocks=1))
    record_progress(ledger, second, Tally(blocks=1, records=3, bytes=2), application="local-1", ui="http://host:4040")
    row = _group(ledger, group)
    assert (row.blocks_done, row.records_done, row.bytes_done) == (1, 3, 2)
    assert (row.application, row.spark_ui) == ("local-1", "http://host:4040")
    third = claim(ledger, group)
    row = _group(ledger, group)
    assert (row.application, row.spark_ui) == (None, None)
    record_submission(ledger, third, spec_hash="hash", application="driver-1")
    record_progress(ledger, third, Tally(), application="somebody-else", ui="http://host:4041")
    row = _group(ledger, group)
    assert (row.application, row.spark_ui) == ("driver-1", "http://host:4041")


def test_the_same_owner_takes_over_from_itself(ledger: Ledger) -> None:
    """A retry gets the next epoch at once, and the try before it is fenced."""
    group = ref(open_window(ledger))
    first = claim(ledger, group)

    second = claim(ledger, group)

    assert second.epoch == 2
    for change in (heartbeat, lambda *a: complete_group(*a, outcome(group)), lambda *a: fail_group(*a, "late")):
        with pytest.raises(FencedError, match=r"epoch 1 no longer holds it \(running at epoch 2 by reader"):
            change(ledger, first)
    complete_group(ledger, second, outcome(group, 2))
    assert _group(ledger, group).result_uri == "file:///area/1/0/2.json"


def test_a_live_foreign_owner_is_a_conflict(ledger: Ledger, clock: Clock) -> None:
    """The error names the owner and the age of its heartbeat."""
    group = ref(open_window(ledger))
    claim(ledger, group, owner="first")
    clock.pass_seconds(STALE_S)

    with pytest.raises(OwnedError, match="first is running it, last heartbeat 60 s ago"):
        _ask(ledger, group, "second")


def test_a_stale_owner_is_taken_over(ledger: Ledger, clock: Clock) -> None:
    """When the heartbeat is too old anybody may have the group; the zombie can neither beat nor complete."""
    group = ref(open_window(ledger))
    zombie = claim(ledger, group, owner="first")
    clock.pass_seconds(STALE_S + 1)

    taken = claim(ledger, group, owner="second")

    assert taken.epoch == 2
    with pytest.raises(FencedError, match="by second"):
        complete_group(ledger, zombie, outcome(group))
    heartbeat(ledger, taken)


def test_a_heartbeat_keeps_the_group(ledger: Ledger, clock: Clock) -> None:
    """An owner that beats in time is never taken over."""
    group = ref(open_window(ledger))
    held = claim(ledger, group, owner="first")
    for _ in range(3):
        clock.pass_seconds(STALE_S)
        heartbeat(ledger, held)

    with pytest.raises(OwnedError):
        _ask(ledger, group, "second")


def test_a_zombie_of_a_done_group_is_fenced(ledger: Ledger) -> None:
    """Completing twice, or after another process did, changes nothing."""
    group = ref(open_window(ledger))
    first = claim(ledger, group)
    second = claim(ledger, group)
    complete_group(ledger, second, outcome(group, 2))

    for held in (first, second):
        with pytest.raises(FencedError, match="done at epoch 2"):
            complete_group(ledger, held, outcome(group, 9))
    assert _group(ledger, group).result_uri == "file:///area/1/0/2.json"


def test_a_failed_group_may_be_claimed_by_anybody(ledger: Ledger) -> None:
    """The error is kept until the next attempt begins."""
    group = ref(open_window(ledger))
    fail_group(ledger, claim(ledger, group), "boom\x00" + "x" * 20_000)
    failed = _group(ledger, group)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error.startswith("boom\\x00xx")

    assert claim(ledger, group, owner="other").epoch == 2
    assert _group(ledger, group).error is None


def test_a_higher_clear_number_redoes_a_done_group(ledger: Ledger) -> None:
    """Clearing a read task of an unpublished window reads its group again; the result of before is gone."""
    group = ref(open_window(ledger))
    complete_group(ledger, claim(ledger, group), outcome(group))

    redone = claim(ledger, group, clear_number=1)

    assert redone.epoch == 2
    assert _group(ledger, group).result_uri is None
    complete_group(ledger, redone, outcome(group, 2))
    assert _ask(ledger, group, clear_number=1) is None


def test_a_task_of_before_the_clear_is_fenced(ledger: Ledger) -> None:
    """A task that was cleared while it slept cannot take its successor's group, though its owner is the same."""
    group = ref(open_window(ledger))
    claim(ledger, group, clear_number=1)

    with pytest.raises(FencedError, match="cleared since this task began"):
        _ask(ledger, group, clear_number=0)


def test_another_run_of_a_lower_clear_number_may_go_on(ledger: Ledger) -> None:
    """A backfill that resumes a window has a count of its own: it redoes nothing that is done, and reads the rest."""
    window = open_window(ledger)
    complete_group(ledger, claim(ledger, ref(window, 0), clear_number=2), outcome(ref(window, 0)))
    fail_group(ledger, claim(ledger, ref(window, 1), clear_number=2), "boom")

    assert _ask(ledger, ref(window, 0), "backfill") is None
    assert claim(ledger, ref(window, 1), owner="backfill").epoch == 2


@pytest.mark.parametrize("state", ["reading", "proven", "failed"])
def test_redoing_a_group_takes_the_proof_back(ledger: Ledger, state: str) -> None:
    """A generation that was proven, or failed, is read on; the process that was about to publish it is fenced."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    if state == "proven":
        mark_proven(ledger, held, SUMS)
    if state == "failed":
        mark_failed(ledger, held, "gap")

    claim(ledger, ref(window), clear_number=1)

    assert latest_generation(ledger, window.id).state == "reading"
    with pytest.raises(FencedError):
        check_publication(ledger, held)
    with pytest.raises(FencedError):
        mark_proven(ledger, held, SUMS)


def test_a_published_window_is_left_alone(ledger: Ledger) -> None:
    """A retry finds it done; a clear of the read task alone is refused with what to do."""
    window = open_window(ledger)
    publish(ledger, window)

    assert _ask(ledger, ref(window)) is None
    with pytest.raises(ConflictError, match="is published; clear the run from its plan on"):
        _ask(ledger, ref(window), clear_number=1)


def test_a_superseded_generation_is_refused(ledger: Ledger) -> None:
    """Neither a new claim nor a running one gets anywhere when a newer generation has begun."""
    window = open_window(ledger)
    running = claim(ledger, ref(window, 0))
    complete_group(ledger, claim(ledger, ref(window, 1)), outcome(ref(window, 1)))
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)

    for number in (0, 1):
        with pytest.raises(ConflictError, match="a newer generation has taken its place"):
            _ask(ledger, ref(window, number))
    for change in (heartbeat, lambda *a: complete_group(*a, outcome(running.ref))):
        with pytest.raises(FencedError, match="generation superseded"):
            change(ledger, running)
    assert claim(ledger, ref(window, 0, 2), clear_number=1).epoch == 1


def test_a_group_that_does_not_exist_is_refused(ledger: Ledger) -> None:
    """Wrong numbers are refused, not created."""
    window = open_window(ledger)

    with pytest.raises(ConflictError, match="there is no group 7"):
        _ask(ledger, ref(window, 7))
    with pytest.raises(ConflictError, match="has no generation 2"):
        _ask(ledger, ref(window, 0, 2))


def _at_once(number: int, call: Callable[[int], object]) -> list[object]:
    start = Barrier(number)

    def run(index: int) -> object:
        start.wait()
        try:
            return call(index)
        except ConflictError as error:
            return error

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(run, range(number)))


def test_of_many_owners_one_gets_the_group(ledger: Ledger) -> None:
    """Eight owners ask at once: one claim, seven conflicts that name the winner."""
    group = ref(open_window(ledger))

    got = _at_once(8, lambda n: _ask(ledger, group, f"owner {n}"))

    won = [result for result in got if isinstance(result, Claim)]
    assert len(won) == 1
    assert all(f"{won[0].owner} is running it" in str(result) for result in got if result is not won[0])


def test_sixteen_groups_run_at_once(ledger: Ledger) -> None:
    """Groups of one window are claimed, kept alive and completed side by side, on SQLite too."""
    window = open_window(ledger, groups=16)

    def run(number: int) -> None:
        held = claim(ledger, ref(window, number), owner=f"owner {number}")
        for _ in range(5):
            heartbeat(ledger, held)
        complete_group(ledger, held, outcome(held.ref))

    assert _at_once(16, run) == [None] * 16
    assert {group.state for group in list_groups(ledger, window.id, 1)} == {"done"}
