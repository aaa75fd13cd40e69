"""`make up`: Airflow on loopback, ready when it says so, and gone when it is stopped."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
UP = ROOT / "tools" / "up.py"


def free_port() -> int:
    """Return a port that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the program and all that it has started."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Airflow without DAGs, started as `make up` does, and ended whatever the test does."""
    (tmp_path / "dags").mkdir()
    options = ["--port", str(free_port()), "--home", tmp_path / "home", "--dags", tmp_path / "dags"]
    process = subprocess.Popen([sys.executable, UP, *options], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    if process.stdout:
        process.stdout.close()


@pytest.mark.airflow
def test_up_serves_on_loopback_and_leaves_nothing_behind(started: subprocess.Popen[str]) -> None:
    """It says how to log in once that works, listens on loopback only, and stops with all its children."""
    said = {}
    for line in started.stdout or ():
        key, _, value = line.partition(":")
        said[key] = value.strip()
        if line.startswith("Ctrl-C"):
            break
    passwords = json.loads(Path(said["Password"].removeprefix("in ")).read_text(encoding="utf-8"))
    login = json.dumps({"username": said["User"], "password": passwords[said["User"]]}).encode()
    request = urllib.request.Request(f"{said['Airflow']}/auth/token", login, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201

    processes = family(started)
    listening = {c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}
    assert len(processes) > 4

    started.send_signal(signal.SIGINT)

    assert started.wait(60) == 0
    assert [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    """When the port is taken, nothing is started, and the message says how to choose another."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        answer = subprocess.run(
            [sys.executable, UP, "--port", port, "--home", tmp_path / "home"],
            capture_output=True,
            check=False,
            text=True,
        )

    assert answer.returncode == 1
    assert f"port {port}" in answer.stderr
    assert "make up PORT=" in answer.stderr
    assert not (tmp_path / "home").exists()
