"""The DAG under a real scheduler, where tasks are processes of their own that cannot reach Airflow's database."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.system,
    pytest.mark.timeout(600),  # seconds; the first of these tests starts Airflow
]

EMPTY = {"logs.plan": "success", "logs.read": "skipped", "logs.commit": "skipped"}


@pytest.fixture
def land(airflow: Any) -> Callable[..., None]:
    """What puts files of lines into a DAG's landing folder: by name, how many lines each."""

    def put(dag_id: str, **lines: int) -> None:
        folder = airflow.folder / dag_id / "landing"
        folder.mkdir(parents=True, exist_ok=True)
        for name, count in lines.items():
            (folder / f"{name}.log").write_text("".join(f"{name} {number}\n" for number in range(count)))

    return put


def values(folder: Path) -> list[str]:
    """Return all that is published, sorted."""
    files = (folder / "lake").glob("*.parquet")
    return sorted(value for path in files for value in pq.read_table(path).column("value").to_pylist())


def attempts(folder: Path) -> list[str]:
    """Return whose files are published: groups with the epoch of the attempt that read them."""
    return sorted(path.name.split("-t")[0][-8:] for path in (folder / "lake").glob("*.parquet"))


def lines(**counts: int) -> list[str]:
    """Return the lines of the files that `land` makes, sorted."""
    return sorted(f"{name} {number}" for name, count in counts.items() for number in range(count))


def test_first_run_empty_run_and_a_cleared_one(airflow: Any, land: Callable[..., None]) -> None:
    """A run publishes what has landed, the next finds nothing, and clearing the first rebuilds just its window."""
    land("plain", a=100)
    first = airflow.start("plain")
    assert airflow.finish("plain", first) == "success"
    assert values(airflow.folder / "plain") == lines(a=100)
    assert airflow.xcom("plain", first, "logs.commit")["records"] == 100
    assert airflow.tasks("plain", first)["logs.read[0]"]["rendered_map_index"].startswith("group 0: 1 file")

    second = airflow.start("plain")
    assert airflow.finish("plain", second) == "success"
    assert airflow.states("plain", second) == EMPTY

    land("plain", b=100)
    airflow.clear("plain", first)
    assert airflow.finish("plain", first) == "success"
    assert airflow.xcom("plain", first, "logs.commit")["generation"] == 2
    assert values(airflow.folder / "plain") == lines(a=100)

    airflow.clear("plain", second)
    assert airflow.finish("plain", second) == "success"
    assert values(airflow.folder / "plain") == lines(a=100, b=100)


def test_one_group_is_cleared(airflow: Any, land: Callable[..., None]) -> None:
    """A failed group holds the window back; cleared alone, it is read again and the other one is not."""
    land("mended", a=10, b=10)
    run = airflow.start("mended")
    assert airflow.finish("mended", run) == "failed"
    assert airflow.states("mended", run) == {
        "logs.plan": "success",
        "logs.read[0]": "success",
        "logs.read[1]": "failed",
        "logs.commit": "upstream_failed",
    }
    assert not (airflow.folder / "mended" / "lake").exists()

    (airflow.folder / "mended" / "mended").touch()
    airflow.clear("mended", run, ["logs.read", 1], "logs.commit")
    assert airflow.finish("mended", run) == "success"
    assert attempts(airflow.folder / "mended") == ["00000-e1", "00001-e2"]
    assert values(airflow.folder / "mended") == lines(a=10, b=10)


def test_a_stopped_task_stops_its_application(airflow: Any, land: Callable[..., None]) -> None:
    """Marking a running read as failed ends its Spark application; cleared, the window completes."""
    land("stopped", a=10)
    run = airflow.start("stopped")
    processes = asleep(airflow, "stopped")
    path = f"dags/stopped/dagRuns/{run}/taskInstances/logs.read/0"
    airflow.call("PATCH", path, {"new_state": "failed"})
    airflow.until("Spark is gone", lambda: not any(process.is_running() for process in processes))
    assert airflow.finish("stopped", run) == "failed"

    (airflow.folder / "stopped" / "mended").touch()
    airflow.clear("stopped", run, ["logs.read", 0], "logs.commit")
    assert airflow.finish("stopped", run) == "success"
    assert values(airflow.folder / "stopped") == lines(a=10)


def test_an_application_does_not_outlive_its_task(airflow: Any, land: Callable[..., None]) -> None:
    """A task process that is killed outright can tell nobody; its driver sees that it is gone."""
    land("slain", a=10)
    run = airflow.start("slain")
    processes = asleep(airflow, "slain")
    submit = next(process for process in processes if "org.apache.spark.deploy.SparkSubmit" in process.cmdline())
    os.kill(submit.ppid(), signal.SIGKILL)
    airflow.until("Spark is gone", lambda: not any(process.is_running() for process in processes))

    assert airflow.finish("slain", run) == "failed"


def asleep(airflow: Any, dag_id: str) -> list[psutil.Process]:
    """Return the processes of a DAG's Spark application, once its read has begun."""
    airflow.until(f"{dag_id} reads", (airflow.folder / dag_id / "asleep").exists)
    mark = f"{airflow.folder}/{dag_id}/"
    found = [process for process in psutil.process_iter() if any(mark in part for part in cmdline(process))]
    return [*found, *(child for process in found for child in process.children(recursive=True))]


def cmdline(process: psutil.Process) -> list[str]:
    """Return a process's arguments, none when it is gone."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []
