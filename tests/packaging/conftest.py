"""The wheel and the sdist, and empty environments into which they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Those of `make package`, or new ones; uv builds the wheel from the sdist."""
    folder = Path(os.environ.get("BLOCKREAD_DIST") or tmp_path_factory.mktemp("dist"))
    if not list(folder.glob("*.whl")):
        run(uv(), "build", "--quiet", "--out-dir", folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    locked = run(uv(), "export", "--frozen", "--no-hashes", "--all-extras", "--no-default-groups", "--no-emit-project")
    constraints = tmp_path_factory.mktemp("locked") / "constraints.txt"
    constraints.write_text(re.sub(r"\[[\w,-]+\]", "", locked))  # pip takes no extras in constraints
    return Packages(wheel, sdist, constraints)


@pytest.fixture(scope="session")
def by_uv(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with Spark and PostgreSQL, as uv installs them."""
    folder = tmp_path_factory.mktemp("uv")
    (folder / "no-client.txt").write_text(NO_CLIENT)
    run(uv(), "venv", "--quiet", "--python", _base_python(), folder / "env")
    run(
        *(uv(), "pip", "install", "--quiet", "--python", folder / "env" / "bin" / "python"),
        *("--constraints", packages.constraints, "--overrides", folder / "no-client.txt"),
        f"{packages.wheel}[spark,postgres]",
        cwd=folder,
    )
    return Installed(folder / "env")


@pytest.fixture(scope="session")
def by_pip(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The sdist without Spark, as pip builds and installs it."""
    folder = tmp_path_factory.mktemp("pip") / "env"
    run(_base_python(), "-m", "venv", folder)
    run(
        *(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"),
        *("--constraint", packages.constraints, f"{packages.sdist}[postgres]"),
        cwd=folder,
    )
    return Installed(folder)


@pytest.fixture(params=["uv", "pip"])
def installed(request: pytest.FixtureRequest) -> Installed:
    """Each environment."""
    found: Installed = request.getfixturevalue(f"by_{request.param}")
    return found


def _base_python() -> str:
    return str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
