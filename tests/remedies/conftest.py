"""A pipeline whose jobs run in this process, and the command line on its ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.make import Pipe, ReadHere
from tests.postgres import postgres_server
from tests.remedies.desk import Desk, without_spark


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Pipe]:
    """A source, an output and a ledger of this test's own."""
    made = Pipe(folder=tmp_path, submitter=ReadHere())
    yield made
    made.close()


@pytest.fixture
def desk(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Commands on that ledger."""
    without_spark(monkeypatch)
    return Desk(here)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server."""
    with postgres_server() as url:
        yield url
