"""Published files archived by a task, by `dag.test()`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.operators.clean_source import CleanSourceOperator
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import SPARK, lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]


def test_a_dag_cleans_up_behind_itself(
    runs: Any, landing: Path, land: Callable[..., None], dag_id: str, tmp_path: Path
) -> None:
    """What a run has published is archived at its end; the next run takes what is new, and a clear is refused."""
    lake, kept = tmp_path / "lake", tmp_path / "kept"
    land(a=2)
    source = FileSource(str(landing))
    options = {"source": source, "feed": dag_id, "action": "archive", "archive": f"{tmp_path}/{{{{ 'kept' }}}}"}
    with DAG(dag_id) as dag:
        logs = BlockReadTaskGroup("logs", source=source, sink=ParquetSink(str(lake)), spark=SPARK, feed=dag_id)
        preview = CleanSourceOperator(task_id="preview", grace="{{ 0 }}", dry_run=True, **options)
        clean = CleanSourceOperator(task_id="clean", grace=0, **options)
        nowhere = CleanSourceOperator(task_id="nowhere", **options | {"archive": str(landing / "kept")})
        logs >> preview >> clean >> nowhere
    first = runs.start(dag)

    assert runs.xcom(first, "preview")["files"] == 1
    assert (runs.xcom(first, "clean")["files"], runs.xcom(first, "clean")["left"]) == (1, {})
    assert runs.states(first)["nowhere"] == "failed"
    assert ([path.name for path in kept.iterdir()], list(landing.iterdir())) == (["a.log"], [])

    land(b=3)
    runs.start(dag)
    assert values(lake) == lines(a=2, b=3)
    assert sorted(path.name for path in kept.iterdir()) == ["a.log", "b.log"]
    runs.clear(dag, first, ["logs.plan"])
    assert str(first.get_task_instance("logs.plan").state) == "failed"
    assert values(lake) == lines(a=2, b=3)
