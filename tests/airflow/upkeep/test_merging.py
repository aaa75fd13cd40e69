"""Small files merged from a DAG, by `dag.test()` with Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.operators.merge_files import MergeFilesOperator
from airflow_provider_blockread.options import FileSource, ParquetSink
from tests.airflow.published import SPARK

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def test_a_task_merges_new_files_once(
    runs: Any, landing: Path, land: Callable[..., None], dag_id: str, tmp_path: Path
) -> None:
    """The first run merges what has landed, the next one what is new, and one without new files is skipped."""
    lake = tmp_path / "lake"
    with DAG(dag_id) as dag:
        MergeFilesOperator(
            task_id="merge", source=FileSource(str(landing)), sink=ParquetSink("{{ '" + str(lake) + "' }}"), spark=SPARK
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
        {"merge": s} for s in ("success", "success", "skipped")
    ]
    assert len(rows) == len(expected)
    assert {row["_file"]: row["value"] for row in rows} == expected
