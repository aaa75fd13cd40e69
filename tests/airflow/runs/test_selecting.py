"""What runs of all kinds select and ask for again, inside Airflow. The reads themselves need no Spark here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, CronDataIntervalTimetable, CronPartitionTimetable

from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import FileSource, Limits, ParquetSink, Selection, SparkJob, Splitting
from tests.pipeline.make import ReadHere

pytestmark = pytest.mark.airflow

DAY = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def make_dag(dag_id: str, landing: Path, tmp_path: Path) -> Callable[..., DAG]:
    """What makes a DAG that only plans."""

    def make(source: dict[str, Any] | None = None, schedule: Any = None, **options: Any) -> DAG:
        with DAG(dag_id, schedule=schedule, start_date=DAY, catchup=False) as dag:
            where = {"source": FileSource(str(landing), **source or {}), "sink": ParquetSink(str(tmp_path / "lake"))}
            SplitFilesOperator(task_id="plan", **where, **options)
        return dag

    return make


def publish(runs: Any, run: Any) -> dict[str, Any]:
    """Read and publish what a run has planned, and return its window."""
    from airflow_provider_blockread.hooks.ledger import LedgerHook
    from airflow_provider_blockread.steps import Caller, Environment, WindowRef, commit, read
    from airflow_provider_blockread.storage.stores import Stores

    window: dict[str, Any] = runs.xcom(run, "plan", "window")
    env = Environment(ledger=LedgerHook(None).get_conn(), stores=Stores(), observer=Observer())
    ref = WindowRef.from_json(window)
    if ref.status == "read":
        for group in range(ref.groups):
            read(env, ref, group, caller=Caller(owner="test"), job=SparkJob(), submitter=ReadHere())
        commit(env, ref, owner="test")
    return window


def test_a_backfill_that_reprocesses_a_partition_rebuilds_it(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None]
) -> None:
    """It comes as a new run of the same partition, with a clear number of 0; its published window is read again."""
    land(a=3)
    dag = make_dag(schedule=CronPartitionTimetable("0 0 * * *", timezone="UTC"))
    found = []
    for run_id, run_type in (("scheduled__1", "scheduled"), ("manual__1", "manual"), ("backfill__1", "backfill")):
        window = publish(runs, runs.create(dag, run_id=run_id, run_type=run_type, partition=DAY))
        found.append((window["key"], window["status"], window["generation"]))

    key = "partition 2026-11-21T00:00:00Z"
    assert found == [(key, "read", 1), (key, "published", 1), (key, "read", 2)]


def test_a_backfill_leaves_an_interval_alone_whose_run_was_deleted(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None]
) -> None:
    """It comes as a new run, as for an interval that was never read; a clear of it reads the window again."""
    land(h2026112100=3)
    schedule = CronDataIntervalTimetable("0 * * * *", timezone="UTC")
    dag = make_dag({"time_pattern": "h%Y%m%d%H"}, schedule, selection=Selection(select="interval"))
    interval = (DAY, DAY + timedelta(hours=1))
    run = runs.create(dag, run_id="scheduled__1", run_type="scheduled", interval=interval)
    found = [publish(runs, run)]
    runs.delete(run)
    run = runs.create(dag, run_id="backfill__1", run_type="backfill", interval=interval)
    found += [publish(runs, run), publish(runs, runs.clear(dag, run))]

    assert [(window["status"], window["generation"]) for window in found] == [
        ("read", 1),
        ("published", 1),
        ("read", 2),
    ]


def test_a_clear_reopens_the_interval_that_the_path_names(
    runs: Any, make_dag: Callable[..., DAG], landing: Path
) -> None:
    """The pattern reaches the plan through Airflow's templates; a file that is late for its hour is read by a clear."""
    interval = (DAY + timedelta(hours=4), DAY + timedelta(hours=5))
    hour = landing / "dt=2026-11-21" / "hr=04"
    hour.mkdir(parents=True)
    (hour / "a.log").write_bytes(b"a\n")
    (landing / "b.log").write_bytes(b"b\n")
    dag = make_dag({"time_pattern": "dt=%Y-%m-%d/hr=%H"}, selection=Selection(select="interval", late="reopen"))
    run = runs.create(dag, run_id="scheduled__4", run_type="scheduled", interval=interval)
    first = publish(runs, run)
    (hour / "late.log").write_bytes(b"late\n")
    second = publish(runs, runs.clear(dag, run))

    assert (first["key"], first["files"]) == ("2026-11-21T04:00:00Z/2026-11-21T05:00:00Z", 1)
    assert first["left_out"] == {"untimed": 1}
    assert (second["key"], second["files"], second["status"]) == (f"{first['key']}/late-1", 1, "read")


def test_runs_read_a_large_file_in_parts(runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None]) -> None:
    """Each run takes the next part, and a clear of an earlier one rebuilds that part alone."""
    land(a=3)
    limits = Limits(max_blocks=1)
    dag = make_dag(selection=Selection(limits=limits), splitting=Splitting(block_size=2))
    created = [runs.create(dag, run_id=f"manual__{number}", run_type="manual") for number in range(2)]
    windows = [publish(runs, run) for run in created]
    again = publish(runs, runs.clear(dag, created[0]))

    assert "part 1 of a file, bytes 0 to 2 of" in windows[0]["message"]
    assert "part 2 of a file, bytes 2 to 4 of" in windows[1]["message"]
    assert (again["window"], again["generation"]) == (windows[0]["window"], 2)
