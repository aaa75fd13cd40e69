"""Windows that publish nothing: no asset event, and titles, logs and summaries that say why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator

from airflow_provider_blockread.options import ArrowFunction, FileSource, JsonLines, ParquetSink, Policies, SparkJob
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]


class After(BaseOperator):
    """What comes after the pipeline."""

    def execute(self, context: Any) -> None:
        """Do nothing."""


@pytest.fixture
def make_dag(dag_id: str, landing: Path, lake: Path) -> Callable[..., DAG]:
    """What makes the test's DAG, with options changed from one run to the next."""

    def make(**options: Any) -> DAG:
        with DAG(dag_id) as dag:
            given = {"source": FileSource(str(landing)), "sink": ParquetSink(str(lake))}
            BlockReadTaskGroup("logs", **given | options) >> After(task_id="after")
        return dag

    return make


def title(run: Any) -> str:
    """Return what the run's only read is called."""
    printed = run.get_task_instance("logs.read", map_index=0).rendered_map_index
    assert isinstance(printed, str)
    return printed


def warnings(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what tasks logged as warnings."""
    return "\n".join(line for line in capsys.readouterr().out.splitlines() if "[warning" in line)


def vanishing(dag: DAG, path: Path) -> DAG:
    """Make a file vanish when it is planned."""
    dag.get_task("logs.plan")._post_execute_hook = lambda context, result: path.unlink()  # noqa: ARG005 - Airflow's
    return dag


@pytest.mark.parametrize("on_empty", ["skip", "succeed"])
def test_a_window_whose_only_file_is_excluded(
    runs: Any,
    make_dag: Callable[..., DAG],
    lake: Path,
    landing: Path,
    capsys: pytest.CaptureFixture[str],
    on_empty: str,
) -> None:
    """Its commit ends as the policy says, and emits nothing; the read is titled by what it did not read."""
    (landing / "a.log").write_text("a\n")
    policies = Policies(on_missing="exclude", on_empty=on_empty)
    run = runs.start(vanishing(make_dag(policies=policies), landing / "a.log"))
    printed = warnings(capsys)
    state = {"skip": "skipped", "succeed": "success"}[on_empty]

    assert (runs.states(run)["logs.read[0]"], runs.states(run)["logs.commit"], runs.states(run)["after"]) == (
        "success",
        state,
        state,
    )
    assert runs.asset_events(f"file://{lake}") == []
    assert title(run) == "group 0: nothing read; 1 file excluded"
    assert f"{landing}/a.log is missing and now excluded" in printed
    assert "publishes nothing: 1 file excluded; no record was left to publish" in printed
    assert f"a.log is excluded (missing, by {run.dag_id}/{run.run_id}/logs.read/0)" in printed


def test_some_files_and_records_are_left_out(
    runs: Any, make_dag: Callable[..., DAG], lake: Path, landing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The event has the numbers; so do title and log."""
    (landing / "gone.log").write_text("{}\n")
    (landing / "half.log").write_text('{"x": 1}\nbad\n{"x": 2}\n')
    policies = Policies(on_missing="exclude", on_bad_record="quarantine")
    dag = make_dag(policies=policies, record_format=JsonLines(schema="x long"))
    run = runs.start(vanishing(dag, landing / "gone.log"))
    printed = warnings(capsys)
    (event,) = runs.asset_events(f"file://{lake}")

    assert (event["rows"], event["excluded"], event["bad_records"]) == (2, 1, 1)
    assert event["message"].endswith(f"1 file excluded; 1 of 3 records bad, kept in {event['quarantine_uri']}")
    assert title(run).endswith("gone.log .. half.log; 1 file excluded; 1 bad record")
    assert "1 bad record quarantined" in printed


@pytest.mark.parametrize("rule", ["drop", "quarantine"])
def test_a_window_of_bad_records_only(
    runs: Any, make_dag: Callable[..., DAG], lake: Path, landing: Path, capsys: pytest.CaptureFixture[str], rule: str
) -> None:
    """Dropped or kept apart, none of them comes to the output."""
    (landing / "bad.log").write_text("bad\nworse\n")
    dag = make_dag(policies=Policies(on_bad_record=rule), record_format=JsonLines(schema="x long"))
    run = runs.start(dag)
    printed = warnings(capsys)

    assert (runs.states(run)["logs.commit"], runs.states(run)["after"]) == ("skipped", "skipped")
    assert runs.asset_events(f"file://{lake}") == []
    assert "publishes nothing: 2 of 2 records bad" in printed


def test_a_rebuild_that_empties_the_output_is_an_event(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path, tmp_path: Path, dag_id: str
) -> None:
    """What was there is gone, so an event is emitted; a rebuild of nothing into nothing emits none."""
    module = tmp_path / f"none_{dag_id[:20]}.py"
    module.write_text("def none(batch):\n    return None\n")
    nothing = {
        "function": ArrowFunction(f"{module.stem}:none", schema="value string"),
        "spark": SparkJob(py_files=[str(module)]),
    }
    land(a=5)
    run = runs.start(make_dag())
    assert values(lake) == lines(a=5)
    run = runs.clear(make_dag(**nothing), run)
    emptied = runs.states(run)
    assert values(lake) == []
    run = runs.clear(make_dag(**nothing), run)

    assert (emptied["logs.commit"], emptied["after"]) == ("success", "success")
    assert (runs.states(run)["logs.commit"], runs.states(run)["after"]) == ("skipped", "skipped")
    events = runs.asset_events(f"file://{lake}")
    assert [(event["generation"], event["rows"], event["removed"]) for event in events] == [(1, 5, 0), (2, 0, 1)]
    assert events[1]["message"] == ""


@pytest.mark.parametrize("rule", ["verify", "skip"])
def test_output_that_stays_as_it_is_makes_no_event(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path, rule: str
) -> None:
    """Verified or left alone; the commit succeeds all the same, as does what follows."""
    land(a=5)
    run = runs.start(make_dag())
    run = runs.clear(make_dag(policies=Policies(on_rerun=rule)), run)

    assert (runs.states(run)["logs.commit"], runs.states(run)["after"]) == ("success", "success")
    assert len(runs.asset_events(f"file://{lake}")) == 1


def test_nothing_to_read_makes_no_event(runs: Any, make_dag: Callable[..., DAG], lake: Path) -> None:
    """Where the commit of an empty window is to succeed, too."""
    run = runs.start(make_dag(policies=Policies(on_empty="succeed")))

    assert runs.states(run)["logs.commit"] == "success"
    assert runs.asset_events(f"file://{lake}") == []
