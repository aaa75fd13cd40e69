"""`make demo`: its tasks have logs where Airflow's UI looks for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = """
import json, os, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/dags"]
folder = Path(sys.argv[2])
import demo
demo.settle(folder)
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.listener import get_listener_manager
from tests.airflow.runs_here import Runs
from airflow.utils.db import upgradedb

with DAG("logs", schedule=None) as dag:
    @task
    def says(number):
        print("I am", number)
        os.system("echo a program says so too")
        if number == 2:
            raise AirflowSkipException("nothing to do")
        if number == 3:
            raise ValueError("three is too many")
    says.expand(number=[1, 2, 3])
    @task
    def alone():
        print("I am alone")
    alone()

with (folder / "demo.log").open("ab", buffering=0) as log, demo.noise_to(log):
    upgradedb()
    get_listener_manager().add_listener(demo.TaskLogs(folder / "airflow" / "logs", log))
    run = Runs(None).start(dag)
    from airflow.utils.log.log_reader import TaskLogReader
    from airflow import settings
    from airflow.models.taskinstance import TaskInstance
    session = settings.Session()
    seen = {}
    for ti in session.query(TaskInstance).filter(TaskInstance.run_id == run.run_id):
        lines, _ = TaskLogReader().read_log_chunks(ti, ti.try_number, {})
        seen[f"{ti.task_id} {ti.map_index}"] = [line.event for line in lines]
print(json.dumps(seen))
"""


@pytest.mark.airflow
def test_airflow_finds_the_logs_of_tasks(tmp_path: Path) -> None:
    """Of tasks that succeed, fail or are skipped, with what their programs print; demo.log has it all."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, ROOT, tmp_path], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    seen = {name: "\n".join(lines) for name, lines in json.loads(done.stdout).items()}

    assert "I am alone" in seen["alone -1"]
    for number in (1, 2, 3):
        log = seen[f"says {number - 1}"]
        assert f"I am {number}" in log
        assert "a program says so too" in log
    assert "three is too many" in seen["says 2"]
    whole = (tmp_path / "demo.log").read_text("utf-8")
    assert all(f"I am {who}" in whole for who in ("alone", 1, 2, 3))
