"""docker-compose.yml as plain processes on loopback: the commands, variables and checks of each service."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tests.architecture.tree import ROOT
from tests.pipeline.cluster import QUICK
from tests.servers.processes import free_port
from tools.up import end

_LOOPBACK = "127.0.0.1"
_VARIABLE = re.compile(r"\$\{(\w+):\?run make secrets\}")
_PORT = re.compile(r"(--(?:webui-)?port |binding\.port=)(\d+)")
_HEALTHY_WITHIN_S = 600
_JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"  # of any JVM: servers, drivers, and the executors that workers start
_HIDDEN = ("AIRFLOW", "PYTHON", "PYSPARK", "SPARK", "BLOCKREAD")


@dataclass(frozen=True)
class Topology:
    """The file's services, as processes below a folder.

    `secrets` are those of .env; `places` are the addresses of services that the test starts in another way.
    """

    folder: Path
    secrets: Mapping[str, str]
    places: Mapping[str, str]
    ports: dict[str, int] = field(default_factory=dict)

    @cached_property
    def file(self) -> dict[str, Any]:
        """The content of docker-compose.yml, with the secrets in it."""
        text = _VARIABLE.sub(lambda match: self.secrets[match[1]], (ROOT / "docker-compose.yml").read_text("utf-8"))
        content: dict[str, Any] = yaml.safe_load(text)
        return content

    def services(self) -> dict[str, Any]:
        """Return the services that are processes of this project."""
        return {name: service for name, service in self.file["services"].items() if "build" in service}

    def variables(self, name: str) -> dict[str, str]:
        """Return the environment of a service."""
        own = {key: value for key, value in os.environ.items() if not key.startswith(_HIDDEN)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
        loopback = {"SPARK_LOCAL_IP": _LOOPBACK, "SPARK_LOCAL_HOSTNAME": _LOOPBACK, "PATH": path}
        said = self.file["services"][name]["environment"]
        quick = {_JAVA_OPTIONS: QUICK, "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600"}
        return own | quick | {key: self.here(name, value) for key, value in said.items()} | loopback

    def address(self, service: str, port: str) -> str:
        """Return where a port of a service is."""
        own = f"{service}:{port}"
        if own in self.places:
            return self.places[own]
        return f"{_LOOPBACK}:{self.ports.setdefault(own, free_port())}"

    def here(self, name: str, text: str) -> str:
        """Return text of a service with the addresses and folders of this machine in it."""
        others = "|".join(self.file["services"])
        text = _PORT.sub(lambda match: match[1] + self.address(name, match[2]).rpartition(":")[2], text)
        text = re.sub(rf"(?<![\w-])({others}):(\d{{4,5}})", lambda match: self.address(match[1], match[2]), text)
        published = re.compile(rf"{_LOOPBACK}:(80\d\d)(?=/|$)")
        text = published.sub(lambda match: self.address(self._of_port(name, match[1]), match[1]), text)
        text = re.sub(rf"--host (?:{others}|0\.0\.0\.0)", f"--host {_LOOPBACK}", text)
        text = text.replace("0.0.0.0", _LOOPBACK)  # noqa: S104 - does not bind to it
        places = {"/airflow": "home", "/spark": "conf", "/tmp/work": f"work-{name}"}  # noqa: S108 - of a container
        for place, folder in places.items():
            text = re.sub(rf"(?<![\w./:-]){place}(?=/|\s|$)", str(self.folder / folder), text)
        return text.replace("/opt/blockread", str(ROOT))

    def _of_port(self, name: str, port: str) -> str:
        published = {s: str(service.get("ports")) for s, service in self.services().items()}
        return next((s for s, ports in published.items() if f":{port}'" in ports), name)

    @contextmanager
    def started(self, name: str) -> Iterator[None]:
        """Run a service until the end of the block, with all its processes; its log is beside the folders."""
        command = shlex.split(self.here(name, self.file["services"][name]["command"]))
        work = self.folder / f"work-{name}"
        work.mkdir()
        with (
            (self.folder / f"{name}.log").open("wb") as log,
            subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                cwd=work,
                env=self.variables(name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            try:
                yield
            finally:
                end([process.pid])

    def run(self, name: str) -> None:
        """Run a service to its end.

        Raises:
            AssertionError: when it fails, with what it said.
        """
        command = shlex.split(self.here(name, self.file["services"][name]["command"]))
        done = subprocess.run(
            command, cwd=ROOT, env=self.variables(name), capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    def wait(self, *names: str) -> None:
        """Return when the checks of these services succeed.

        Raises:
            AssertionError: when one still fails after a while.
        """
        deadline = time.monotonic() + _HEALTHY_WITHIN_S
        for name in names:
            while (said := self._check(name)) is not None:
                log = (self.folder / f"{name}.log").read_text("utf-8", "replace")
                assert time.monotonic() < deadline, f"{name} is not healthy: {said[-1000:]}\n{log[-3000:]}"
                time.sleep(1)

    def _check(self, name: str) -> str | None:
        kind, *command = self.file["services"][name]["healthcheck"]["test"]
        assert kind == "CMD"
        here = [self.here(name, word) for word in command]
        done = subprocess.run(
            here, cwd=ROOT, env=self.variables(name), capture_output=True, text=True, check=False, timeout=120
        )
        return None if done.returncode == 0 else done.stdout + done.stderr
