"""`make demo`: what it shows of its output, and logs of its tasks where Airflow's UI looks for them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet
from rich.console import Console

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


def test_rows_of_a_table_and_of_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars reads both; of the table it reads what the newest version holds."""
    monkeypatch.syspath_prepend(ROOT / "dags")
    import demo

    (tmp_path / "logs").mkdir()
    parquet.write_table(pa.table({"value": ["a line"]}), tmp_path / "logs" / "part-1.parquet")
    for mode in ("append", "overwrite"):
        write_deltalake(tmp_path / "events", pa.table({"id": [7], "day": [mode]}), mode=mode, partition_by=["day"])
    shown = io.StringIO()
    done = {"window": {}, "published": {"records": 1}, "state": "success", "task_s": 1.0}
    outcomes = [demo.Outcome(group=group, **done) for group in ("log_lines", "events", "reports")]
    demo.show_rows(Console(file=shown, width=120), tmp_path, outcomes)

    text = " ".join(shown.getvalue().split())
    assert all(found in text for found in ("lake/logs: 1 rows", "a Delta table that polars reads: 1 rows", "a line"))
    assert ("overwrite" in text, "append" in text, "reports" in text) == (True, False, False)
