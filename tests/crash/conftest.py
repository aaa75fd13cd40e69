"""A lab for all cases, on SQLite and on a PostgreSQL of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.killing import Lab, Traces, open_lab
from tests.crash.server import quick_folder
from tests.postgres import postgres_server


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server."""
    with postgres_server() as url:
        yield url


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder that is quick to write to."""
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def lab(server: str) -> Iterator[Lab]:
    """Processes that may die, on both databases."""
    with open_lab(server, seed=int(os.environ.get("SEED", "1"))) as found:
        yield found


@pytest.fixture(scope="session")
def traces(lab: Lab) -> Traces:
    """What each scenario comes by when nothing dies."""
    return lab.traces()
