"""Rings import nothing from beyond their place: proven by importing them where the rest cannot be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import (
    ON_API_SERVER,
    PACKAGE,
    RING_0,
    RING_1,
    RING_3B,
    UNDER_SPARK,
    module_name,
    package_files,
)

WALL = Path(__file__).with_name("wall.py")
NOT_ON_EXECUTORS = ["airflow", "alembic", "click", "pyspark", "rich", "sqlalchemy"]
NOT_AT_PARSE_TIME = ["numpy", "pyarrow", "pyspark"]

LOADED = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def names(*folders: str) -> list[str]:
    """Return the modules of the folders, without the files that run under Spark."""
    under_spark = [PACKAGE / file for file in UNDER_SPARK]
    return [module_name(file) for file in package_files(*folders) if file not in under_spark]


def run_wall(folder: Path | None = None, **task: object) -> subprocess.CompletedProcess[str]:
    """Run the wall over a task, with `folder` on the module path."""
    environment = {**os.environ, "PYTHONPATH": str(folder or PACKAGE.parent)}
    command = [sys.executable, WALL, json.dumps(task)]
    return subprocess.run(command, capture_output=True, check=False, env=environment, text=True)


def loaded_by(modules: list[str], folder: Path | None = None) -> set[str]:
    """Return the top-level packages that are loaded after importing the modules."""
    environment = {**os.environ, "PYTHONPATH": str(folder or PACKAGE.parent)}
    command = [sys.executable, "-c", LOADED, json.dumps(modules)]
    answer = subprocess.run(command, capture_output=True, check=True, env=environment, text=True)
    return set(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("ring", RING_0)
def test_ring_0_needs_the_standard_library_only(ring: str) -> None:
    """Options, errors and blocks import where no third-party package can be had."""
    answer = run_wall(modules=names(ring), only_stdlib=True)

    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("ring", [*RING_1, "spark"])
def test_what_runs_on_executors_needs_neither_airflow_nor_sql_nor_pyspark(ring: str) -> None:
    """Each module of ring 1 and of spark/ (but the two that have a Spark context) imports behind the wall."""
    answer = run_wall(modules=names(ring), refuse=NOT_ON_EXECUTORS)

    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("ring", [ring for ring in RING_3B if names(ring)])
def test_parsing_a_dag_loads_no_heavy_library(ring: str) -> None:
    """What DAG files import loads no pyspark, pyarrow or numpy: the DAG processor pays for it at every parse."""
    on_server = {module_name(PACKAGE / file) for file in ON_API_SERVER}

    assert loaded_by([name for name in names(ring) if name not in on_server]).isdisjoint(NOT_AT_PARSE_TIME)


@pytest.mark.parametrize("program", ["cli.commands", "pages.app", "spark.job", "steps.watch.serving"])
def test_a_program_starts_without_pandas(program: str) -> None:
    """Arrow imports it with the first value that it takes from Python, which takes as long as all other imports."""
    assert "pandas" not in loaded_by([f"airflow_provider_blockread.{program}"])


@pytest.mark.parametrize(
    ("code", "task"),
    [
        ("import numpy", {"only_stdlib": True}),
        ("import airflow.sdk", {"refuse": NOT_ON_EXECUTORS}),
        ("from sqlalchemy.sql import select", {"refuse": NOT_ON_EXECUTORS}),
        ("import helper", {"refuse": NOT_ON_EXECUTORS}),
    ],
)
def test_the_wall_refuses(tmp_path: Path, code: str, task: dict[str, object]) -> None:
    """A module that reaches beyond the wall, itself or through another, is stopped."""
    (tmp_path / "sample.py").write_text(code, encoding="utf-8")
    (tmp_path / "helper.py").write_text("import pyspark", encoding="utf-8")
    answer = run_wall(folder=tmp_path, modules=["sample"], **task)

    assert answer.returncode == 1
    assert "beyond the wall" in answer.stderr


def test_the_wall_lets_the_standard_library_through(tmp_path: Path) -> None:
    """The wall is no obstacle to what is allowed."""
    (tmp_path / "sample.py").write_text("import json, decimal, concurrent.futures", encoding="utf-8")

    assert run_wall(folder=tmp_path, modules=["sample"], only_stdlib=True).returncode == 0


def test_heavy_libraries_are_seen_when_loaded(tmp_path: Path) -> None:
    """The check on parse time would notice a heavy import."""
    (tmp_path / "sample.py").write_text("import pyarrow", encoding="utf-8")

    assert not loaded_by(["sample"], tmp_path).isdisjoint(NOT_AT_PARSE_TIME)
