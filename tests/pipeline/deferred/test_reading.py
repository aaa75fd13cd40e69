"""Reads and scans in two phases: submitted, waited for, adopted, stopped, and completed by another process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import ConflictError, FencedError, SparkJobError
from airflow_provider_blockread.exchange.signs import read_stop
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps import Caller, ReadOutcome, Waiting, read
from airflow_provider_blockread.steps.read.waiting import poll, stop
from tests.pipeline.deferred.task import Task

ALL = ("a1", "a2", "b1")


def test_a_read_in_two_phases(task: Task) -> None:
    """It is completed once its application has left its result, and each look keeps its claim alive."""
    waiting = task.start()
    task.pipe.pass_seconds(100)
    before = poll(task.pipe.env, waiting)
    alive = task.group.heartbeat_at
    task.cluster.live()
    between = poll(task.pipe.env, waiting)
    task.cluster.work()
    after = poll(task.pipe.env, waiting)
    outcome = task.finish()

    assert (before.ended, bool(before.sign), between.ended, bool(between.sign)) == (False, False, False, True)
    assert alive == task.pipe.env.ledger.now()
    assert after.ended
    assert (outcome.records, outcome.epoch, outcome.done_before) == (3, 1, False)
    assert isinstance(again := task.read.start(), ReadOutcome)
    assert again.done_before
    assert task.publishes(*ALL)


def test_each_look_takes_the_progress(task: Task) -> None:
    """Into the ledger, and in words into the log of who waits; an impossible one is not believed."""
    waiting = task.start()
    assert poll(task.pipe.env, waiting).progress == ""
    task.cluster.progress(Tally(blocks=1, records=2, bad_records=1, bytes=6))

    found = poll(task.pipe.env, waiting)

    assert found.progress == "group 0: 2 files, 9 B, a.txt .. b.txt: 1 block, 6 B, 2 records, 1 bad so far"
    assert (task.group.blocks_done, task.group.records_done, task.group.bytes_done) == (1, 2, 6)
    task.cluster.progress(Tally(blocks=9, records=3, bytes=10**9))
    poll(task.pipe.env, waiting)
    assert (task.group.blocks_done, task.group.bytes_done) == (2, 9)
    task.cluster.progress(Tally(blocks=1, records=-1))
    assert poll(task.pipe.env, waiting).progress == ""
    assert task.group.records_done == 3
    task.cluster.work()
    assert poll(task.pipe.env, waiting).ended


def test_what_is_waited_for_holds_no_secret(task: Task) -> None:
    """Airflow keeps it in its database."""
    ledger = task.pipe.env.ledger
    said = json.dumps(task.start().to_json())

    assert ledger.secret not in said
    assert task.pipe.env.window_secret(task.ref.window) not in said
    assert len(said) < 4096


@pytest.mark.parametrize("phase", ["queued", "lives", "ended"])
@pytest.mark.parametrize("deferred", [True, False])
def test_an_application_outlives_its_worker_and_is_adopted(task: Task, phase: str, *, deferred: bool) -> None:
    """The next try waits for it under the same epoch, whether it is queued, at work or at its end by then."""
    if phase == "queued":
        task.start()
    else:
        task.killed()
    if phase == "lives":
        task.cluster.live()
    if phase == "ended":
        task.cluster.work()
    if deferred:
        task.start()
        if phase != "ended":
            task.cluster.work()
        outcome = task.finish()
    else:
        if phase != "ended":
            task.cluster.work()
        caller = Caller(owner=task.owner)
        outcome = read(task.pipe.env, task.ref, 0, caller=caller, job=SparkJob(), submitter=task.cluster)

    assert outcome.epoch == 1
    assert task.cluster.queued == []
    assert task.publishes(*ALL)


def test_an_application_that_no_cluster_may_have_accepted_is_fenced(task: Task) -> None:
    """The next try starts another one; the first one ends as soon as it starts."""
    task.killed()
    waiting = task.start()

    assert waiting.claim is not None
    assert waiting.claim.epoch == 2
    assert not task.cluster.work()
    assert task.cluster.work()
    assert task.finish().epoch == 2
    assert task.publishes(*ALL)


def test_a_cleared_task_does_not_wait_for_the_application_before(task: Task) -> None:
    """A person who clears it wants another one; the one before is fenced, and ends, even where no trigger stops it."""
    first = task.start()
    task.clear_number = 1
    second = task.start()
    assert not task.cluster.work()
    with pytest.raises(FencedError):
        poll(task.pipe.env, first)
    stop(task.pipe.env, first, "its trigger is late")
    task.cluster.work()
    late = Task(pipe=task.pipe, cluster=task.cluster, ref=task.ref, owner="another")
    with pytest.raises(FencedError, match="so the application that this task has waited for is fenced; retry"):
        late.finish()

    assert poll(task.pipe.env, second).ended
    assert task.finish().epoch == 2
    assert task.publishes(*ALL)


def test_a_lost_claim_stops_the_driver(task: Task) -> None:
    """The first poll of an application whose claim is lost lets it end."""
    waiting = task.start()
    task.pipe.pass_seconds(1000)
    other = Task(pipe=task.pipe, cluster=task.cluster, ref=task.ref, owner="another")
    other.start()
    with pytest.raises(FencedError):
        poll(task.pipe.env, waiting)

    assert "no longer holds it" in str(read_stop(task.pipe.env.stores, waiting.submission))
    assert [task.cluster.work(), task.cluster.work()] == [False, True]
    assert other.finish().epoch == 2


@pytest.mark.parametrize("how", ["killed", "timed out", "failed"])
def test_a_stopped_read_leaves_nothing_that_counts(task: Task, how: str) -> None:
    """Its driver finds a stop file, its group has failed, and a retry reads it with another application."""
    waiting = task.start()
    if how == "killed":
        stop(task.pipe.env, waiting, "the task was cleared or marked")
    elif how == "timed out":
        task.read.stop("Trigger timeout")
    else:
        with pytest.raises(SparkJobError, match="ended as FAILED"):
            task.read.resume(SparkJobError("it has ended as FAILED"))

    assert task.group.state == "failed"
    assert not task.cluster.work()
    with pytest.raises(ConflictError):
        task.pipe.commit(task.ref)
    task.start()
    task.cluster.work()
    assert task.finish().epoch == 2
    assert task.publishes(*ALL)


def test_a_stop_is_for_its_own_attempt(task: Task) -> None:
    """A stop file of another attempt, or of somebody else, stops nothing."""
    waiting = task.start()
    folder = Path(waiting.submission.folder.removeprefix("file://"))
    (folder / "stop.json").write_text('{"stop": {"why": "so there"}, "seal": "00"}')
    assert read_stop(task.pipe.env.stores, waiting.submission) is None
    other = replace(waiting.submission, spec_hash="00")
    stop(task.pipe.env, replace(waiting, spec_hash="00", claim=None), "another")
    assert read_stop(task.pipe.env.stores, other) == "another"

    assert task.cluster.work()
    assert task.finish().records == 3


def test_a_missing_file_is_excluded_and_the_rest_is_deferred_again(task: Task) -> None:
    """What the policy lets go costs another application, which is waited for in the same way."""
    task.pipe.with_policies(on_missing="exclude")
    task.ref = task.pipe.plan("v")
    task.pipe.put({"c.txt": b"c1\n", "d.txt": b"d1\n"})
    task.ref = task.pipe.plan("x")
    task.start()
    (task.pipe.source / "c.txt").unlink()
    task.cluster.work()
    again = task.read.resume()

    assert isinstance(again, Waiting)
    assert again.claim is not None
    assert again.claim.epoch == 2
    task.cluster.work()
    assert task.finish().records == 1
    assert task.publishes("d1")


def test_an_error_of_the_driver_is_the_tasks(task: Task) -> None:
    """A retry submits another application."""
    task.start()
    kept = task.cluster.queued[0]
    (task.pipe.source / "a.txt").write_bytes(b"other\n")
    task.cluster.work()
    with pytest.raises(Exception, match=r"a\.txt"):
        task.finish()

    assert task.group.state == "failed"
    assert read_stop(task.pipe.env.stores, kept) is None
