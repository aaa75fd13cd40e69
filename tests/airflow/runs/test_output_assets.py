"""The asset of an output: its name and group, and the DAGs that follow it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, AssetAlias
from airflow.sdk.definitions.timetables.assets import PartitionedAtRuntime

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.publishing import output_asset
from airflow_provider_blockread.options import DeltaSink, FileSource, IcebergSink, ParquetSink, PostgresSink, SparkJob
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.postgres import own_postgres

pytestmark = pytest.mark.airflow


def test_a_place_that_is_only_known_at_run_time() -> None:
    """It has no asset; any other place has one in the group of this package."""
    found = [
        output_asset(ParquetSink(place)) for place in ("s3://lake/logs/", "/data/lake/", "/a?b#c", "s3://lake/{{ ds }}")
    ]

    assert [(one.uri, one.name, one.group) if one else None for one in found] == [
        ("s3://lake/logs", "s3://lake/logs", "blockread"),
        ("file:///data/lake", "file:///data/lake", "blockread"),
        ("file:///a%3Fb%23c", "file:///a%3Fb%23c", "blockread"),
        None,
    ]


@pytest.mark.parametrize(
    "place", ["s3://lake/a?x=2&b=1", "s3://lake/a#b", "S3://lake/a/", "memory://lake", "s3://lake/"]
)
def test_an_asset_is_its_output_and_has_one_name(place: str) -> None:
    """Nothing in a place is a query or a fragment, and the URI is as Airflow writes it."""
    asset = output_asset(ParquetSink(place))

    assert isinstance(asset, Asset)
    assert asset.name == asset.uri
    assert asset.uri.rstrip("/").lower() == place.replace("?", "%3F").replace("#", "%23").rstrip("/").lower()


def test_tables_are_named_as_elsewhere_in_airflow() -> None:
    """PostgreSQL's provider accepts its URIs; a database that only a connection knows is named when the task runs."""
    postgres = PostgresSink("public.events", work_uri="/w", postgres_conn_id="shop")
    found = [
        output_asset(sink)
        for sink in (
            DeltaSink("s3://lake/events"),
            IcebergSink("db.events", catalog="lake", work_uri="/w"),
            replace(postgres, url="postgresql://loader@db.example.com/shop?sslmode=require"),
            replace(postgres, url="postgresql://loader@db.example.com"),
            postgres,
        )
    ]

    assert [one.uri if isinstance(one, Asset) else one.name for one in found if one] == [
        "s3://lake/events",
        "iceberg://lake/db.events",
        "postgres://db.example.com:5432/shop/public/events",
        "postgres://db.example.com:5432/loader/public/events",
        "postgres://shop/public/events",
    ]
    assert isinstance(found[-1], AssetAlias)
    assert sum(isinstance(one, AssetAlias) for one in found) == 1


def test_a_place_that_no_asset_can_have_is_refused_where_the_dag_is_parsed() -> None:
    """The error names the place, Airflow's reason, and what to do."""
    with pytest.raises(OptionsError, match=r"s3://lake/x+: .*exceed 1500 characters.*; choose another place"):
        output_asset(ParquetSink(f"s3://lake/{'x' * 1500}"))

    assert output_asset(ParquetSink("s3://lake/x")) is not None


@pytest.mark.usefixtures("without_spark")
def test_a_place_that_no_asset_can_have_is_published_to(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """An output whose place is known only at run time has no asset, so nothing hinders it."""
    lake = tmp_path / "/".join(["x" * 200] * 8)
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=ParquetSink(f"{{{{ '{lake}' }}}}"))
    land(a=3)
    run = runs.start(dag)

    assert str(run.state) == "success"
    assert len(list(lake.glob("*.parquet"))) == 1


@pytest.mark.usefixtures("without_spark")
def test_a_table_in_the_database_of_a_connection(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its asset has the server's and the database's name, and no more of what the connection holds."""
    connection = {"conn_type": "postgres", "host": "db", "extra": {"uri": own_postgres()}}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(connection))
    sink = PostgresSink("public.of_a_connection", work_uri=str(tmp_path / "work"), postgres_conn_id="shop")
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=sink)
    land(a=3)
    run = runs.start(dag)

    assert str(run.state) == "success"
    (event,) = runs.asset_events("postgres://localhost:5432/postgres/public/of_a_connection")
    assert (event["rows"], event["files"]) == (3, 1)


@pytest.mark.usefixtures("without_spark")
def test_an_output_that_changes_while_a_run_goes_on(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """Records go where the plan says, so the new output has no event until the run is cleared from its plan on."""

    def make(name: str, spark: SparkJob) -> DAG:
        with DAG(dag_id) as dag:
            sink = ParquetSink(str(tmp_path / name))
            BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=sink, spark=spark)
        return dag

    land(a=3)
    run = runs.start(make("old", SparkJob(conn_id="unknown")))
    new = make("new", SparkJob())
    run = runs.clear(new, run, [("logs.read", 0), "logs.commit"])
    assert str(run.state) == "success"
    assert len(list((tmp_path / "old").glob("*.parquet"))) == 1
    assert runs.asset_events(f"file://{tmp_path}/new") == []

    runs.clear(new, run)
    assert [event["rows"] for event in runs.asset_events(f"file://{tmp_path}/new")] == [3]
    assert list((tmp_path / "old").glob("*.parquet")) == []


@pytest.mark.usefixtures("without_spark")
def test_a_partitioned_asset_gets_its_key(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """Of a DAG that names partitions when it runs, it is the window's; the event has the summary all the same."""
    from airflow import settings
    from airflow.models.asset import AssetEvent

    with DAG(dag_id, schedule=PartitionedAtRuntime()) as dag:
        lake = ParquetSink(str(tmp_path / "lake"))
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=lake, window="2026-01-01")
    land(a=3)
    run = runs.start(dag)
    events = settings.Session().query(AssetEvent).filter(AssetEvent.source_dag_id == dag_id).all()

    assert str(run.state) == "success"
    assert [(event.partition_key, event.extra["rows"]) for event in events] == [("2026-01-01", 3)]


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
