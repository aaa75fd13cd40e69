"""Small files merged from a DAG, by `dag.test()` with Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG, Asset, task

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.notifications.blockread import BlockReadNotifier
from airflow_provider_blockread.operators.merge_files import MergeFilesOperator
from airflow_provider_blockread.options import FileSource, ParquetSink, Policies
from tests.airflow.published import SPARK

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def test_a_task_merges_new_files_once(
    runs: Any, landing: Path, land: Callable[..., None], dag_id: str, tmp_path: Path
) -> None:
    """The first run merges what has landed, the next one what is new, and one without new files makes no event."""
    lake = tmp_path / "lake"
    with DAG(dag_id) as dag:
        MergeFilesOperator(
            task_id="merge",
            source=FileSource(str(landing)),
            sink=ParquetSink("{{ '" + str(lake) + "' }}"),
            policies=Policies(on_empty="succeed"),
            spark=SPARK,
            outlets=[Asset(lake.as_uri())],
        )
    land(a=5, b=3)
    first = runs.start(dag)
    land(c=1)
    second = runs.start(dag)
    third = runs.start(dag)

    rows = [row for path in lake.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    expected = {f"file://{path}": path.read_bytes() for path in landing.iterdir()}
    assert [runs.xcom(run, "merge")["records"] for run in (first, second)] == [2, 1]
    assert [runs.states(run) for run in (first, second, third)] == [
        {"merge": s} for s in ("success", "success", "success")
    ]
    assert [event["rows"] for event in runs.asset_events(lake.as_uri())] == [2, 1]
    assert len(rows) == len(expected)
    assert {row["_file"]: row["value"] for row in rows} == expected


@pytest.mark.parametrize("given", ["s3://lake", None, ParquetSink])
def test_what_is_no_sink_is_refused_where_the_dag_is_parsed(given: Any) -> None:
    """The error says what a sink is; the result of a task is looked at when the merge runs."""
    with pytest.raises(OptionsError, match=r"merge: sink must be a Sink of airflow_provider_blockread.options"):
        MergeFilesOperator(task_id="merge", source=FileSource("/in"), sink=given)

    with DAG("merging"):
        first = MergeFilesOperator(task_id="first", source=FileSource("/in"), sink=ParquetSink("/lake"))
        second = MergeFilesOperator(task_id="second", source=FileSource("/in"), sink=first.output)  # type: ignore[arg-type]
    assert second.upstream_task_ids == {"first"}


def test_a_chat_hears_of_a_merge_that_fails(runs: Any, landing: Path, dag_id: str, tmp_path: Path) -> None:
    """The post names the window that the task has planned."""
    with DAG(dag_id) as dag:
        merge = MergeFilesOperator(
            task_id="merge",
            source=FileSource(str(landing)),
            sink=ParquetSink(str(tmp_path / "lake")),
            policies=Policies(max_record_bytes=10),
            spark=SPARK,
        )
    heard: list[str] = []
    merge.on_failure_callback = [lambda context: heard.append(BlockReadNotifier("chat").text(context))]
    (landing / "large").write_bytes(bytes(11))
    runs.start(dag)

    (text,) = heard
    assert text.startswith("Window ")
    assert " has a bad record: nothing of it is published. The log of merge shows it." in text


def test_what_a_task_returned_in_place_of_a_sink(runs: Any, dag_id: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The merge fails for good, and names the option."""

    @task
    def given() -> dict[str, Any]:
        return ParquetSink("/lake").to_json()

    with DAG(dag_id, default_args={"retries": 1, "retry_delay": timedelta()}) as dag:
        MergeFilesOperator(task_id="merge", source=FileSource("/in"), sink=given())  # type: ignore[arg-type]
    run = runs.start(dag)
    assert runs.states(run) == {"given": "success", "merge": "failed"}
    assert run.get_task_instance("merge").try_number == 1, "it is not retried"
    assert "merge: sink must be a Sink of airflow_provider_blockread.options, not a value of" in "".join(
        capfd.readouterr()
    )


def test_a_template_of_what_is_no_option(runs: Any, dag_id: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It is refused when Airflow renders it, before the operator runs, and fails for good."""
    source = FileSource("/in", time_pattern="dt=%Y-%m-%d", time_zone="{{ 'Nowhere' }}")
    with DAG(dag_id, default_args={"retries": 1, "retry_delay": timedelta()}) as dag:
        MergeFilesOperator(task_id="merge", source=source, sink=ParquetSink("/lake"))
    run = runs.start(dag)
    assert runs.states(run) == {"merge": "failed"}
    assert run.get_task_instance("merge").try_number == 1, "it is not retried"
    assert "time_zone 'Nowhere' is not known here" in "".join(capfd.readouterr())
