"""Whole windows on a Spark Connect server: planned, scanned, read and published; stopped, fenced and lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FencedError, RecordError, SparkJobError
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.options import ArrowFunction, AsRead, CustomFormat, SparkJob
from airflow_provider_blockread.spark import remote
from airflow_provider_blockread.spark.engines.session import client_of, session_id
from airflow_provider_blockread.spark.remote import RemoteSpark, end_session
from airflow_provider_blockread.steps import WindowRef
from tests.pipeline.make import Pipe, ReadHere
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer, connect_server

pytestmark = pytest.mark.spark


def test_a_window(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are scanned and read in groups of one session, by code that comes from the package's zip."""
    for module in MODULES:  # a plan asks the format, too
        monkeypatch.syspath_prepend(Path(module).parent)
    pipe.put({"a.txt": b"".join(b'"%d\n%d"\nplain %d\n' % (i, i, i) for i in range(30))})
    pipe.record_format, pipe.block_size, pipe.group_bytes = CustomFormat(path="quoted_lines:QuotedLines"), 11, 150
    pipe.function = ArrowFunction("user_functions:where_am_i")
    done = pipe.run()

    assert done.groups > 1
    assert pipe.values() == sorted([f'"{i}\n{i}"' for i in range(30)] + [f"plain {i}" for i in range(30)])
    [place] = {row["place"] for row in pipe.rows()}
    assert ".zip/airflow_provider_blockread/__init__.py" in place


def test_an_error_of_a_task(pipe: Pipe) -> None:
    """It is raised as itself, nothing is published, and a retry with the correct file completes the window."""
    pipe.put({"a.txt": b"good\n\xff bad\n"})
    with pytest.raises(RecordError, match=r"a\.txt"):
        pipe.run()

    assert pipe.published() == []


def test_a_task_that_fails_once(pipe: Pipe) -> None:
    """Spark tries it again, and what is published has each record once."""
    pipe.put({"a.txt": b"one\nfail here\n", "b.txt": b"two\n"})
    pipe.function = ArrowFunction("user_functions:fails_once")
    pipe.run()

    assert pipe.values() == ["fail here", "one", "two"]


@pytest.fixture
def sleeping(pipe: Pipe, server: ConnectServer) -> Path:
    """A window whose task sleeps, and the mark that it leaves when it does."""
    for mark in ("slow", "overtaken"):
        (server.folder / mark).unlink(missing_ok=True)
    pipe.put({"a.txt": b"sleep here\n"})
    pipe.function = ArrowFunction("user_functions:sleeps_once")
    return server.folder / "slow"


def once(mark: Path, act: Callable[[], object]) -> threading.Thread:
    """Act in a thread as soon as the mark is there."""

    def wait() -> None:
        deadline = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def retried(pipe: Pipe, ref: WindowRef, server: ConnectServer) -> list[str]:
    """Read the window again with another client, and return what is published then."""
    (server.folder / "overtaken").touch()
    with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as pipe.submitter:
        pipe.read(ref)
    pipe.commit(ref)
    return pipe.values()


def test_a_kill(pipe: Pipe, sleeping: Path, server: ConnectServer) -> None:
    """It ends within seconds, on both sides; a retry completes the window."""
    ref = pipe.plan()
    began: list[float] = []
    thread = once(sleeping, lambda: (began.append(time.monotonic()), pipe.submitter.cancel()))
    with pytest.raises(SparkJobError, match="was stopped; clear the task"):
        pipe.read(ref)
    thread.join()

    assert time.monotonic() - began[0] < 20
    assert pipe.published() == []
    assert retried(pipe, ref, server) == ["sleep here"]


@pytest.mark.parametrize("step", ["connect", "equip"])
def test_a_kill_while_the_session_is_opened(
    pipe: Pipe, sleeping: Path, server: ConnectServer, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Nothing is read, and the session is released, also when the kill has waited as long as it may."""
    monkeypatch.setattr(remote, "STOP_S", 1.0)
    done, begun, killed = getattr(remote, step), pipe.folder / "begun", threading.Event()

    def kept(*given: object) -> object:
        begun.touch()
        killed.wait(60)
        return done(*given)

    monkeypatch.setattr(remote, step, kept)
    ref = pipe.plan()
    thread = once(begun, lambda: (pipe.submitter.cancel(), killed.set()))
    with pytest.raises(SparkJobError, match="was stopped; clear the task"):
        pipe.read(ref)
    thread.join()
    while any(thread.name == "blockread-connect" for thread in threading.enumerate()):
        time.sleep(0.1)
    session = client_of(
        server.server, session_id(f"blockread-{ref.window}-g1-0-e1", pipe.env.window_secret(ref.window))
    )
    with pytest.raises(Exception, match="SESSION_CLOSED"):
        session.version  # noqa: B018 - a call to the server
    session.client.close()

    assert not sleeping.exists()
    assert retried(pipe, ref, server) == ["sleep here"]


def test_an_end_from_another_process(pipe: Pipe, sleeping: Path, server: ConnectServer) -> None:
    """The epoch's name is enough to find its session and end what runs in it."""
    ref = pipe.plan()
    code = "import os, sys; from airflow_provider_blockread.spark.remote import Server, end_session;"
    code += " end_session(Server(os.environ['REMOTE']), sys.argv[1], secret=os.environ['SECRET'])"
    command, secret = [sys.executable, "-c", code], pipe.env.window_secret(ref.window)
    name, environment = f"blockread-{ref.window}-g1-0-e1", os.environ | {"REMOTE": server.server.url, "SECRET": secret}
    thread = once(sleeping, lambda: subprocess.run([*command, name], env=environment, check=True))
    with pytest.raises(SparkJobError, match="was lost"):
        pipe.read(ref)
    thread.join()

    assert pipe.published() == []
    assert retried(pipe, ref, server) == ["sleep here"]


def test_a_session_that_was_ended(pipe: Pipe, sleeping: Path, server: ConnectServer) -> None:
    """An attempt that wakes up behind the next one opens no other session in its place, which nobody would find."""
    ref = pipe.plan()
    name, secret = f"blockread-{ref.window}-g1-0-e1", pipe.env.window_secret(ref.window)
    session = client_of(server.server, session_id(name, secret))
    assert session.version
    session.client.close()
    end_session(server.server, name, secret=secret)
    with pytest.raises(SparkJobError, match=r"a later attempt has ended the session .*; retry to begin again"):
        pipe.read(ref)

    assert not sleeping.exists()
    assert retried(pipe, ref, server) == ["sleep here"]


def test_a_fenced_attempt(pipe: Pipe, sleeping: Path, server: ConnectServer) -> None:
    """An attempt whose group was taken over is interrupted, and says by whom it was fenced."""
    ref = pipe.plan()
    group = GroupRef(window=ref.window, generation=1, group=0)

    def take_over() -> None:
        pipe.pass_seconds(1000)
        claim_group(pipe.env.ledger, group, owner="other", clear_number=0, stale_after_s=60)

    thread = once(sleeping, take_over)
    with pytest.raises(FencedError):
        pipe.read(ref)
    thread.join()
    pipe.pass_seconds(1000)

    assert pipe.published() == []
    assert retried(pipe, ref, server) == ["sleep here"]


def test_a_server_that_is_lost(tmp_path: Path) -> None:
    """A server that is killed while it reads is named; nothing is published, and a retry elsewhere completes."""
    (tmp_path / "server").mkdir()
    pipe = Pipe(folder=tmp_path, submitter=ReadHere())
    pipe.put({"a.txt": b"kill here\n"})
    pipe.function = ArrowFunction("user_functions:kills_spark")
    ref = pipe.plan()
    with (
        connect_server(tmp_path / "server", BLOCKREAD_TEST_MARKS=str(tmp_path)) as server,
        RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as pipe.submitter,
        pytest.raises(SparkJobError, match=r"Connect server at localhost:\d+ was lost .*; check that it runs"),
    ):
        pipe.read(ref)

    assert (pipe.published(), pipe.state()) == ([], "reading")
    pipe.submitter, pipe.function = ReadHere(), AsRead()
    pipe.run()
    assert pipe.values() == ["kill here"]
    pipe.close()


def test_a_server_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill has a deadline of its own; an end from elsewhere says that it was missed, and can be repeated."""
    monkeypatch.setattr(remote, "_RELEASE_S", 2.0)
    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server", BLOCKREAD_TEST_MARKS=str(tmp_path)) as server:
        pipe = Pipe(folder=tmp_path, submitter=ReadHere())
        pipe.put({"a.txt": b"sleep here\n"})
        pipe.function = ArrowFunction("user_functions:sleeps_once")
        ref = pipe.plan()
        name, secret = f"blockread-{ref.window}-g1-0-e1", pipe.env.window_secret(ref.window)
        with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as pipe.submitter:

            def hang() -> None:
                server.process.send_signal(signal.SIGSTOP)
                pipe.submitter.cancel()

            thread = once(tmp_path / "slow", hang)
            with pytest.raises(SparkJobError, match="was stopped"):
                pipe.read(ref)
            thread.join()
        with pytest.raises(SparkJobError, match="did not end its session in time"):
            end_session(server.server, name, secret=secret)
        server.process.send_signal(signal.SIGCONT)
        monkeypatch.setattr(remote, "_RELEASE_S", 60.0)
        end_session(server.server, name, secret=secret)
        pipe.close()
