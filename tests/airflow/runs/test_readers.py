"""Readers that follow the backlog inside Airflow: chosen by the plan, carried to the applications of the reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.options import FileSource, ParquetSink, SparkJob, Splitting
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]


def _readers_given(tmp_path: Path) -> list[int | None]:
    """Return how many readers each application was given, by group."""
    found = sorted(tmp_path.rglob("job.json"))
    return [json.loads(file.read_text())["readers"] for file in found]


def test_groups_share_what_the_plan_chose(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """A clear reads the same groups with the same readers, though the options ask for others by then."""
    land(a=400, b=400, c=400)
    sink = ParquetSink(str(tmp_path / "lake"))

    def dag(**splitting: float) -> DAG:
        with DAG(dag_id) as made:
            BlockReadTaskGroup(
                "logs",
                source=FileSource(str(landing)),
                sink=sink,
                splitting=Splitting(block_size=512, group_bytes=512, **splitting),
                spark=SparkJob(master="local[1]"),
            )
        return made

    chosen = dag(target_minutes=1e-6, min_readers=2, max_readers=5)
    run = runs.start(chosen)

    assert str(run.state) == "success"
    assert values(tmp_path / "lake") == lines(a=400, b=400, c=400)
    # 9,570 bytes would need 5 readers to be read in 60 us; there are as many groups, of one reader each.
    assert runs.xcom(run, "logs.plan") == [0, 1, 2, 3, 4]
    assert "5 readers" in runs.xcom(run, "logs.plan", "window")["message"]
    assert _readers_given(tmp_path) == [1] * 5

    runs.clear(dag(max_readers=1), run)
    assert _readers_given(tmp_path) == [1] * 10
    assert values(tmp_path / "lake") == lines(a=400, b=400, c=400)
