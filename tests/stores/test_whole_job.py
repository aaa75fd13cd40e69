"""The whole job on an object store: list, plan, read on a cluster's executors, publish and rebuild."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.options import (
    AsRead,
    Csv,
    FileSource,
    FunctionOption,
    ParquetSink,
    Policies,
    SparkJob,
    Splitting,
    Sql,
)
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.runs_here import Runs
from tests.pipeline.cluster import QUICK, Cluster, free_port, standalone
from tests.servers.store import Store
from tests.servers.watching import Sightings, watched

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.system]

HOME = Path(os.environ["AIRFLOW_HOME"])
FILES, ROWS = 4, 2000
SUCCESS = {"csv.plan": "success", "csv.scan": "success", "csv.read[0]": "success", "csv.commit": "success"}


@dataclass(frozen=True)
class Place:
    """The environment of the job: Airflow in this process, and a cluster without store configuration."""

    runs: Runs
    cluster: Cluster
    folder: Path  # where the cluster and the application leave files
    environment: pytest.MonkeyPatch

    def connect(self, store: Store) -> None:
        """Name the connections to a store by the environment, as deployments do."""
        for conn_id in ("LANDING", "LAKE"):
            self.environment.setenv(f"AIRFLOW_CONN_{conn_id}", json.dumps(dict(store.connection)))

    def job(self, ui_port: int) -> SparkJob:
        """Return the job's options: with a UI and event logs."""
        shown = {
            "spark.driver.extraJavaOptions": QUICK,
            "spark.ui.enabled": "true",
            "spark.ui.port": str(ui_port),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{self.folder}",
        }
        return SparkJob(master=self.cluster.master, conf=self.cluster.conf | shown)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def place(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The cluster, and Airflow with a separate database."""
    from airflow.utils.db import upgradedb

    monkeypatch.delenv("PYTHONPATH", raising=False)
    upgradedb()
    return Place(Runs(None), cluster, cluster.folder, monkeypatch)


def rows_of(file: int) -> list[tuple[str, int]]:
    """Return a file's content: names that span lines, and numbers."""
    return [(f'f{file} "row"\n{number}', number) for number in range(ROWS)]


def land(stores: Stores, root: str) -> None:
    """Put files into folders, one bad record in each, and next to them files that are not to be read."""
    for file in range(FILES):
        quoted = ((name.replace('"', '""'), number) for name, number in rows_of(file))
        text = "name,number\n" + "".join(f'"{name}",{number}\n' for name, number in quoted) + f"bad {file},none\n"
        stores.write_bytes_atomic(f"{root}/in/day={file % 2}/part #{file}.csv", text.encode())
    stores.write_bytes_atomic(f"{root}/in/day=0/_SUCCESS", b"")
    stores.write_bytes_atomic(f"{root}/in/day=0/notes.txt", b"not,this\n")


def make_dag(store: Store, root: str, spark: SparkJob, function: FunctionOption = AsRead()) -> DAG:
    """Return the job, which names connections and no keys."""
    with DAG(f"job_on_{store.name}") as dag:
        BlockReadTaskGroup(
            "csv",
            source=FileSource(f"{root}/in", pattern="**/*.csv", conn_id="landing"),
            record_format=Csv(header=True, schema="name string, number long"),
            sink=ParquetSink(f"{root}/out", conn_id="lake"),
            policies=Policies(on_bad_record="quarantine"),
            splitting=Splitting(block_size="16KiB"),
            function=function,
            spark=spark,
        )
    return dag


def published(stores: Stores, root: str) -> list[tuple[str, int]]:
    """Return all rows that a reader of the output finds, sorted."""
    found: list[tuple[str, int]] = []
    for uri, _ in stores.list_names(f"{root}/out"):
        assert uri.endswith(".parquet")
        with stores.open_read(uri) as file:
            found += [(row["name"], row["number"]) for row in pq.read_table(file).to_pylist()]
    return sorted(found)


def all_objects(stores: Stores, root: str) -> dict[str, bytes]:
    """Return the content of every object below a root, by path."""
    store, path = stores.remote(root)
    system = store.system
    system.invalidate_cache()
    return {place: system.cat_file(place) for place in system.find(path)}


def all_files(*folders: Path) -> dict[str, bytes]:
    """Return the content of every file in these folders: databases, logs of executors, events of Spark."""
    return {str(file): file.read_bytes() for folder in folders for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("name", "passes"), [("ceph", 2), ("azurite", 1)])
def test_the_whole_job_on_objects(
    request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str], place: Place, name: str, passes: int
) -> None:
    """Each record is published once, and again after a rebuild; bad records are quarantined; no secret shows."""
    store: Store = request.getfixturevalue(name)
    root, port, runs = store.new_root(), free_port(), place.runs
    stores = store.stores(root)
    land(stores, root)
    place.connect(store)
    dag = make_dag(store, root, place.job(port))
    truth = sorted(row for file in range(FILES) for row in rows_of(file))

    with watched(store.secrets, port, os.getpid()) as seen:
        run = runs.start(dag)
        for _ in range(passes - 1):
            assert (runs.states(run), published(stores, root)) == (SUCCESS, truth)
            run = runs.clear(dag, run)
    result = runs.xcom(run, "csv.commit")
    left = all_objects(stores, root)
    output = capfd.readouterr()

    assert (runs.states(run), published(stores, root)) == (SUCCESS, truth)
    assert (result["generation"], result["proof"]) == (passes, "proven")
    assert (result["records"], result["bad_records"]) == (len(truth) + FILES, FILES)
    assert kept_aside(left) == sorted(f"bad {file},none".encode() for file in range(FILES))
    assert [kind for kind in ("manifest", "receipts", "result") if not any(kind in path for path in left)] == []
    nothing_shows(store, seen, left | all_files(HOME, place.folder), output.out + output.err)


def test_a_query_on_objects(request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str], place: Place) -> None:
    """A query reads records that were staged where Spark's JVM has no credentials, and none are shown to it."""
    store: Store = request.getfixturevalue("ceph")
    root, port, runs = store.new_root(), free_port(), place.runs
    stores = store.stores(root)
    land(stores, root)
    place.connect(store)
    query = Sql("SELECT name, max(number) AS number FROM records WHERE number < 500 GROUP BY name")
    dag = make_dag(store, root, place.job(port), query)

    with watched(store.secrets, port, os.getpid()) as seen:
        run = runs.start(dag)
    result, left = runs.xcom(run, "csv.commit"), all_objects(stores, root)
    output = capfd.readouterr()

    truth = sorted(row for file in range(FILES) for row in rows_of(file)[:500])
    assert (runs.states(run), published(stores, root)) == (SUCCESS, truth)
    assert (result["records"], result["rows"], result["groups"]) == (FILES * (ROWS + 1), len(truth), 1)
    assert [path for path in left if "/records/" in path] == []
    nothing_shows(store, seen, left | all_files(HOME, place.folder), output.out + output.err)


def kept_aside(objects: Mapping[str, bytes]) -> list[bytes]:
    """Return the bytes of the bad records in the quarantine of the last generation, sorted."""
    files = [data for path, data in objects.items() if ".blockread/quarantine/" in path]
    return sorted(value for data in files for value in pq.read_table(io.BytesIO(data))["bytes"].to_pylist())


def nothing_shows(store: Store, seen: Sightings, places: Mapping[str, bytes], output: str) -> None:
    """Check that no secret was visible while the job ran, and that none is in its files."""
    secrets = [secret.encode() for secret in store.secrets]
    assert secrets
    assert seen.found == set()
    assert len(seen.executors) >= 2
    assert "environment/" in seen.pages
    assert [place for place, data in places.items() if any(secret in data for secret in secrets)] == []
    assert not any(secret in output for secret in store.secrets)
