"""What tests ask of a real Airflow, by its REST API and its command line."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import URL

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import list_groups

PATIENCE_S = 240
"""Seconds that anything may take on a busy machine; usually it is a tenth."""

ENDED = frozenset({"success", "failed"})


class Airflow:
    """The servers' folder, and their API."""

    def __init__(self, folder: Path, url: str, environment: dict[str, str]) -> None:
        """Log in; the environment is what the servers run in."""
        self.folder, self.environment = folder, environment
        self.url = url
        (password,) = json.loads(
            (folder / "home" / "simple_auth_manager_passwords.json.generated").read_text()
        ).values()
        login = json.dumps({"username": "admin", "password": password}).encode()
        request = urllib.request.Request(f"{url}/auth/token", login, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            self.token = json.loads(answer.read())["access_token"]

    @property
    def ledger(self) -> str:
        """The URL of the ledger behind the connection `ledger`."""
        fields = json.loads(self.environment["AIRFLOW_CONN_LEDGER"])
        query = {"host": fields["host"]}
        return URL.create("postgresql", fields["login"], database=fields["schema"], query=query).render_as_string()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Call the REST API and return its answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}/api/v2/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read() or "null")

    def until(self, what: str, found: Callable[[], Any], within_s: float = PATIENCE_S) -> Any:
        """Return the first answer that is true, asked for again and again."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if answer := found():
                return answer
            time.sleep(0.5)
        pytest.fail(f"waited {within_s} s, but never: {what}")

    def until_deferred(self, dag_id: str, run_id: str, name: str) -> None:
        """Wait until a task is deferred, and its scheduler knows that.

        Airflow 3.3 fails a task whose trigger fires before: it takes the end of the first part for that of the second.
        """
        self.until("it waits", lambda: self.states(dag_id, run_id).get(name) == "deferred")
        task = self.tasks(dag_id, run_id)[name]
        key = ", ".join(
            f"{field}={value!r}"
            for field, value in {
                "dag_id": dag_id,
                "task_id": task["task_id"],
                "run_id": run_id,
                "try_number": task["try_number"],
                "map_index": task["map_index"],
            }.items()
        )
        known = f"state success for task instance TaskInstanceKey({key})"
        scheduler = self.folder / "home" / "logs" / "scheduler.log"
        self.until("the scheduler knows it", lambda: known in scheduler.read_text(errors="replace"))

    def start(self, dag_id: str, logical_date: datetime | None = None) -> str:
        """Start a manual run and return its id, as soon as the DAG processor has found the DAG."""
        body = {"logical_date": logical_date.isoformat() if logical_date else None}

        def triggered() -> Any:
            return self.found("POST", f"dags/{dag_id}/dagRuns", body)

        return str(self.until(f"{dag_id} is known", triggered)["dag_run_id"])

    def found(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Call the REST API as `call` does; None where nothing is there."""
        try:
            return self.call(method, path, body)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler make runs of a DAG, as soon as the DAG processor has found it."""
        self.until(f"{dag_id} is known", lambda: self.found("PATCH", f"dags/{dag_id}", {"is_paused": False}))

    def runs(self, dag_id: str) -> dict[str, dict[str, Any]]:
        """Return the runs of a DAG by id, the oldest first."""
        found = self.call("GET", f"dags/{dag_id}/dagRuns?limit=100&order_by=run_after")["dag_runs"]
        return {run["dag_run_id"]: run for run in found}

    def ended(self, dag_id: str, least: int = 1) -> dict[str, str]:
        """Return how the runs of a DAG ended, once there are that many and none continues."""

        def all_ended() -> dict[str, str] | None:
            states = {run_id: str(run["state"]) for run_id, run in self.runs(dag_id).items()}
            return states if len(states) >= least and set(states.values()) <= ENDED else None

        return dict(self.until(f"{least} runs of {dag_id} end", all_ended))

    def backfill(self, dag_id: str, hours: tuple[datetime, datetime], reprocess: str) -> int:
        """Backfill from one time to another, to its end, and return how many runs it made or ran again."""
        before = self.runs(dag_id)
        first, last = (hour.isoformat() for hour in hours)
        body = {"dag_id": dag_id, "from_date": first, "to_date": last, "reprocess_behavior": reprocess}
        made = self.call("POST", "backfills", body | {"run_backwards": False, "dag_run_conf": {}, "max_active_runs": 4})
        self.ended(dag_id)
        # The scheduler would notice within half a minute; until then no other backfill may begin.
        with contextlib.suppress(urllib.error.HTTPError):
            self.call("PUT", f"backfills/{made['id']}/cancel")
        queued = {run_id: run["queued_at"] for run_id, run in self.runs(dag_id).items()}
        return sum(run_id not in before or before[run_id]["queued_at"] != at for run_id, at in queued.items())

    def command(self, *arguments: str) -> str:
        """Run `airflow` with arguments, where it must succeed, and return what it says."""
        program = Path(sys.executable).with_name("airflow")
        done = subprocess.run([program, *arguments], env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def finish(self, dag_id: str, run_id: str, within_s: float = PATIENCE_S) -> str:
        """Return how a run ended."""

        def ended() -> str | None:
            state = self.call("GET", f"dags/{dag_id}/dagRuns/{run_id}")["state"]
            return state if state in ENDED else None

        return str(self.until(f"{dag_id} {run_id} ends", ended, within_s))

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

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        """Return what a task handed on."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/{key}"
        return self.call("GET", f"{path}?deserialize=true")["value"]

    def log(self, dag_id: str, run_id: str, task_id: str, number: int = 1) -> str:
        """Return what a try of a task logged, as the API server shows it, which may be soon after its end."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/logs/{number}"

        def shown() -> list[dict[str, Any]] | None:
            try:
                found: list[dict[str, Any]] = self.call("GET", path)["content"]
            except urllib.error.HTTPError as error:
                if error.code == HTTPStatus.NOT_FOUND:
                    return None
                raise
            return found

        return "\n".join(str(line.get("event")) for line in self.until(f"{task_id} has a log", shown))

    def land(self, dag_id: str, **lines: int) -> None:
        """Put files of lines into a DAG's landing folder: by name, how many lines each."""
        for name, count in lines.items():
            path = self.folder / dag_id / "landing" / f"{name}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{name} {number}\n" for number in range(count)))

    def fix(self, dag_id: str) -> None:
        """Let the functions of a DAG behave from now on."""
        (self.folder / dag_id / "fixed").touch()

    def values(self, dag_id: str) -> list[str]:
        """Return all that a DAG has published, sorted."""
        files = (self.folder / dag_id / "lake").glob("*.parquet")
        return sorted(value for path in files for value in pq.read_table(path).column("value").to_pylist())

    def files(self, dag_id: str) -> list[str]:
        """Return the names of the files that a DAG has published, sorted."""
        return sorted(path.name for path in (self.folder / dag_id / "lake").glob("*.parquet"))

    def group(self, dag_id: str) -> Group:
        """Return the only group of a DAG's only window, as the ledger knows it."""
        ledger = Ledger(self.ledger)
        try:
            [window] = [row.window.id for row in list_windows(ledger) if row.window.feed == f"{dag_id}.logs"]
            [found] = list_groups(ledger, window, 1)
        finally:
            ledger.close()
        return found

    def attempts(self, dag_id: str) -> list[str]:
        """Return whose files a DAG has published: groups with the epoch of the attempt that read them."""
        return [name.split("-t")[0][-8:] for name in self.files(dag_id)]


def lines(**counts: int) -> list[str]:
    """Return the lines of the files that `land` makes, sorted."""
    return sorted(f"{name} {number}" for name, count in counts.items() for number in range(count))
