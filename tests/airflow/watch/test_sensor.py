"""The sensor in its three modes, run as `dag.test()` runs it: the same answers, the same failures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.sdk.bases.operator import TriggerFailureReason
from airflow.sdk.definitions import dag as airflow_dag
from airflow.sdk.exceptions import AirflowSensorTimeout, AirflowTaskTimeout

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import FileSource, ParquetSink, Selection
from airflow_provider_blockread.sensors.new_files import NewFilesSensor

pytestmark = pytest.mark.airflow

DAY = datetime(2026, 1, 1, tzinfo=UTC)

MODES: dict[str, dict[str, Any]] = {
    "poke": {"mode": "poke"},
    "reschedule": {"mode": "reschedule"},
    "deferrable": {"deferrable": True},
}
SOON: dict[str, Any] = {"poke_interval": 0.2, "timeout": 30.0}


def waiting(dag_id: str, source: FileSource, sink: Path | None = None, **options: Any) -> DAG:
    """Return a DAG that waits, and plans what it found where there is a sink."""
    of = {"feed": f"{dag_id}.plan"} if sink is None else {"group": "plan"}
    with DAG(dag_id) as dag:
        sensor = NewFilesSensor(task_id="wait", source=source, **SOON | of | options)
        if sink is not None:
            sensor >> SplitFilesOperator(
                task_id="plan", source=source, sink=ParquetSink(str(sink)), files=sensor.output
            )
    return dag


def test_each_mode_returns_the_same(runs: Any, dag_id: str, landing: Path, land: Callable[..., None]) -> None:
    """What is too young at first is found later, and reported alike on a worker and in the triggerer."""
    land(a=3, b=4)
    source = FileSource(str(landing), min_age=1.5)
    found = []
    for name, mode in MODES.items():
        now = time.time()
        for path in landing.iterdir():
            os.utime(path, (now, now))
        run = runs.start(waiting(f"{dag_id}_{name}", source, **mode))
        assert runs.states(run) == {"wait": "success"}, name
        answer = runs.xcom(run, "wait")
        assert time.time() >= now + 1.5
        assert (answer.pop("oldest") > "2026", answer.pop("feed")) == (True, f"{dag_id}_{name}.plan")
        found.append(answer)

    paths = [f"file://{landing}/{name}.log" for name in "ab"]
    assert found == [{"files": 2, "bytes": 35, "paths": paths, "why": "enough"}] * 3


@pytest.mark.parametrize("mode", ["poke", "reschedule"])  # dag.test() lets triggers run forever
@pytest.mark.parametrize(("options", "state"), [({"soft_fail": True}, "skipped"), ({}, "failed")])
def test_nothing_comes(runs: Any, dag_id: str, landing: Path, mode: str, options: dict[str, Any], state: str) -> None:
    """The time is up, and soft_fail says what then."""
    run = runs.start(waiting(dag_id, FileSource(str(landing)), timeout=0.1, **MODES[mode], **options))

    assert runs.states(run) == {"wait": state}


@pytest.mark.parametrize(("options", "state"), [({"soft_fail": True}, "skipped"), ({}, "failed")])
def test_nothing_comes_to_the_triggerer(
    runs: Any, dag_id: str, landing: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], state: str
) -> None:
    """The time goes with the wait, and the task ends as on a worker when Airflow says that it is up."""
    resume, handed = NewFilesSensor.resume_execution, list[Any]()
    defer = NewFilesSensor.defer
    monkeypatch.setattr(
        NewFilesSensor, "defer", lambda self, **how: (handed.append(how["timeout"]), defer(self, **how))
    )
    monkeypatch.setattr(airflow_dag, "_run_inline_trigger", lambda *_: None)
    monkeypatch.setattr(
        NewFilesSensor,
        "resume_execution",
        lambda self, context, **_: resume(self, "__fail__", {"error": TriggerFailureReason.TRIGGER_TIMEOUT}, context),
    )
    run = runs.start(waiting(dag_id, FileSource(str(landing)), timeout=7.0, deferrable=True, **options))

    assert runs.states(run) == {"wait": state}
    assert handed == [timedelta(seconds=7)]


def test_a_wait_that_execution_timeout_ends_may_be_retried(dag_id: str, landing: Path) -> None:
    """As on a worker; the sensor's own time is final."""
    ends = {"error": TriggerFailureReason.TRIGGER_TIMEOUT}
    for limit, error in ((5, AirflowTaskTimeout), (9, AirflowSensorTimeout)):
        options = {"timeout": 7.0, "execution_timeout": timedelta(seconds=limit), "deferrable": True}
        sensor = waiting(dag_id, FileSource(str(landing)), **options).get_task("wait")
        with pytest.raises(error):
            sensor.resume_execution("__fail__", dict(ends), {})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("soft_fail", [True, False])
def test_an_error_that_stays(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], mode: str, *, soft_fail: bool
) -> None:
    """A modified file under `fail` ends the wait at once, as it would end the plan."""
    land(a=3)
    plan = waiting(dag_id, FileSource(str(landing)), landing.parent / "lake")
    assert runs.states(runs.start(plan))["plan"] == "success"
    land(a=5)
    selection = Selection(on_modified="fail")
    run = runs.start(waiting(dag_id, FileSource(str(landing)), selection=selection, soft_fail=soft_fail, **MODES[mode]))

    assert runs.states(run) == {"wait": "skipped" if soft_fail else "failed"}


@pytest.mark.parametrize("mode", MODES)
def test_a_silent_failure_is_no_skip(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that may pass lets the sensor wait on in each mode, although it may never fail."""
    look, calls = NewFilesSensor.poke, []

    def poke(self: NewFilesSensor, context: Any) -> Any:
        calls.append(mode)
        if len(calls) == 1:
            raise TransientError(mode)
        return look(self, context)

    monkeypatch.setattr(NewFilesSensor, "poke", poke)
    land(a=3)
    run = runs.start(waiting(dag_id, FileSource(str(landing)), silent_fail=True, never_fail=True, **MODES[mode]))

    assert runs.states(run) == {"wait": "success"}


def test_only_new_files_count_and_a_clear_goes_through(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """A second run waits for what the first did not take; the first, cleared, does not wait at all."""
    land(a=3)
    dag = waiting(dag_id, FileSource(str(landing)), tmp_path / "lake", deferrable=True)
    EmptyOperator(task_id="other", dag=dag).group = ["no", "name"]  # type: ignore[attr-defined]
    first = runs.start(dag)
    assert runs.xcom(first, "plan", "window")["files"] == 1
    land(b=4)
    second = runs.start(dag)
    assert runs.xcom(second, "wait")["paths"] == [f"file://{landing}/b.log"]
    assert runs.xcom(second, "plan", "window")["files"] == 1

    again = runs.clear(dag, first)
    assert (runs.xcom(again, "wait")["why"], runs.xcom(again, "wait")["files"]) == ("planned", 0)
    assert runs.xcom(again, "plan", "window")["window"] == runs.xcom(first, "plan", "window")["window"]


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_takes_no_new_files_does_not_wait(runs: Any, dag_id: str, landing: Path, mode: str) -> None:
    """As in a backfill of what is selected by arrival, which its plan skips."""
    dag = waiting(dag_id, FileSource(str(landing)), landing.parent / "lake", timeout=0.1, **MODES[mode])
    run = runs.create(dag, run_id="backfill__1", run_type="backfill", interval=(DAY, DAY + timedelta(days=1)))

    assert runs.xcom(run, "wait")["why"] == "planned"
    assert runs.xcom(run, "plan", "window")["status"] == "skipped"


def test_a_backfill_waits_for_another_pipeline(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None]
) -> None:
    """A sensor that names a feed alone knows no plan of its run, so it waits as in any other run."""
    land(a=3)
    dag = waiting(dag_id, FileSource(str(landing)))
    run = runs.create(dag, run_id="backfill__1", run_type="backfill", interval=(DAY, DAY + timedelta(days=1)))

    assert (runs.xcom(run, "wait")["why"], runs.xcom(run, "wait")["files"]) == ("enough", 1)


def test_many_files_are_planned_by_a_listing(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """The sensor names the first ones only; the plan takes all of them."""
    land(**{f"f{number}": 1 for number in range(25)})
    run = runs.start(waiting(dag_id, FileSource(str(landing)), tmp_path / "lake"))

    assert len(runs.xcom(run, "wait")["paths"]) == 20
    assert runs.xcom(run, "plan", "window")["files"] == 25


def test_a_sensor_must_know_whose_files(landing: Path) -> None:
    """Without a pipeline or a feed, nothing says what is new."""
    with pytest.raises(OptionsError, match="give group"):
        NewFilesSensor(task_id="wait", source=FileSource(str(landing)))


@pytest.mark.parametrize(("name", "value"), [("min_bytes", "1 Gigabyte"), ("max_delay", "15 minutes")])
def test_what_no_sensor_could_use_is_refused_where_the_dag_is_parsed(landing: Path, name: str, value: str) -> None:
    """A template in its place is looked at when the sensor runs."""
    with pytest.raises(OptionsError, match=f"^wait: {name}: {value!r} is not a"):
        NewFilesSensor(task_id="wait", source=FileSource(str(landing)), feed="logs", **{name: value})

    NewFilesSensor(task_id="wait", source=FileSource(str(landing)), feed="logs", **{name: "{{ params.given }}"})
