"""The processes of applications, found by the folders in their arguments."""

from __future__ import annotations

import psutil

from tests.system.client import Airflow


def asleep(airflow: Airflow, dag_id: str) -> list[psutil.Process]:
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
