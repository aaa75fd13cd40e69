"""The application itself: what it leaves when it fails before Spark has started, and how it stops."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.exchange.failures import read_failure
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.storage.stores import Stores

_STOPPING = """
import threading
from airflow_provider_blockread.cli.spark import InProcessSpark

may_end = threading.Event()
with InProcessSpark("local[1]") as spark:
    engine = spark._started()
    server = engine.context._accumulatorServer
    end = server.shutdown
    server.shutdown = lambda: (may_end.wait(60), end())
print(engine.is_stopped, server.fileno() >= 0)
may_end.set()
for thread in threading.enumerate():
    if thread.name == "blockread-accumulators":
        thread.join(60)
print(server.fileno())
"""


@pytest.mark.spark
def test_a_context_stops_before_its_server_of_accumulators_has_ended() -> None:
    """That one looks only once a second whether it shall end; it does so in the background, and closes its socket."""
    stopped = subprocess.run([sys.executable, "-c", _STOPPING], capture_output=True, text=True, check=True)

    assert stopped.stdout == "True True\n-1\n"


@pytest.mark.slow
@pytest.mark.parametrize("watched", [False, True], ids=["on a cluster", "beside its task"])
def test_a_failure_of_spark_itself(tmp_path: Path, *, watched: bool) -> None:
    """A driver on a cluster leaves it as its error; the process that started any other one reads its log."""
    submission = Submission(spec_uri=f"file://{tmp_path}/job.json", spec_hash="00ff")
    (tmp_path / "java").write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    (tmp_path / "java").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    if watched:
        environment["BLOCKREAD_PARENT"] = f"{os.uname().nodename}:{os.getpid()}"
    command = [sys.executable, "-m", "airflow_provider_blockread.spark.job", "--spec", submission.spec_uri]
    done = subprocess.run(
        [*command, "--spec-hash", submission.spec_hash], env=environment, capture_output=True, text=True, check=False
    )
    found = read_failure(Stores(), submission)

    assert done.returncode == 1
    assert "JAVA_GATEWAY_EXITED" in done.stderr
    assert "no room" in done.stderr
    if watched:
        assert found is None
    else:
        assert isinstance(found, SparkJobError)
        assert "the Spark job failed: [JAVA_GATEWAY_EXITED]" in str(found)
