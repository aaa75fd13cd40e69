"""The command line in a separate folder: called in this process, or as a program."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from airflow_provider_blockread.cli.commands import blockread

_MANY = """
import json, sys
from click.testing import CliRunner
from airflow_provider_blockread.cli.commands import blockread
for line in sys.stdin:
    result = CliRunner().invoke(blockread, json.loads(line))
    print(json.dumps([result.exit_code, result.stdout, repr(result.exception or ""), result.stderr]), flush=True)
"""


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    exit_code: int
    stdout: str
    error: str
    stderr: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        assert self.exit_code == 0, self.error
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Place:
    """A folder with a source `in`, an output `out` and a ledger."""

    folder: Path
    ledger: str | None = None  # its URL, where it does not are in the folder

    @property
    def source(self) -> Path:
        """The folder of landed files."""
        return self.folder / "in"

    @property
    def state(self) -> list[str]:
        """The options that name the ledger."""
        return ["--state", self.ledger or f"sqlite:///{self.folder}/ledger.db"]

    def put(self, files: dict[str, bytes]) -> None:
        """Write files to the source."""
        for name, data in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def call(self, *arguments: str) -> Result:
        """Call a command that needs no Spark in this process."""
        return CliRunner(env={"COLUMNS": None}).invoke(blockread, [*arguments, *self.state])

    def json(self, *arguments: str) -> Any:
        """Call a command and return the JSON it prints."""
        result = self.call(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def shell(self, *arguments: str, columns: int | None = None) -> subprocess.CompletedProcess[str]:
        """Call a command as a program."""
        width = {} if columns is None else {"COLUMNS": str(columns)}
        command = [str(Path(sys.executable).with_name("blockread")), *arguments]
        others = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # test runners set it
        return subprocess.run(
            [*command, *self.state],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=others | width,
            timeout=240,
            check=False,
        )

    def run(self, *options: str) -> list[str]:
        """Return the arguments of a run from source to output."""
        master = ["--master", "local[2]", "--conf", "spark.ui.enabled=false"]
        return ["run", str(self.source), "--output", str(self.folder / "out"), *master, *options, *self.state]

    def program(self, *arguments: str) -> int:
        """Run a Python program of the folder and return its exit code."""
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, timeout=240, check=False).returncode

    def many(self, *commands: list[str]) -> list[Done]:
        """Call commands one after the other in one process with one JVM, shared by all tests."""
        return [_shared().call(command) for command in commands]


class _Process:
    """A process that calls commands in a separate folder."""

    def __init__(self) -> None:
        """Start it."""
        self._folder = tempfile.TemporaryDirectory(prefix="blockread-commands-")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MANY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._folder.name,
        )

    def call(self, command: list[str]) -> Done:
        """Call a command."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{json.dumps(command)}\n")
        self._process.stdin.flush()
        return Done(*json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        """End it, and with it its JVM."""
        self._process.communicate(timeout=60)
        self._folder.cleanup()


@cache
def _shared() -> _Process:
    process = _Process()
    atexit.register(process.end)
    return process
