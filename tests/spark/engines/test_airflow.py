"""Spark Connect by Airflow's connections: a whole DAG, and what is read of a connection."""

from __future__ import annotations

import json
import traceback
from pathlib import Path

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.connect import ConnectSubmitter, connect_server, make_submitter
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource, ParquetSink, SparkJob
from airflow_provider_blockread.spark.engines.session import Server, client_of
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import SUCCESS, values
from tests.airflow.runs_here import Runs
from tests.spark.engines.server import ConnectServer

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"),  # Airflow's dependencies warn
]

_TOKEN = "sesame/open=;"  # noqa: S105 - of this test


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection of type spark_connect."""
    fields = {"conn_type": "spark_connect", "host": "spark", "port": 15002, "login": "ann", "password": _TOKEN}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(fields | {"extra": {"use_ssl": True}}))


@pytest.mark.usefixtures("connection")
def test_a_connection_is_a_server() -> None:
    """With user, token and TLS; what is printed of it is the address alone."""
    job = SparkJob(conn_id="lake")
    found = connect_server(job)
    assert found is not None
    made = make_submitter(job, {}, Observer())

    assert found.url == "sc://spark:15002/;user_id=ann;token=sesame%2Fopen%3D%3B;use_ssl=True"
    assert (str(found), found.is_encrypted) == ("spark:15002", True)
    assert _TOKEN not in repr(found)
    assert isinstance(made, ConnectSubmitter)
    assert made.keeps_secrets


def test_a_remote_is_a_server() -> None:
    """Without a connection; any other job goes to spark-submit."""
    assert str(connect_server(SparkJob(remote="sc://spark:15002"))) == "spark:15002"
    assert isinstance(make_submitter(SparkJob(master="local[1]"), {}, Observer()), SparkSubmitter)
    assert isinstance(make_submitter(SparkJob(), {}, Observer()), SparkSubmitter)


def test_a_connection_without_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host and port given, as the message says, it is a server."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "spark_connect"}))
    with pytest.raises(OptionsError, match="'lake' names no Spark Connect server; give it a host and a port"):
        connect_server(SparkJob(conn_id="lake"))
    fields = {"conn_type": "spark_connect", "host": "spark", "port": 15002}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(fields))

    assert str(connect_server(SparkJob(conn_id="lake"))) == "spark:15002"


@pytest.mark.parametrize("token", ["ab/cd+ef==", "a;user_id=b", "50%"])
def test_any_token_reaches_the_server(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in no part of the address that an error would show."""
    fields = {"conn_type": "spark_connect", "host": "spark", "port": 15002, "login": "me@lake", "password": token}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(fields | {"extra": {"use_ssl": True}}))
    server = connect_server(SparkJob(conn_id="lake"))
    assert server is not None
    from pyspark.sql.connect.client import DefaultChannelBuilder

    builder = DefaultChannelBuilder(server.url)

    assert (builder.token, builder.userId, builder.secure) == (token, "me@lake", True)
    assert (str(server), server.is_encrypted) == ("spark:15002", True)


def test_an_address_that_is_none_is_not_shown() -> None:
    """PySpark's own message repeats it, token and all."""
    server = Server("sc://spark:15002/path/;token=hush")
    with pytest.raises(OptionsError) as raised:
        client_of(server, "0")

    assert "hush" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.spark
def test_a_dag(server: ConnectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its read runs on the server of the connection, with its token."""
    from airflow.utils.db import upgradedb

    upgradedb()
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.log").write_text("a 0\na 1\n")
    with DAG("over_connect") as dag:
        source, sink = FileSource(str(tmp_path / "landing")), ParquetSink(str(tmp_path / "lake"))
        BlockReadTaskGroup("logs", source=source, sink=sink, spark=SparkJob(conn_id="lake"))
    fields = {"conn_type": "spark_connect", "host": "localhost", "port": server.port, "password": server.token}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(fields))
    run = Runs(None).start(dag)

    assert Runs(None).states(run) == SUCCESS
    assert values(tmp_path / "lake") == ["a 0", "a 1"]
