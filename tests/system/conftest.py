"""A real Airflow, as `make up` starts it, on a PostgreSQL of its own that holds Airflow's database and the ledger."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psutil
import pytest
from sqlalchemy import create_engine, make_url, text

from tests.airflow.without_spark import OUTLIVES, install
from tests.postgres import new_ledger, postgres_server
from tests.system.client import Airflow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


_SERVERS = ExitStack()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop the servers behind the last test of this folder: they would take time from others."""
    if item.path.is_relative_to(HERE) and not (nextitem and nextitem.path.is_relative_to(HERE)):
        _SERVERS.close()


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    """Airflow's servers, for as long as the tests of this folder run."""
    return _SERVERS.enter_context(_airflow(tmp_path_factory.mktemp("system")))


@contextmanager
def _airflow(folder: Path) -> Iterator[Airflow]:
    shutil.copytree(HERE / "dags", folder / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    install(folder / "bin", "spark3-submit")
    install(folder / "bin", "spark2-submit", OUTLIVES)
    with postgres_server() as server:
        database, ledger = (new_database(server, name) for name in ("airflow", "ledger"))
        new_ledger(ledger)
        with started(folder, database, environment(folder, ledger)) as found:
            yield found


def new_database(server: str, name: str) -> str:
    """Return the URL of a new database."""
    url = make_url(server.replace("postgresql:", "postgresql+psycopg:"))
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.set(database=name).render_as_string()


def environment(folder: Path, ledger: str) -> dict[str, str]:
    """Return what the servers and their tasks see: a ledger, and two kinds of reads without Spark."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    url = make_url(ledger)
    fields = {"conn_type": "blockread", "host": url.query["host"], "schema": url.database, "login": url.username}
    quick, stubborn = (
        {"conn_type": "spark", "host": "local[1]", "extra": {"spark-binary": f"spark{number}-submit"}}
        for number in (3, 2)
    )
    cluster = {
        "conn_type": "spark",
        "host": "yarn",
        "extra": {"deploy-mode": "cluster", "spark-binary": "spark3-submit"},
    }
    return own | {
        "SYSTEM_FOLDER": str(folder),
        "PATH": f"{folder / 'bin'}{os.pathsep}{own['PATH']}",
        "AIRFLOW_CONN_LEDGER": json.dumps(fields),
        "AIRFLOW__BLOCKREAD__LEDGER_CONN_IDS": "ledger",
        "AIRFLOW__BLOCKREAD__SPARK_HISTORY_URL": "http://history.test",
        "AIRFLOW_CONN_QUICK": json.dumps(quick),
        "AIRFLOW_CONN_STUBBORN": json.dumps(stubborn),
        "AIRFLOW_CONN_CLUSTER": json.dumps(cluster),
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
        # No file of DAGs changes, and each import takes a second.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        # The import of DAGs on a busy machine takes longer than 5 s, and other tests run beside this one.
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120",
    }


@contextmanager
def started(folder: Path, database: str, variables: dict[str, str]) -> Iterator[Airflow]:
    """Start Airflow on a free port of loopback; end it, with all its processes."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    settings = folder / "home" / "config" / "airflow_local_settings.py"
    settings.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "preloaded.py", settings)
    options = ["--port", port, "--home", folder / "home", "--dags", folder / "dags", "--database", database]
    process = subprocess.Popen(
        [sys.executable, ROOT / "tools" / "up.py", *options], env=variables, stdout=subprocess.PIPE, text=True
    )
    try:
        said: list[str] = []
        for line in process.stdout or ():
            said.append(line)
            if line.startswith("Ctrl-C"):
                break
        else:
            pytest.fail(f"Airflow did not start: {''.join(said)}")
        own = {"AIRFLOW_HOME": str(folder / "home")}
        own |= {f"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN{kind}": database for kind in ("", "_ASYNC")}
        yield Airflow(folder, f"http://127.0.0.1:{port}", variables | own)
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        if process.stdout:
            process.stdout.close()
        psutil.wait_procs(children, timeout=10)
