"""A DAG whose runs have no data interval, over a feed that selects by it: refused where it is written."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("database")]
BERLIN = 'CronDataIntervalTimetable("0 5 * * *", timezone="Europe/Berlin")'

GIVEN = """
from datetime import UTC, datetime, timedelta
from airflow.sdk import *
from airflow.sdk import CronTriggerTimetable as Cron, DeltaTriggerTimetable as Delta
from airflow.timetables.trigger import CronTriggerTimetable as CoreCron, MultipleCronTriggerTimetable as Multiple
from airflow.timetables.interval import CronDataIntervalTimetable as CoreInterval
from airflow_provider_blockread.options import FileSource, ParquetSink, Selection
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.task_group import BlockReadTaskGroup

options = {"source": FileSource("/in"), "sink": ParquetSink("/out"), "selection": Selection(select="interval")}
HOUR, ASSET = timedelta(hours=1), Asset("s3://landing/in")

class Mine(Cron):
    pass
"""
GROUP = """
with DAG("events", schedule={schedule}, start_date=datetime(2026, 1, 1, tzinfo=UTC), max_active_runs=1):
    BlockReadTaskGroup("load", **options)
"""
DAILY = 'CronDataIntervalTimetable("@daily", timezone="UTC")'
REFUSED = {
    '"@daily"': DAILY,
    '"*/5 * * * *"': 'CronDataIntervalTimetable("*/5 * * * *", timezone="UTC")',
    'Cron("0 5 * * *", timezone="Europe/Berlin")': BERLIN,
    'CoreCron("0 5 * * *", timezone="Europe/Berlin")': BERLIN,
    "HOUR": "DeltaDataIntervalTimetable(datetime.timedelta(seconds=3600))",
    "Delta(HOUR)": "DeltaDataIntervalTimetable(datetime.timedelta(seconds=3600))",
    'Multiple("0 1 * * *", "0 2 * * *", timezone="UTC")': DAILY,
    'CronPartitionTimetable("0 0 * * *", timezone="UTC")': DAILY,
    'AssetOrTimeSchedule(timetable=Cron("0 0 * * *", timezone="UTC"), assets=[ASSET])': DAILY,
    "EventsTimetable(event_dates=[datetime(2026, 1, 2, tzinfo=UTC)])": DAILY,
    '"@once"': DAILY,
    "[ASSET]": DAILY,
    "PartitionedAssetTimetable(assets=ASSET)": DAILY,
}
TAKEN = [
    "None",
    '"@continuous"',
    DAILY,
    'CoreInterval("@daily", timezone="UTC")',
    "DeltaDataIntervalTimetable(HOUR)",
    'Cron("0 0 * * *", timezone="UTC", interval=HOUR)',
    'CoreCron("0 0 * * *", timezone="UTC", interval=HOUR)',
    'Multiple("0 1 * * *", timezone="UTC", interval=HOUR)',
    f"AssetOrTimeSchedule(timetable={DAILY}, assets=[ASSET])",
    'Mine("0 0 * * *", timezone="UTC")',
]


def parsed(folder: Path, text: str) -> Any:
    """Return the bag of a file of DAGs, in a new folder: bytecode of one of the same second and size would be used."""
    from airflow.dag_processing.dagbag import DagBag

    dags = Path(mkdtemp(dir=folder))
    (dags / "dags.py").write_text(GIVEN + text)
    return DagBag(dags)


@pytest.mark.parametrize("schedule", REFUSED)
def test_a_schedule_without_intervals_is_an_import_error(tmp_path: Path, schedule: str) -> None:
    """One line that names the DAG, its schedule and one that will do, which then does."""
    found = parsed(tmp_path, GROUP.format(schedule=schedule))
    *_, error = next(iter(found.import_errors.values())).strip().splitlines()

    assert not found.dags
    assert error.startswith(
        f'{OptionsError.__module__}.OptionsError: events.load.plan: select="interval" reads the files'
    )
    assert f"write schedule={REFUSED[schedule]}, imported from airflow.sdk" in error
    remedy = REFUSED[schedule].replace("datetime.timedelta", "timedelta")
    assert "events" in parsed(tmp_path, GROUP.format(schedule=remedy)).dags


@pytest.mark.parametrize("schedule", TAKEN)
def test_a_schedule_that_may_have_intervals_is_taken(tmp_path: Path, schedule: str) -> None:
    """Also where only the user who starts a run can set one, and timetables of the user's own."""
    found = parsed(tmp_path, GROUP.format(schedule=schedule))

    assert (found.import_errors, list(found.dags)) == ({}, ["events"])


@pytest.mark.parametrize(
    "text",
    [
        'with DAG("events", schedule="@daily"):\n    SplitFilesOperator(task_id="plan", **options)',
        'SplitFilesOperator(task_id="plan", dag=DAG("events", schedule="@daily"), **options)',
    ],
)
def test_so_is_the_operator_by_itself(tmp_path: Path, text: str) -> None:
    """Written in its DAG, or given it."""
    (error,) = parsed(tmp_path, text).import_errors.values()

    assert 'events.plan: select="interval" reads' in error


def test_what_arrives_needs_no_interval(tmp_path: Path) -> None:
    """Any schedule will do, and so it does where Airflow is set to make intervals of it."""
    options = 'options["selection"] = Selection()\n'

    assert list(parsed(tmp_path, options + GROUP.format(schedule='"@daily"')).dags) == ["events"]


def test_airflow_may_be_set_to_make_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then cron expressions and deltas have them."""
    monkeypatch.setenv("AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS", "True")

    assert list(parsed(tmp_path, GROUP.format(schedule='"@daily"')).dags) == ["events"]
    assert list(parsed(tmp_path, GROUP.format(schedule="HOUR")).dags) == ["events"]
