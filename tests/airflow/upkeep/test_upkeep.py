"""Windows rebuilt, abandoned and undone from a DAG, by `dag.test()` with Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.base import StepOperator
from airflow_provider_blockread.operators.clean_source import CleanSourceOperator
from airflow_provider_blockread.operators.prune_ledger import PruneLedgerOperator
from airflow_provider_blockread.operators.rebuild_windows import RebuildWindowsOperator, ReprocessFilesOperator, time_of
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.operators.withdraw_window import AbandonWindowOperator, UndoWindowOperator
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import SPARK, lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


@pytest.fixture
def feeding(dag_id: str, landing: Path, lake: Path) -> Callable[[str], DAG]:
    """What makes a DAG that reads the feed of this test into a window of a key."""

    def make(key: str) -> DAG:
        with DAG(f"{dag_id}_feeding") as dag:
            BlockReadTaskGroup(
                "logs",
                source=FileSource(str(landing)),
                sink=ParquetSink(str(lake)),
                spark=SPARK,
                feed=dag_id,
                window=key,
            )
        return dag

    return make


def test_a_dag_rebuilds_reprocesses_and_undoes(
    runs: Any, feeding: Callable[[str], DAG], land: Callable[..., None], dag_id: str, lake: Path
) -> None:
    """A published window is rebuilt as one of a range, one of its files is read again, and it is taken away."""
    land(a=5)
    runs.start(feeding("one"))
    with DAG(dag_id) as dag:
        rebuild = RebuildWindowsOperator(
            task_id="rebuild", feed="{{ dag.dag_id }}", since="2026-01-01T00:00:00Z", first_key="one", spark=SPARK
        )
        some = ReprocessFilesOperator(
            task_id="some", feed="{{ dag.dag_id }}", window="one", path="{{ 'a' }}.log", spark=SPARK
        )
        undo = UndoWindowOperator(task_id="undo", feed="{{ dag.dag_id }}", window="one", files="pending")
        rebuild >> some >> undo
    before = values(lake)
    run = runs.start(dag)
    undone = runs.xcom(run, "undo")

    assert before == lines(a=5)
    assert runs.states(run) == {"rebuild": "success", "some": "success", "undo": "success"}
    for task in ("rebuild", "some"):
        done = runs.xcom(run, task)
        assert (done["windows"], done["records"], len(done["rebuilt"])) == (1, 5, 1)
    assert (undone["key"], undone["files"], undone["files_are"], undone["removed"]) == ("one", 1, "pending", 1)
    assert values(lake) == []


def test_a_plan_is_given_up_by_a_task(
    runs: Any, landing: Path, land: Callable[..., None], dag_id: str, lake: Path
) -> None:
    """What one task planned, another gives back; a retry of it has nothing more to do, an unknown window fails it."""
    land(a=5)
    with DAG(dag_id) as dag:
        plan = SplitFilesOperator(
            task_id="plan", feed=dag_id, window="one", source=FileSource(str(landing)), sink=ParquetSink(str(lake))
        )
        first = AbandonWindowOperator(
            task_id="abandon", feed=dag_id, window="{{ ti.xcom_pull('plan', key='window').key }}"
        )
        again = AbandonWindowOperator(task_id="again", feed=dag_id, window="one")
        plan >> first >> again >> AbandonWindowOperator(task_id="unknown", feed=dag_id, window="two")
    run = runs.start(dag)

    assert runs.states(run) == {"plan": "success", "abandon": "success", "again": "success", "unknown": "failed"}
    assert [runs.xcom(run, task)["files"] for task in ("abandon", "again")] == [1, 0]


def test_times_as_templates_give_them() -> None:
    """A time or its ISO text, aware or taken for UTC; anything else is refused by name."""
    assert str(time_of("2026-11-21")) == "2026-11-21 00:00:00+00:00"
    assert str(time_of(" 2026-11-21T04:00:00+02:00 ")) == "2026-11-21 02:00:00+00:00"
    assert time_of(None) is None
    assert str(time_of(datetime(9999, 12, 31))) == "9999-12-31 00:00:00+00:00"  # noqa: DTZ001 - taken for UTC
    with pytest.raises(OptionsError, match=r"'yesterday' is not a time; write it as"):
        time_of("yesterday")


@pytest.mark.parametrize(
    ("operator", "options", "wanted"),
    [
        (CleanSourceOperator, {"action": "arcive"}, "action must be one of archive, delete, tag, not 'arcive'"),
        (CleanSourceOperator, {"action": "delete", "grace": "7 dais"}, "grace: '7 dais' is not a duration"),
        (PruneLedgerOperator, {"older_than": "90days"}, "older_than: '90days' is not a duration"),
        (PruneLedgerOperator, {"keep": "two"}, "keep: 'two' is not a whole number of windows to keep"),
        (UndoWindowOperator, {"window": "w", "files": "done"}, "files must be one of pending, excluded, not 'done'"),
        (RebuildWindowsOperator, {"since": "yesterday"}, "since: 'yesterday' is not a time"),
        (RebuildWindowsOperator, {"until": "2026-13-01"}, "until: '2026-13-01' is not a time"),
        (ReprocessFilesOperator, {"status": "worse"}, "status must be one of done, bad, quarantined, not 'worse'"),
    ],
)
def test_what_no_task_could_use_is_refused_where_the_dag_is_parsed(
    operator: type[StepOperator], options: dict[str, Any], wanted: str
) -> None:
    """A template in its place is looked at when the task runs."""
    with pytest.raises(OptionsError, match=f"^upkeep: {wanted}"):
        operator(task_id="upkeep", feed="logs", **options)

    name = next(name for name in options if name in wanted)
    assert operator(task_id="upkeep", feed="logs", **options | {name: "{{ params.given }}"}).task_id == "upkeep"
