"""Spark applications through Airflow's hook: found, distinguished, stopped for sure."""

from __future__ import annotations

import inspect
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from airflow.exceptions import AirflowException
from airflow.sdk.execution_time.supervisor import WatchedSubprocess

from airflow_provider_blockread.errors import OptionsError, SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.hooks.spark import SparkSubmitter, spark_connection
from airflow_provider_blockread.hooks.tracked_submit import TrackedSubmitHook
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.protocol import STOP_S
from tests.airflow.logger import Logger

pytestmark = pytest.mark.airflow

JOB = SparkJob(master="local[1]", conf={"spark.ui.enabled": "false"})
SPEC = Submission(
    spec_uri="file:///spec.json",
    spec_hash="00ff",
    secret="mum",  # noqa: S106 - of this test
    window_secret="hum",  # noqa: S106
)
SLEEPER = """#!{python}
import signal, subprocess, sys, time
if {stubborn}:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({started!r}, "w").write(str(child.pid))
time.sleep(600)
"""


@pytest.fixture(params=[False, True], ids=["obedient", "stubborn"])
def sleeper(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program in the place of spark-submit that starts another one and sleeps; the file holds the latter's id."""
    started = tmp_path / "started"
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(SLEEPER.format(python=sys.executable, stubborn=request.param, started=str(started)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return started


def wait_for(started: Path, thread: threading.Thread) -> psutil.Process:
    """Return the process whose id the file holds, as soon as it does."""
    while thread.is_alive():
        if started.exists() and (text := started.read_text()):
            return psutil.Process(int(text))
        thread.join(0.02)
    pytest.fail("spark-submit has not been started")


def test_a_stop_reaches_every_process(sleeper: Path) -> None:
    """What spark-submit started dies with it, and what ignores SIGTERM is killed."""
    hook = TrackedSubmitHook(spark_connection(JOB), JOB, name="sleep", arguments=[], py_files="")
    failed: list[AirflowException] = []

    def run() -> None:
        try:
            hook.run("app.py", dict(os.environ))
        except AirflowException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    child = wait_for(sleeper, thread)
    hook.stop(grace_s=0.5)
    thread.join(20)

    assert not thread.is_alive()
    assert failed
    assert psutil.wait_procs([child], timeout=5)[1] == []


def test_a_stop_ends_before_airflow_loses_its_patience() -> None:
    """Of the time between SIGTERM and SIGKILL, some is left to record in the ledger that the attempt has failed."""
    patience = inspect.signature(WatchedSubprocess.kill).parameters["escalation_delay"].default

    assert patience - STOP_S >= 2


def test_a_stop_that_comes_first_lets_nothing_run(sleeper: Path) -> None:
    """A claim may be lost before the application has started."""
    submitter = SparkSubmitter(JOB)
    submitter.cancel()
    with pytest.raises(SparkJobError, match="was stopped"):
        submitter.submit(SPEC, name="sleep")

    assert not sleeper.exists()


def test_an_application_does_not_hold_its_tasks_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task's standard input is its line to Airflow, which would wait for an application that outlives the task."""
    program = tmp_path / "spark-submit"
    program.write_text(f"#!/bin/sh\n[ -S /dev/stdin ] && touch {tmp_path}/held\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    kept = os.dup(0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        os.dup2(theirs.fileno(), 0)
        try:
            SparkSubmitter(JOB).submit(SPEC, name="short")
        finally:
            os.dup2(kept, 0)
            os.close(kept)

    assert (tmp_path / "ran").exists()
    assert not (tmp_path / "held").exists()


@pytest.mark.spark
def test_a_failure_says_what_the_driver_said(tmp_path: Path) -> None:
    """The driver's own error is the message, in one line."""
    gone = Submission(spec_uri=f"file://{tmp_path}/spec.json", spec_hash="00")
    with pytest.raises(SparkJobError) as raised:
        SparkSubmitter(JOB).submit(gone, name="blockread-w-g1-0-e1")
    (line,) = str(raised.value).splitlines()

    assert line.startswith("blockread-w-g1-0-e1: the Spark application failed: ")
    assert f"{tmp_path}/spec.json" in line


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What submits an application that prints some lines and fails, and returns what was logged."""
    logged: list[str] = []
    monkeypatch.setattr(TrackedSubmitHook, "log", Logger(logged))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def submit(*lines: str) -> list[str]:
        program = tmp_path / "spark-submit"
        program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + "exit 1\n")
        program.chmod(0o755)
        with pytest.raises(SparkJobError) as raised:
            SparkSubmitter(JOB).submit(SPEC, name="app")
        first, *after = [line for line in logged if line]
        assert first.startswith("Spark-Submit cmd")
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__
        return [*after, str(raised.value)]

    return submit


def test_sparks_lines_are_folded(says: Callable[..., list[str]]) -> None:
    """The driver's own lines stand by themselves, and its error is shown once, by the exception."""
    own = ["blockread: read 1 of 2 tasks", "blockread: Error: RecordError: no record"]
    said = says("1 INFO a", "2 INFO b", own[0], "3 WARN c", "Error: of a function", own[1])

    begin, end = "::group::Spark's own log", "::endgroup::"
    assert said[:-1] == [
        begin,
        "1 INFO a",
        "2 INFO b",
        end,
        "read 1 of 2 tasks",
        begin,
        "3 WARN c",
        "Error: of a function",
        end,
    ]
    assert said[-1] == "app: the Spark application failed: RecordError: no record"


def test_a_failure_without_a_word_shows_the_end_of_the_log(says: Callable[..., list[str]]) -> None:
    """The last lines come with it, without Spark's routine."""
    said = says("1 INFO a", *(f"line {number}" for number in range(30)), "\tat java.lang.Thread")
    first, *tail = said[-1].splitlines()

    assert first.startswith("app: the Spark application failed; fix the cause and retry.")
    assert tail == [f"line {number}" for number in range(10, 30)]


def test_a_missing_default_connection_means_local_spark() -> None:
    """The embedded defaults need no set-up; a master in the options wins over any connection."""
    assert spark_connection(SparkJob()).host == "local[*]"
    assert spark_connection(SparkJob(master="spark://one:7077")).host == "spark://one:7077"


def test_a_master_keeps_the_connections_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the place changes: queue, deploy mode and the like stay."""
    fields = {"conn_type": "spark", "host": "yarn", "port": 1, "extra": {"queue": "night"}}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(fields))
    found = spark_connection(SparkJob(conn_id="cluster", master="k8s://https://one"))

    assert (found.host, found.port, found.extra_dejson) == ("k8s://https://one", None, {"queue": "night"})


def test_a_missing_connection_is_named() -> None:
    """A connection that is asked for by name must exist."""
    with pytest.raises(OptionsError, match="there is no connection 'nowhere'; create one of type spark"):
        spark_connection(SparkJob(conn_id="nowhere"))


def test_without_spark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where neither PATH nor this Python has spark-submit, the error says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(
        OptionsError, match=r"spark-submit is not on PATH; install .*airflow-provider-blockread\[spark\]"
    ):
        SparkSubmitter(JOB).submit(SPEC, name="sleep")


def test_secrets_travel_in_a_private_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The driver gets their place; they are in no argument, only the owner can read them, and they are removed."""
    seen = tmp_path / "seen.json"
    program = tmp_path / "spark-submit"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\npath = os.environ['BLOCKREAD_CREDENTIALS_FILE']\n"
        f"json.dump([path, os.stat(path).st_mode & 0o777, open(path).read(), sys.argv], open({str(seen)!r}, 'w'))\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    SparkSubmitter(JOB, {"s3://lake": {"secret": "hush"}}).submit(SPEC, name="blockread")
    path, mode, content, arguments = json.loads(seen.read_text())

    secrets = {"secret": "mum", "window_secret": "hum", "stores": {"s3://lake": {"secret": "hush"}}, "code": None}
    assert (mode, json.loads(content)) == (0o600, secrets)
    assert not any(secret in argument for argument in arguments for secret in ("hush", "mum", "hum"))
    assert arguments[-4:] == ["--spec", "file:///spec.json", "--spec-hash", "00ff"]
    assert not Path(path).exists()


def test_secrets_do_not_go_to_a_driver_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In deploy mode cluster a private file of this host reaches nobody: that is an error, not a silent failure."""
    fields = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(fields))
    submitter = SparkSubmitter(SparkJob(conn_id="cluster"), {"s3://lake": {"secret": "hush"}})
    assert not submitter.keeps_secrets
    assert SparkSubmitter(JOB).keeps_secrets
    with pytest.raises(OptionsError, match="deploy mode cluster; give the cluster an ambient identity") as raised:
        submitter.submit(SPEC, name="blockread")

    assert "hush" not in str(raised.value)
