"""What is published: a wheel and an sdist that hold the package, install anywhere, and run."""

from __future__ import annotations

import json
import re
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread import __version__
from tests.architecture.tree import PACKAGE, ROOT
from tests.packaging.installing import Installed, Packages

pytestmark = [pytest.mark.system, pytest.mark.airflow, pytest.mark.timeout(900)]


def _files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_package_and_nothing_else(packages: Packages) -> None:
    """Each file of the package, also those that are no Python, and the metadata with the licence."""
    with zipfile.ZipFile(packages.wheel) as wheel:
        names = set(wheel.namelist())
    info = f"airflow_provider_blockread-{__version__}.dist-info"

    assert packages.wheel.name == f"airflow_provider_blockread-{__version__}-py3-none-any.whl"
    assert {name for name in names if not name.startswith(info)} == _files(PACKAGE)
    assert f"{info}/licenses/LICENSE" in names


def test_the_sdist_holds_what_builds_the_wheel_and_the_documentation(packages: Packages) -> None:
    """No tests, no lock file, nothing of a machine."""
    with tarfile.open(packages.sdist) as sdist:
        tops = {name.split("/")[1] for name in sdist.getnames() if "/" in name}
    added = {"PKG-INFO", ".gitignore"}  # by the build
    kept = {"airflow_provider_blockread", "dags", "docs", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml"}

    assert tops - added == kept


def test_the_metadata_says_what_the_project_does(packages: Packages) -> None:
    """Python versions, extras and programs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with zipfile.ZipFile(packages.wheel) as wheel:
        info = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        said = Parser().parsestr(wheel.read(info).decode())
        programs = wheel.read(info.replace("METADATA", "entry_points.txt")).decode()

    assert set(said.get_all("Provides-Extra") or []) == set(project["optional-dependencies"])
    assert set((said["Requires-Python"] or "").split(",")) == set(project["requires-python"].split(","))
    assert said["Description-Content-Type"] == "text/markdown"
    assert "[apache_airflow_provider]" in programs
    assert "blockread = airflow_provider_blockread.cli:main" in programs


def test_the_description_leads_nowhere_that_is_not_there(packages: Packages) -> None:
    """On a package index the README has no files beside it: it has no picture, and only links that say their host."""
    with zipfile.ZipFile(packages.wheel) as wheel:
        info = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        text = Parser().parsestr(wheel.read(info).decode()).get_payload()

    assert "# airflow-provider-blockread" in text
    assert "## Documentation" in text
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []


def test_airflow_finds_the_provider(installed: Installed) -> None:
    """In a list of its providers, with this version; and its own program runs."""
    providers = json.loads(installed.run("airflow", "providers", "list", "--output", "json"))
    (found,) = [provider for provider in providers if provider["package_name"] == "airflow-provider-blockread"]

    assert found["version"] == __version__
    assert "Usage: blockread" in installed.run("blockread", "--help")


def test_the_example_dags_parse(installed: Installed) -> None:
    """Without Spark, too."""
    program = "import runpy, sys; [runpy.run_path(path) for path in sys.argv[1:]]"

    installed.run("python", "-c", program, *sorted((ROOT / "dags").glob("blockread_*.py")))


def test_a_file_is_planned_and_read_without_spark(by_pip: Installed) -> None:
    """Plans and records need no extra."""
    (by_pip.folder / "in").mkdir()
    (by_pip.folder / "in" / "a.txt").write_text("one\ntwo\n")

    plan = json.loads(by_pip.run("blockread", "plan", "in", "--state", "noop://", "--json"))
    records = by_pip.run("blockread", "records", "in/a.txt", "--format", "lines").splitlines()

    assert plan["files"] == 1
    assert [json.loads(line)["record"] for line in records] == ["one", "two"]


@pytest.mark.spark
def test_a_window_is_published(by_uv: Installed) -> None:
    """By Spark, from the environment alone."""
    (by_uv.folder / "in").mkdir()
    (by_uv.folder / "in" / "a.txt").write_text("one\ntwo\n")

    said = json.loads(by_uv.run("blockread", "run", "in", "--output", "out", "--master", "local[1]", "--json"))
    (output,) = (by_uv.folder / "out").glob("*.parquet")

    assert said["records"] == 2
    assert pq.read_table(output).column("value").to_pylist() == ["one", "two"]
