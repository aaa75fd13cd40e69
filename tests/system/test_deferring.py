"""Reads that a real triggerer waits for, while their drivers work as if on a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.system.client import Airflow, lines
from tests.system.processes import asleep, cmdline

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.postgres,
    pytest.mark.system,
    pytest.mark.timeout(900),  # seconds; the first of these tests starts Airflow
]

Processes = list[psutil.Process]


def start(airflow: Airflow, dag_id: str) -> str:
    """Land a file and start a run that reads it."""
    airflow.land(dag_id, a=10)
    return airflow.start(dag_id)


def begin(airflow: Airflow, dag_id: str) -> tuple[str, Processes]:
    """Start a run and return it with its driver's process, once the driver is at work and a trigger polls it."""
    run = start(airflow, dag_id)
    airflow.until_deferred(dag_id, run, "logs.read[0]")
    processes = asleep(airflow, dag_id)
    first = airflow.group(dag_id).heartbeat_at  # Airflow stops no trigger that has not begun
    airflow.until("a trigger polls", lambda: airflow.group(dag_id).heartbeat_at != first)
    return run, processes


def end(airflow: Airflow, processes: Processes) -> None:
    """Wait for the end of processes."""
    airflow.until("the driver has ended", lambda: not any(process.is_running() for process in processes))


def test_a_deferred_read_holds_no_slot(airflow: Airflow) -> None:
    """While the driver works, no task runs; the window is published when it has ended."""
    run, _ = begin(airflow, "deferred")
    pool = airflow.call("GET", "pools/default_pool")
    assert (pool["running_slots"], pool["deferred_slots"]) == (0, 1)

    airflow.fix("deferred")
    assert airflow.finish("deferred", run) == "success"
    assert airflow.attempts("deferred") == ["00000-e1"]
    assert airflow.values("deferred") == lines(a=10)
    assert airflow.tasks("deferred", run)["logs.read[0]"]["try_number"] == 1


@contextmanager
def asleep_triggerer() -> Iterator[None]:
    """Stop the triggerer that the servers started, as a host that hangs, and let it go on at the end."""
    found = [one for one in psutil.process_iter() if cmdline(one)[1:3] and cmdline(one)[-2:-1] == ["triggerer"]]
    family = [one for root in found for one in (root, *root.children(recursive=True))]
    for one in family:
        one.suspend()
    try:
        yield
    finally:
        for one in family:
            one.resume()


@contextmanager
def triggerer(airflow: Airflow, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start one more triggerer; it is killed at the end."""
    program = [Path(sys.executable).with_name("airflow"), "triggerer", "--skip-serve-logs"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            program, env=airflow.environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_another_triggerer_waits_on(airflow: Airflow, tmp_path: Path) -> None:
    """Triggerers that hang or are killed outright leave the application to the next one, under the same epoch."""
    with asleep_triggerer():
        with triggerer(airflow, tmp_path / "second.log") as second:
            run, (driver,) = begin(airflow, "orphaned")
            trigger = f"dags/orphaned/dagRuns/{run}/taskInstances/logs.read/0"
            airflow.until("the second waits", lambda: airflow.call("GET", trigger)["triggerer_job"])
            assert second.poll() is None
        with triggerer(airflow, tmp_path / "third.log"):
            airflow.fix("orphaned")
            assert airflow.finish("orphaned", run) == "success"
    assert airflow.attempts("orphaned") == ["00000-e1"]
    assert airflow.values("orphaned") == lines(a=10)
    end(airflow, [driver])


def test_a_cleared_task_stops_its_driver(airflow: Airflow) -> None:
    """The cleared task reads the group with another application, under a higher epoch."""
    run, processes = begin(airflow, "recleared")
    airflow.clear("recleared", run, ["logs.read", 0])
    end(airflow, processes)
    airflow.until_deferred("recleared", run, "logs.read[0]")
    airflow.fix("recleared")
    assert airflow.finish("recleared", run) == "success"
    assert airflow.attempts("recleared") == ["00000-e2"]
    assert airflow.values("recleared") == lines(a=10)


def test_a_task_marked_as_failed_stops_its_driver(airflow: Airflow) -> None:
    """Nothing is published, and cleared later, the window completes."""
    run, processes = begin(airflow, "marked")
    path = f"dags/marked/dagRuns/{run}/taskInstances/logs.read/0"
    airflow.call("PATCH", path, {"new_state": "failed"})
    end(airflow, processes)
    assert airflow.finish("marked", run) == "failed"
    assert not (airflow.folder / "marked" / "lake").exists()

    airflow.clear("marked", run, ["logs.read", 0], "logs.commit")
    airflow.until_deferred("marked", run, "logs.read[0]")
    airflow.fix("marked")
    assert airflow.finish("marked", run) == "success"
    assert airflow.values("marked") == lines(a=10)


def test_a_wait_that_takes_too_long_stops_the_driver(airflow: Airflow) -> None:
    """Airflow resumes the task to fail it, and asks nobody to stop the application; cleared, it is read again."""
    run = start(airflow, "late")
    processes = asleep(airflow, "late")
    assert airflow.finish("late", run) == "failed"
    end(airflow, processes)

    airflow.clear("late", run, ["logs.read", 0], "logs.commit")
    airflow.until_deferred("late", run, "logs.read[0]")
    airflow.fix("late")
    assert airflow.finish("late", run) == "success"
    assert airflow.attempts("late") == ["00000-e2"]
    assert airflow.values("late") == lines(a=10)


def test_the_driver_of_a_killed_worker_is_adopted(airflow: Airflow) -> None:
    """The worker dies behind the submission, before it can say so; its next try waits for the same application."""
    run = start(airflow, "adopted")
    processes = asleep(airflow, "adopted")
    (submit,) = {one for one in processes if "--on-cluster" not in cmdline(one)}
    (driver,) = {one for one in processes if "--on-cluster" in cmdline(one)}
    os.kill(submit.ppid(), signal.SIGKILL)
    airflow.until_deferred("adopted", run, "logs.read[0]")
    assert driver.is_running()
    airflow.fix("adopted")
    assert airflow.finish("adopted", run) == "success"
    assert airflow.attempts("adopted") == ["00000-e1"]
    assert airflow.values("adopted") == lines(a=10)
    submit.kill()
