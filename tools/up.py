"""Airflow on loopback with the example DAGs, until Ctrl-C: `python tools/up.py [--port PORT]`.

Starts the same components as `airflow standalone`, with three differences: tasks begin only once the API server answers
(otherwise they would fail), no log server listens on external interfaces, and no process is left running at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"
START_S = 180
"""Seconds that the API server may take to answer; a first start on a busy machine takes about 20."""
STOP_S = 8
"""Seconds between asking the processes to stop and ending them; LocalExecutor's idle workers often need the latter."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMPONENTS = {
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}


class UpError(Exception):
    """Airflow did not start; the message says where to look."""


def settings(home: Path, dags: Path, port: int, database: str | None) -> dict[str, str]:
    """Return the environment variables that let Airflow use `home` and listen on loopback only.

    Args:
        home: the folder that becomes AIRFLOW_HOME.
        dags: the folder of DAGs.
        port: the port to listen on.
        database: URL of Airflow's database, with a driver that supports asyncio, such as `postgresql+psycopg`; SQLite
            in `home` when None.
    """
    url = f"http://{LOOPBACK}:{port}"
    others = {} if database is None else {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": database}
    return others | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database or f"sqlite:///{home}/airflow.db",
        "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def start(name: str, arguments: tuple[str, ...], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start `airflow` with `arguments`; its output goes to `$AIRFLOW_HOME/logs/NAME.log`."""
    log = Path(environment["AIRFLOW_HOME"]) / "logs" / f"{name}.log"
    command = [str(Path(sys.executable).parent / "airflow"), *arguments]
    with log.open("ab") as output:
        # A separate session, so that Ctrl-C reaches only this program, which stops the components in order.
        return subprocess.Popen(  # noqa: S603 - our own Airflow
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )


def end(pids: Iterable[int]) -> None:
    """End the processes and their descendants, by id: terminate all, wait `STOP_S` seconds, then kill."""
    family: list[psutil.Process] = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(pid)
            family += [*parent.children(recursive=True), parent]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(family, timeout=STOP_S)[1]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the API server answers.

    Raises:
        UpError: when it ends or takes longer than `START_S`.
    """
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5):  # noqa: S310
            return
        time.sleep(0.5)
    msg = f"Airflow's API server did not start; see {log}"
    raise UpError(msg)


def check_port(port: int) -> None:
    """Raise `UpError` when the port is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            msg = f"port {port} on {LOOPBACK} is taken; choose another: make up PORT=8081"
            raise UpError(msg) from error


def up(home: Path, environment: Mapping[str, str]) -> None:
    """Run Airflow with the settings of the environment until a component ends or a signal arrives.

    Raises:
        UpError: when the port is taken or a component fails.
    """
    check_port(int(environment["AIRFLOW__API__PORT"]))
    (home / "logs").mkdir(parents=True, exist_ok=True)
    started: dict[str, subprocess.Popen[bytes]] = {}
    try:
        print("Airflow: preparing its database", flush=True)
        migration = started["migrate"] = start("migrate", ("db", "migrate"), environment)
        if migration.wait() != 0:
            msg = f"Airflow's database could not be prepared; see {home}/logs/migrate.log"
            raise UpError(msg)
        del started["migrate"]
        print("Airflow: starting", flush=True)
        url = environment["AIRFLOW__API__BASE_URL"]
        started["api-server"] = start("api-server", ("api-server",), environment)
        wait_until_healthy(f"{url}/api/v2/monitor/health", started["api-server"], home / "logs" / "api-server.log")
        for name, arguments in COMPONENTS.items():
            started[name] = start(name, arguments, environment)
        print(f"\nAirflow:  {url}\nUser:     admin")
        print(f"Password: in {home}/simple_auth_manager_passwords.json.generated\nLogs:     {home}/logs\n")
        print("Ctrl-C stops it.", flush=True)
        watch(started, home)
    finally:
        end(process.pid for process in started.values())


def watch(started: Mapping[str, subprocess.Popen[bytes]], home: Path) -> None:
    """Raise `UpError` as soon as one of the components ends."""
    while True:
        for name, process in started.items():
            if process.poll() is not None:
                msg = f"Airflow's {name} ended with code {process.returncode}; see {home}/logs/{name}.log"
                raise UpError(msg)
        time.sleep(1)


def _interrupt(_number: int, _frame: object) -> None:
    for number in SIGNALS:  # a second Ctrl-C must not interrupt the shutdown
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Parse the command line, run Airflow, and return the exit code."""
    parser = argparse.ArgumentParser(description="Airflow on loopback with the example DAGs, until Ctrl-C.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--home", type=Path, default=ROOT / ".demo" / "airflow", help="becomes AIRFLOW_HOME")
    parser.add_argument("--dags", type=Path, default=ROOT / "dags")
    parser.add_argument("--database", help="URL of Airflow's database; default SQLite in home")
    chosen = parser.parse_args()
    home = chosen.home.absolute()
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    try:
        own = settings(home, chosen.dags.absolute(), chosen.port, chosen.database)
        up(home, {**os.environ, **own})
    except UpError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nAirflow: stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
