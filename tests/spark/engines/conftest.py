"""Every engine, and one Spark Connect server for all tests of this folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.bundle import write_bundle
from airflow_provider_blockread.spark.engines.connect import ConnectEngine
from airflow_provider_blockread.spark.engines.context import submitted_context
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine
from airflow_provider_blockread.spark.engines.protocol import Engine
from airflow_provider_blockread.spark.engines.rdd import RddEngine
from airflow_provider_blockread.spark.engines.session import connect, equip, release
from airflow_provider_blockread.spark.remote import RemoteSpark
from tests.pipeline.make import Pipe
from tests.spark.engines import engine_tasks
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer, connect_server
from tests.spark.prepared import PREPARED


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server."""
    folder = tmp_path_factory.mktemp("connect")
    with connect_server(folder, BLOCKREAD_TEST_MARKS=str(folder)) as running:
        yield running


@pytest.fixture(scope="session")
def connect_engine(server: ConnectServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectEngine]:
    """An engine in a session of the server."""
    from pyspark import cloudpickle

    session = connect(server.server, str(uuid.uuid4()))
    equip(session, server.server, {}, [write_bundle(str(tmp_path_factory.mktemp("bundle")))])
    cloudpickle.register_pickle_by_value(engine_tasks)  # type: ignore[no-untyped-call]
    yield ConnectEngine(session, "tests")
    cloudpickle.unregister_pickle_by_value(engine_tasks)  # type: ignore[no-untyped-call]
    release(session)


@pytest.fixture(scope="session")
def rdd_engine() -> Iterator[RddEngine]:
    """Spark on two cores: in this process, or that of the application whose driver it is."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started this process
        context = submitted_context(has_secrets=True)
        yield RddEngine(context)
        context.stop()
    else:
        with InProcessSpark("local[2,4]", PREPARED) as submitter:
            yield submitter._started()


@pytest.fixture(params=["in process", *(pytest.param(name, marks=pytest.mark.spark) for name in ("rdd", "connect"))])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine."""
    if request.param == "in process":
        return InProcessEngine(cores=2, failures=4)
    if request.param == "connect":
        connected: ConnectEngine = request.getfixturevalue("connect_engine")
        return connected
    rdd: RddEngine = request.getfixturevalue("rdd_engine")
    return rdd


@pytest.fixture
def remote(server: ConnectServer) -> Iterator[RemoteSpark]:
    """A client of the server."""
    with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as submitter:
        yield submitter


@pytest.fixture
def pipe(tmp_path: Path, remote: RemoteSpark) -> Iterator[Pipe]:
    """A source, an output and a ledger of this test's own; jobs run on the server."""
    made = Pipe(folder=tmp_path, submitter=remote)
    yield made
    made.close()
