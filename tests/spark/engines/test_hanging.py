"""A Spark Connect server that hangs: whatever it is asked, the wait for it ends, and so does the process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.options import ArrowFunction, SparkJob
from airflow_provider_blockread.spark import remote
from airflow_provider_blockread.spark.engines import session
from airflow_provider_blockread.spark.engines.session import Server, connect
from airflow_provider_blockread.spark.remote import RemoteSpark, end_session
from tests.pipeline.make import Pipe, ReadHere
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer, Relay

pytestmark = pytest.mark.spark

SPEC = Submission(spec_uri="file:///spec.json", spec_hash="00ff")


@pytest.fixture
def silent() -> Iterator[Server]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Server(f"sc://127.0.0.1:{listener.getsockname()[1]}")


@pytest.fixture
def relay(server: ConnectServer) -> Iterator[Relay]:
    """A way to the server that may hang; what the last test has left there is gone."""
    for mark in ("slow", "overtaken"):
        (server.folder / mark).unlink(missing_ok=True)
    made = Relay(server.port)
    yield made
    (server.folder / "overtaken").touch()
    made.close()


def test_a_server_that_never_answers(silent: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for its first answer ends with its address; so does the wait for the end of a session."""
    monkeypatch.setattr(session, "_ANSWER_S", 1.0)
    monkeypatch.setattr(remote, "_RELEASE_S", 1.0)
    with pytest.raises(SparkJobError, match=rf"^no Spark Connect server answers at {silent}: no answer within 1 s; st"):
        connect(silent, str(uuid.uuid4()))
    with pytest.raises(SparkJobError, match="did not end its session in time"):
        end_session(silent, "blockread-w-g1-0-e1", secret="00")  # noqa: S106 - of this test


def test_a_kill_while_a_server_does_not_answer(silent: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that follows it, up to the end of the task, has one deadline."""
    monkeypatch.setattr(remote, "STOP_S", 5.0)
    began: list[float] = []
    with RemoteSpark(silent, SparkJob()) as spark:

        def kill() -> None:
            began.append(time.monotonic())
            spark.cancel()

        threading.Timer(0.5, kill).start()
        with pytest.raises(SparkJobError, match="was stopped"):
            spark.submit(SPEC, name="blockread-w-g1-0-e1")

    assert time.monotonic() - began[0] < 10


def test_a_server_that_hangs_in_a_read(
    relay: Relay, server: ConnectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client notices that its connection is dead, and the task fails; a retry completes the window."""
    monkeypatch.setattr(session, "_RUNNING", 0)
    pipe = Pipe(folder=tmp_path, submitter=ReadHere())
    pipe.put({"a.txt": b"sleep here\n"})
    pipe.function = ArrowFunction("user_functions:sleeps_once")
    ref = pipe.plan()
    often = "grpc_keepalive_time_ms=2000;grpc_keepalive_timeout_ms=2000"
    way = Server(f"sc://localhost:{relay.port}/;token={server.token};{often}")

    def hang() -> None:
        while not (server.folder / "slow").exists():
            time.sleep(0.05)
        relay.hang()

    thread = threading.Thread(target=hang)
    thread.start()
    with (
        RemoteSpark(way, SparkJob(remote=server.remote, py_files=MODULES)) as pipe.submitter,
        pytest.raises(SparkJobError, match=r"the Spark Connect server at localhost:\d+ was lost"),
    ):
        pipe.read(ref)
    thread.join()
    (server.folder / "overtaken").touch()

    assert pipe.published() == []
    with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as pipe.submitter:
        pipe.read(ref)
    assert pipe.commit(ref).records == 1
    pipe.close()


def test_a_command_that_is_stopped_while_its_server_hangs(relay: Relay, server: ConnectServer, tmp_path: Path) -> None:
    """It ends, and no call that hangs keeps its process."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("sleep here\n")
    program = [sys.executable, str(Path(sys.executable).with_name("blockread"))]
    command = [*program, "run", "in", "--output", "out", "--remote", f"sc://localhost:{relay.port}"]
    modules = [part for file in MODULES for part in ("--py-file", file)]
    function = ["--function", "user_functions:sleeps_once", "--state", "noop://"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *modules, *function],
            env=os.environ | {"SPARK_CONNECT_AUTHENTICATE_TOKEN": server.token},
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    while not (server.folder / "slow").exists():
        assert process.poll() is None, (tmp_path / "log").read_text()
        time.sleep(0.05)
    relay.hang()
    process.send_signal(signal.SIGTERM)

    assert process.wait(120) != 0
    assert "stopped" in (tmp_path / "log").read_text()
