"""The asset of an output: its name and group, and the DAGs that follow it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset

from airflow_provider_blockread.operators.commit_window import output_asset
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup

pytestmark = pytest.mark.airflow


def test_a_place_that_is_only_known_at_run_time() -> None:
    """It has no asset; any other place has one in the group of this package."""
    found = [output_asset(ParquetSink(place)) for place in ("s3://lake/logs/", "/data/lake", "s3://lake/{{ ds }}")]

    assert [(one.uri, one.group) if one else None for one in found] == [
        ("s3://lake/logs", "blockread"),
        ("file:///data/lake", "blockread"),
        None,
    ]


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("by", ["uri", "reference"])
def test_a_dag_follows_the_output_by_its_uri(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path, by: str
) -> None:
    """Its run is queued once the window is published, whichever of the two DAGs Airflow knew first."""
    from airflow import settings
    from airflow.models.asset import AssetDagRunQueue

    lake = tmp_path / "lake"
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=ParquetSink(str(lake)))
    asset = Asset(f"file://{lake}") if by == "uri" else Asset.ref(uri=f"file://{lake}")
    follower = DAG(f"{dag_id}_after", schedule=[asset], is_paused_upon_creation=False)
    for one in (follower, dag) if by == "uri" else (dag, follower):
        runs._sync(one)
    land(a=3)
    run = runs.start(dag)
    session = settings.Session()
    queued = session.query(AssetDagRunQueue.target_dag_id).filter(AssetDagRunQueue.target_dag_id == follower.dag_id)

    assert str(run.state) == "success"
    assert [row[0] for row in queued] == [follower.dag_id]
