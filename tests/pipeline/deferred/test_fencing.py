"""Attempts that are taken for dead and live: they stop nothing that is not theirs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from airflow_provider_blockread.errors import BlockReadError, FencedError, SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.signs import read_stop
from airflow_provider_blockread.options import Lines, SparkJob
from airflow_provider_blockread.steps import Caller, read
from airflow_provider_blockread.steps.read.waiting import poll, stop
from tests.pipeline.deferred.cluster import Cluster
from tests.pipeline.deferred.task import Task

ALL = ("a1", "a2", "b1")


@dataclass
class Losing(Cluster):
    """A submitter whose spark-submit fails once something has happened meanwhile."""

    meanwhile: Callable[[], object] = field(default=lambda: None)

    def __post_init__(self) -> None:
        """Begin with no application."""
        super().__init__()

    def submit(self, submission: Submission, *, name: str) -> None:
        """Take an application, and lose it."""
        self.start(submission, name=name)
        self.meanwhile()
        msg = "spark-submit has ended"
        raise SparkJobError(msg)


def waits_here(task: Task, cluster: Cluster) -> None:
    """Read the group as a task does that is not deferred."""
    caller = Caller(owner=task.owner, clear_number=task.clear_number)
    read(task.pipe.env, task.ref, 0, caller=caller, job=SparkJob(), submitter=cluster)


@pytest.mark.slow
@pytest.mark.parametrize("found", [True, False], ids=["at the kill", "before"])
def test_a_wait_for_an_adopted_application_ends_at_a_kill(task: Task, *, found: bool) -> None:
    """The application is stopped, by a file and by its cluster, and the group has failed."""
    waiting = task.start()
    task.cluster.cancelled = not found
    timer = threading.Timer(1, task.cluster.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(SparkJobError, match="the wait for the application was stopped; clear the task"):
        waits_here(task, task.cluster)
    timer.cancel()

    assert time.monotonic() - began < 10
    assert read_stop(task.pipe.env.stores, waiting.submission) is not None
    assert task.cluster.killed == [waiting.application]
    assert task.group.state == "failed"
    task.clear_number = 1
    task.start()
    assert [task.cluster.work(), task.cluster.work()] == [False, True]
    assert task.finish().epoch == 2
    assert task.publishes(*ALL)


@pytest.mark.parametrize("owner", ["task", "another"])
def test_a_fenced_attempt_stops_nothing_of_the_next_one(task: Task, owner: str) -> None:
    """It fails as fenced, and the application that has taken over works on."""
    other = Task(pipe=task.pipe, cluster=task.cluster, ref=task.ref, owner=owner, clear_number=1)
    lost = Losing()

    def take_over() -> None:
        task.pipe.pass_seconds(1000)
        other.start()

    lost.meanwhile = take_over
    with pytest.raises(FencedError):
        waits_here(task, lost)

    assert read_stop(task.pipe.env.stores, task.cluster.queued[0]) is None
    assert read_stop(task.pipe.env.stores, lost.queued[0]) is not None
    assert task.cluster.work()
    assert other.finish().epoch == 2
    assert task.publishes(*ALL)


def test_an_attempt_that_fails_stops_its_own_application(task: Task) -> None:
    """Its spark-submit is lost, but not the driver, which a retry must not find at work."""
    lost = Losing()
    with pytest.raises(SparkJobError, match="spark-submit has ended"):
        waits_here(task, lost)

    assert task.group.state == "failed"
    assert not lost.work()


@pytest.mark.parametrize("how", ["fails", "poll", "stop"])
def test_the_try_that_was_believed_lost_stops_nothing_that_was_adopted(task: Task, how: str) -> None:
    """Its claim is fenced from then on: the application is that of the try which waits for it."""
    lost = Losing()

    def adopt() -> None:
        if how == "fails":
            lost.live()
        else:
            task.cluster.live()
        task.start()

    if how == "fails":
        lost.meanwhile = adopt
        with pytest.raises(FencedError):
            waits_here(task, lost)
    else:
        waiting = task.start()
        adopt()
        if how == "stop":
            stop(task.pipe.env, waiting, "killed")
        else:
            with pytest.raises(FencedError, match="adopted 1 times"):
                poll(task.pipe.env, waiting)
    cluster = lost if how == "fails" else task.cluster

    assert task.group.state == "running"
    assert read_stop(task.pipe.env.stores, cluster.queued[0]) is None
    assert cluster.killed == []
    assert cluster.work()
    assert task.finish().epoch == 1
    assert task.publishes(*ALL)


def test_an_adopted_application_that_dies_fails_the_try(task: Task) -> None:
    """The wait ends as that of a trigger does, so that a retry reads the group."""
    task.start()
    task.cluster.live()
    task.cluster.ended = "FAILED"
    caller = Caller(owner=task.owner, clear_number=task.clear_number)
    with pytest.raises(SparkJobError, match="ended as FAILED on its cluster"):
        read(task.pipe.env, task.ref, 0, caller=caller, job=SparkJob(heartbeat_s=0.01), submitter=task.cluster)

    assert task.group.state == "failed"
    assert not task.cluster.work()
    task.cluster.ended = ""
    task.start()
    task.cluster.work()
    assert task.finish().epoch == 2
    assert task.publishes(*ALL)


def test_an_attempt_of_a_generation_that_is_over_stops_its_own_application(task: Task) -> None:
    """It fails as fenced, and leaves no driver at work on the cluster."""
    lost = Losing()

    def plan_again() -> None:
        task.pipe.record_format = Lines(newline="lf")
        assert task.pipe.plan(clear_number=1).generation == 2

    lost.meanwhile = plan_again
    with pytest.raises(FencedError, match="generation 1"):
        waits_here(task, lost)

    assert not lost.work()
    assert lost.killed == ["own"]


def test_an_attempt_stops_its_own_application_although_the_ledger_is_lost(task: Task) -> None:
    """What only the ledger knows, that a later try has adopted it, cannot happen without the ledger."""
    lost = Losing()

    def lose_the_ledger() -> None:
        with task.pipe.env.ledger.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE groups RENAME TO lost")

    lost.meanwhile = lose_the_ledger
    with pytest.raises(BlockReadError, match="groups"):
        waits_here(task, lost)

    assert not lost.work()
    assert lost.killed == ["own"]


def test_a_generation_stops_the_driver_of_the_one_before_whose_worker_was_lost(task: Task) -> None:
    """Nobody else would: the driver knows no ledger."""
    before = task.start()
    task.pipe.record_format = Lines(newline="lf")
    after = Task(pipe=task.pipe, cluster=task.cluster, ref=task.pipe.plan(clear_number=1), clear_number=1)
    after.start()

    assert read_stop(task.pipe.env.stores, before.submission) == "generation 2 has taken over"
    assert task.cluster.killed == [before.application]
    assert [task.cluster.work(), task.cluster.work()] == [False, True]
    after.finish()
    assert after.publishes(*ALL)
