"""A deferred read by the real application, which Spark runs detached."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.signs import read_sign, write_stop
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import FileSource, ParquetSink, SparkJob
from airflow_provider_blockread.storage.stores import Stores
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.deferring.detaching import install
from tests.airflow.published import SUCCESS, lines, values
from tests.airflow.without_spark import CLUSTER

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

CONF = {"spark.ui.enabled": "false", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
JOB = SparkJob(conn_id="cluster", heartbeat_s=0.5, conf=CONF)


@pytest.fixture(autouse=True)
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that is this machine."""
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(CLUSTER))
    install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))


def test_a_deferred_read_on_spark(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """The driver leaves its result in the work area, and nothing but that, and signs of life."""
    land(a=100)
    with DAG(dag_id) as dag:
        source, sink = FileSource(str(landing)), ParquetSink(str(tmp_path / "lake"))
        BlockReadTaskGroup("logs", source=source, sink=sink, spark=JOB, deferrable=True)
    run = runs.start(dag)
    (attempt,) = (path.parent for path in tmp_path.rglob("result.json"))

    assert runs.states(run) == SUCCESS
    assert values(tmp_path / "lake") == lines(a=100)
    assert (attempt / "alive.txt").exists()
    assert not (attempt / "stop.json").exists()


def test_a_driver_ends_at_a_stop_file(tmp_path: Path) -> None:
    """It finds one for its own submission within seconds, and Spark ends with it."""
    folder = tmp_path / "job"
    folder.mkdir()
    submission = Submission(spec_uri=f"file://{folder}/job.json", spec_hash="00ff")
    stores = Stores()
    write_stop(stores, submission, "the test says so")
    SparkSubmitter(JOB).start(submission, name="stopped-app")
    deadline = time.monotonic() + 120
    while running(folder) and time.monotonic() < deadline:
        time.sleep(0.2)
    (log,) = tmp_path.rglob("log")

    assert running(folder) == []
    assert "blockread: stopped: the test says so" in log.read_text()
    assert read_sign(stores, submission) == ""
    assert not (folder / "error.json").exists()


def running(folder: Path) -> list[psutil.Process]:
    """Return the processes whose arguments name a folder."""
    return [one for one in psutil.process_iter(["cmdline"]) if any(str(folder) in p for p in one.info["cmdline"] or ())]
