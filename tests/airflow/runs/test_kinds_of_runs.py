"""Runs of all kinds inside Airflow: with and without dates, of two task groups, tried again with other options."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, PartitionedAssetTimetable

from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import FileSource, ParquetSink, Selection, SparkJob
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import lines, values

pytestmark = pytest.mark.airflow

DAY = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def options(landing: Path, tmp_path: Path) -> dict[str, Any]:
    """Where files come from and where records go."""
    return {"source": FileSource(str(landing)), "sink": ParquetSink(str(tmp_path / "lake"))}


@pytest.fixture
def hourly(dag_id: str, options: dict[str, Any]) -> DAG:
    """A DAG that plans an hour's files."""
    schedule = CronDataIntervalTimetable("0 * * * *", timezone="UTC")
    with DAG(dag_id, schedule=schedule, start_date=DAY, catchup=False) as dag:
        source = FileSource(*options["source"].roots, time_pattern="h%Y%m%d%H")
        selection = Selection(select="interval")
        SplitFilesOperator(task_id="plan", source=source, sink=options["sink"], selection=selection)
    return dag


def test_a_manual_run_with_a_date_takes_what_its_interval_left(
    runs: Any, hourly: DAG, land: Callable[..., None]
) -> None:
    """It selects by the last full interval before its date, for a window of its own beside the scheduled run's."""
    land(h2026030100=1, h2026030101=1)
    interval = (DAY, DAY + HOUR)
    scheduled = runs.create(hourly, run_id="scheduled__1", run_type="scheduled", interval=interval)
    land(h2026030100_late=1)
    manual = runs.start(hourly, logical_date=DAY + 1.5 * HOUR)
    found = [runs.xcom(run, "plan", "window") for run in (scheduled, manual)]

    assert [(window["files"], window["status"]) for window in found] == [(1, "read"), (1, "read")]
    assert found[0]["key"] == "2026-03-01T00:00:00Z/2026-03-01T01:00:00Z"
    assert found[1]["key"] == f"{hourly.dag_id}/plan/{manual.run_id}"


def test_a_run_without_a_date_cannot_select_by_time(runs: Any, hourly: DAG, land: Callable[..., None]) -> None:
    """It names no interval: the plan fails for good, and nothing is taken."""
    land(h2026030100=1)
    run = runs.start(hourly, logical_date=None)

    assert runs.states(run) == {"plan": "failed"}
    interval = (DAY, DAY + HOUR)
    scheduled = runs.create(hourly, run_id="scheduled__1", run_type="scheduled", interval=interval)
    assert runs.xcom(scheduled, "plan", "window")["files"] == 1


def test_each_event_about_a_partition_takes_what_has_landed(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """Another run of the same partition is for more of its files; a third one, for none, is empty."""
    found = []
    with DAG(dag_id, schedule=PartitionedAssetTimetable(assets=Asset(f"test://{dag_id}"))) as dag:
        SplitFilesOperator(task_id="plan", **options)
    for number, landed in enumerate(({"a": 1}, {"b": 1}, {}), start=1):
        land(**landed)
        run = runs.create(dag, run_id=f"asset__{number}", run_type="asset_triggered", partition=DAY)
        window = runs.xcom(run, "plan", "window")
        found.append((window["status"], window["files"], window["key"]))

    keys = [f"partition 2026-03-01T00:00:00Z/{dag_id}/plan/asset__{number}" for number in (1, 2, 3)]
    assert found == [("read", 1, keys[0]), ("read", 1, keys[1]), ("empty", 0, keys[2])]


@pytest.mark.usefixtures("without_spark")
def test_two_groups_of_one_dag_share_a_feed(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any], tmp_path: Path
) -> None:
    """Each file is read by one of them."""
    land(a=3, b=2)
    with DAG(dag_id) as dag:
        for side in ("left", "right"):
            BlockReadTaskGroup(side, feed=dag_id, spark=SparkJob(master="local[1]"), **options)
    run = runs.start(dag)

    assert str(run.state) == "success"
    assert values(tmp_path / "lake") == lines(a=3, b=2)


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize(("feed", "times"), [(None, 1), ("logs", 1), ("events", 2)])
def test_a_group_that_was_renamed(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any], feed: str | None, times: int
) -> None:
    """Its files are published again only if its feed is named as another one; a plan that names none fails."""
    land(a=3)
    for group, named in {"logs": None, "events": feed and f"{dag_id}.{feed}"}.items():
        with DAG(dag_id) as dag:
            BlockReadTaskGroup(group, feed=named, spark=SparkJob(master="local[1]"), **options)
        run = runs.start(dag)

    assert runs.states(run)["events.plan"] == ("success" if feed else "failed")
    assert values(Path(options["sink"].uri)) == sorted(lines(a=3) * times)


class DyingPlan(SplitFilesOperator):
    """A plan whose first try is lost after its work was done."""

    def run_step(self, context: Any) -> list[int]:
        """Plan; then fail, the first time."""
        groups = super().run_step(context)
        if context["ti"].try_number == 1:
            msg = "the worker is gone"
            raise RuntimeError(msg)
        return groups


@pytest.mark.parametrize(("changed", "generation"), [("", 1), ("{{ ti.try_number }}", 2)])
def test_options_changed_between_tries(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any], changed: str, generation: int
) -> None:
    """A retried plan finds the window that it froze before; where options have changed, it is read by the new ones."""
    land(a=3)
    sink = ParquetSink(f"{options['sink'].uri}{changed}", work_uri=f"{options['sink'].uri}.work")
    with DAG(dag_id) as dag:
        DyingPlan(task_id="plan", retries=1, retry_delay=timedelta(0), source=options["source"], sink=sink)
    run = runs.start(dag)
    window = runs.xcom(run, "plan", "window")

    assert (run.get_task_instance("plan").try_number, window["files"], window["generation"]) == (2, 1, generation)
