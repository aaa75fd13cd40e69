"""The files around the package: one command each, and examples that are valid."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from airflow_provider_blockread import __version__
from tests.architecture.tree import PACKAGE, ROOT

TARGETS = ("setup", "check", "test", "bench", "demo", "up", "fuzz", "clean")


def make(*arguments: str, folder: Path = ROOT, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run make as a person would, whatever make runs these tests."""
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"}}
    environment["PATH"] = path or os.environ["PATH"]
    return subprocess.run(
        ["make", *arguments],
        capture_output=True,
        check=False,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def fake_python(folder: Path, version: str) -> Path:
    """Return a program that says it is that Python and fails at everything else."""
    program = folder / "python-old"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}"\n[ "$1" = --version ]\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("arguments", [(), ("help",)])
def test_help_lists_every_target(arguments: tuple[str, ...]) -> None:
    """`make` alone and `make help` say what there is."""
    listed = re.findall(r"^  make (\w+) +\S", make(*arguments).stdout, flags=re.MULTILINE)

    assert set(TARGETS) <= set(listed)


@pytest.mark.parametrize("program", ["old", "missing"])
def test_a_python_that_does_not_serve_is_named(tmp_path: Path, program: str) -> None:
    """Setting up with an old Python, or with none, stops with the version that is needed and what to type."""
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path)
    python = fake_python(tmp_path, "3.9.2") if program == "old" else tmp_path / "missing"
    answer = make("setup", f"PYTHON={python}", folder=tmp_path)

    assert answer.returncode != 0
    assert "Needs Python 3.11 to 3.14" in answer.stderr
    assert "make setup PYTHON=" in answer.stderr
    assert "3.9.2" in answer.stderr or program == "missing"
    assert not (tmp_path / ".venv").exists()


def test_the_lock_leaves_out_what_overwrites_pyspark() -> None:
    """pyspark-client holds the same files as pyspark, and whichever is unpacked last wins: it is not in the lock."""
    locked = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    packages = {package["name"] for package in locked["package"]}

    assert "pyspark" in packages
    assert "pyspark-client" not in packages


def test_the_version_agrees_everywhere() -> None:
    """The package, its metadata and the changelog agree on the version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    releases = re.findall(
        r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )

    assert project["version"] == __version__
    assert releases[0] == __version__


def test_the_compose_file_is_valid() -> None:
    """docker-compose.yml follows the Compose specification (its schema is in the test tool, no network is needed)."""
    answer = _compose_check(ROOT / "docker-compose.yml")

    assert answer.returncode == 0, answer.stdout


def test_a_bad_compose_file_is_refused(tmp_path: Path) -> None:
    """The check of the Compose file would notice a misspelt key."""
    (tmp_path / "bad.yml").write_text("services: {a: {imagee: x}}", encoding="utf-8")

    assert _compose_check(tmp_path / "bad.yml").returncode == 1


def _compose_check(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", file]
    return subprocess.run(command, capture_output=True, check=False, text=True)


def test_the_package_has_a_py_typed_marker() -> None:
    """Type checkers of other projects read this package's annotations."""
    assert (PACKAGE / "py.typed").is_file()
