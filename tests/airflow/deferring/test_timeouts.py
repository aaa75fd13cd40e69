"""Tasks that waited too long, or whose trigger failed: the application is stopped, and Airflow fails the task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import TaskDeferralError, TaskDeferralTimeout

from airflow_provider_blockread.exchange.signs import read_stop
from airflow_provider_blockread.operators.read_blocks import ReadBlocksOperator
from airflow_provider_blockread.operators.scan_blocks import ScanBlocksOperator
from airflow_provider_blockread.options import Csv, SparkJob
from tests.airflow.deferring.resuming import OWNER, TIMEOUT, resume
from tests.airflow.without_spark import CLUSTER
from tests.pipeline.deferred.cluster import Cluster
from tests.pipeline.deferred.task import Task
from tests.pipeline.make import Pipe, ReadHere

pytestmark = pytest.mark.airflow

GIVEN: dict[str, Any] = {"task_id": "t", "spark": SparkJob(conn_id="cluster"), "ledger_conn_id": "led"}


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task]:
    """A task with a file to read, a ledger that operators reach, and a connection to a cluster."""
    cluster = Cluster()
    pipe = Pipe(folder=tmp_path, submitter=cluster)
    pipe.put({"a.csv": b'1,"a\nb"\n2,c\n' * 20})
    pipe.record_format, pipe.block_size = Csv(schema="id long, s string"), 16
    url = {"url": f"sqlite:///{tmp_path}/ledger.db"}
    monkeypatch.setenv("AIRFLOW_CONN_LED", json.dumps({"conn_type": "blockread", "extra": url}))
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(CLUSTER))
    yield Task(pipe=pipe, cluster=cluster, ref=pipe.plan(), owner=OWNER)
    pipe.close()


@pytest.mark.parametrize(
    ("event", "raised"), [(TIMEOUT, TaskDeferralTimeout), ({"error": "it is gone"}, TaskDeferralError)]
)
def test_the_application_is_stopped(task: Task, event: dict[str, Any], raised: type[Exception]) -> None:
    """By a stop file; its group has failed, and the task fails for Airflow's own reason."""
    waiting = task.start()
    with pytest.raises(raised):
        resume(ReadBlocksOperator(window=task.ref.to_json(), group=0, **GIVEN), event)

    assert read_stop(task.pipe.env.stores, waiting.submission) == event["error"]
    assert task.group.state == "failed"


@pytest.mark.parametrize("cause", ["other ledger", "no connection", "no window"])
def test_an_application_that_cannot_be_stopped(
    task: Task, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cause: str
) -> None:
    """The task fails for Airflow's reason all the same: nothing skips it, and nothing keeps a retry away."""
    task.start()
    window = task.ref.to_json()
    if cause == "other ledger":
        window |= {"ledger": "00000000-0000-0000-0000-000000000000"}
    elif cause == "no window":
        window |= {"window": "none"}
    else:
        monkeypatch.delenv("AIRFLOW_CONN_LED")
    with pytest.raises(TaskDeferralTimeout):
        resume(ReadBlocksOperator(window=window, group=0, **GIVEN), TIMEOUT)

    assert "the application could not be stopped" in capsys.readouterr().out


def test_a_scan_of_a_window_that_is_published(task: Task) -> None:
    """Its timeout is no skip."""
    task.pipe.submitter = ReadHere()
    task.pipe.group_bytes = 64
    ref = task.pipe.plan("x")
    task.pipe.put({"b.csv": b'1,"a\nb"\n2,c\n' * 20})
    ref = task.pipe.plan("y")
    task.pipe.read(ref)
    task.pipe.commit(ref)
    with pytest.raises(TaskDeferralTimeout):
        resume(ScanBlocksOperator(window=replace(ref, needs_scan=True).to_json(), **GIVEN), TIMEOUT)
