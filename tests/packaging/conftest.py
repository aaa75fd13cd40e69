"""The wheel and the sdist, and empty environments into which they are installed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.packaging.installing import NO_CLIENT, Installed, Packages, run, uv


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
