"""Reads that are deferred while their application runs on a cluster, by `dag.test()` with the trigger in line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import TaskDeferred

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.operators.read_blocks import ReadBlocksOperator
from airflow_provider_blockread.options import FileSource, ParquetSink, SparkJob
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.steps import Waiting
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import SUCCESS, lines, values
from tests.airflow.without_spark import CLUSTER

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark", "cluster")]

JOB = SparkJob(conn_id="cluster", heartbeat_s=0.5)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection of deploy mode cluster."""
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(CLUSTER))


@pytest.fixture
def make_dag(dag_id: str, landing: Path, tmp_path: Path) -> Callable[..., DAG]:
    """What makes the test's DAG."""

    def make(**options: Any) -> DAG:
        with DAG(dag_id) as dag:
            given = {"source": FileSource(str(landing)), "sink": ParquetSink(str(tmp_path / "lake")), "spark": JOB}
            BlockReadTaskGroup("logs", **given | options)
        return dag

    return make


def test_a_deferred_read_is_completed(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], tmp_path: Path
) -> None:
    """A worker submits the application, the trigger sees its end, and another worker completes the group."""
    land(a=100)
    run = runs.start(make_dag(deferrable=True))

    assert runs.states(run) == SUCCESS
    assert values(tmp_path / "lake") == lines(a=100)
    assert runs.xcom(run, "logs.read", map_index=0) == {"records": 100, "bad_records": 0}


@pytest.mark.parametrize("remedy", ["cluster", "not deferrable"])
def test_a_driver_in_the_task_is_not_deferred(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], tmp_path: Path, remedy: str
) -> None:
    """It is refused with what a deferred read needs; with either of that the cleared run succeeds."""
    land(a=10)
    local = SparkJob(master="local[1]")
    run = runs.start(make_dag(deferrable=True, spark=local))
    assert runs.states(run)["logs.read[0]"] == "failed"
    with pytest.raises(OptionsError, match=r"has master 'local\[1\]' in deploy mode client"):
        SparkSubmitter(local).require_cluster()

    run = runs.clear(make_dag(deferrable=True) if remedy == "cluster" else make_dag(spark=local), run)
    assert runs.states(run) == SUCCESS
    assert values(tmp_path / "lake") == lines(a=10)


def test_a_default_defers_what_it_can(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration breaks no driver in the task, which waits on its worker; `False` overrides it."""
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "true")
    defers = {
        name: ReadBlocksOperator(task_id=name, window={}, group=0, **options).defers
        for name, options in {
            "local": {"spark": SparkJob(master="local[1]")},
            "refused": {"spark": JOB, "deferrable": False},
            "cluster": {"spark": JOB},
        }.items()
    }
    land(a=10)
    run = runs.start(make_dag(spark=SparkJob(master="local[1]")))

    assert defers == {"local": False, "refused": False, "cluster": True}
    assert runs.states(run) == SUCCESS


_SECRET = {"spark.hadoop.fs.s3a.secret.key": "hush", "spark.executor.memory": "2g"}


def test_secret_settings_are_kept_from_airflows_database() -> None:
    """A trigger has no use for them; what an operator prints of its options does not show them."""
    operator = ReadBlocksOperator(task_id="read", window={}, group=0, spark=SparkJob(conn_id="cluster", conf=_SECRET))
    waiting = Waiting(title="read", name="a", application="b", spec_uri="c", spec_hash="d", answer="e")
    with pytest.raises(TaskDeferred) as raised:
        operator.wait_for(waiting, {"ti": SimpleNamespace(start_date=None)})  # type: ignore[typeddict-item]
    kept = raised.value.trigger.serialize()[1]

    assert from_json(kept["spark"]) == SparkJob(conn_id="cluster", conf={"spark.executor.memory": "2g"})
    assert "hush" not in f"{kept} {operator.spark}"


def test_secret_settings_are_not_deferred_on_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the trigger's helper would need them; a read without them, or on its worker, is taken."""
    fields = {"conn_type": "spark_connect", "host": "spark", "port": 15002}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(fields))

    def defers(**options: Any) -> bool:
        return ReadBlocksOperator(task_id="read", window={}, group=0, **options).defers

    job = SparkJob(conn_id="lake", conf=_SECRET)
    with pytest.raises(OptionsError, match=r"conf has spark\.hadoop\.fs\.s3a\.secret\.key, which .*; set it on the"):
        assert defers(spark=job, deferrable=True)
    assert not defers(spark=job)
    assert defers(spark=SparkJob(conn_id="lake"), deferrable=True)
