"""Scans in two phases, and when to give up the wait for an application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FencedError, SparkJobError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.exchange.layout import name_before
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.signs import LEAST_PATIENCE_S, Watchdog, read_stop
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.steps import DeferredScan
from airflow_provider_blockread.steps.read.waiting import poll, stop
from tests.pipeline.deferred.cluster import Cluster
from tests.pipeline.deferred.task import Task


@pytest.mark.slow
def test_a_scan_in_two_phases(task: Task) -> None:
    """It is needed once, and waits for the file of states; a stopped one ends."""
    task.pipe.put({"c.csv": b'1,"a\nb"\n2,c\n' * 20})
    task.pipe.record_format, task.pipe.block_size, task.pipe.group_bytes = Csv(schema="id long, s string"), 16, 64
    (task.pipe.source / "a.txt").unlink()
    (task.pipe.source / "b.txt").unlink()
    ref = replace(task.pipe.plan("csv"), key="csv")
    scan = DeferredScan(env=task.pipe.env, ref=ref, submitter=task.cluster)
    first = scan.start()
    assert first is not None
    scan.stop("Trigger timeout")
    assert not task.cluster.work()
    second = scan.start()
    assert second is not None
    assert not poll(task.pipe.env, second).ended
    task.cluster.work()

    assert poll(task.pipe.env, second).ended
    assert scan.resume(second) is None
    assert scan.start() is None
    task.cluster.queued.clear()
    task.pipe.read(ref)
    assert task.pipe.commit(ref).records == 40


def test_a_scan_that_fails(task: Task) -> None:
    """It raises what is wrong, and states that nobody vouches for are not taken."""
    task.pipe.put({"c.csv": b'1,"a\nb"\n2,c\n' * 20})
    task.pipe.record_format, task.pipe.block_size, task.pipe.group_bytes = Csv(schema="id long, s string"), 16, 64
    ref = task.pipe.plan("csv")
    scan = DeferredScan(env=task.pipe.env, ref=ref, submitter=task.cluster)
    waiting = scan.start()
    assert waiting is not None
    with pytest.raises(SparkJobError, match="gone"):
        scan.resume(waiting, SparkJobError("it is gone"))
    Path(waiting.answer.removeprefix("file://")).write_text("{}")
    with pytest.raises(SparkJobError, match="entry states that are not its own; clear the scan's task"):
        scan.resume(waiting)
    assert scan.start() is not None
    assert not Path(waiting.answer.removeprefix("file://")).exists()


class _Forsaken(Cluster):
    """A cluster whose submission fails when its application works already, and the ledger's tables are gone."""

    ledger: Ledger

    def start(self, submission: Submission, *, name: str) -> str:
        """Take an application."""
        super().start(submission, name=name)
        with self.ledger.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE generations RENAME TO lost")
        msg = "spark-submit has ended"
        raise SparkJobError(msg)


def test_a_scan_that_fails_without_its_ledger(task: Task) -> None:
    """It ends the application, and raises its own error."""
    task.pipe.put({"c.csv": b'1,"a\nb"\n2,c\n' * 20})
    task.pipe.record_format, task.pipe.block_size, task.pipe.group_bytes = Csv(schema="id long, s string"), 16, 64
    ref = task.pipe.plan("csv")
    cluster = _Forsaken()
    cluster.ledger = task.pipe.env.ledger
    with pytest.raises(SparkJobError, match="spark-submit has ended"):
        DeferredScan(env=task.pipe.env, ref=ref, submitter=cluster).start()

    assert cluster.killed == ["own"]
    assert not cluster.work()


def test_each_try_to_scan_is_told_apart(task: Task) -> None:
    """Whatever one leaves late is not taken for another's, and the next one ends what the one before runs."""
    task.pipe.put({"c.csv": b'1,"a\nb"\n2,c\n' * 20})
    task.pipe.record_format, task.pipe.block_size, task.pipe.group_bytes = Csv(schema="id long, s string"), 16, 64
    ref = task.pipe.plan("csv")
    scan = DeferredScan(env=task.pipe.env, ref=ref, submitter=task.cluster)
    first, second = scan.start(), scan.start()
    assert first is not None
    assert second is not None
    stores = task.pipe.env.stores
    write_failure(stores, first.submission, SparkJobError("late"))
    stop(task.pipe.env, first, "late")

    assert read_stop(stores, first.submission) is not None
    assert read_stop(stores, second.submission) is None
    assert not poll(task.pipe.env, second).ended
    assert first.spec_hash != second.spec_hash
    assert name_before(second.name) == first.name
    with pytest.raises(FencedError, match=r"its scan is at epoch 2, so the application .*-scan-e1 .* is fenced; retry"):
        scan.resume(first, SparkJobError("late"))
    assert read_stop(stores, second.submission) is None
    assert [task.cluster.work(), task.cluster.work()] == [False, True]
    assert scan.resume(second) is None
    assert scan.start() is None


def test_a_watchdog_sees_that_a_driver_ended() -> None:
    """A driver that was never seen is waited for; one that was seen must be seen again; an end must leave something."""
    now = [0.0]
    watchdog = Watchdog("app", stale_after_s=1.0, clock=lambda: now[0])
    now[0] = 10_000.0
    assert watchdog.problem("", "") == ""
    assert watchdog.problem("1", "") == ""
    now[0] += LEAST_PATIENCE_S
    assert watchdog.problem("1", "") == ""
    assert watchdog.problem("2", "") == ""
    now[0] += LEAST_PATIENCE_S + 1
    assert watchdog.problem("2", "").startswith("app: the driver has left no sign of life in the work area for 61 s")
    assert watchdog.problem("3", "FAILED") == ""
    assert watchdog.problem("3", "FAILED").startswith("app: the application has ended as FAILED on its cluster")
