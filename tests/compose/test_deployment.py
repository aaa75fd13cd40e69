"""The deployment of docker-compose.yml as plain processes, and the example DAG through all of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import psutil
import pyarrow.dataset as ds
import pytest
from pyarrow.fs import FSSpecHandler, PyFileSystem
from s3fs import S3FileSystem

from tests.architecture.tree import ROOT
from tests.compose.database import postgres
from tests.compose.topology import Topology
from tests.servers.all import ceph
from tests.servers.store import Store
from tests.system.client import Airflow
from tools.compose import write_secrets

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.system,
    pytest.mark.timeout(1800),  # seconds: a dozen servers start
]

_PATIENCE_S = 540  # for a run on a machine that has much else to do
_GROUPS = ("log_lines", "events")
_SPARK = ("spark-master", "spark-worker-1", "spark-worker-2", "spark-connect")
_AIRFLOW = ("api-server", "scheduler", "dag-processor", "triggerer")


@dataclass(frozen=True)
class Deployment:
    """What runs: the services, the store's client, and Airflow's API."""

    topology: Topology
    store: Store
    airflow: Airflow

    def rows(self, folder: str) -> int:
        """Return how many rows a reader of an output finds."""
        files = S3FileSystem(**self.store.options)
        return int(ds.dataset(f"lake/{folder}", filesystem=PyFileSystem(FSSpecHandler(files))).count_rows())


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Everything, started in the order of the file's dependencies, each healthy by its own check."""
    folder = tmp_path_factory.mktemp("compose")
    for name in ("home", "conf"):
        (folder / name).mkdir()
    write_secrets(folder / ".env")
    made = dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())
    with ExitStack() as stack:
        store = stack.enter_context(ceph())
        made |= {"S3_ACCESS_KEY": str(store.options["key"]), "S3_SECRET_KEY": str(store.options["secret"])}
        statements = Topology(folder, made, {}).file["configs"]["databases"]["content"]
        places = {
            "s3:9000": str(store.options["endpoint_url"]).removeprefix("http://"),
            "postgres:5432": stack.enter_context(postgres(statements)),
        }
        topology = Topology(folder, made, places)
        topology.run("prepare")
        for names in (_SPARK[:1], _SPARK[1:3], _SPARK[3:] + _AIRFLOW):
            for name in names:
                stack.enter_context(topology.started(name))
            topology.wait(*names)
        url = f"http://{topology.address('api-server', '8080')}"
        yield Deployment(topology, store, Airflow(folder, url, topology.variables("scheduler")))


def test_all_services_are_started(deployment: Deployment) -> None:
    """No service of this project in the file is left out here; none listens on other interfaces than loopback."""
    ours = psutil.Process().children(recursive=True)
    heard = {c.laddr.ip for p in ours for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}

    assert {"prepare", *_SPARK, *_AIRFLOW} == set(deployment.topology.services())
    assert {address.removeprefix("::ffff:") for address in heard} == {"127.0.0.1"}


def test_the_example_dag_runs_through_all_of_it(deployment: Deployment) -> None:
    """Both groups publish each record once into the other bucket; a second run finds nothing new.

    The API server shows what tasks log where the scheduler runs.
    """
    sys.path.insert(0, str(ROOT / "dags"))
    import demo_data

    sys.path.pop(0)
    airflow = deployment.airflow
    airflow.unpause("blockread_s3")
    first = airflow.start("blockread_s3")

    assert airflow.finish("blockread_s3", first, _PATIENCE_S) == "success", airflow.states("blockread_s3", first)
    assert deployment.rows("logs") == sum(demo_data.log_file(n).count(b"\n") + 1 for n in range(2))
    assert deployment.rows("events") == sum(demo_data.event_file(n).count(b"\n") for n in range(2))

    assert "2 new" in airflow.log("blockread_s3", first, "log_lines.plan")
    second = airflow.start("blockread_s3")
    assert airflow.finish("blockread_s3", second, _PATIENCE_S) == "success"
    assert [airflow.states("blockread_s3", second)[f"{group}.commit"] for group in _GROUPS] == ["skipped"] * 2


def test_no_secret_of_airflow_reaches_spark(deployment: Deployment) -> None:
    """Neither the passwords of databases nor Airflow's keys are known to the services of Spark."""
    secrets = {value for name, value in deployment.topology.secrets.items() if "SPARK" not in name}
    for name in _SPARK:
        log = (deployment.topology.folder / f"{name}.log").read_text("utf-8", "replace")
        said = log + str(deployment.topology.file["services"][name])
        assert not [secret for secret in secrets if secret in said], name
