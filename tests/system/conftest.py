"""A real Airflow on loopback, as `make up` starts it: API server, scheduler with LocalExecutor, DAG processor."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE_S = 240
"""Seconds that anything may take on a busy machine; usually it is a tenth."""


class Airflow:
    """The servers' folder, and their API."""

    def __init__(self, folder: Path, url: str, token: str) -> None:
        """Remember where they are."""
        self.folder = folder
        self._url, self._token = url, token

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Call the REST API and return its answer."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self._url}/api/v2/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def until(self, what: str, found: Callable[[], Any]) -> Any:
        """Return the first answer that is true, asked for again and again."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if answer := found():
                return answer
            time.sleep(0.3)
        pytest.fail(f"waited {PATIENCE_S} s in vain until {what}")

    def start(self, dag_id: str) -> str:
        """Start a manual run and return its id, as soon as the DAG processor has found the DAG."""

        def triggered() -> Any:
            try:
                return self.call("POST", f"dags/{dag_id}/dagRuns", {"logical_date": None})
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                return None

        return str(self.until(f"{dag_id} is known", triggered)["dag_run_id"])

    def finish(self, dag_id: str, run_id: str) -> str:
        """Return how a run ended."""

        def ended() -> str | None:
            state = self.call("GET", f"dags/{dag_id}/dagRuns/{run_id}")["state"]
            return state if state in {"success", "failed"} else None

        return str(self.until(f"{dag_id} {run_id} ends", ended))

    def clear(self, dag_id: str, run_id: str, *tasks: str | list[Any]) -> None:
        """Clear a run's tasks, all of them if none is named."""
        body = {"dry_run": False, "dag_run_id": run_id, "only_failed": False, "reset_dag_runs": True}
        self.call("POST", f"dags/{dag_id}/clearTaskInstances", body | ({"task_ids": list(tasks)} if tasks else {}))

    def tasks(self, dag_id: str, run_id: str) -> dict[str, dict[str, Any]]:
        """Return the task instances of a run; a mapped one is named `task[index]`."""
        found = self.call("GET", f"dags/{dag_id}/dagRuns/{run_id}/taskInstances")["task_instances"]
        return {t["task_id"] + (f"[{t['map_index']}]" if t["map_index"] >= 0 else ""): t for t in found}

    def states(self, dag_id: str, run_id: str) -> dict[str, str]:
        """Return the state of each task."""
        return {name: str(task["state"]) for name, task in self.tasks(dag_id, run_id).items()}

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """Return what a task handed on."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value"
        return self.call("GET", f"{path}?deserialize=true")["value"]


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    """Airflow's servers, for as long as the tests of this folder run."""
    folder = tmp_path_factory.mktemp("system")
    shutil.copytree(HERE / "dags", folder / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    options = ["--port", port, "--home", folder / "home", "--dags", folder / "dags"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    # The import of DAGs on a busy machine takes longer than 5 s, and other tests run beside this one.
    environment = own | {"SYSTEM_FOLDER": str(folder), "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120"}
    process = subprocess.Popen(
        [sys.executable, ROOT / "tools" / "up.py", *options], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        said: list[str] = []
        for line in process.stdout or ():
            said.append(line)
            if line.startswith("Ctrl-C"):
                break
        else:
            pytest.fail(f"Airflow did not start: {''.join(said)}")
        url = f"http://127.0.0.1:{port}"
        (password,) = json.loads(
            (folder / "home" / "simple_auth_manager_passwords.json.generated").read_text()
        ).values()
        login = json.dumps({"username": "admin", "password": password}).encode()
        request = urllib.request.Request(f"{url}/auth/token", login, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            yield Airflow(folder, url, json.loads(answer.read())["access_token"])
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        if process.stdout:
            process.stdout.close()
        psutil.wait_procs(children, timeout=10)
