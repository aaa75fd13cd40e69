"""Airflow in this process, its database migrated once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.airflow.runs_here import Runs

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let warnings of Airflow's own dependencies pass; those that this package gives cause for stay errors."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"))


@pytest.fixture(autouse=True)
def forgotten_secrets() -> Iterator[None]:
    """Secrets of a test are masked in this test alone: with each new one, Airflow compiles a pattern of all again."""
    yield
    for masker in ("airflow._shared.secrets_masker", "airflow.sdk._shared.secrets_masker"):
        if module := sys.modules.get(masker):
            module.reset_secrets_masker()


@pytest.fixture(scope="session")
def database() -> None:
    """Airflow's own database, migrated."""
    from airflow.utils.db import upgradedb

    upgradedb()


@pytest.fixture
def runs(database: None) -> Runs:
    """What runs DAGs."""
    return Runs(database)


@pytest.fixture
def dag_id(request: pytest.FixtureRequest) -> str:
    """An id that no other test's DAG has, and so feeds that no other test has."""
    return re.sub(r"\W+", "_", request.node.name)


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    """The folder where files land."""
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Where records are published."""
    return tmp_path / "lake"


@pytest.fixture
def land(landing: Path) -> Callable[..., None]:
    """What puts files of lines into the landing folder: by name, how many lines each."""

    def put(**lines: int) -> None:
        for name, count in lines.items():
            text = "".join(f"{name} {number}\r\n" for number in range(count))
            (landing / f"{name}.log").write_bytes(text.encode())

    return put


@pytest.fixture
def without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications run without Spark, as processes of their own all the same."""
    from tests.airflow.without_spark import install

    install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
