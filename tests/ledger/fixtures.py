"""Fixtures of tests that have a ledger of their own, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from airflow_provider_blockread.ledger.store import Ledger
from tests.ledger.clock import Clock
from tests.ledgers import open_ledger
from tests.postgres import new_schema

_NUMBERS = count()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, one a test."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    # A schema is as empty as a database of its own, and costs the server no copy of a template.
    server: str = request.getfixturevalue("postgres")
    return new_schema(server, f"ledger_{next(_NUMBERS)}", upgraded=False)


@pytest.fixture
def clock() -> Clock:
    """The clock of `ledger`."""
    return Clock()


@pytest.fixture
def ledger(url: str, clock: Clock) -> Iterator[Ledger]:
    """An empty ledger of the newest schema."""
    found = open_ledger(url, now=clock)
    yield found
    found.close()
