"""Planning inside Airflow: what a run plans, what it hands on, and how little of it. No Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator

from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import (
    Csv,
    CustomFormat,
    Delimited,
    FileSource,
    FormatOption,
    JsonArray,
    Lines,
    ParquetSink,
    Policies,
    Selection,
    Splitting,
    TextSink,
)
from airflow_provider_blockread.task_group import BlockReadTaskGroup

pytestmark = pytest.mark.airflow

DAY = datetime(2026, 3, 1, tzinfo=UTC)
INTERVAL = (DAY, DAY + timedelta(days=1))


class Paths(BaseOperator):
    """Hands on a list of paths, as a sensor or another system would."""

    def __init__(self, *, paths: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.paths = paths

    def execute(self, context: Any) -> list[str]:  # noqa: ARG002 - Airflow's
        """Return the paths."""
        return self.paths


@pytest.fixture
def options(landing: Path, tmp_path: Path) -> dict[str, Any]:
    """Where files come from and where records would go."""
    return {"source": FileSource(str(landing)), "sink": ParquetSink(str(tmp_path / "lake"))}


def plan_of(dag_id: str, **options: Any) -> DAG:
    """Return a DAG that only plans."""
    with DAG(dag_id) as dag:
        SplitFilesOperator(task_id="plan", **options)
    return dag


def test_a_plan_hands_on_its_groups_and_its_window(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """The return value is what can be mapped over; the window goes beside it, named after the run."""
    land(a=10, b=10)
    run = runs.start(plan_of(dag_id, splitting=Splitting(group_bytes=1), **options))
    window = runs.xcom(run, "plan", "window")

    assert runs.xcom(run, "plan") == [0, 1]
    assert (window["status"], window["files"], window["groups"]) == ("read", 2, 2)
    assert (window["feed"], window["key"]) == (f"{dag_id}.plan", f"{dag_id}/plan/{run.run_id}")


def test_every_text_in_options_is_a_template(
    runs: Any, dag_id: str, land: Callable[..., None], landing: Path, tmp_path: Path
) -> None:
    """Source, sink, feed and window resolve against the run, one without a logical date too."""
    land(a=10)
    dag = plan_of(
        dag_id,
        source=FileSource("{{ dag_run.conf['landing'] }}", pattern=["{{ 'a' }}.log"]),
        sink=ParquetSink(f"{tmp_path}/{{{{ dag.dag_id }}}}"),
        feed="{{ dag.dag_id | upper }}",
        window="{{ dag_run.conf['day'] }}",
    )
    run = runs.start(dag, logical_date=None, run_conf={"landing": str(landing), "day": "2026-03-01"})
    window = runs.xcom(run, "plan", "window")

    assert (window["feed"], window["key"], window["files"]) == (dag_id.upper(), "2026-03-01", 1)
    assert (tmp_path / f"{dag_id}.blockread").is_dir()


def test_a_window_that_renders_blank_fails_for_good(runs: Any, dag_id: str, options: dict[str, Any]) -> None:
    """Runs must not share a window by mistake, and another try would render the same."""
    run = runs.start(plan_of(dag_id, window="{{ dag_run.conf.get('day', '') }}", retries=3, **options))
    task = run.get_task_instance("plan")

    assert (str(task.state), task.try_number) == ("failed", 1)


def test_two_dags_on_the_same_files_are_two_feeds(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """Each pipeline sees every file, once, and publishes it elsewhere."""
    land(a=10, b=10)
    dags = [
        plan_of(f"{dag_id}_{side}", source=options["source"], sink=ParquetSink(f"{options['sink'].uri}_{side}"))
        for side in ("left", "right")
    ]
    first = [runs.xcom(runs.start(dag), "plan", "window")["files"] for dag in dags]
    again = [runs.xcom(runs.start(dag), "plan", "window")["status"] for dag in dags]

    assert (first, again) == ([2, 2], ["empty", "empty"])


def test_a_shared_feed_takes_each_file_once(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """Two DAGs that name one feed share its memory."""
    land(a=10)
    dags = [plan_of(f"{dag_id}_{name}", feed=dag_id, **options) for name in ("left", "right")]
    found = [runs.xcom(runs.start(dag), "plan", "window")["status"] for dag in dags]

    assert found == ["read", "empty"]


def test_references_stay_small_for_a_thousand_groups(
    runs: Any, dag_id: str, landing: Path, options: dict[str, Any]
) -> None:
    """All that a plan hands on is under 64 KB, and a window under 2 KB, whatever the number of groups."""
    for number in range(1000):
        (landing / f"{'long-name-' * 15}{number}.log").write_bytes(b"line\n")
    run = runs.start(plan_of(dag_id, splitting=Splitting(group_bytes=1), **options))
    groups, window = runs.xcom(run, "plan"), runs.xcom(run, "plan", "window")

    assert groups == list(range(1000))
    assert len(json.dumps(window)) < 2_000
    assert len(json.dumps(groups)) + len(json.dumps(window)) < 64_000


def test_groups_never_exceed_what_airflow_maps(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`[core] max_map_length` bounds the groups, since Airflow fails the plan otherwise."""
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "3")
    land(**{f"f{number}": 10 for number in range(9)})
    run = runs.start(plan_of(dag_id, splitting=Splitting(group_bytes=1), **options))

    assert runs.xcom(run, "plan") == [0, 1, 2]


def test_paths_from_upstream_stand_for_a_listing(
    runs: Any, dag_id: str, land: Callable[..., None], landing: Path, options: dict[str, Any]
) -> None:
    """What another task found is planned, and nothing else."""
    land(a=10, b=10, c=10)
    with DAG(dag_id) as dag:
        found = Paths(task_id="found", paths=[f"{landing}/a.log", f"{landing}/c.log"])
        SplitFilesOperator(task_id="plan", files=found.output, **options)
    run = runs.start(dag)

    assert runs.xcom(run, "plan", "window")["files"] == 2


def test_an_interval_takes_the_files_of_its_time(
    runs: Any, dag_id: str, land: Callable[..., None], landing: Path, options: dict[str, Any]
) -> None:
    """A scheduled run with `select="interval"` takes what was modified in its data interval; a backfill of it too."""
    land(before=1, inside=1, after=1)
    for name, hours in {"before": -1, "inside": 1, "after": 24}.items():
        moment = (DAY + timedelta(hours=hours)).timestamp()
        os.utime(landing / f"{name}.log", (moment, moment))
    dag = plan_of(dag_id, selection=Selection(select="interval"), **options)
    run = runs.create(dag, run_id="scheduled__1", run_type="scheduled", interval=INTERVAL)
    window = runs.xcom(run, "plan", "window")

    assert (window["files"], window["key"]) == (1, "2026-03-01T00:00:00Z/2026-03-02T00:00:00Z")


def test_a_backfill_of_an_arrival_feed_plans_nothing_new(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """What arrived since belongs to the next ordinary run, not to a run of the past; the message says so."""
    land(a=10)
    dag = plan_of(dag_id, **options)
    run = runs.create(dag, run_id="backfill__1", run_type="backfill", interval=INTERVAL)
    window = runs.xcom(run, "plan", "window")

    assert (window["status"], runs.xcom(run, "plan")) == ("skipped", [])
    assert "use select='interval' to backfill" in window["message"]
    assert runs.xcom(runs.start(dag), "plan", "window")["files"] == 1


@pytest.mark.parametrize(("on_empty", "commit"), [("skip", "skipped"), ("succeed", "success")])
def test_an_empty_window_ends_the_run_well(
    runs: Any, dag_id: str, options: dict[str, Any], on_empty: str, commit: str
) -> None:
    """Nothing to read is no failure: reads are skipped, and what follows is skipped or runs, as the policy says."""
    with DAG(dag_id) as dag:
        group = BlockReadTaskGroup("logs", policies=Policies(on_empty=on_empty), **options)
        group >> Paths(task_id="after", paths=[])
    run = runs.start(dag)

    assert str(run.state) == "success"
    assert runs.states(run) == {
        "logs.plan": "success",
        "logs.read": "skipped",
        "logs.commit": commit,
        "after": commit,
    }


@pytest.mark.parametrize(
    ("record_format", "scans"),
    [
        (CustomFormat(path="mine.formats:Pages"), True),
        (Csv(), True),
        (Csv(quote=None, comment="#"), True),
        (JsonArray(), True),
        (Csv(quote=None), False),
        (Lines(), False),
    ],
)
def test_formats_that_may_need_a_scan(
    dag_id: str, options: dict[str, Any], record_format: FormatOption, *, scans: bool
) -> None:
    """Formats whose blocks may depend on what comes before get a scan task between plan and reads, the others none."""
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", record_format=record_format, **options)

    assert dag.has_task("logs.scan") == scans
    assert dag.get_task("logs.read").upstream_task_ids == ({"logs.plan", "logs.scan"} if scans else {"logs.plan"})
    if scans:
        assert dag.get_task("logs.scan").upstream_task_ids == {"logs.plan"}


def test_a_plan_that_fails_fails_the_run(runs: Any, dag_id: str, options: dict[str, Any], landing: Path) -> None:
    """A missing source is an error for good, and neither reads nor commit run."""
    landing.rmdir()
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", **options)
    run = runs.start(dag)

    assert runs.states(run) == {
        "logs.plan": "failed",
        "logs.read": "upstream_failed",
        "logs.commit": "upstream_failed",
    }


def test_a_cleared_empty_window_is_planned_again(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """The same run takes what has arrived in between."""
    dag = plan_of(dag_id, **options)
    run = runs.start(dag)
    land(a=10)
    run = runs.clear(dag, run)

    assert runs.xcom(run, "plan", "window")["files"] == 1


def test_line_ends_in_options_stay(dag_id: str) -> None:
    """Jinja drops a newline at the end of a text and turns CRLF into LF; a delimiter is no template."""
    source, sink, form = FileSource("/in/{{ day }}"), TextSink("/out"), Delimited(delimiter="\r\n")
    with DAG(dag_id):
        task = SplitFilesOperator(task_id="plan", source=source, sink=sink, record_format=form)
    context: Any = {"day": "monday"}

    assert task.render_template(source, context) == FileSource("/in/monday")
    assert task.render_template(sink, context) == sink
    assert task.render_template(form, context) == form


def test_a_task_that_is_tested_alone_holds_no_files(
    runs: Any, dag_id: str, land: Callable[..., None], options: dict[str, Any]
) -> None:
    """The run of `airflow tasks test` is gone with the task, so nobody would read what it has planned."""
    land(a=10)
    dag = plan_of(dag_id, **options)
    tested = runs.create(dag, run_id="__airflow_temporary_run_2026-11-28T18:16:43+00:00__", run_type="manual")

    assert runs.states(tested) == {"plan": "failed"}
    assert runs.xcom(runs.start(dag), "plan", "window")["files"] == 1


def test_native_objects_do_not_change_the_text_of_options(dag_id: str) -> None:
    """A text that looks like a number or a list of Python stays as it is."""
    with DAG(dag_id, render_template_as_native_obj=True):
        task = SplitFilesOperator(task_id="plan", source=FileSource("/in", pattern="{{ day }}"), sink=ParquetSink("/o"))

    assert task.render_template(task.source, {"day": "[1,2]"}) == FileSource("/in", pattern="[1,2]")
    assert task.render_template("{{ day }}", {"day": "2026_01"}) == "2026_01"
    assert task.render_template("{{ days }}", {"days": ["a", "b"]}) == ["a", "b"]
