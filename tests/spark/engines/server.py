"""A Spark Connect server on loopback that asks for a token, with its log, its pages and its event log."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from airflow_provider_blockread.spark.engines.session import Server

_READY_WITHIN_S = 240
_PORT = re.compile(r"Spark Connect server started at: \S+:(\d+)")
_PAGES = re.compile(r"started service 'SparkUI' on port (\d+)")
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_HOST = "127.0.0.1"
_BOUND = {
    "spark.connect.grpc.binding.address": _HOST,
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": _HOST,
    "spark.driver.host": _HOST,
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.ui.port": "0",
}


@dataclass(frozen=True)
class ConnectServer:
    """A running server."""

    folder: Path
    token: str = field(repr=False)
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        """What it has logged."""
        return (self.folder / "log").read_text("utf-8", "replace")

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._found(_PORT)

    @property
    def pages(self) -> str:
        """Where its pages are."""
        return f"http://{_HOST}:{self._found(_PAGES)}"

    @property
    def events(self) -> str:
        """What it has written into its event log."""
        return "".join(path.read_text("utf-8") for path in self.folder.glob("events/**/*") if path.is_file())

    def happened(self, kind: str, session: str) -> list[dict[str, Any]]:
        """Return the events of a kind that concern a session."""
        mark = f"connect.service.SparkListenerConnect{kind}"
        events = [json.loads(line) for line in self.events.splitlines() if mark in line and session in line]
        return [event for event in events if event["sessionId"] == session]

    @property
    def remote(self) -> str:
        """Its address, without the token."""
        return f"sc://localhost:{self.port}"  # a name to which the client sends a token without TLS

    @property
    def server(self) -> Server:
        """Its address, with the token."""
        return Server(f"{self.remote}/;token={self.token}")

    def _found(self, pattern: re.Pattern[str]) -> int:
        found = pattern.search(self.log)
        if found is None:
            msg = f"the server has not logged {pattern.pattern!r}: {self.log}"
            raise RuntimeError(msg)
        return int(found[1])


@contextmanager
def connect_server(
    folder: Path,
    *,
    python: str = sys.executable,
    master: str = "local[2,4]",
    settings: Mapping[str, str] = MappingProxyType({}),
    **environment: str,
) -> Iterator[ConnectServer]:
    """Run a server on two cores, with workers of this Python; it knows nothing of this repository."""
    import pyspark

    (folder / "events").mkdir()
    token, home = secrets.token_hex(16), Path(pyspark.__file__).parent
    conf = _BOUND | {"spark.connect.authenticate.token": token, "spark.eventLog.dir": f"file://{folder}/events"}
    conf |= settings
    properties = folder / "spark.conf"
    properties.write_text("".join(f"{key} {value}\n" for key, value in conf.items()))
    guarded = ["setpriv", "--pdeathsig", "KILL"]  # it ends with the tests, however they end
    command = [*guarded, str(home / "bin/spark-submit"), "--properties-file", str(properties), "--class", _CLASS]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*command, "--master", master, "--driver-memory", "512m", "spark-internal"],
            env=_environment(home, python, environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        running = ConnectServer(folder, token, process)
        try:
            _wait(running)
            yield running
        finally:
            process.kill()


def _environment(home: Path, python: str, further: Mapping[str, str]) -> dict[str, str]:
    hidden = {"PYTHONPATH", "AIRFLOW_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    own = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": _HOST, "SPARK_LOCAL_HOSTNAME": _HOST, "PYSPARK_PYTHON": python}
    return kept | own | {"PYSPARK_DRIVER_PYTHON": python} | dict(further)


def _wait(running: ConnectServer) -> None:
    deadline = time.monotonic() + _READY_WITHIN_S
    while not _PORT.search(running.log):
        if running.process.poll() is not None or time.monotonic() > deadline:
            msg = f"the Spark Connect server did not start: {running.log}"
            raise RuntimeError(msg)
        time.sleep(0.1)


class Relay:
    """Passes on bytes between clients and a server on loopback, and hangs when asked to, with all connections open."""

    def __init__(self, port: int) -> None:
        """Listen in front of the server's port."""
        self._server = (_HOST, port)
        self._listener = socket.create_server((_HOST, 0))
        self._passes = threading.Event()
        self._passes.set()
        threading.Thread(target=self._accept, name="relay", daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def hang(self) -> None:
        """Pass on nothing more."""
        self._passes.clear()

    def close(self) -> None:
        """Accept no more clients, and let go of those that hang."""
        self._listener.close()
        self._passes.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, server = self._listener.accept()[0], socket.create_connection(self._server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, target), name="relay", daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                self._passes.wait()
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
