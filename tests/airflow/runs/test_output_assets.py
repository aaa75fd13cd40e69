"""The asset of an output: its name and group, and the DAGs that follow it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.operators.commit_window import output_asset
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup

pytestmark = pytest.mark.airflow

_PLACES = st.from_regex(r"(s3://|gs://|/)[a-z]{1,2}(/[a-z (]{1,3}){0,2}/?", fullmatch=True)


@given(_PLACES, _PLACES)
def test_names_are_those_of_uris(one: str, other: str) -> None:
    """Two assets have one name only if they have one URI: Airflow would never make the second one active."""
    left, right = (output_asset(ParquetSink(place, work_uri="/elsewhere/else")) for place in (one, other))
    assert left is not None
    assert right is not None

    assert (left.name == right.name) == (left.uri == right.uri)
    assert left.group == "blockread"


def test_a_name_is_for_people() -> None:
    """It is the place, without the marks of a URI; a place that is only known at run time has none."""
    places = ("s3://lake/logs/", "/data/lake", "s3://lake/{{ ds }}")

    assert [(found := output_asset(ParquetSink(place))) and found.name for place in places] == [
        "lake/logs (s3)",
        "/data/lake (file)",
        None,
    ]


@pytest.mark.usefixtures("without_spark")
def test_a_dag_follows_the_output_by_its_uri(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """Its run is queued once the window is published."""
    from airflow import settings
    from airflow.models.asset import AssetDagRunQueue, AssetModel

    lake = tmp_path / "lake"
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=ParquetSink(str(lake)))
    follower = DAG(f"{dag_id}_after", schedule=[Asset.ref(uri=f"file://{lake}")], is_paused_upon_creation=False)
    runs._sync(dag)
    runs._sync(follower)
    land(a=3)
    run = runs.start(dag)
    session = settings.Session()
    queued = session.query(AssetDagRunQueue.target_dag_id).filter(AssetDagRunQueue.target_dag_id == follower.dag_id)
    asset = session.query(AssetModel).filter(AssetModel.uri == f"file://{lake}").one()

    assert str(run.state) == "success"
    assert (asset.name, asset.group) == (f"{lake} (file)", "blockread")
    assert [row[0] for row in queued] == [follower.dag_id]
