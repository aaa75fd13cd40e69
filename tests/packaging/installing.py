"""What is published, environments into which it is installed, and how their programs are run."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.tree import ROOT

#: What uv must not install: it holds files of pyspark.
NO_CLIENT = "pyspark-client ; python_version < '0'\n"
_HIDDEN = ("AIRFLOW", "PYTHON", "VIRTUAL_ENV", "PYSPARK", "SPARK_HOME")


def uv() -> str:
    """Return the program uv."""
    return shutil.which("uv") or str(ROOT / ".uv/bin/uv")


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Return what a program prints; it knows nothing of the environment of this process.

    Raises:
        AssertionError: when it fails, with what it said.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=own | variables, capture_output=True, text=True, check=False, timeout=540
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@dataclass(frozen=True)
class Packages:
    """What is published."""

    wheel: Path
    sdist: Path
    constraints: Path  # the locked versions, so that a new release of others fails no test here


@dataclass(frozen=True)
class Installed:
    """An environment with the package and what it needs, and a folder as Airflow's home."""

    folder: Path

    def run(self, program: str, *arguments: str | Path) -> str:
        """Return what a program of the environment prints."""
        home = str(self.folder / "airflow")
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return run(self.folder / "bin" / program, *arguments, cwd=self.folder, AIRFLOW_HOME=home, PATH=path)
