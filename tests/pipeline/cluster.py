"""A standalone Spark cluster on loopback: a master and two workers of one core, each a host of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import SparkJob

if TYPE_CHECKING:
    from airflow_provider_blockread.hooks.spark import SparkSubmitter
    from airflow_provider_blockread.hooks.stores import Credentials

_HERE = Path(__file__).parent
_MODULES = [
    *(str(_HERE / name) for name in ("user_functions.py", "user_frames.py")),
    str(_HERE.parent / "records" / "quoted_lines.py"),
]
_STARTS_WITHIN_S = 120
#: A JVM that lives for seconds; what make test adds names an archive of Spark's classes.
QUICK = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC".strip()


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    master: str
    folder: Path

    @property
    def conf(self) -> dict[str, str]:
        """What an application needs to run here."""
        return {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.extraJavaOptions": QUICK,
            "spark.executor.memory": "512m",
            "spark.ui.enabled": "false",
            "spark.pyspark.python": sys.executable,
        }

    def job(self, marks: Path, conf: dict[str, str] | None = None) -> SparkJob:
        """Return how a job runs here; its functions remember in a folder what they have done."""
        own = {"spark.executorEnv.BLOCKREAD_TEST_MARKS": str(marks), "spark.task.maxFailures": "4"}
        return SparkJob(master=self.master, conf=self.conf | own | (conf or {}), py_files=_MODULES)


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """Run a cluster; its workers know nothing of this repository."""
    port, web = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(_daemon(folder, "master", "127.0.0.1", ["--port", str(port), "--webui-port", str(web)]))
        # Spark puts no second attempt at a task on the same host, so the workers need two.
        for host in ("127.0.0.1", "127.0.0.2"):
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{host}")]
            ports = ["--port", str(free_port()), "--webui-port", str(free_port())]
            stack.enter_context(_daemon(folder, "worker", host, [*ports, *size, master]))
        _wait_for_workers(f"http://127.0.0.1:{web}/json/", 2)
        yield Cluster(master, folder)


@contextmanager
def _daemon(folder: Path, role: str, host: str, arguments: list[str]) -> Iterator[None]:
    import pyspark

    home = Path(pyspark.__file__).parent
    hidden = {"PYTHONPATH", "AIRFLOW_HOME"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_HOSTNAME": host,
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    }
    command = [str(home / "bin/spark-class"), f"org.apache.spark.deploy.{role}.{role.title()}", "--host", host]
    with (
        (folder / f"{role}-{host}.log").open("wb") as log,
        subprocess.Popen(
            [*command, *arguments], env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def _wait_for_workers(url: str, count: int) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while _workers(url) != count:
        if time.monotonic() > deadline:
            msg = f"{count} workers are not there after {_STARTS_WITHIN_S} s: see the logs beside their work folders"
            raise TimeoutError(msg)
        time.sleep(0.2)


def _workers(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, json.JSONDecodeError):  # a master that starts attaches its page first: it answers this path too
        return 0


def spark_submitter(job: SparkJob, credentials: Credentials | None = None) -> SparkSubmitter:
    """Return what submits a job by Airflow's Spark hook, imported here since make unit collects without Airflow."""
    from airflow_provider_blockread.hooks.spark import SparkSubmitter

    return SparkSubmitter(job, credentials)
