"""The DAG under a real scheduler, where tasks are processes of their own that cannot reach Airflow's database."""

from __future__ import annotations

import os
import signal

import pytest

from tests.system.client import Airflow, lines
from tests.system.processes import asleep

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.system,
    pytest.mark.timeout(600),  # seconds; the first of these tests starts Airflow
]

EMPTY = {"logs.plan": "success", "logs.read": "skipped", "logs.commit": "skipped"}


def test_first_run_empty_run_and_a_cleared_one(airflow: Airflow) -> None:
    """A run publishes what has landed, the next finds nothing, and clearing the first rebuilds just its window."""
    airflow.land("plain", a=100)
    first = airflow.start("plain")
    assert airflow.finish("plain", first) == "success"
    assert airflow.values("plain") == lines(a=100)
    assert airflow.xcom("plain", first, "logs.commit")["records"] == 100
    assert airflow.tasks("plain", first)["logs.read[0]"]["rendered_map_index"].startswith("group 0: 1 file")

    second = airflow.start("plain")
    assert airflow.finish("plain", second) == "success"
    assert airflow.states("plain", second) == EMPTY

    airflow.land("plain", b=100)
    airflow.clear("plain", first)
    assert airflow.finish("plain", first) == "success"
    assert airflow.xcom("plain", first, "logs.commit")["generation"] == 2
    assert airflow.values("plain") == lines(a=100)

    airflow.clear("plain", second)
    assert airflow.finish("plain", second) == "success"
    assert airflow.values("plain") == lines(a=100, b=100)


def test_a_function_in_the_file_of_the_dag(airflow: Airflow) -> None:
    """Each task parses the file again and finds the text that was planned; so does a clear."""
    airflow.land("decorated", a=12, b=2)
    run = airflow.start("decorated")
    assert airflow.finish("decorated", run) == "success"
    assert airflow.values("decorated") == ["a 1", "a 11", "b 1"]
    assert airflow.attempts("decorated") == ["00000-e1", "00001-e1"]

    airflow.clear("decorated", run, ["logs.read", 1], "logs.commit")
    assert airflow.finish("decorated", run) == "success"
    airflow.clear("decorated", run)
    assert airflow.finish("decorated", run) == "success"
    assert airflow.xcom("decorated", run, "logs.commit")["generation"] == 2
    assert airflow.values("decorated") == ["a 1", "a 11", "b 1"]


def test_one_group_is_cleared(airflow: Airflow) -> None:
    """A failed group holds the window back; cleared alone, it is read again and the other one is not."""
    airflow.land("fixed", a=10, b=10)
    run = airflow.start("fixed")
    assert airflow.finish("fixed", run) == "failed"
    assert airflow.states("fixed", run) == {
        "logs.plan": "success",
        "logs.read[0]": "success",
        "logs.read[1]": "failed",
        "logs.commit": "upstream_failed",
    }
    assert not (airflow.folder / "fixed" / "lake").exists()
    assert airflow.tasks("fixed", run)["logs.read[1]"]["rendered_map_index"] == "group 1: 1 file, 40 B, b.log"

    airflow.fix("fixed")
    airflow.clear("fixed", run, ["logs.read", 1], "logs.commit")
    assert airflow.finish("fixed", run) == "success"
    assert airflow.attempts("fixed") == ["00000-e1", "00001-e2"]
    assert airflow.values("fixed") == lines(a=10, b=10)


def test_a_stopped_task_stops_its_application(airflow: Airflow) -> None:
    """Marking a running read as failed ends its Spark application, and its task in time; cleared, it completes."""
    airflow.land("stopped", a=10)
    run = airflow.start("stopped")
    processes = asleep(airflow, "stopped")
    read = airflow.tasks("stopped", run)["logs.read[0]"]
    assert (read["state"], read["rendered_map_index"]) == ("running", "group 0: 1 file, 40 B, a.log")
    path = f"dags/stopped/dagRuns/{run}/taskInstances/logs.read/0"
    airflow.call("PATCH", path, {"new_state": "failed"})
    airflow.until("Spark is gone", lambda: not any(process.is_running() for process in processes))
    assert airflow.finish("stopped", run) == "failed"
    airflow.until("the task has said so, before Airflow kills it", lambda: airflow.group("stopped").state == "failed")

    airflow.fix("stopped")
    airflow.clear("stopped", run, ["logs.read", 0], "logs.commit")
    assert airflow.finish("stopped", run) == "success"
    assert airflow.values("stopped") == lines(a=10)


def test_an_application_does_not_outlive_its_task(airflow: Airflow) -> None:
    """A task process that is killed outright reports nothing; its driver sees that it is gone."""
    airflow.land("slain", a=10)
    run = airflow.start("slain")
    processes = asleep(airflow, "slain")
    submit = next(process for process in processes if "org.apache.spark.deploy.SparkSubmit" in process.cmdline())
    os.kill(submit.ppid(), signal.SIGKILL)
    airflow.until("Spark is gone", lambda: not any(process.is_running() for process in processes))

    assert airflow.finish("slain", run) == "failed"


def test_an_application_that_outlives_its_task_is_fenced(airflow: Airflow) -> None:
    """The next try begins while the killed one's driver still reads; what that one leaves then is not published."""
    airflow.land("outlived", a=10)
    run = airflow.start("outlived")
    (driver,) = asleep(airflow, "outlived")
    os.kill(driver.ppid(), signal.SIGKILL)
    assert airflow.finish("outlived", run) == "success"
    assert driver.is_running()
    assert airflow.attempts("outlived") == ["00000-e2"]
    names = airflow.files("outlived")

    airflow.fix("outlived")
    airflow.until("the driver ends", lambda: not driver.is_running())
    results = {path.parent.name for path in (airflow.folder / "outlived").rglob("result.json")}
    assert results == {"00000-e1", "00000-e2"}
    assert airflow.files("outlived") == names
    assert airflow.values("outlived") == lines(a=10)


def test_runs_and_groups_at_once_on_one_feed(airflow: Airflow) -> None:
    """Two runs of two task groups plan one feed's files at the same time: each file is read by one of them."""
    files = {f"f{number}": 2 for number in range(6)}
    airflow.land("shared", **files)
    runs = [airflow.start("shared") for _ in range(2)]
    assert [airflow.finish("shared", run) for run in runs] == ["success", "success"]
    counts = [
        airflow.xcom("shared", run, f"{side}.plan", "window")["files"] for run in runs for side in ("left", "right")
    ]
    assert sorted(counts) == [0, 2, 2, 2]
    assert airflow.values("shared") == lines(**files)
